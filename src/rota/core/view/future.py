"""What will be free for one job of the queue: a copy of the future, of which anybody may ask what if.

The queue is planned as backfill plans it: each job before this one has its nodes reserved for its time limit. In what
is left the job is placed or, instead of it, another request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core.job import Job
from rota.core.scheduling.availability import node_space_of
from rota.core.sorted_jobs import queue_key
from rota.model import YEAR, JobState, RequestError

if TYPE_CHECKING:
    from collections.abc import Collection

    from rota.core.cluster import Cluster
    from rota.core.scheduling.availability import Space
    from rota.core.scheduling.preemption import Preemption
    from rota.model import JobSpec, Partition

#: Jobs before this one that are planned at most, as Slurm's backfill has it.
_DEPTH = 500


class Future:
    """The room that the jobs before one leave to it, as far ahead as that may be: not only within ``bf_window``.

    Args:
        cluster: Where the job waits.
        preemption: Who gives way to whom.
        job: The job, or one of its queue records.
        gone: Ids of running jobs that are taken not to run; the jobs before are planned in that room as well.

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
        self._space: Space = node_space_of(cluster, preemption, resolution, YEAR, gone=left_out)
        self._plan_before()

    def _plan_before(self) -> None:
        """Reserve for the jobs that stand before this one, as long as there is something to reserve."""
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
        """Give the same if running jobs with some ids did not run."""
        return Future(self._cluster, self._preemption, self._job, gone)

    # ---- the job ----------------------------------------------------------------------------------------------

    @property
    def spec(self) -> JobSpec:
        """What the job asks for, its time limit included."""
        return self._job.spec._replace(time_limit=self._job.time_limit)

    @property
    def partition(self) -> str:
        """Where the job is looked at."""
        return self._job.partition.name

    @property
    def time_limit(self) -> int:
        """Seconds."""
        return self._job.time_limit

    def earliest(self) -> tuple[int, int] | None:
        """Give when the job could start, Unix seconds, and a bitmap of its nodes; ``None``: it is not foreseeable."""
        return self._space.earliest(self._job, self._job.time_limit, self._cluster.state.now)

    def earliest_of(self, spec: JobSpec, partition: str) -> int | None:
        """Give when another request could start in its place; ``None``: never, or it is not foreseeable."""
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

    # ---- who is in its way ------------------------------------------------------------------------------------

    def holders(self, start: int, nodes: int) -> list[int]:
        """Give the ids of the running jobs that hold some nodes until ``start``, the last to end first."""
        state = self._cluster.state
        counted = state.pool.interchangeable  # there is but one node: what ends later is not waited for
        found = [
            (-(one.end_time or 0), one.job_id)
            for one in state.running
            if one.alloc_nodes & nodes and (not counted or (one.end_time or 0) <= start)
        ]
        return [job_id for _, job_id in sorted(found)]

    def started_ahead(self) -> list[int]:
        """Give the ids of the running jobs that stand behind this one and were started while it waited."""
        job, running = self._job, self._cluster.state.running
        since = job.submit_time if job.eligible_time is None else job.eligible_time
        return [one.job_id for one in running if (one.start_time or 0) > since and queue_key(one) > queue_key(job)]
