"""What of slurm.conf the engine itself goes by, besides nodes, partitions and accounting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.model.array import MAX_ARRAY_SIZE, MOST_TASKS

if TYPE_CHECKING:
    from rota.model import ClusterConfig

_PARTITION_LIMITS = {"NO": "NO", "FALSE": "NO", "ANY": "ANY", "ALL": "ALL", "YES": "ALL", "TRUE": "ALL"}
_YEAR = 365 * 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is in force."""

    #: How many of a job's partitions it must be within the limits of when it is submitted: ``NO``, ``ANY``, ``ALL``.
    partition_limits: str
    #: Jobs are queued again unless they say otherwise.
    job_requeue: bool
    #: How often a job that loses its nodes is queued again before it is held.
    max_requeue: int
    #: Seconds that a job which is queued again waits at least.
    requeue_delay: int
    #: Seconds between SIGTERM and SIGKILL for what is stopped.
    kill_wait: int
    #: Task ids of job arrays are less than this, and no array has more tasks than that.
    max_array_size: int
    max_array_tasks: int
    #: A job that a limit holds back is first in line nevertheless.
    assoc_limit_stop: bool
    #: Seconds for which jobs that have ended are remembered, for those that depend on them.
    min_job_age: int
    #: Jobs whose dependencies can never be satisfied are cancelled unless they say otherwise.
    kill_invalid_depend: bool

    @classmethod
    def read(cls, config: ClusterConfig) -> Settings:
        """Read slurm.conf.

        Raises:
            InputError: a value cannot be used.
        """
        limits = config.get("EnforcePartLimits", "NO").upper()
        if limits not in _PARTITION_LIMITS:
            raise config.error("EnforcePartLimits", f"{limits!r} is none of NO, ANY, ALL")
        dependency_words = config.get("DependencyParameters").lower().split(",")
        size = config.integer("MaxArraySize", MAX_ARRAY_SIZE, 0, MOST_TASKS)
        return cls(
            partition_limits=_PARTITION_LIMITS[limits],
            job_requeue=config.integer("JobRequeue", 1, 0, 1) == 1,
            max_requeue=config.integer("MaxBatchRequeue", 5, 0, 2**32 - 1),
            requeue_delay=config.scheduler_int("requeue_delay", 0, 0, _YEAR),
            kill_wait=config.integer("KillWait", 30, 0, 65533),
            max_array_size=size,
            max_array_tasks=config.scheduler_int("max_array_tasks", size, 1, MOST_TASKS),
            assoc_limit_stop="assoc_limit_stop" in config.scheduler_parameters(),
            min_job_age=config.integer("MinJobAge", 300, 0, 2**31),
            kill_invalid_depend="kill_invalid_depend" in (word.strip() for word in dependency_words),
        )
