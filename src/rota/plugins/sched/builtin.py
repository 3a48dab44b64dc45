"""First in, first out, strictly: jobs start in queue order, and the first that does not fit blocks its partition.

That is Slurm's main pass, which the engine makes by itself after a scheduler that has started nothing; with one
partition and ``priority/basic`` it is FCFS as in the literature. O(jobs started + partitions) a pass.

Besides, every ``bf_interval`` seconds, if anything has changed, the starts of the first jobs in the queue are
*estimated*, for those who ask when a job will start. Nothing is decided by that:

1. A job is expected when running jobs have left enough for it, by their time limits, as if nobody else waited.
2. If its nodes are among those that jobs before it are expected on, it cannot be before the end of the job that was
   estimated last, wherever that one runs.

So the estimates are rough: a job may be said to wait for one that it has nothing to do with.

=================== ======= ============================================================================================
option              default meaning
=================== ======= ============================================================================================
bf_interval         30 s    between estimates; -1: none. Where slurm.conf does not name it, or names another
                            SchedulerType for which it is meant, none are made: they would take most of the time of a
                            replay, and nobody looks at them there
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

#: There is no horizon; seconds.
_EVER = 2**40

_ctld: Controller
#: How many jobs are estimated, less one.
_max_job_test = 50
#: Whose starts were estimated last.
_estimated: list[Job] = []
#: Stops the estimates.
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
    """Estimate anew when the first jobs of the queue will start, and on which nodes."""
    for job in _estimated:
        _ctld.plan(job, None)
    _estimated.clear()
    space = _ctld.node_space(1, _EVER)
    now, used, tested = _ctld.now, 0, 0
    last_end = now - 1
    for job in _ctld.queue:
        if job.partition is not job.whole.partition:
            continue  # of several partitions only the first counts
        if tested > _max_job_test:
            break
        tested += 1
        found = space.earliest(job, job.time_limit, now)
        if found is None:
            continue
        start, nodes = found
        if nodes & used and start <= last_end:
            start = last_end
        used |= nodes
        last_end = start + job.time_limit
        _ctld.plan(job, start, nodes)
        _estimated.append(job)
