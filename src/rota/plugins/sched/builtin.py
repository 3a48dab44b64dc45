"""Strict FIFO: jobs start in queue order, and the first that does not fit blocks its partition.

This is Slurm's main pass, which the engine makes after every call of this plugin, which starts no jobs. With one
partition and ``priority/basic`` it is FCFS as in the literature. Cost: O(jobs started + partitions) for each pass.

In addition, every ``bf_interval`` seconds, if anything has changed, the starts of the first jobs in the queue are
*estimated*. These estimates are only shown:

1. The estimated start of a job is the time at which running jobs, by their time limits, leave enough resources for it,
   without regard to other pending jobs.
2. If some of its nodes are also estimated for a job before it, it does not start before the end of the job that was
   estimated last, whatever the nodes of that job are.

So estimates are rough: they may include waiting for an unrelated job.

=================== ======= ============================================================================================
option              default meaning
=================== ======= ============================================================================================
bf_interval         30 s    between estimates; -1: none. There are none either if slurm.conf does not set the option,
                            or sets it for another SchedulerType: they would take most of the time of a replay
bf_max_job_test     50      jobs estimated; as in Slurm it is one more
=================== ======= ============================================================================================

Cost of the estimates: O(jobs estimated × log running jobs) searches for nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.interfaces.stubs.sched import *
from rota.interfaces.stubs.sched import SLURM_SUCCESS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.interfaces import Controller, Job

plugin_type = "sched/builtin"
plugin_name = "first in, first out"
plugin_version = 100

#: Seconds to plan ahead: no bound.
_EVER = 2**40

_ctld: Controller
#: Number of jobs that are estimated, less one.
_max_job_test = 50
#: Jobs with an estimated start.
_estimated: list[Job] = []
#: Cancels the timer of the estimates.
_stop: Callable[[], None] | None = None


def init(ctld: Controller) -> int:
    """Keep the controller and begin to estimate, if slurm.conf says so."""
    global _ctld
    _ctld = ctld
    _estimated[:] = [job for job in ctld.jobs.values() if job.planned_start is not None]
    return slurm_sched_p_reconfig()


def slurm_sched_p_reconfig() -> int:
    """Read ``bf_interval`` and ``bf_max_job_test``."""
    global _max_job_test, _stop
    config = _ctld.config
    most = config.scheduler_int("bf_max_job_test", 50, 1, 1_000_000)
    interval = config.scheduler_int("bf_interval", -1, -1, 10800)
    if interval == 0:
        raise config.error("SchedulerParameters", "bf_interval=0: write seconds, or -1 for no estimates")
    if _stop is not None:
        _stop()
        _stop = None
    _max_job_test = most
    if interval > 0 and config.get("SchedulerType", plugin_type) == plugin_type:
        _stop = _ctld.every(interval, estimate, only_after_change=True, quiet=True)
    return SLURM_SUCCESS


def slurm_sched_p_initial_priority(last_prio: int, job_ptr: Job) -> int:
    """Forward to the priority plugin."""
    return _ctld.priority.set(last_prio, job_ptr)


def estimate() -> None:
    """Estimate when and on which nodes the first jobs of the queue will start."""
    for job in _estimated:
        _ctld.plan(job, None)
    _estimated.clear()
    space = _ctld.node_space(1, _EVER)
    now, used, tested = _ctld.now, 0, 0
    last_end = now - 1
    for job in _ctld.queue:
        if job.partition is not job.whole.partition:
            continue  # only the first of several partitions counts
        if tested > _max_job_test:
            break
        tested += 1
        found = space.earliest(job, job.time_limit, now)
        if found is None:
            continue
        start, nodes, _ = found
        if nodes & used and start <= last_end:
            start = last_end
        used |= nodes
        last_end = start + job.time_limit
        _ctld.plan(job, start, nodes)
        _estimated.append(job)
