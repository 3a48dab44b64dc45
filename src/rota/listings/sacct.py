"""``sacct``: jobs and steps, live and ended.

Without ``-S`` jobs since midnight are listed; with ``-j`` all of them, and with ``-s`` those of now. As in Slurm, jobs
that never became eligible are listed with ``-j`` only, and ``-s`` is passed over beside ``-j`` without a time. Of a job
that was requeued only the last run is listed that is chosen, and all of them with ``-D``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rota.commands.forms import form_of
from rota.commands.getopt import NEEDED, OPTIONAL, Option, Parsed, UsageError, parse, table
from rota.commands.hosts import expand_hosts
from rota.commands.moments import parse_slurm_time
from rota.listings.answer import Answer
from rota.listings.common import ALONE, VERBOSE, about, clock_of, is_here, words_of
from rota.listings.sacct_fields import BRIEF, DEFAULT, FIELDS, LONG, Row, Rows
from rota.listings.sacct_order import every_run, last_runs
from rota.listings.sacct_table import Lines, fields_of, help_format, ids_of, put
from rota.listings.text import NULL
from rota.listings.view import AccountingQuery
from rota.model import JobState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rota.commands.job_ids import JobId
    from rota.listings.view import View
    from rota.model.accounting import Accounted
    from rota.model.lines import JobLine
    from rota.model.step import StepRecord

_OPTIONS = table(
    "sacct",
    [
        Option("allusers", "a"),
        Option("accounts", "A", NEEDED),
        Option("allocations", "X"),
        Option("brief", "b"),
        Option("batch-script", "B", refused=True),
        Option("completion", "c", refused=True),
        Option("constraints", "C", NEEDED, refused=True),
        Option("delimiter", "", NEEDED),
        Option("duplicates", "D"),
        Option("env-vars", refused=True),
        Option("federation", ignored=ALONE),
        Option("helpformat", "e"),
        Option("help-fields", refused=True),
        Option("endtime", "E", NEEDED),
        Option("file", "f", NEEDED, refused=True),
        Option("flags", "F", NEEDED, refused=True),
        Option("gid group", "g", NEEDED),
        Option("help", "h"),
        Option("local", ignored=ALONE),
        Option("name", "", NEEDED),
        Option("nnodes", "i", NEEDED, refused=True),
        Option("ncpus", "I", NEEDED, refused=True),
        Option("jobs", "j", NEEDED),
        Option("json"),
        Option("timelimit-min", "k", NEEDED, refused=True),
        Option("timelimit-max", "K", NEEDED, refused=True),
        Option("long", "l"),
        Option("allclusters", "L", ignored="rota has one cluster"),
        Option("clusters", "M", NEEDED),
        Option("nodelist", "N", NEEDED),
        Option("noconvert"),
        Option("noheader", "n"),
        Option("format", "o", NEEDED),
        Option("parsable", "p"),
        Option("parsable2", "P"),
        Option("qos", "q", NEEDED),
        Option("partition", "r", NEEDED),
        Option("state", "s", NEEDED),
        Option("starttime", "S", NEEDED),
        Option("truncate", "T"),
        Option("units", "", NEEDED),
        Option("usage"),
        Option("use-local-uid", "U", ignored="user ids are those of this machine"),
        Option("user uid", "u", NEEDED),
        Option("verbose", "v", ignored=VERBOSE),
        Option("version", "V"),
        Option("wckeys", "W", NEEDED),
        Option("whole-hetjob", "", OPTIONAL, ignored="rota has no heterogeneous jobs"),
        Option("associations", "x", NEEDED, refused=True),
        Option("yaml"),
    ],
    hint=False,
)
_USAGE = "Usage: sacct [options]\n\tUse --help for help\n"


class _Window(NamedTuple):
    """The time for which jobs are shown, Unix seconds."""

    start: int
    end: int
    #: Whether only jobs that were in one of the given states within it are shown.
    by_state: bool


class _More(NamedTuple):
    """Further filters; an empty one lets all through."""

    qos: frozenset[str]
    wckeys: frozenset[str]
    #: Names or ids.
    groups: frozenset[str]

    def passes(self, record: Accounted, view: View) -> bool:
        """Whether a job passes them."""
        job = record.job
        return (
            (not self.qos or job.qos in self.qos)
            and (not self.wckeys or record.details.wckey in self.wckeys)
            and (not self.groups or not self.groups.isdisjoint((str(job.group_id), view.group_name(job.group_id))))
        )


class _Wanted(NamedTuple):
    """Which jobs are shown."""

    ids: list[JobId]
    states: frozenset[str]
    window: _Window
    query: AccountingQuery
    more: _More


def sacct(argv: Sequence[str], environ: Mapping[str, str], view: View) -> Answer:
    """Evaluate a command line.

    Args:
        argv: The words after ``sacct``.
        environ: The user's environment.
        view: The cluster.

    Raises:
        UsageError: the command line is refused.
    """
    parsed = parse(argv, _OPTIONS)
    if (told := about(parsed, _USAGE)) is not None:
        return told
    if parsed.has("helpformat"):
        return Answer(help_format(FIELDS))
    if parsed.words:
        listed = "".join(f"sacct: error:  {word}\n" for word in parsed.words)
        raise UsageError(f"sacct: error: Unknown arguments:\n{listed}")
    fields = _fields(parsed, environ)
    if (form := form_of(parsed)) is not None:
        from rota.listings.openapi.document import text_of

        return Answer(text_of(_document(parsed, environ, view), form))
    if not _here(parsed, view):
        return Answer(put([(*one, _nothing) for one in fields], [], parsed))
    wanted = _wanted(parsed, view)
    rows = _times_and_usage(parsed, wanted.window, environ, view)
    allocations = parsed.has("allocations")
    lines = Lines([(name, width, rows.text(name)) for name, width in fields], parsed)
    # A record is dropped as soon as its lines are made: tens of thousands would not stay in the processor's memory.
    in_order = every_run if parsed.has("duplicates") else last_runs
    found = in_order(
        (record, "".join(map(lines.line, _rows(record, wanted.ids, allocations=allocations))))
        for record in _chosen(wanted, _nodes(parsed), view)
    )
    return Answer("".join([lines.head, *found]))


def accounting(argv: Sequence[str], view: View) -> dict[str, Any]:
    """Give the document that ``sacct --json`` shows.

    Args:
        argv: The words after ``sacct``.
        view: The cluster.

    Raises:
        UsageError: the command line is refused.
    """
    return _document(parse(argv, _OPTIONS), {}, view)


def _document(parsed: Parsed, environ: Mapping[str, str], view: View) -> dict[str, Any]:
    from rota.listings.openapi.accounting import AccountingObjects
    from rota.listings.openapi.document import accounting_document

    if not _here(parsed, view):
        return accounting_document([])
    wanted, allocations = _wanted(parsed, view), parsed.has("allocations")
    make = AccountingObjects(view, _times_and_usage(parsed, wanted.window, environ, view))
    in_order = every_run if parsed.has("duplicates") else last_runs
    jobs = in_order((one, one) for one in _chosen(wanted, _nodes(parsed), view))
    return accounting_document(make.job(one, _steps(one, wanted.ids, allocations=allocations)) for one in jobs)


def _times_and_usage(parsed: Parsed, window: _Window, environ: Mapping[str, str], view: View) -> Rows:
    return Rows(
        view,
        clock_of(view, environ),
        convert=not parsed.has("noconvert"),
        target=_units(parsed),
        truncate=(window.start, window.end) if parsed.has("truncate") else None,
        allocations=parsed.has("allocations"),
    )


def _nothing(_: object) -> str:
    return ""


# ---- which jobs -------------------------------------------------------------------------------------------------


def _here(parsed: Parsed, view: View) -> bool:
    """Whether ``-M`` names this cluster; a cluster that is not known has no jobs."""
    given = parsed.last("clusters")
    return not given or any(is_here(name, view.config) or name.strip() == "-1" for name in given.split(","))


def _wanted(parsed: Parsed, view: View) -> _Wanted:
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
        qos=words_of(parsed.last("qos")), wckeys=words_of(parsed.last("wckeys")), groups=words_of(parsed.last("gid"))
    )
    return _Wanted(ids, states, window, query, more)


def _ids(parsed: Parsed) -> list[JobId]:
    return ids_of("sacct", (text.split()[0] if text.split() else "" for text in parsed.all("jobs")))


#: States that a job was once in that is in another one now.
_PASSING = frozenset({"PENDING", "RUNNING"})


def states_of(text: str) -> frozenset[str]:
    """Give the states of a list, short or long; none: all.

    Raises:
        UsageError: one is none.
    """
    known = {name: state.value for state in JobState for name in (state.value, state.compact)}
    known |= {"REQUEUED": "REQUEUED", "RQ": "REQUEUED", "RESIZING": "RESIZING", "RS": "RESIZING", "REVOKED": "REVOKED"}
    found = set()
    for word in text.split(","):
        name = word.strip().upper()
        if name == "ALL":
            return frozenset()
        if name and name not in known:
            raise UsageError(f"sacct: fatal: unrecognized job state value '{word}'\n")
        found.add(known.get(name, ""))
    return frozenset(found - {""})


def _window(parsed: Parsed, view: View, *, with_ids: bool, states: frozenset[str]) -> _Window:
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
    return _Window(first, last, bool(states))


def _nodes(parsed: Parsed) -> frozenset[str]:
    text = parsed.last("nodelist")
    if not text:
        return frozenset()
    try:
        return frozenset(expand_hosts(text))
    except ValueError:
        raise UsageError(f"sacct: error: '{text}' is no list of nodes\n") from None


def _chosen(wanted: _Wanted, nodes: frozenset[str], view: View) -> Iterator[Accounted]:
    """Choose jobs; without nodes, those on any."""
    return (
        record
        for record in view.accounted(wanted.query)
        if view.privacy.shows("jobs", record.job.user, record.job.account)
        and _shown(record, wanted)
        and wanted.more.passes(record, view)
        and (not nodes or nodes & {*record.job.nodes})
    )


def _shown(record: Accounted, wanted: _Wanted) -> bool:
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


def _in_window(job: JobLine, wanted: _Wanted) -> bool:
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


def _rows(record: Accounted, ids: list[JobId], *, allocations: bool) -> list[Row]:
    """Give the rows of a job: its own and, unless ``-X`` is given, those of its steps."""
    rows = [Row(record, step) for step in _steps(record, ids, allocations=allocations)]
    if not ids or allocations or "" in _named(record, ids):
        rows.insert(0, Row(record, None))
    return rows


def _steps(record: Accounted, ids: list[JobId], *, allocations: bool) -> tuple[StepRecord, ...]:
    """Choose the steps of a job that are shown."""
    if allocations:
        return ()
    if not ids or "" in (named := _named(record, ids)):
        return record.steps
    return tuple(step for step in record.steps if step.step_id in named)


def _named(record: Accounted, ids: list[JobId]) -> set[str]:
    """Give the ids of the steps of a job that were asked for; an empty id stands for the job with all of its steps."""
    return {one.step for one in ids if _is(record.job, one)}


# ---- the format -------------------------------------------------------------------------------------------------


def _units(parsed: Parsed) -> str:
    text = parsed.last("units")
    if text is None:
        return ""
    if len(text) != 1 or text.upper() not in "KMGTP":
        raise UsageError(
            f"sacct: error: Invalid unit type '{text}'. Possible options are 'KMGTP'\nsacct: fatal: Invalid unit type\n"
        )
    return text.upper()


def _fields(parsed: Parsed, environ: Mapping[str, str]) -> list[tuple[str, int]]:
    """Give the fields of the format: name and width, negative: aligned to the left."""
    text = ",".join(parsed.all("format")) if parsed.has("format") else None
    if text is None:
        text = LONG if parsed.has("long") else BRIEF if parsed.has("brief") else environ.get("SACCT_FORMAT", DEFAULT)
    if "all" in text.lower():
        words = (word.strip() for word in text.split(","))
        text = ",".join(",".join(FIELDS) if word.partition("%")[0].lower() == "all" else word for word in words)
    return fields_of(text, FIELDS, "sacct")
