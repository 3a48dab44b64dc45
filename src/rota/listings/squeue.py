"""``squeue``: the jobs."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rota.config.hostlist import fold
from rota.listings.columns import Column, Field, parse_format, sort_records, table
from rota.model import MAX_PRIORITY, InputError, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rota.model.lines import JobLine

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DEFAULT = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
_LONG = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
_START = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
_SORT, _SORT_START = "P,t,-p", "S"
_NAMED = re.compile(r"(?P<name>\w+)(?::(?P<right>\.?)(?P<size>\d*))?")
#: Letters of ``-o`` by the names of ``-O``.
_NAMES = {
    "account": "a",
    "eligibletime": "e_",
    "endtime": "e",
    "jobarrayid": "i",
    "jobid": "i",
    "name": "j",
    "nice": "y",
    "nodelist": "N",
    "numcpus": "C",
    "numnodes": "D",
    "partition": "P",
    "priority": "p",
    "prioritylong": "Q",
    "qos": "q",
    "reason": "r",
    "reasonlist": "R",
    "schednodes": "Y",
    "starttime": "S",
    "state": "T",
    "statecompact": "t",
    "submittime": "V",
    "timeleft": "L",
    "timelimit": "l",
    "timeused": "M",
    "userid": "U",
    "username": "u",
}
#: Name shown for a job without one.
NO_NAME = "(null)"
#: Base states in the order in which jobs are sorted by state.
_STATES = [state.value for state in JobState]


def squeue(
    jobs: Iterable[JobLine],
    *,
    now: int,
    utc_offset: Callable[[int], int],
    long: bool = False,
    start: bool = False,
    fmt: str = "",
    named_fmt: str = "",
    sort: str = "",
    states: frozenset[str] = frozenset(),
    job_ids: frozenset[int] = frozenset(),
    partitions: frozenset[str] = frozenset(),
    users: frozenset[str] = frozenset(),
    names: frozenset[str] = frozenset(),
    noheader: bool = False,
) -> str:
    """Format jobs like ``squeue``; the arguments are its options.

    Args:
        jobs: In any order.
        now: The time now, Unix seconds.
        utc_offset: Gives local time minus UTC in seconds, at a Unix time.
        long: ``-l``.
        start: ``--start``.
        fmt: ``-o``.
        named_fmt: ``-O``.
        sort: ``-S``.
        states: ``-t``: states, long or compact, in any case, or ``all``; empty: jobs that have not ended.
        job_ids: ``-j``.
        partitions: ``-p``.
        users: ``-u``.
        names: ``-n``.
        noheader: ``-h``.

    Raises:
        InputError: a format, sort key or state cannot be used.
    """
    columns = _columns(now, utc_offset)
    wanted = {"pending"} if start else _states(states)
    shown = [
        job
        for job in jobs
        if ("all" in wanted or job.base_state.lower() in wanted)
        and (not job_ids or not job_ids.isdisjoint({job.job_id, job.array_job_id}))
        and (not partitions or partitions & set(job.partition.split(",")))
        and (not users or job.user in users)
        and (not names or (job.name or NO_NAME) in names)
    ]
    shown.sort(key=lambda job: job.job_id)
    shown = sort_records(shown, sort or (_SORT_START if start else _SORT), columns, "squeue")
    if named_fmt:
        prefix, fields = "", _named_fields(named_fmt, columns)
    else:
        prefix, fields = parse_format(fmt or (_START if start else _LONG if long else _DEFAULT), columns, "squeue")
    heading = f"{_local(now, utc_offset):%a %b %d %H:%M:%S %Y}\n" if long and not noheader else ""
    return heading + table(prefix, fields, shown, header=not noheader)


def _states(states: frozenset[str]) -> set[str]:
    if not states:
        return {"pending", "running"}
    known = {name.lower(): state.value.lower() for state in JobState for name in (state.value, state.compact)}
    unknown = {word for word in states if word.lower() not in known and word.lower() != "all"}
    if unknown:
        raise InputError(f"no state {', '.join(sorted(unknown))}: there are {', '.join(_STATES)}", field="squeue -t")
    return {known.get(word.lower(), "all") for word in states}


def _named_fields(text: str, columns: dict[str, Column[JobLine]]) -> list[Field[JobLine]]:
    """Parse ``-O name[:[.]size],…``; columns without a size have 20 characters."""
    fields = []
    for word in filter(None, (word.strip() for word in text.split(","))):
        match = _NAMED.fullmatch(word)
        letter = _NAMES.get(match["name"].lower()) if match else None
        if match is None or letter is None:
            raise InputError(f"no field {word!r}: there are {', '.join(sorted(_NAMES))}", field="squeue -O")
        fields.append(Field(columns[letter], int(match["size"] or 20), bool(match["right"]), ""))
    return fields


def _columns(now: int, utc_offset: Callable[[int], int]) -> dict[str, Column[JobLine]]:
    def moment(time: int | None) -> str:
        return "N/A" if time is None else f"{_local(time, utc_offset):%Y-%m-%dT%H:%M:%S}"

    def used(job: JobLine) -> int:
        if job.pending or job.start_time is None:
            return 0
        end = now if job.state == "RUNNING" or job.end_time is None else job.end_time
        return end - job.start_time

    def end(job: JobLine) -> int | None:
        # Also for a job beyond its time limit, whose end is a guess.
        live = job.pending or job.state == "RUNNING"
        if live and job.expected_start is not None and job.time_limit is not None:
            return job.expected_start + job.time_limit
        return job.end_time

    def left(job: JobLine) -> str:
        if job.time_limit is None:
            return "UNLIMITED"
        return duration(job.time_limit - used(job)) if used(job) <= job.time_limit else "INVALID"

    return {
        "A": Column("JOBID", lambda job: str(job.job_id), lambda job: job.job_id),
        "a": Column("ACCOUNT", lambda job: job.account),
        "C": Column("CPUS", lambda job: str(job.num_cpus), lambda job: job.num_cpus),
        "D": Column("NODES", lambda job: str(job.num_nodes), lambda job: job.num_nodes),
        "e": Column("END_TIME", lambda job: moment(end(job)), lambda job: end(job) or 0),
        "e_": Column("ELIGIBLE_TIME", lambda job: moment(job.eligible_time), lambda job: job.eligible_time or 0),
        "F": Column("ARRAY_JOB_ID", lambda job: str(job.array_job_id or job.job_id), lambda job: job.job_id),
        "i": Column("JOBID", lambda job: job.shown_id, lambda job: job.job_id),
        "j": Column("NAME", lambda job: job.name or NO_NAME),
        "K": Column("ARRAY_TASK_ID", lambda job: job.array_task.strip("[]") or "N/A"),
        "l": Column("TIME_LIMIT", lambda job: _limit(job.time_limit), lambda job: job.time_limit or 0),
        "L": Column("TIME_LEFT", left),
        "M": Column("TIME", lambda job: duration(used(job)), used),
        "N": Column("NODELIST", lambda job: fold(job.nodes)),
        "p": Column("PRIORITY", lambda job: f"{job.priority / MAX_PRIORITY:.14f}", lambda job: job.priority),
        "P": Column("PARTITION", lambda job: job.partition),
        "q": Column("QOS", lambda job: job.qos),
        "Q": Column("PRIORITY", lambda job: str(job.priority), lambda job: job.priority),
        "r": Column("REASON", lambda job: job.reason_text(fold)),
        "R": Column("NODELIST(REASON)", _nodes_or_reason),
        "S": Column("START_TIME", lambda job: moment(job.expected_start), lambda job: job.expected_start or 2**62),
        "t": Column("ST", lambda job: job.state_compact, lambda job: _STATES.index(job.base_state)),
        "T": Column("STATE", lambda job: job.state, lambda job: _STATES.index(job.base_state)),
        "u": Column("USER", lambda job: job.user),
        "U": Column("UID", lambda job: str(job.user_id), lambda job: job.user_id),
        "V": Column("SUBMIT_TIME", lambda job: moment(job.submit_time), lambda job: job.submit_time),
        "y": Column("NICE", lambda job: str(job.nice), lambda job: job.nice),
        "Y": Column("SCHEDNODES", lambda job: fold(job.planned_nodes) or "(null)"),
    }


def _nodes_or_reason(job: JobLine) -> str:
    return f"({job.reason_text(fold)})" if job.pending or not job.nodes else fold(job.nodes)


def duration(seconds: int) -> str:
    """Format ``[days-][hours:]minutes:seconds`` like squeue: ``0:09``, ``1:40:00``, ``2-00:00:00``."""
    days, rest = divmod(max(seconds, 0), 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    if days:
        return f"{days}-{hours:02}:{minutes:02}:{rest:02}"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _limit(seconds: int | None) -> str:
    return "UNLIMITED" if seconds is None else duration(seconds)


def _local(time: int, utc_offset: Callable[[int], int]) -> datetime:
    return _EPOCH + timedelta(seconds=time + utc_offset(time))
