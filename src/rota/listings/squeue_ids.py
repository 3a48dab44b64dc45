"""Which jobs ``squeue -j`` asks for, and records of job arrays in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError
from rota.commands.job_ids import parse_job_id
from rota.commands.lists import split_list
from rota.model.array import fold_tasks, parse_array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.commands.job_ids import JobId
    from rota.model.lines import JobLine

#: Most task ids that ``-r`` lists apart for one record.
_MOST_TASKS = 100_000


def parse_ids(text: str) -> list[JobId]:
    """Parse ``-j``.

    Raises:
        UsageError: one of them is no job id.
    """
    found = []
    for word in split_list("".join(text.split()[:1])):
        one = parse_job_id(word)
        if one is None:
            raise UsageError(f"squeue: error: Invalid job id: {word}\n")
        found.append(one)
    return found


def choose(ids: list[JobId], shown: list[JobLine], everything: list[JobLine]) -> list[JobLine]:
    """Choose the jobs that were asked for.

    Raises:
        UsageError: only one was asked for, and there is no such job.
    """
    by_id: dict[int, list[JobLine]] = {}
    for job in shown:
        by_id.setdefault(job.job_id, []).append(job)
        if job.array_job_id is not None and job.array_job_id != job.job_id:
            by_id.setdefault(job.array_job_id, []).append(job)
    chosen: dict[str, JobLine] = {}
    for one in ids:
        for job in by_id.get(one.job_id, ()):
            part = job if not one.tasks else _part_of(job, one)
            if part is not None:
                chosen.setdefault(part.shown_id, part)
    if len(ids) == 1:
        number = ids[0].job_id
        if not any(number in {job.job_id, job.array_job_id} for job in everything):
            raise UsageError("slurm_load_jobs error: Invalid job id specified\n")
    return _together(list(chosen.values()))


def _part_of(job: JobLine, wanted: JobId) -> JobLine | None:
    """Give a task, or the record of pending tasks with only those asked for; ``None``: it has none of them."""
    if job.array_job_id != wanted.job_id:
        return None
    if job.array_task.isdecimal():
        return job if int(job.array_task) in wanted.tasks else None
    listed = job.array_task.strip("[]").partition("%")[0]
    try:
        tasks = sorted(set(parse_array(listed, 2**31).ids).intersection(wanted.tasks))
    except ValueError:
        return None
    if not tasks:
        return None
    if len(tasks) == 1:
        return job._replace(array_task=str(tasks[0]))
    return job._replace(array_task=f"[{fold_tasks(tasks)}]")


def _together(jobs: list[JobLine]) -> list[JobLine]:
    """Put pending tasks of one record, chosen one by one, together again."""
    parts: dict[int, list[int]] = {}
    for job in jobs:
        if job.pending and job.array_task.isdecimal() and job.array_job_id is not None:
            parts.setdefault(job.job_id, []).append(int(job.array_task))
    found: list[JobLine] = []
    seen: set[int] = set()
    for job in jobs:
        tasks = parts.get(job.job_id, [])
        if len(tasks) < 2 or not job.array_task.isdecimal():  # one task, or not of an array
            found.append(job)
        elif job.job_id not in seen:
            seen.add(job.job_id)
            found.append(job._replace(array_task=f"[{fold_tasks(sorted(tasks))}]"))
    return found


def tasks_apart(job: JobLine) -> Iterable[JobLine]:
    """Give each pending task of a job array as a record of its own."""
    if job.array_task[:1] != "[":
        return (job,)
    try:
        tasks = parse_array(job.array_task.strip("[]").partition("%")[0], 2**31).ids[:_MOST_TASKS]
    except ValueError:
        return (job,)
    return [job._replace(array_task=str(task)) for task in tasks]


def partitions_apart(job: JobLine) -> Iterable[JobLine]:
    """Give a job that may run in several partitions as a record of each."""
    if "," not in job.partition:
        return (job,)
    return [job._replace(partition=name) for name in job.partition.split(",")]
