"""EASY backfilling.

Rules, for one partition:

1. Jobs are started in queue order as long as they fit.
2. The first job that does not fit, the *head*, gets a reservation at the earliest time at which running jobs, by their
   time limits, leave enough resources for it: the *shadow time*. The other resources that are free then are *extra*.
3. A later job is *backfilled*, that is, started before the head, if it fits now and either ends by the shadow time or
   uses only extra resources. Candidates are tested in queue order, or in the order of time limits with
   ``SchedulerParameters=easy_order=sjf``.

No other job gets a reservation: EASY is aggressive. Each partition has a head, and candidates, which are tested after
all heads have been found, must not delay any of them.

With ``PreemptType``, running jobs are preempted for a head that fits without them. Until they have ended, no job behind
it starts on nodes of its partition.

If only new jobs have arrived since the last pass, only these are tested, with the reservations of that pass.

Cost of a pass: O(running jobs + queue), or O(new jobs) if nothing else has changed.

Source: D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995; shortest-first candidates: D. Tsafrir, Y. Etsion,
D. Feitelson, "Backfilling using system-generated predictions rather than user runtime estimates", IEEE TPDS 18(6),
2007.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from rota.interfaces import SLURM_SUCCESS, InputError, JobState, Reason
from rota.interfaces.stubs.sched import *

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from rota.interfaces import Controller, Job

plugin_type = "sched/easy"
plugin_name = "EASY backfilling"
plugin_version = 100

_ORDERS = ("fcfs", "sjf")
_PENDING = JobState.PENDING
_RESOURCES = Reason.RESOURCES


class _Reservation:
    """The reservation of a head."""

    __slots__ = ("extra", "shadow_time")

    def __init__(self, shadow_time: int, extra: int) -> None:
        self.shadow_time = shadow_time
        #: Resource set that is free at the shadow time and not needed by the head.
        self.extra = extra


_ctld: Controller
_shortest_first = False
#: Whether running jobs may be preempted; and bitmap of the nodes of partitions whose heads wait for preempted jobs.
_preempts = False
_closed = 0
#: Head of each partition, by its name; ``None``: a full pass is needed.
_heads: dict[str, Job] | None = None
#: Reservations of the heads whose shadow time is known.
_reservations: list[_Reservation] = []


def init(ctld: Controller) -> int:
    """Keep the controller, disable the main pass, read the options."""
    global _ctld
    _ctld = ctld
    ctld.disable_main_pass()
    result = slurm_sched_p_reconfig()
    if kept := ctld.keep(_save):
        _restore(kept)
    return result


def slurm_sched_p_reconfig() -> int:
    """Read ``easy_order`` from SchedulerParameters, and ``PreemptType``."""
    global _shortest_first, _heads, _preempts
    order = _ctld.config.scheduler_parameters().get("easy_order", "fcfs")
    if order not in _ORDERS:
        raise InputError(f"easy_order={order} is none of {', '.join(_ORDERS)}", field="SchedulerParameters")
    _shortest_first = order == "sjf"
    _preempts = _ctld.config.get("PreemptType", "preempt/none") != "preempt/none"
    _heads = None
    return SLURM_SUCCESS


def slurm_sched_p_initial_priority(last_prio: int, job_ptr: Job) -> int:
    """Forward to the priority plugin."""
    return _ctld.priority.set(last_prio, job_ptr)


def slurm_sched_p_get_conf() -> str:
    """Report the order of candidates."""
    return f"easy_order={'sjf' if _shortest_first else 'fcfs'}"


def _save() -> object:
    """Give heads and reservations as JSON data."""
    if _heads is None:
        return None
    heads = {name: job.job_id for name, job in _heads.items()}
    return [heads, [[one.shadow_time, _ctld.by_node(one.extra)] for one in _reservations]]


def _restore(kept: list[Any]) -> None:
    """Restore saved heads and reservations, unless the machine has changed."""
    global _heads, _reservations
    heads, reservations = kept
    try:
        _reservations = [_Reservation(time, _ctld.from_nodes(extra)) for time, extra in reservations]
    except ValueError:
        return
    if all(job_id in _ctld.jobs for job_id in heads.values()):
        _heads = {name: _ctld.jobs[job_id].in_partition(name) for name, job_id in heads.items()}


def slurm_sched_p_schedule() -> int:
    """Make a pass."""
    new_jobs = _ctld.new_jobs
    if _preempts or new_jobs is None or _heads is None or not _are_behind_heads(new_jobs, _heads):
        _full_pass()
    elif new_jobs:
        _backfill(new_jobs)
    return SLURM_SUCCESS


def _are_behind_heads(jobs: Iterable[Job], heads: dict[str, Job]) -> bool:
    """Whether each of the jobs is behind the head of its partition."""
    for job in jobs:
        head = heads.get(job.partition.name)
        if head is None or job.sort_key < head.sort_key:
            return False
    return True


def _full_pass() -> None:
    """Start jobs in queue order, make reservations for the heads, and backfill."""
    global _heads, _reservations, _closed
    _heads, _reservations, _closed = {}, [], 0
    candidates: list[Job] = []
    queue, free, size = _ctld.queue, _ctld.free, _ctld.size
    for position, job in enumerate(queue, start=1):
        if job.partition.name in _heads:
            candidates.append(job)
            continue
        if _closed and job.partition.nodes & _closed:
            continue
        if job.start_limits and _ctld.held_back(job) is not None:
            continue
        while job.units <= size(free) and _start(job, free) is None:
            free = _ctld.free
            if job.state is not _PENDING or not _waits(job):
                break
        else:
            _heads[job.partition.name] = job
            _reserve(job)
            if len(_heads) == len(_ctld.partitions):
                candidates += queue[position:]
                break
    if candidates:
        _backfill(candidates)


def _reserve(head: Job) -> None:
    """Make the reservation of a head, for which other jobs may be preempted."""
    global _closed
    if _preempts and _ctld.preempt(head, head.partition.nodes):
        _closed |= head.partition.nodes
    found = _ctld.earliest_start(head)
    if found is not None:
        shadow_time, avail = found
        _ctld.plan(head, shadow_time)
        _reservations.append(_Reservation(shadow_time, avail - _ctld.select(head, avail)))


def _backfill(candidates: Iterable[Job]) -> None:
    """Start the candidates that fit and delay no head."""
    free = _ctld.free
    if not free:
        return
    size, common = _ctld.size, _ctld.common
    free_units = size(free)
    # A job that needs more units than are free cannot fit; `_start` decides about the others.
    candidates = [job for job in candidates if job.units <= free_units]
    if _closed:
        candidates = [job for job in candidates if not job.partition.nodes & _closed]
    if not candidates:
        return
    extra_units, window = free_units, 0
    if _reservations:
        extra_units = size(common(free, _reservations[0].extra))
        window = _reservations[0].shadow_time - _ctld.now
    if _shortest_first:
        candidates.sort(key=attrgetter("time_limit"))
    # Resources only decrease in a pass: if a job does not fit, others like it do not either.
    failed: set[tuple[Hashable, int, str]] = set()
    for job in candidates:
        if job.units > free_units or (job.units > extra_units and job.time_limit > window):
            continue
        if failed and (_ctld.request_class(job), job.time_limit, job.spec.reservation) in failed:
            continue
        if job.start_limits and _ctld.held_back(job) is not None:
            continue
        while (refused := _start(job, free)) is None:
            free = _ctld.free
            if not free:
                return
            free_units = extra_units = size(free)
            if _reservations:
                extra_units = size(common(free, _reservations[0].extra))
            if job.state is not _PENDING or not _waits(job):
                break
        else:
            if refused is _RESOURCES:  # else it is a limit, which may not be another job's
                failed.add((_ctld.request_class(job), job.time_limit, job.spec.reservation))


def _waits(job: Job) -> bool:
    """Whether a job that has just been started is a job array with another task that may start."""
    return job.state is _PENDING and _ctld.held_back(job) is None


def _start(job: Job, free: int) -> Reason | None:
    """Start a job if it fits and delays no head with a reservation; give why not, ``None``: it was started."""
    delayed = []
    if _reservations:
        end = _ctld.now + job.time_limit
        for reservation in _reservations:
            if end > reservation.shadow_time:
                delayed.append(reservation)
                free = _ctld.common(free, reservation.extra)
    resources = _ctld.select(job, free)
    if not resources:
        return _RESOURCES
    refused = _ctld.start(job, resources)
    if refused is None:
        for reservation in delayed:
            reservation.extra -= resources
    return refused
