"""Slurm's main pass: jobs in queue order, each started if it fits, with the blocking rule.

A job that must wait for resources blocks its partition: no later job of that partition is tried in this pass, and all
the partition's nodes leave the available set, so that partitions which share nodes with it wait as well. Partitions
with nodes of their own go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.core.guard import SchedCalls
    from rota.core.lifecycle import Lifecycle
    from rota.core.state import ClusterState


def main_pass(state: ClusterState, lifecycle: Lifecycle, sched: SchedCalls) -> None:
    """Start every job that is first in line and fits."""
    pool = state.pool
    avail = pool.free
    blocked: set[str] = set()
    for job in state.queue.snapshot():
        if not job.sort_key or job.alloc or job.partition.name in blocked:
            continue
        # A plugin that was told of a start may have made others.
        resources = pool.select(job, pool.common(avail, pool.free))
        if resources:
            lifecycle.start(job, resources)
            avail -= resources
        else:
            blocked.add(job.partition.name)
            avail = pool.without(avail, job.partition.nodes)
            sched.job_is_pending()
            if not avail:
                break
