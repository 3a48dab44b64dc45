"""Facts about a job that several commands show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.config.hostlist import fold_sorted
from rota.listings.text import plain
from rota.model import Reason

if TYPE_CHECKING:
    from rota.listings.view import View
    from rota.model.accounting import JobDetails
    from rota.model.lines import JobLine


#: What is said of a job that ended while nobody was there to see how.
END_NOT_SEEN = "The end was not seen as rota did not run then: the exit code is unknown"


def system_comment(job: JobLine) -> str:
    """Give what rota has to say about a job; empty: nothing."""
    return END_NOT_SEEN if job.reason == Reason.SYSTEM_FAILURE.value else ""


def gres_text(gres: str) -> str:
    """Give requested GRES as Slurm shows them: ``gres:gpu:1``."""
    return ",".join(f"gres:{item}" for item in plain(gres).split(",") if item)


def hosts_text(names: str) -> str:
    """Give requested nodes, whose names are separated by commas, as a hostlist."""
    return plain(fold_sorted(filter(None, names.split(","))))


def per_gpu(job: JobLine, name: str) -> str:
    """Give a count for each GPU: ``gres:gpu:2``."""
    count = getattr(job.request, name, 0)
    return f"gres:gpu:{count}" if count else "N/A"


def least_cpus(job: JobLine) -> int:
    """Give the smallest number of processors on each node."""
    return max(job.request.min_cpus_per_node, job.request.cpus_per_task, 1)


def least_memory(job: JobLine) -> tuple[float, bool]:
    """Give the memory that a job asks for in MiB, and whether it is for each processor."""
    if job.request.mem_per_node:
        return max(job.request.mem_per_node, 0), False
    if job.request.mem_per_cpu > 0:
        return job.request.mem_per_cpu, True
    memory = (job.tres_allocated or job.tres_requested).get("mem", 0)
    cpus = (job.tres_allocated or job.tres_requested).get("cpu", job.num_cpus)
    if memory and cpus and memory % cpus == 0:
        return memory // cpus, True
    return memory, False


def most_nodes(job: JobLine) -> int:
    """Give the largest number of nodes; 0: no bound was given."""
    return job.request.max_nodes


def tasks_of(job: JobLine) -> int:
    """Give the number of tasks; 0: it was never counted."""
    return job.request.num_tasks or max(job.request.num_cpus // max(job.request.cpus_per_task, 1), 1)


def sharing(job: JobLine) -> str:
    """Give whether a job shares resources."""
    return "NO" if job.request.exclusive else "YES" if job.request.oversubscribe else "OK"


def throttle(job: JobLine) -> str:
    """Give the largest number of tasks of an array that run at a time; empty: any number."""
    return job.request.array.partition("%")[2]


def start_shown(job: JobLine, now: int) -> int | None:
    """Give the start: as it was, as planned, or no earlier than asked for; of a job that never ran, its end."""
    if job.start_time is None and not job.pending:
        return job.end_time
    if job.expected_start is None:
        return job.request.begin_time if job.request.begin_time > now else None
    return job.expected_start


def end_shown(job: JobLine, now: int) -> int | None:
    """Give the end or, of a job that has not ended, when its time limit would be over."""
    if job.pending or job.base_state in {"RUNNING", "SUSPENDED"}:
        start = start_shown(job, now)
        return None if start is None or job.time_limit is None else start + job.time_limit
    return job.end_time


def eligible_time(job: JobLine) -> int | None:
    """Give the time at which a job became or becomes eligible."""
    known = job.reason == "BeginTime" or (not job.array_task and job.reason not in _NOT_ELIGIBLE)
    if job.eligible_time is None and job.pending and known:
        return max(job.request.begin_time, job.submit_time)
    if job.eligible_time is None and job.reason in _HELD and job.request.begin_time > job.submit_time:
        return job.request.begin_time
    return job.eligible_time


_HELD = frozenset({"JobHeldAdmin", "JobHeldUser"})
#: Reasons of jobs of which nobody knows when they will be eligible.
_NOT_ELIGIBLE = _HELD | {"Dependency", "DependencyNeverSatisfied", "Reservation"}


def accrue_time(job: JobLine, details: JobDetails, view: View) -> int | None:
    """Give the time since which a job gains priority by its age."""
    if details.accrue_time is None and "ACCRUE_ALWAYS" in view.config.get("PriorityFlags").upper():
        return job.submit_time
    return job.eligible_time if details.accrue_time is None else details.accrue_time


def requeues(job: JobLine, view: View) -> bool:
    """Whether a job is requeued when its node is lost."""
    return view.config.get("JobRequeue", "1") != "0" if job.request.requeue is None else job.request.requeue
