"""Reading files of ``sacct`` as a workload.

Each job is submitted when it was, and runs as long as it did. A job that became eligible later than it was submitted
(``--begin``, a dependency, a hold) can start from then on. In detail:

- a job without a start is left out: nobody knows how long it would have run. One that was cancelled before it started
  has the time until then as its wait, and no run time: see `rota.workload.Workload`;
- a job that has not ended runs to its time limit, or without one to the last time in the files;
- of a run that is in several files the last record counts that has an end;
- each task of an array is a job of its own, and so is each run of a job that was requeued. Those without a number of
  their own (the file has no JobIDRaw) get numbers above all others. The numbers of an array's tasks are given out anew
  in the order of the tasks, in which Slurm starts them: there the last one has the lowest number, that of the array.

A file of a hundred thousand jobs is read in about a second.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.model import InputError
from rota.model.counts import counted
from rota.workload.checks import shown
from rota.workload.fields import UNKNOWN
from rota.workload.names import numbered
from rota.workload.sacct.jobs import RUNNING, WAITING, Jobs, read_jobs
from rota.workload.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from rota.model import JobSpec
    from rota.workload.fields import IntColumn

#: A task of an array, or a component of a heterogeneous job.
_TASK = re.compile(r"\d+[_+]\d+", re.ASCII)
#: Numbers of tasks have at most this many digits.
_DIGITS = 15
#: If not more than one job in so many is of another cluster, its line is odd; else the file is of several.
_ONE_IN = 20
#: Status in SWF by state: 0 for all others that have ended.
_STATUS = {"COMPLETED": 1, "CANCELLED": 5, "": UNKNOWN, **dict.fromkeys(RUNNING | WAITING, UNKNOWN)}


def read_sacct(paths: Sequence[Path], time_zone: str = "") -> Workload:
    """Read files of ``sacct``, gzip or plain.

    Args:
        paths: The files, of one cluster. A job may be in several.
        time_zone: Of local times in them; empty: UTC.

    Raises:
        InputError: a file cannot be read, or a column, line or value is missing or wrong.
    """
    read = [read_jobs(path, time_zone) for path in paths]
    jobs, others = _of_one_cluster(_current([one for parts, _, _ in read for one in parts]), paths[0])
    _sort_tasks(jobs)
    again = _number(jobs)
    jobs = jobs.take(np.lexsort((jobs.number, jobs.submit)))
    origin = int(jobs.submit.min())
    zone = [f"; TimeZoneString: {time_zone}"] if time_zone else []
    source = paths[0] if len(paths) == 1 else paths[0].absolute().parent
    columns = _columns(jobs, origin)
    return Workload.build(
        source.name,
        columns,
        header=[f"; UnixStartTime: {origin}", *zone],
        source=source,
        requests=_completed(jobs, columns["user_id"].tolist()),
        nodes=tuple(jobs.nodes.tolist()),
        tasks=_tasks(jobs),
        notes=(*(note for _, notes, _ in read for note in notes), *others, *_notes(jobs, again)),
        untold=frozenset[str]().union(*(untold for _, _, untold in read)),
    )


def _columns(jobs: Jobs, origin: int) -> dict[str, Any]:
    procs = np.array([one.num_cpus for one in jobs.requests])
    last = int(max(jobs.submit.max(), jobs.start.max(), jobs.end.max()))
    longest = np.where(jobs.limit > 0, np.maximum(jobs.limit, jobs.elapsed), np.maximum(last - jobs.start, 1))
    left = np.where(jobs.start >= 0, jobs.start, jobs.withdrawn)
    has_uid = bool(np.strings.isdecimal(jobs.uid).all())
    return {
        "line": jobs.line,
        "job_number": jobs.number,
        "submit_time": jobs.submit - origin,
        "wait_time": np.where(left >= 0, left - jobs.submit, UNKNOWN),
        "run_time": np.where(_unfinished(jobs), longest, jobs.elapsed),
        "requested_procs": procs,
        "allocated_procs": procs,
        "requested_time": jobs.limit,
        "status": np.array([_STATUS.get(one, 0) for one in jobs.state.tolist()]),
        "user_id": np.array([*map(int, jobs.uid)] if has_uid else numbered(one.user for one in jobs.requests)),
        "group_id": np.array(numbered(one.account for one in jobs.requests)),
        "queue": np.array(numbered(one.qos for one in jobs.requests)),
        "partition": np.array(numbered(one.partition for one in jobs.requests)),
    }


def _unfinished(jobs: Jobs) -> NDArray[np.bool_]:
    return (jobs.start >= 0) & (jobs.end < 0)


def _early(jobs: Jobs) -> NDArray[np.bool_]:
    """Mark the jobs that have started before they could."""
    return (jobs.start >= 0) & (jobs.eligible > jobs.start)


def _completed(jobs: Jobs, users: Sequence[int]) -> tuple[JobSpec, ...]:
    """Add user ids and earliest starts to the requests; most jobs share theirs with others."""
    eligible = np.where(_early(jobs), jobs.start, jobs.eligible)
    begins = np.where(eligible > jobs.submit, eligible, 0).tolist()
    made: dict[tuple[int, int, int], JobSpec] = {}
    completed = []
    for spec, user, begin in zip(jobs.requests.tolist(), users, begins, strict=True):
        key = id(spec), user, begin
        if key not in made:
            made[key] = spec._replace(user_id=max(user, 0), begin_time=begin)
        completed.append(made[key])
    return tuple(completed)


def _current(files: Sequence[Jobs]) -> Jobs:
    """Join files; of a run that is in several the last record is kept that has an end, or else the last."""
    jobs = Jobs.joined(files)
    if len(files) == 1:
        return jobs
    _, job = np.unique(jobs.ids, return_inverse=True)
    _, run = np.unique(np.stack([job, jobs.start], axis=1), axis=0, return_inverse=True)
    of_file = np.repeat(np.arange(len(files)), [len(one) for one in files])
    rank = of_file + len(files) * (jobs.end >= 0)
    best = np.full(len(jobs), UNKNOWN)
    np.maximum.at(best, run.ravel(), rank)
    return jobs.take(best[run.ravel()] % len(files) == of_file)


def _of_one_cluster(jobs: Jobs, path: Path) -> tuple[Jobs, list[str]]:
    """Leave out the jobs of other clusters than that of nearly all, and say so. One that names none is of that.

    Raises:
        InputError: there are many of them.
    """
    names, counts = np.unique(jobs.cluster[jobs.cluster != ""], return_counts=True)
    if len(names) < 2:
        return jobs, []
    most = int(counts.argmax())
    other = (jobs.cluster != "") & (jobs.cluster != names[most])
    if other.sum() * _ONE_IN > len(jobs):
        problem = f"jobs of several clusters ({', '.join(names)}): run sacct with -M and one of them"
        raise InputError(problem, path=path)
    row = int(other.argmax())
    count = counted(int(other.sum()), "a job is", "{} jobs are")
    first = f"{jobs.ids[row]} of {shown(str(jobs.cluster[row]))}"
    return jobs.take(~other), [f"warning: {count} left out that {names[most]} did not run: {first} is the first"]


def _tasks(jobs: Jobs) -> tuple[str, ...] | None:
    names = tuple(name if _TASK.fullmatch(name) else "" for name in jobs.ids.tolist())
    return names if any(names) else None


def _sort_tasks(jobs: Jobs) -> None:
    """Give out the numbers of each array's tasks anew, in the order of the tasks."""
    array, is_task, task = (np.strings.partition(jobs.ids, "_")[part] for part in range(3))
    is_number = np.strings.isdecimal(task) & (np.strings.str_len(task) <= _DIGITS)
    rows = np.flatnonzero((is_task == "_") & is_number & (jobs.number >= 0))
    if not len(rows):
        return
    tasks = task[rows].astype(np.int64)
    _, of_array = np.unique(array[rows], return_inverse=True)
    # Runs of a task have the same number: each task counts once.
    _, first, again = np.unique(np.stack([of_array, tasks], axis=1), axis=0, return_index=True, return_inverse=True)
    numbers = jobs.number[rows][first]
    jobs.number[rows] = numbers[np.lexsort((numbers, of_array[first]))][again.ravel()]


def _number(jobs: Jobs) -> IntColumn:
    """Number jobs that have no number, or that of another; give the new numbers of the latter."""
    _, first = np.unique(jobs.number, return_index=True)
    again = jobs.number >= 0
    again[first] = False
    new = again | (jobs.number < 0)
    free = int(jobs.number.max(initial=0)) + 1
    jobs.number[new] = np.arange(free, free + new.sum())
    return jobs.number[again]


def _notes(jobs: Jobs, again: IntColumn) -> list[str]:
    notes = []
    if count := int(_unfinished(jobs).sum()):
        end = "runs to its time limit, or else to the last time recorded"
        notes.append(counted(count, f"a job had not ended: it {end}", f"{{}} jobs had not ended: each {end}"))
    if count := int(_early(jobs).sum()):
        one = "a job was eligible after its start, as recorded: it can start when it did"
        several = "{} jobs were eligible after their start, as recorded: each can start when it did"
        notes.append(counted(count, one, several))
    components = [one for one in jobs.ids.tolist() if "+" in one]
    if components:
        whole = len({one.partition("+")[0] for one in components})
        lines = counted(len(components), "a line is a component", "{} lines are components")
        of = counted(whole, "one heterogeneous job", "{} heterogeneous jobs")
        notes.append(
            f"warning: {lines} of {of}, the first of them {components[0]}: components started together, and are jobs "
            "of their own here, which start when each can"
        )
    if len(again):
        one = f"a line has the number of another job: it is a job of its own, with the number {again[0]} here"
        several = "{} lines have the number of another job: each is a job of its own, the first with the number "
        notes.append(counted(len(again), one, f"{several}{again[0]} here"))
    return notes
