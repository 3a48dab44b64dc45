"""The earliest start of a job in the queue, and of variants of its request, computed on a copy of the plan.

The jobs before it are planned as in backfill: nodes are reserved for the time limit of each. Then the earliest start of
the job, or of another request at its position, is computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core.job import Job
from rota.core.scheduling.availability import node_space_of
from rota.core.scheduling.preemption import ReadRules
from rota.core.sorted_jobs import queue_key
from rota.model import YEAR, JobState, RequestError

if TYPE_CHECKING:
    from collections.abc import Collection

    from rota.core.cluster import Cluster
    from rota.core.scheduling.availability import Space
    from rota.core.scheduling.preemption import Preemption
    from rota.model import JobSpec, Partition

#: Largest number of jobs before this one that are planned, as in Slurm's backfill.
_DEPTH = 500


class Future:
    """The resources that are not reserved for the jobs before one, over time, also beyond ``bf_window``.

    Args:
        cluster: The cluster.
        preemption: Determines which jobs can be preempted.
        job: The job, or one of its queue records.
        gone: Ids of running jobs that are ignored, also when the jobs before are planned.

    Raises:
        InputError: an option of SchedulerParameters cannot be used.
    """

    __slots__ = ("_cluster", "_job", "_preemption", "_space")

    def __init__(self, cluster: Cluster, preemption: Preemption, job: Job, gone: Collection[int] = ()) -> None:
        self._cluster = cluster
        self._preemption = preemption
        self._job = job
        resolution = cluster.state.config.scheduler_int("bf_resolution", 60, 1, 3600)
        left_out = [one for one in cluster.state.running if one.job_id in gone]
        rules = ReadRules(preemption) if preemption.is_on else None
        self._space: Space = node_space_of(cluster, rules, resolution, YEAR, gone=left_out)
        self._plan_before()

    def _plan_before(self) -> None:
        """Reserve nodes for the jobs before this one."""
        seen: set[int] = set()
        queue, now, space = self._cluster.queue, self._cluster.state.now, self._space
        for other in queue.queued:
            if other is self._job or len(seen) == _DEPTH:
                return
            excess = other.held_back()
            is_held = excess is not None and excess.reason not in queue.planned_reasons
            if other.job_id in seen or other.state is not JobState.PENDING or is_held:
                continue
            found = space.earliest(other, other.time_limit, now)
            if found is not None:
                seen.add(other.job_id)
                space.reserve(other, found[0], other.time_limit, found[1])

    def without(self, gone: Collection[int]) -> Future:
        """Give the same without some running jobs."""
        return Future(self._cluster, self._preemption, self._job, gone)

    # ---- the job ----------------------------------------------------------------------------------------------

    @property
    def spec(self) -> JobSpec:
        """The job's request, with its time limit."""
        return self._job.spec._replace(time_limit=self._job.time_limit)

    @property
    def partition(self) -> str:
        """Name of the partition in which the job is considered."""
        return self._job.partition.name

    @property
    def time_limit(self) -> int:
        """Time limit in seconds."""
        return self._job.time_limit

    def earliest(self) -> tuple[int, int] | None:
        """Give the job's earliest start, Unix seconds, and the bitmap of its nodes; ``None``: not foreseeable."""
        found = self._space.earliest(self._job, self._job.time_limit, self._cluster.state.now)
        return None if found is None else found[:2]

    def earliest_of(self, spec: JobSpec, partition: str) -> int | None:
        """Give the earliest start of another request in its place; ``None``: never, or not foreseeable."""
        state = self._cluster.state
        part: Partition = state.partitions[partition]
        try:
            units = state.pool.units(spec, part)
        except RequestError:
            return None
        if not units:
            return None
        other = Job(self._job.job_id, spec, self._job.submit_time, part, units)
        found = self._space.earliest(other, other.time_limit, state.now)
        return None if found is None else found[0]

    # ---- other jobs -------------------------------------------------------------------------------------------

    def holders(self, start: int, nodes: int) -> list[int]:
        """Give the ids of running jobs that hold some nodes until ``start``, the last to end first."""
        state = self._cluster.state
        counted = state.pool.interchangeable  # all jobs are on one node; those that end after the start do not matter
        found = [
            (-(one.end_time or 0), one.job_id)
            for one in state.running
            if one.alloc_nodes & nodes and (not counted or (one.end_time or 0) <= start)
        ]
        return [job_id for _, job_id in sorted(found)]

    def started_ahead(self) -> list[int]:
        """Give the ids of running jobs that are behind this one in order and were started while it was pending."""
        job, running = self._job, self._cluster.state.running
        since = job.submit_time if job.eligible_time is None else job.eligible_time
        return [one.job_id for one in running if (one.start_time or 0) > since and queue_key(one) > queue_key(job)]
