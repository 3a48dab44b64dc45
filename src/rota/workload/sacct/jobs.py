"""The jobs of one file of ``sacct``: numbers, times and requests."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from rota.model import YEAR, InputError
from rota.model.units import parse_time_seconds
from rota.workload.checks import shown
from rota.workload.fields import LIMIT, UNKNOWN
from rota.workload.sacct.requests import read_requests
from rota.workload.sacct.table import AGAIN, read_table
from rota.workload.sacct.times import read_times

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from rota.model import JobSpec
    from rota.workload.fields import IntColumn
    from rota.workload.sacct.table import Table
    from rota.workload.sacct.times import Times

#: States of jobs that hold nodes, and of those that wait for them, some of them again: runs before that have an end.
RUNNING = {"RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STAGE_OUT", "SIGNALING", "STOPPED", "RESIZING"}
WAITING = {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD", "REVOKED"}
#: What Timelimit has for a job that asked for none, and gets that of its partition.
_OF_PARTITION = {"", "Partition_Limit", "INVALID"}
_MINUTE, _HOUR = 60, 3600
#: Jobs that are further than this from the middle of the file, in seconds, have an odd time.
_FAR = 10 * YEAR
_NUMBER = r"\d{1,15}"
_JOB_ID = re.compile(rf"{_NUMBER}(_({_NUMBER}|\[.*\])|\+{_NUMBER})?")
#: User ids have at most this many digits.
_UID_DIGITS = 10
_NOWHERE = {"", "None assigned", "None"}


@dataclass(slots=True, eq=False)
class Jobs:
    """Columns of equal length. Times are Unix seconds, lengths of time seconds; -1: unknown."""

    #: Line in the file, from 1.
    line: IntColumn
    #: Numbers; -1: the file has none for a task of an array, only an id such as ``6_2``.
    number: IntColumn
    ids: NDArray[np.str_]
    #: Clusters and user ids; empty: unknown.
    cluster: NDArray[np.str_]
    uid: NDArray[np.str_]
    submit: IntColumn
    eligible: IntColumn
    start: IntColumn
    end: IntColumn
    #: When a job was cancelled that waited; -1: it was not.
    withdrawn: IntColumn
    #: Run time, up to now for a job that runs.
    elapsed: IntColumn
    #: Time limit; -1: that of the partition.
    limit: IntColumn
    #: States without ``by`` whom; empty: unknown.
    state: NDArray[np.str_]
    requests: NDArray[np.object_]
    #: Hostlists; empty: unknown, or nowhere.
    nodes: NDArray[np.object_]

    def __len__(self) -> int:
        """Give the number of jobs."""
        return len(self.number)

    def take(self, rows: NDArray[np.bool_] | IntColumn) -> Jobs:
        """Select jobs by a mask, or by row numbers in the given order."""
        return Jobs(*(getattr(self, one.name)[rows] for one in fields(self)))

    @staticmethod
    def joined(files: Sequence[Jobs]) -> Jobs:
        """Join the jobs of several files."""
        return Jobs(*(np.concatenate([getattr(each, one.name) for each in files]) for one in fields(Jobs)))


#: Columns, one of which tells something of requests.
_TELL = {
    "gres": ("ReqTRES", "AllocTRES", "GPUs", "GRES of a node"),
    "memory": ("ReqTRES", "AllocTRES", "ReqMem", "memory of a node"),
    "whole nodes": ("AllocTRES", "AllocCPUS"),
    "most nodes": ("AllocTRES", "NNodes"),
    "constraint": ("Constraints",),
    "partition": ("Partition",),
    "qos": ("QOS",),
    "time limit": ("Timelimit", "TimelimitRaw", "limit in seconds"),
}


def read_jobs(path: Path, zone: str) -> tuple[list[Jobs], list[str], frozenset[str]]:
    """Read a file.

    Args:
        path: The file.
        zone: Time zone of local times; empty: UTC.

    Returns:
        The jobs, by the files that were joined to it; what its reader should know; and what the file does not tell of
        requests.

    Raises:
        InputError: the file cannot be read, a column is missing, or more than half of the lines are odd.
    """
    table = read_table(path)
    has = table.columns.keys()
    if "Submit" not in has:
        raise InputError(f"the column Submit is missing: {AGAIN}", path=path, line=1)
    if not (has & {"Elapsed", "ElapsedRaw"} or has >= {"Start", "End"}):
        raise InputError(f"run times are missing: the columns Start and End, or ElapsedRaw: {AGAIN}", path=path, line=1)
    elapsed = _elapsed(table)
    times, notes = _times(table, zone, elapsed)
    jobs = Jobs(
        line=np.array(table.lines),
        number=_numbers(table),
        ids=np.array(table.columns.get("JobID") or table.columns["JobIDRaw"]),
        cluster=_texts(table, "Cluster"),
        uid=_uids(table),
        **times,
        withdrawn=np.full(len(elapsed), UNKNOWN),
        elapsed=elapsed,
        limit=_limits(table),
        state=np.array([one.partition(" ")[0] for one in table.columns.get("State", ("",) * len(table.lines))]),
        requests=_objects(read_requests(table)),
        nodes=_objects(
            ["" if one in _NOWHERE else one for one in table.columns.get("NodeList", ("",) * len(table.lines))]
        ),
    )
    if "Start" in has:
        _settle(jobs, table)
    else:  # the log of a simulation, in which a negative run time is one up to the limit
        jobs.elapsed = np.where(elapsed < 0, jobs.limit, elapsed)
    notes += table.check_faults()
    if table.faults:
        jobs = jobs.take(~np.isin(np.arange(len(jobs)), [*table.faults]))
    part = np.searchsorted(table.joints, jobs.line)
    parts = [jobs.take(part == one) for one in range(len(table.joints) + 1)] if table.joints else [jobs]
    return parts, notes, frozenset(what for what, columns in _TELL.items() if not has & {*columns})


def _texts(table: Table, column: str) -> NDArray[np.str_]:
    return np.array(table.columns.get(column, ("",) * len(table.lines)))


def _objects(values: Sequence[JobSpec | str]) -> NDArray[np.object_]:
    """Make an array of objects; NumPy would take requests for rows of a matrix."""
    array = np.empty(len(values), object)
    for row, value in enumerate(values):
        array[row] = value
    return array


def _numbers(table: Table) -> IntColumn:
    raw = table.columns.get("JobIDRaw") or table.columns["JobID"]
    column = "JobIDRaw" if "JobIDRaw" in table.columns else "JobID"
    numbers = np.full(len(raw), UNKNOWN)
    for row, text in enumerate(raw):
        if not _JOB_ID.fullmatch(text):
            table.leave_out(row, column, f"{shown(text)} is no job id such as 123 or 123_4")
        elif text.isdecimal():
            numbers[row] = int(text)
    return numbers


def _uids(table: Table) -> NDArray[np.str_]:
    """Give the user ids. If most are numbers, a job with another text is left out."""
    uids = _texts(table, "UID")
    good = np.strings.isdecimal(uids) & (np.strings.str_len(uids) <= _UID_DIGITS)
    if good.sum() * 2 > len(uids):
        for row in np.flatnonzero(~good & (uids != "")).tolist():
            table.leave_out(row, "UID", f"{shown(str(uids[row]))} is no user id, as the others are")
    return uids


# ---- times ------------------------------------------------------------------------------------------------------


def _times(table: Table, zone: str, elapsed: IntColumn) -> tuple[dict[str, IntColumn], list[str]]:
    """Give submission, eligibility, start and end; of local times that come twice those that fit the others."""
    columns = {name: read_times(table, name, zone) for name in ("Submit", "Eligible", "Start", "End")}
    unknown = np.full(len(elapsed), UNKNOWN)
    submits, ends = columns["Submit"], columns["End"]
    for row in np.flatnonzero(~submits.known).tolist():
        table.leave_out(row, "Submit", f"{shown(table.columns['Submit'][row])}: every job has a time of submission")
    submit = submits.first
    exact_end = ends.known & (ends.first == ends.second) & (elapsed >= 0)
    start = columns["Start"].chosen(submit, np.where(exact_end, ends.first - elapsed, unknown))
    end = ends.chosen(start, np.where((elapsed >= 0) & (start >= 0), start + elapsed, unknown))
    eligible = columns["Eligible"].chosen(submit, unknown)
    _check_nearness(table, {"Submit": submit, "Eligible": eligible, "Start": start, "End": end})
    return {"submit": submit, "eligible": eligible, "start": start, "end": end}, _twice(table, columns, zone)


def _check_nearness(table: Table, columns: dict[str, IntColumn]) -> None:
    """Leave out jobs with a time that is years from the others': a replay would play all the time between."""
    submits = columns["Submit"][columns["Submit"] >= 0]
    if not len(submits):
        return
    middle = int(np.median(submits))
    for name, moments in columns.items():
        for row in np.flatnonzero((moments >= 0) & (np.abs(moments - middle) > _FAR)).tolist():
            years = abs(int(moments[row]) - middle) // YEAR
            table.leave_out(row, name, f"{shown(table.columns[name][row])} is {years:,} years from most other jobs")


def _twice(table: Table, columns: dict[str, Times], zone: str) -> list[str]:
    """Tell of local times that come twice."""
    found = [(row, name) for name, times in columns.items() for row in np.flatnonzero(times.first != times.second)]
    if not found:
        return []
    row, name = min(found)
    line, text = table.lines[int(row)], table.columns[name][int(row)]
    more = f" (as do {len(found) - 1:,} others)" if len(found) > 1 else ""
    note = f"warning: {table.path}:{line}: {table.named(name)}: {text} comes twice in {zone}{more}: the first is taken"
    return [f"{note} where other times do not tell; SLURM_TIME_FORMAT=%s of sacct is exact"]


def _elapsed(table: Table) -> IntColumn:
    if "ElapsedRaw" in table.columns:
        return _parsed(table, "ElapsedRaw", lambda text: int(float(text or UNKNOWN)))
    return _parsed(table, "Elapsed", lambda text: (parse_time_seconds(text) or 0) if text else UNKNOWN)


def _limits(table: Table) -> IntColumn:
    if "TimelimitRaw" in table.columns:
        return _parsed(table, "TimelimitRaw", lambda text: _limit(text, lambda minutes: int(minutes) * _MINUTE))
    if "Timelimit" in table.columns:
        return _parsed(table, "Timelimit", lambda text: _limit(text, parse_time_seconds))
    return _parsed(table, "limit in seconds", lambda text: _limit(text, lambda seconds: int(float(seconds))))


def _limit(text: str, parse: Callable[[str], int | None]) -> int:
    if text in _OF_PARTITION:
        return UNKNOWN
    return YEAR if text.upper() == "UNLIMITED" else parse(text) or YEAR


def _parsed(table: Table, column: str, parse: Callable[[str], int]) -> IntColumn:
    """Parse a column, each text once; -1 if the file does not have it, or a text cannot be parsed."""
    texts = table.columns.get(column)
    if texts is None:
        return np.full(len(table.lines), UNKNOWN)
    values: dict[str, int] = {}
    odd: set[str] = set()
    for text in dict.fromkeys(texts):
        try:
            values[text] = parse(text.strip())
            if abs(values[text]) > LIMIT:
                raise ValueError(text)
        except (ValueError, OverflowError):
            values[text] = UNKNOWN
            odd.add(text)
    for row in (row for row, one in enumerate(texts) if one in odd) if odd else ():
        table.leave_out(row, column, f"{shown(texts[row])} is no length of time such as 1-12:00:00")
    return np.array([values[text] for text in texts])


# ---- what became of the jobs ------------------------------------------------------------------------------------


def _settle(jobs: Jobs, table: Table) -> None:
    """Complete starts, ends and run times from each other. A job of which they contradict each other is left out."""
    state = jobs.state
    has_run = (jobs.start >= 0) & (jobs.end > jobs.start)
    idle = (np.isin(state, [*WAITING]) & ~has_run) | (np.strings.find(jobs.ids, "[") >= 0)
    idle |= (jobs.elapsed <= 0) & (jobs.end <= jobs.start) & _was_nowhere(table, state)
    could_start = (jobs.eligible >= 0) | ("Eligible" not in table.columns)
    withdrawn = (idle | (jobs.start < 0)) & could_start & (state == "CANCELLED")
    withdrawn &= jobs.end >= np.maximum(jobs.submit, jobs.eligible)
    jobs.withdrawn[withdrawn] = jobs.end[withdrawn]
    for column in (jobs.start, jobs.end, jobs.elapsed):
        column[idle | (jobs.start < 0)] = UNKNOWN
    # One that was resized is a record for each size; those before the last have an end.
    running = np.isin(state, [*RUNNING]) & ~((state == "RESIZING") & has_run)
    jobs.end[running] = UNKNOWN
    ended = (jobs.start >= 0) & ~running & (state != "")
    counted = ended & (jobs.end < 0) & (jobs.elapsed >= 0)
    jobs.end[counted] = (jobs.start + jobs.elapsed)[counted]
    for row in np.flatnonzero(ended & (jobs.end < 0)).tolist():
        text = table.columns["End"][row]
        table.leave_out(row, "End", f"{text}, but the job is {state[row]}: write its end, or take out the line")
    _check_order(table, "Submit", jobs.submit, "Start", jobs.start)
    _check_order(table, "Start", jobs.start, "End", jobs.end)
    # Local times may say an hour less: when clocks go back.
    longer = (jobs.start >= 0) & (jobs.end >= 0) & (jobs.elapsed > jobs.end - jobs.start + _HOUR)
    name = "ElapsedRaw" if "ElapsedRaw" in table.columns else "Elapsed"
    for row in np.flatnonzero(longer).tolist():
        table.leave_out(row, name, f"{table.columns[name][row]} is longer than from Start to End")
    missing = (jobs.end >= 0) & (jobs.elapsed < 0)
    jobs.elapsed[missing] = (jobs.end - jobs.start)[missing]


def _check_order(table: Table, earlier: str, before: IntColumn, later: str, after: IntColumn) -> None:
    for row in np.flatnonzero((before >= 0) & (after >= 0) & (after < before)).tolist():
        text = table.columns[later][row]
        table.leave_out(row, later, f"{text} is before {earlier}: name the time zone of the file with --time-zone")


def _was_nowhere(table: Table, state: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Mark jobs that were given no nodes. If no column tells, those that were cancelled had none."""
    nodes, tres = table.columns.get("NodeList"), table.columns.get("AllocTRES")
    if nodes is not None:
        return np.array([one in _NOWHERE for one in nodes])
    return state == "CANCELLED" if tres is None else np.array([one == "" for one in tres])
