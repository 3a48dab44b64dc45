"""Availability of resources over time, as running jobs reach their expected ends."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, cast

from rota.model import Reason
from rota.resources import FutureProfile, NodeSpace, ProcessorSpace
from rota.resources.future.license_space import LicenseSpace
from rota.resources.future.reserved_space import ReservationSpace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.core.cluster import Cluster
    from rota.core.job import Job
    from rota.resources.future.node_space import PreemptionRules
    from rota.resources.pools.pool import NodePool

    Space = ProcessorSpace | NodeSpace[Job] | LicenseSpace[Job] | ReservationSpace[Job]


#: What is added to an estimate that a job has outlived, in seconds: the first of these with which it has not.
#: Source: D. Tsafrir, Y. Etsion, D. Feitelson, IEEE TPDS 18(6), 2007.
_MINUTE, _HOUR = 60, 3600
CORRECTIONS = (
    *(minutes * _MINUTE for minutes in (1, 5, 15, 30)),
    *(hours * _HOUR for hours in (1, 2, 5, 10, 20, 50, 100)),
)


def profile_of(cluster: Cluster, resolution: int = 1, estimate: Callable[[Job], int] | None = None) -> FutureProfile:
    """Make the availability profile; resources of completing jobs count as free now.

    Args:
        cluster: The cluster.
        resolution: Seconds to a multiple of which the expected ends are rounded up.
        estimate: Gives the run time of a job in seconds; ``None``: its time limit.
    """
    state = cluster.state
    pool = state.pool
    up, common = pool.up, pool.common
    ending = [(state.now, common(job.alloc, up)) for job in state.completing.values()]
    if estimate is None:
        ending += [(-(-(job.end_time or 0) // resolution) * resolution, common(job.alloc, up)) for job in state.running]
    else:
        expected = [(estimated_end(job, estimate(job), state.now), job.alloc) for job in state.running]
        ending += [(-(-end // resolution) * resolution, common(alloc, up)) for end, alloc in sorted(expected)]
    profile = FutureProfile(pool, state.now, ending)
    for one in cluster.reservations.all.values():
        profile.take_what_is_free(max(one.start_time, state.now), one.end_time, pool.without(up, ~one.nodes))
    return profile


def estimated_end(job: Job, seconds: int, now: int) -> int:
    """Give when a running job is expected to end, by an estimate of its run time; see `Controller.profile`."""
    end, longest = job.effective_start + seconds, job.end_time or 0
    if end <= now:
        end = next((end + more for more in CORRECTIONS if end + more > now), longest)
    return min(end, longest)


def node_space_of(
    cluster: Cluster,
    rules: PreemptionRules[Job] | None,
    resolution: int,
    window: int,
    *,
    prefer_busy: bool = False,
    reserve_running: bool = False,
    step: int = 0,
    soft_limits: bool = False,
    gone: Sequence[Job] = (),
) -> Space:
    """Make the node space map of backfill; completing jobs are expected to end in a second.

    The rules say which jobs can be preempted, ``None``: none can; jobs in ``gone`` are ignored. For the other arguments
    see `Controller.node_space`.
    """
    state, book = cluster.state, cluster.reservations.all
    pool, now = state.pool, state.now
    jobs = [*state.completing.values(), *state.running]
    if gone:
        jobs = [job for job in jobs if job not in gone]
        pool = pool.without_jobs(gone)
    space: ProcessorSpace | NodeSpace[Job] | ReservationSpace[Job]
    if pool.interchangeable:  # no preemption and no reservations there
        space = ProcessorSpace(
            pool,
            now,
            jobs,
            resolution=resolution,
            window=window,
            soft_limits=soft_limits,
            ends_rounded_up=state.settings.ends_rounded_up,
        )
    else:
        make = partial(
            NodeSpace,
            cast("NodePool", pool),
            now,
            jobs,
            resolution=resolution,
            window=window,
            preemption_rules=rules,
            prefer_busy=prefer_busy,
            reserve_running=reserve_running,
            step=step,
            soft_limits=soft_limits,
            ends_rounded_up=state.settings.ends_rounded_up,
            from_start=state.settings.plans_from_start,
        )
        every = (1 << len(state.nodes)) - 1
        space = ReservationSpace(make, book, every, now=now, last=now + window) if book else make()
    if Reason.LICENSES not in cluster.queue.planned_reasons:
        return space
    return LicenseSpace(space, cluster.licenses.total, now=now, running=jobs, resolution=resolution, last=now + window)


def earliest_start(cluster: Cluster, job: Job) -> tuple[int, int] | None:
    """Give the first time at which the resources freed by running jobs suffice for a job.

    Returns:
        The time in Unix seconds, and the resource set that is free then; ``None``: they never suffice.
    """
    if cluster.reservations.all:
        return _earliest_start_among_reservations(cluster, job)
    state = cluster.state
    pool, need = state.pool, job.units
    up, select, common, size = pool.up, pool.select, pool.common, pool.size
    avail = pool.free
    for other in state.completing.values():
        avail += common(other.alloc, up)
    if select(job, avail):
        return state.now, avail
    running = iter(state.running.jobs)
    for other in running:
        avail += other.alloc
        # The number of units is tested first, as this is fast.
        if size(avail) >= need and select(job, common(avail, up)):
            end: int = other.end_time  # type: ignore[assignment] # running jobs have one
            break
    else:
        return None
    for other in running:
        if other.end_time != end:
            break
        avail += other.alloc
    return end, common(avail, up)


def _earliest_start_among_reservations(cluster: Cluster, job: Job) -> tuple[int, int] | None:
    """Give the same with reservations: each time at which more resources may be available is tested."""
    state, book = cluster.state, cluster.reservations
    pool = state.pool
    avail = pool.free + sum(pool.common(other.alloc, pool.up) for other in state.completing.values())
    running = deque((other.end_time or 0, pool.common(other.alloc, pool.up)) for other in state.running)
    times = {state.now, *(end for end, _ in running), *book.change_times()}
    for time in sorted(times):
        while running and running[0][0] <= time:
            avail += running.popleft()[1]
        closed = book.closed(job, time, job.time_limit)
        free = pool.without(avail, closed) if closed else avail
        if pool.select(job, free):
            return time, free
    return None
