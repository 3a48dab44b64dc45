"""The options of SchedulerParameters that bound the main pass, and those that put passes off.

An option that slurm.conf does not name has no effect, also where Slurm has a default that has one: a replay of the
published schedules looks at the whole queue after every event. See ``docs/plugins/sched.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.model import ClusterConfig

#: Slurm reads a C ``int``.
_MOST = 2**31 - 1
#: Seconds between passes over the whole queue where passes may end before that.
_FULL_PASS_S = 60
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PassOptions:
    """What is in force; see ``docs/plugins/sched.md`` for what each does."""

    #: Jobs after which a pass ends, one more than ``default_queue_depth`` says; ``None``: no bound.
    most_jobs: int | None = None
    #: Jobs of each partition that a pass looks at; 0: no bound, here and below.
    partition_job_depth: int = 0
    #: Starts after which a pass ends.
    sched_max_job_start: int = 0
    #: ``sched_interval=-1``: main passes are not made.
    is_off: bool = False
    #: Seconds between passes over the whole queue; 0: none but those that something calls for.
    full_pass_s: int = 0
    #: Seconds from one pass to the next, at least.
    sched_min_interval_s: int = 0
    #: Seconds from one pass that a submission called for to the next, at least.
    batch_sched_delay: int = 0
    #: Whatever calls for a pass waits like a submission.
    defer: bool = False
    #: Jobs that have waited less (seconds) or have a lower priority do not hold back others.
    bf_min_age_reserve: int = 0
    bf_min_prio_reserve: int = 0

    @classmethod
    def read(cls, config: ClusterConfig) -> PassOptions:
        """Read SchedulerParameters.

        Raises:
            InputError: a value cannot be used; says which.
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
            # What a pass has not come to must have its turn although nothing may happen any more.
            full_pass_s=max(interval, 1) if interval >= 0 and ("sched_interval" in named or is_cut_short) else 0,
            # The clock counts seconds: what is shorter cannot be waited for.
            sched_min_interval_s=-(-least_us // _MICROSECONDS) if least_us >= _MICROSECONDS else 0,
            batch_sched_delay=delay if "batch_sched_delay" in named or "defer" in named else 0,
            defer="defer" in named,
            bf_min_age_reserve=config.scheduler_int("bf_min_age_reserve", 0, 0, 30 * 86400),
            bf_min_prio_reserve=config.scheduler_int("bf_min_prio_reserve", 0, 0, 2**32 - 1),
        )

    @property
    def delays(self) -> bool:
        """Whether passes may have to wait, or are made although nothing calls for them."""
        return bool(self.full_pass_s or self.sched_min_interval_s or self.batch_sched_delay)
