"""Which jobs and steps ``sacct`` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.commands.getopt import Parsed, UsageError
from rota.commands.moments import parse_slurm_time
from rota.config.hostlist import expand_hostlist
from rota.listings.common import clock_of, words_of
from rota.listings.sacct_table import ids_of
from rota.listings.squeue_filters import STATE_FLAGS
from rota.listings.text import NULL
from rota.listings.view import AccountingQuery
from rota.model import JobState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.commands.job_ids import JobId
    from rota.listings.view import View
    from rota.model.accounting import Accounted
    from rota.model.lines import JobLine
    from rota.model.step import StepRecord


class Window(NamedTuple):
    """The time for which jobs are shown, Unix seconds."""

    start: int
    end: int
    #: Whether only jobs that were in one of the given states within it are shown.
    by_state: bool


class _More(NamedTuple):
    """Further filters; an empty one lets all through."""

    #: In small letters.
    qos: frozenset[str]
    wckeys: frozenset[str]
    #: Names or ids.
    groups: frozenset[str]
    nodes: frozenset[str]

    def passes(self, record: Accounted, view: View) -> bool:
        """Whether a job passes them."""
        job = record.job
        return (
            (not self.qos or job.qos.lower() in self.qos)
            and (not self.wckeys or record.details.wckey in self.wckeys)
            and (not self.groups or not self.groups.isdisjoint((str(job.group_id), view.group_name(job.group_id))))
            and (not self.nodes or not self.nodes.isdisjoint(job.nodes))
        )


class Wanted(NamedTuple):
    """Which jobs are shown."""

    ids: list[JobId]
    states: frozenset[str]
    window: Window
    query: AccountingQuery
    more: _More


def wanted_by(parsed: Parsed, view: View) -> Wanted:
    """Say which jobs a command line is about.

    Raises:
        UsageError: it is refused.
    """
    ids = _ids(parsed)
    states = states_of(parsed.last("state") or "")
    window = _window(parsed, view, with_ids=bool(ids), states=states)
    users = frozenset() if parsed.has("allusers") and not parsed.has("user") else words_of(parsed.last("user"))
    for name in sorted(users):
        if not view.knows_user(name):
            raise UsageError(f"sacct: error: Invalid user id: {name}\n")
    if not users and not parsed.has("allusers") and view.user != "root" and not ids:
        users = frozenset({view.user})
    query = AccountingQuery(
        job_ids=frozenset(one.job_id for one in ids),
        users=users,
        accounts=words_of((parsed.last("accounts") or "").lower()),
        names=words_of(parsed.last("name")),
        partitions=words_of(parsed.last("partition")),
        states=frozenset() if states & _PASSING else states,
        start=window.start or None,
        end=window.end,
        every_run=True,
    )
    more = _More(
        qos=_qos_of(parsed, view),
        wckeys=words_of(parsed.last("wckeys")),
        groups=words_of(parsed.last("gid")),
        nodes=_nodes_of(parsed),
    )
    return Wanted(ids, states, window, query, more)


def _ids(parsed: Parsed) -> list[JobId]:
    return ids_of("sacct", (text.split()[0] if text.split() else "" for text in parsed.all("jobs")))


#: Of the states that are no base states those that records of jobs may have.
_RECORDED = ("REQUEUED", "RESIZING", "REVOKED")
#: States that a job was once in that is in another one now.
_PASSING = frozenset({"PENDING", "RUNNING"})


def states_of(text: str) -> frozenset[str]:
    """Give the states of a list, short or long; none: all.

    Raises:
        UsageError: one is none.
    """
    known = {name: state.value for state in JobState for name in (state.value, state.compact)}
    flags = {name: state for short, state in STATE_FLAGS.items() for name in (short, state)}
    known |= {name: state for name, state in flags.items() if state in _RECORDED}
    found = set()
    for word in text.split(","):
        name = word.strip().upper()
        if name == "ALL":
            return frozenset()
        if name in flags and name not in known:
            raise UsageError(f"sacct: fatal: job state {word} is not supported / accounted\n")
        if name and name not in known:
            raise UsageError(f"sacct: fatal: unrecognized job state value '{word}'\n")
        found.add(known.get(name, ""))
    return frozenset(found - {""})


def _window(parsed: Parsed, view: View, *, with_ids: bool, states: frozenset[str]) -> Window:
    def moment(text: str) -> int:
        return parse_slurm_time(text, view.now, view.utc_offset, past=True)

    begin, end = parsed.last("starttime"), parsed.last("endtime")
    last = view.now if not end else moment(end)
    if begin:
        first = moment(begin)
        if states and not end:  # as in Slurm: the states are those at that moment
            last = max(first, 0)
    elif with_ids:
        first = 0
    elif states and not end:
        first = view.now
    else:
        first = moment("00:00") if not states else last
    if first > last:
        clock = clock_of(view, {})
        raise UsageError(
            f"sacct: error: Start time ({clock.moment(first)}) requested is after end time ({clock.moment(last)}).\n"
        )
    return Window(first, last, bool(states))


def _qos_of(parsed: Parsed, view: View) -> frozenset[str]:
    """Give the names after ``-q`` in small letters; a sign before a name does not count.

    Raises:
        UsageError: there is no such QOS.
    """
    given = [word.strip("'\"").lstrip("+-") for word in (parsed.last("qos") or "").split(",")]
    names = [one.name for one in sorted(view.accounting().qos, key=lambda one: one.id)] if any(given) else []
    known = {name.lower() for name in names}
    for word in filter(None, given):
        if word.lower() not in known:
            raise UsageError(
                f"sacct: error: You gave a bad qos '{word}'. Valid QOS's are {','.join(names)}\n"
                "sacct: fatal: problem processing qos list\n"
            )
    return frozenset(word.lower() for word in given if word)


def _nodes_of(parsed: Parsed) -> frozenset[str]:
    text = parsed.last("nodelist")
    if not text:
        return frozenset()
    try:
        return frozenset(expand_hostlist(text))
    except ValueError:
        raise UsageError(f"sacct: error: '{text}' is no list of nodes\n") from None


def chosen(wanted: Wanted, view: View) -> Iterator[Accounted]:
    """Choose jobs among those that the user may see."""
    return (
        record
        for record in view.accounted(wanted.query)
        if view.privacy.shows("jobs", record.job.user, record.job.account)
        and _shown(record, wanted)
        and wanted.more.passes(record, view)
    )


def _shown(record: Accounted, wanted: Wanted) -> bool:
    job, query = record.job, wanted.query
    if wanted.ids:
        if not any(_is(job, one) for one in wanted.ids):
            return False
    elif job.eligible_time is None or (job.pending and job.eligible_time > wanted.window.end):
        return False
    if query.users and query.users.isdisjoint((job.user, str(job.user_id))):
        return False
    if query.accounts and job.account.lower() not in query.accounts:
        return False
    if query.names and (job.name or NULL) not in query.names:
        return False
    if query.partitions and job.partition not in query.partitions:
        return False
    return _in_window(job, wanted)


def _in_window(job: JobLine, wanted: Wanted) -> bool:
    first, last = wanted.window.start, wanted.window.end
    ended = job.end_time if not job.pending and job.base_state not in {"RUNNING", "SUSPENDED"} else None
    if wanted.ids and not first and not wanted.window.by_state:
        return True
    begun = job.submit_time if job.eligible_time is None else min(job.eligible_time, job.start_time or 2**62)
    if not wanted.window.by_state:
        return begun <= last and (ended is None or ended >= first)
    if "PENDING" in wanted.states and job.eligible_time is not None and first < (job.start_time or ended or 2**62):
        return job.eligible_time <= last
    if job.base_state in {"PENDING", "RUNNING", "SUSPENDED"} or ended is None:
        return job.base_state in wanted.states - {"PENDING"} and begun <= last
    if "RUNNING" in wanted.states and job.start_time is not None and job.start_time <= last and ended >= first:
        return True
    return job.base_state in wanted.states and first <= ended <= last


def _is(job: JobLine, wanted: JobId) -> bool:
    if not wanted.tasks:
        return wanted.job_id in {job.job_id, job.array_job_id}
    return job.array_job_id == wanted.job_id and job.array_task == str(wanted.tasks[0])


def chosen_steps(record: Accounted, ids: list[JobId], *, allocations: bool) -> tuple[StepRecord, ...]:
    """Choose the steps of a job that are shown."""
    if allocations:
        return ()
    if not ids or "" in (named := named_steps(record, ids)):
        return record.steps
    return tuple(step for step in record.steps if step.step_id in named)


def named_steps(record: Accounted, ids: list[JobId]) -> set[str]:
    """Give the ids of the steps of a job that were asked for; an empty id stands for the job with all of its steps."""
    return {one.step for one in ids if _is(record.job, one)}
