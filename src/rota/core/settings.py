"""The parameters of slurm.conf that the engine uses itself, apart from nodes, partitions and accounting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.model.array import MAX_ARRAY_SIZE, MOST_TASKS
from rota.model.units import FLAGS

if TYPE_CHECKING:
    from rota.model import ClusterConfig

#: Words of ``EnforcePartLimits``; as Slurm 22.05.8 says in ``scontrol show config``, YES is ANY.
_PARTITION_LIMITS = {
    "ANY": "ANY",
    "ALL": "ALL",
    **{word.upper(): "ANY" if value else "NO" for word, value in FLAGS.items()},
}
_YEAR = 365 * 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The parameters in force."""

    #: In how many of its partitions a job must respect the limits on submission: ``NO``, ``ANY`` or ``ALL``.
    partition_limits: str
    #: Whether jobs are requeued by default.
    job_requeue: bool
    #: Number of times that a job which loses its nodes is requeued before it is held.
    max_requeue: int
    #: Seconds before a requeued job may start again.
    requeue_delay: int
    #: Largest number of seconds for which a job waits for few switches.
    max_switch_wait: int
    #: Seconds between SIGTERM and SIGKILL.
    kill_wait: int
    #: Upper bound of the task ids of job arrays (exclusive), and largest number of tasks of an array.
    max_array_size: int
    max_array_tasks: int
    #: Whether a job that a limit holds back blocks the jobs behind it.
    assoc_limit_stop: bool
    #: Seconds for which ended jobs are known, for jobs that depend on them.
    min_job_age: int
    #: Whether jobs with dependencies that can never be satisfied are cancelled by default.
    kill_invalid_depend: bool
    #: Whether age accrues from the submission on, whatever becomes of a job (``PriorityFlags``).
    accrue_always: bool
    #: How many jobs a live cluster knows, and how many steps a job of it can have; see `rota.controller.known_jobs`.
    max_job_count: int
    max_step_count: int

    #: Largest memory per node and per processor in MiB of partitions that have no bound of their own; 0: any.
    most_memory: tuple[int, int]

    #: Whether the ends of reservations of backfill are rounded up; else down.
    ends_rounded_up: bool
    #: Whether backfill tests a later start with what is free then; see `NodeSpace`.
    plans_from_start: bool

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
            max_switch_wait=config.scheduler_int("max_switch_wait", 300, 0, _YEAR),
            kill_wait=config.integer("KillWait", 30, 0, 65533),
            max_array_size=size,
            max_array_tasks=config.scheduler_int("max_array_tasks", size, 1, MOST_TASKS),
            assoc_limit_stop="assoc_limit_stop" in config.scheduler_parameters(),
            min_job_age=config.integer("MinJobAge", 300, 0, 2**31),
            max_job_count=config.integer("MaxJobCount", 10_000, 1, 2**32 - 2),
            max_step_count=config.integer("MaxStepCount", 40_000, 1, 2**32 - 2),
            kill_invalid_depend="kill_invalid_depend" in (word.strip() for word in dependency_words),
            accrue_always="ACCRUE_ALWAYS" in config.get("PriorityFlags").upper().split(","),
            most_memory=config.most_memory(),
            ends_rounded_up=config.has("ENDS_ROUNDED_UP"),
            plans_from_start=config.has("PLANS_FROM_START"),
        )
