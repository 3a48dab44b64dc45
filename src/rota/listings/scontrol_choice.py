"""What ``scontrol show`` is asked for, in the order in which it is shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError
from rota.commands.job_ids import parse_job_id
from rota.config.hostlist import expand_hostlist
from rota.listings.squeue_ids import choose
from rota.listings.squeue_steps import running_steps
from rota.model.array import MOST_TASKS, parse_array

if TYPE_CHECKING:
    from rota.listings.squeue_steps import Step
    from rota.listings.view import View
    from rota.model.lines import JobLine, NodeLine


def choose_jobs(name: str | None, view: View) -> list[JobLine]:
    """Choose jobs; empty: a job array does not have the task that is asked for.

    Args:
        name: A job id, ``7`` or ``7_2``; ``None``: all jobs.
        view: The cluster.

    Raises:
        UsageError: there is no such job.
    """
    everything = sorted(view.jobs(), key=lambda job: job.job_id)
    if name is None or name == "0":
        return everything
    wanted = parse_job_id(name)
    if wanted is None or wanted.step or wanted.bracketed:
        raise UsageError("scontrol_print_job error: Invalid job id specified\n")
    number = wanted.job_id
    found = [job for job in everything if number in {job.job_id, job.array_job_id}]
    if not found:
        raise UsageError("slurm_load_jobs error: Invalid job id specified\n")
    if wanted.tasks:
        found = [part for job in found for part in _task_of(job, number, wanted.tasks[0])]
    exact = [job for job in found if job.job_id == number]
    others = [job for job in found if job.job_id != number and job.array_job_id == number]
    return [*exact, *reversed(others)]


def _task_of(job: JobLine, array: int, task: int) -> list[JobLine]:
    """Give the record of one task of a job array, in a list; an empty one if it is not of this record."""
    if job.array_job_id != array:
        return []
    if job.array_task.isdecimal():
        return [job] if int(job.array_task) == task else []
    try:
        tasks = parse_array(job.array_task.strip("[]").partition("%")[0], MOST_TASKS).ids
    except ValueError:
        return []
    return [job._replace(array_task=str(task))] if task in tasks else []


def choose_steps(name: str | None, view: View) -> list[Step]:
    """Choose running steps.

    Args:
        name: A job or step, ``7``, ``7_2`` or ``7.0``; ``None``: all steps.
        view: The cluster.

    Raises:
        UsageError: there are none. As in Slurm, the job is said to be invalid only where there are other jobs.
    """
    running = running_steps(view)
    if name is None:
        return running
    wanted = parse_job_id(name)
    if wanted is None or not wanted.job_id:
        number = re.match(r"[1-9]\d*(_\d+)?", name, re.ASCII)
        raise UsageError("", f"Job step {f'{number[0]}.0' if number else '0.Invalid'} not found\n")
    jobs = list(view.jobs())
    if jobs and not any(wanted.job_id in {job.job_id, job.array_job_id} for job in jobs):
        raise UsageError("slurm_get_job_steps error: Invalid job id specified\n")
    of_jobs = {job.job_id for job in choose([wanted], [one.job for one in running], jobs)} if jobs else set()
    found = [one for one in running if one.job.job_id in of_jobs and wanted.step in {"", one.step.step_id}]
    if not found:
        raise UsageError("", f"Job step {name if wanted.step else f'{name}.'} not found\n")
    return found


def choose_nodes(name: str | None, view: View) -> tuple[list[NodeLine], list[str]]:
    """Choose nodes, and give the names of those that do not exist.

    Args:
        name: A hostlist; ``None``: all nodes.
        view: The cluster.
    """
    nodes = view.nodes()
    if name is None:
        return list(nodes), []
    by_name = {node.name: node for node in nodes}
    try:
        named = expand_hostlist(name)
    except ValueError:
        named = [name]
    return [by_name[one] for one in named if one in by_name], [one for one in named if one not in by_name]
