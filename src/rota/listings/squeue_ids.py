"""Which jobs ``squeue -j`` asks for, and records of job arrays in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError
from rota.commands.job_ids import parse_job_ids
from rota.model.array import MOST_TASKS, fold_tasks, parse_array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.commands.job_ids import JobId
    from rota.model.lines import JobLine

#: Most task ids that ``-r`` lists apart for one record.
_APART = 100_000


def parse_ids(text: str) -> list[JobId]:
    """Parse ``-j``.

    Raises:
        UsageError: one of them is no job id.
    """
    return parse_job_ids("squeue", text.split()[:1], _no_id)


def _no_id(word: str) -> UsageError:
    return UsageError(f"squeue: error: Invalid job id: {word}\n")


def choose(ids: list[JobId], shown: list[JobLine], everything: list[JobLine]) -> list[JobLine]:
    """Choose the jobs that were asked for, in the order in which they were; each record is looked at once.

    Raises:
        UsageError: only one was asked for, and there is no such job.
    """
    wanted: dict[int, set[int]] = {}
    for one in ids:
        wanted.setdefault(one.job_id, set()).update(one.tasks)
    whole = {one.job_id for one in ids if not one.tasks}
    by_id: dict[int, list[JobLine]] = {}
    for job in shown:
        by_id.setdefault(job.job_id, []).append(job)
        if job.array_job_id is not None and job.array_job_id != job.job_id:
            by_id.setdefault(job.array_job_id, []).append(job)
    chosen: dict[int, JobLine] = {}
    for job_id, tasks in wanted.items():
        for job in by_id.get(job_id, ()):
            part = job if job_id in whole else _part_of(job, job_id, tasks)
            if part is not None:
                chosen.setdefault(part.job_id, part)
    if len(ids) == 1:
        number = ids[0].job_id
        if not any(number in {job.job_id, job.array_job_id} for job in everything):
            raise UsageError("slurm_load_jobs error: Invalid job id specified\n")
    return list(chosen.values())


def _part_of(job: JobLine, array_job_id: int, wanted: set[int]) -> JobLine | None:
    """Give a task, or the record of pending tasks with only those asked for; ``None``: it has none of them."""
    if job.array_job_id != array_job_id:
        return None
    if job.array_task.isdecimal():
        return job if int(job.array_task) in wanted else None
    listed = job.array_task.strip("[]").partition("%")[0]
    try:
        tasks = sorted(wanted.intersection(parse_array(listed, MOST_TASKS).ids))
    except ValueError:
        return None
    if not tasks:
        return None
    if len(tasks) == 1:
        return job._replace(array_task=str(tasks[0]))
    return job._replace(array_task=f"[{fold_tasks(tasks)}]")


def tasks_apart(job: JobLine) -> Iterable[JobLine]:
    """Give each pending task of a job array as a record of its own."""
    if job.array_task[:1] != "[":
        return (job,)
    try:
        tasks = parse_array(job.array_task.strip("[]").partition("%")[0], MOST_TASKS).ids[:_APART]
    except ValueError:
        return (job,)
    return [job._replace(array_task=str(task)) for task in tasks]


def partitions_apart(job: JobLine) -> Iterable[JobLine]:
    """Give a job that may run in several partitions as a record of each."""
    if "," not in job.partition:
        return (job,)
    return [job._replace(partition=name) for name in job.partition.split(",")]
