"""What will be free when: the future as running jobs reach their expected ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.model import Reason
from rota.resources import FutureProfile, make_space
from rota.resources.license_space import LicensedSpace

if TYPE_CHECKING:
    from rota.core.state import ClusterState
    from rota.model import Job
    from rota.resources.node_space import CountedSpace, NodeSpace

    Space = CountedSpace | NodeSpace | LicensedSpace


def profile_of(state: ClusterState, resolution: int = 1) -> FutureProfile:
    """Make the profile of what running jobs will free; those that are completing count as free now."""
    pool = state.pool
    up, common = pool.up, pool.common
    ending = [(state.now, common(job.alloc, up)) for job in state.completing.values()]
    ending += [(-(-(job.end_time or 0) // resolution) * resolution, common(job.alloc, up)) for job in state.running]
    return FutureProfile(pool, state.now, ending)


def node_space_of(state: ClusterState, resolution: int, window: int) -> Space:
    """Make what backfill plans with; jobs that are completing will have ended in a second."""
    jobs = [*state.completing.values(), *state.running]
    space = make_space(state.pool, state.now, jobs, resolution=resolution, window=window)
    if Reason.LICENSES not in state.held_in_queue:
        return space
    total, last = state.licenses.total, state.now + window
    return LicensedSpace(space, total, now=state.now, running=jobs, resolution=resolution, last=last)


def earliest_start(state: ClusterState, job: Job) -> tuple[int, int] | None:
    """Give the first time when running jobs leave enough for the job, and all that is free then."""
    pool, need = state.pool, job.units
    up, select, common, size = pool.up, pool.select, pool.common, pool.size
    avail = pool.free
    for other in state.completing.values():
        avail += common(other.alloc, up)
    if select(job, avail):
        return state.now, avail
    running = iter(state.running)
    for other in running:
        avail += other.alloc
        # By number first: that is cheap, and necessary on all kinds of machine.
        if size(avail) >= need and select(job, common(avail, up)):
            end: int = other.end_time  # type: ignore[assignment] # a running job has one
            break
    else:
        return None
    for other in running:
        if other.end_time != end:
            break
        avail += other.alloc
    return end, common(avail, up)
