"""The options of SchedulerParameters that limit and delay scheduling passes.

An option that slurm.conf does not set has no effect, even if Slurm's default would have one: the published schedules
require a pass over the whole queue after every event. See ``docs/plugins/sched.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.model import ClusterConfig

#: Largest value of an option: Slurm reads it as ``int``.
_MOST = 2**31 - 1
#: Seconds between passes over the whole queue, if other passes are limited.
_FULL_PASS_S = 60
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PassOptions:
    """The options in force; see ``docs/plugins/sched.md``."""

    #: Largest number of jobs tested in a pass, 1 more than ``default_queue_depth``; ``None``: no bound.
    most_jobs: int | None = None
    #: Largest number of jobs tested of each partition; 0: no bound, here and below.
    partition_job_depth: int = 0
    #: Largest number of jobs started in a pass.
    sched_max_job_start: int = 0
    #: Whether there are no main passes: ``sched_interval=-1``.
    is_off: bool = False
    #: Seconds between passes over the whole queue; 0: there are no such extra passes.
    full_pass_s: int = 0
    #: Smallest number of seconds between passes.
    sched_min_interval_s: int = 0
    #: Smallest number of seconds between passes after submissions and changes.
    batch_sched_delay: int = 0
    #: Whether passes after other events are delayed like those after submissions.
    defer: bool = False
    #: Whether that applies to ends of jobs without an ``Epilog``, too, unless they were stopped.
    ends_wait: bool = True
    #: Jobs with a shorter wait (seconds) or a lower priority do not block others.
    bf_min_age_reserve: int = 0
    bf_min_prio_reserve: int = 0

    @classmethod
    def read(cls, config: ClusterConfig) -> PassOptions:
        """Read SchedulerParameters.

        Raises:
            InputError: an option cannot be used.
        """
        named = config.scheduler_parameters()
        depth = config.scheduler_int("default_queue_depth", 100, 0, _MOST)
        interval = config.scheduler_int("sched_interval", _FULL_PASS_S, -1, _MOST)
        starts = config.scheduler_int("sched_max_job_start", 0, 0, _MOST)
        least_us = config.scheduler_int("sched_min_interval", 2, 0, _MOST)
        delay = config.scheduler_int("batch_sched_delay", 3, 0, _MOST)
        is_cut_short = "default_queue_depth" in named or starts
        return cls(
            most_jobs=depth + 1 if "default_queue_depth" in named else None,
            partition_job_depth=config.scheduler_int("partition_job_depth", 0, 0, _MOST),
            sched_max_job_start=starts,
            is_off=interval == -1,
            # What a pass has not tested has to be tested later, even if no event happens.
            full_pass_s=max(interval, 1) if interval >= 0 and ("sched_interval" in named or is_cut_short) else 0,
            # The clock has whole seconds, so shorter intervals have no effect.
            sched_min_interval_s=-(-least_us // _MICROSECONDS) if least_us >= _MICROSECONDS else 0,
            batch_sched_delay=delay if "batch_sched_delay" in named or "defer" in named else 0,
            defer="defer" in named,
            ends_wait=not config.get("Epilog"),
            bf_min_age_reserve=config.scheduler_int("bf_min_age_reserve", 0, 0, 30 * 86400),
            bf_min_prio_reserve=config.scheduler_int("bf_min_prio_reserve", 0, 0, 2**32 - 1),
        )

    @property
    def delays(self) -> bool:
        """Whether passes may be delayed, or are made without an event."""
        return bool(self.full_pass_s or self.sched_min_interval_s or self.batch_sched_delay)
