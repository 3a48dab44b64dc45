"""Slurm's backfill scheduler, in its main lines.

Jobs start in queue order by the engine's main pass. Besides, every ``bf_interval`` seconds, if anything has changed, a
*cycle* walks through the queue in order with a profile of future availability:

1. Running jobs leave the profile at their expected ends, rounded up to ``bf_resolution``.
2. For each job, ``bf_max_job_test`` at most, the earliest time is sought at which it fits for its time limit. If that
   is now, it starts. If not, its resources (whole nodes on a machine of nodes) are reserved from then on for the time
   limit, rounded up to ``bf_resolution``: no later job may touch them. What lies beyond ``bf_window`` is left for
   another cycle.

So every job that is tested gets a reservation, as in conservative backfilling, but the plan is made anew in each cycle.
``bf_continue`` is accepted and has no effect: a cycle takes no time here, so nothing can change in the middle of it.

Cost of a cycle: O(jobs tested × steps of the profile).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.interfaces import SLURM_SUCCESS
from rota.interfaces.stubs.sched import *

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.interfaces import Controller, Job

plugin_type = "sched/backfill"
plugin_name = "backfilling as in Slurm"
plugin_version = 100

_ctld: Controller
#: Seconds.
_interval = 30
_resolution = 60
_window = 86400
_max_job_test = 500
#: Jobs that the last cycle has planned a start for.
_planned: list[Job] = []
#: Stops the cycles.
_stop: Callable[[], None] | None = None


def init(ctld: Controller) -> int:
    """Keep the controller and begin the cycles."""
    global _ctld
    _ctld = ctld
    return slurm_sched_p_reconfig()


def slurm_sched_p_reconfig() -> int:
    """Read the ``bf_`` options of SchedulerParameters."""
    global _interval, _resolution, _window, _max_job_test, _stop
    config = _ctld.config
    _interval = config.scheduler_int("bf_interval", 30, 1, 10800)
    _resolution = config.scheduler_int("bf_resolution", 60, 1, 3600)
    _window = config.scheduler_int("bf_window", 1440, 1, 30 * 1440) * 60
    _max_job_test = config.scheduler_int("bf_max_job_test", 500, 1, 1_000_000)
    if _stop is not None:
        _stop()
    _stop = _ctld.every(_interval, _cycle, only_after_change=True)
    return SLURM_SUCCESS


def slurm_sched_p_initial_priority(last_prio: int, job_ptr: Job) -> int:
    """Forward to the priority plugin."""
    return _ctld.priority.set(last_prio, job_ptr)


def slurm_sched_p_get_conf() -> str:
    """Report the options in force."""
    return (
        f"bf_interval={_interval},bf_max_job_test={_max_job_test},bf_resolution={_resolution},bf_window={_window // 60}"
    )


def _cycle() -> None:
    """Plan the queue anew, and start the jobs whose planned time is now."""
    for job in _planned:
        _ctld.plan(job, None)
    _planned.clear()
    now = _ctld.now
    profile = _ctld.profile(_resolution)
    # Within a cycle the profile only loses: a request like an earlier one cannot start before that one could.
    earliest: dict[tuple[object, ...], int | None] = {}
    for job in _ctld.queue[:_max_job_test]:
        request = (job.partition.name, job.units, job.num_cpus, job.time_limit)
        after = earliest.get(request, now)
        found = None if after is None else profile.earliest(job, job.time_limit, after, before=now + _window)
        if found is None:
            earliest[request] = None
            continue
        start, resources = found
        earliest[request] = start
        if start > now:
            _ctld.plan(job, start, resources)
            _planned.append(job)
        elif _ctld.start(job, resources) is not None:
            continue
        profile.take(start, _round_up(start + job.time_limit), resources)


def _round_up(time: int) -> int:
    return -(-time // _resolution) * _resolution
