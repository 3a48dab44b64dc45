"""Lines of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core.accounts.charging import DEFAULT_ACCOUNT, JobRequest
from rota.model import YEAR, JobState, Reason
from rota.model.array import fold_tasks
from rota.model.lines import NO_COUNTS, BlockingLimit, JobLine, QueueLine, counts
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.core.cluster import Cluster
    from rota.core.job import Job
    from rota.model import JobRecord, Node


class JobLines:
    """Makes lines of jobs.

    Args:
        cluster: The cluster whose jobs these are.
    """

    __slots__ = ("_cluster", "_largest", "_state")

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._state = cluster.state
        #: Nodes, and the processors of the largest of them.
        self._largest: tuple[list[Node], int] = ([], 1)

    def names(self, nodes: int) -> tuple[str, ...]:
        """Give the names of the nodes in a bitmap, which may be any number."""
        if not nodes:
            return ()
        existing = (1 << len(self._state.nodes)) - 1
        return tuple(self._state.nodes[index].name for index in indices(nodes & existing))

    def line(self, job: Job) -> JobLine:
        """Make the line of a job or of one of its queue records."""
        cluster, spec, array = self._cluster, job.spec, job.array
        accounts, why = cluster.accounts, cluster.reasons.why(job)
        state, compact = _state_words(job)
        qos = accounts.qos_of(job)
        waits_for_several = job.start_time is None and job is job.whole and bool(job.records)
        requested = accounts.tres_of(job, 0)
        allocated = accounts.tres_of(job, job.alloc) if job.alloc else None
        return JobLine(
            job_id=job.job_id,
            array_job_id=None if array is None else array.job_id,
            array_task=job.array_task,
            name=spec.name,
            user=spec.user or str(spec.user_id),
            assoc_user=job.user_name,
            user_id=spec.user_id,
            group_id=spec.group_id,
            account=accounts.account_of(job),
            qos=spec.qos if qos is None else qos.name,
            partition=self._by_tier(job) if waits_for_several else job.partition.name,
            state=state,
            state_compact=compact,
            base_state=job.state.value,
            completing=job.completing,
            reason=why.reason.value,
            reason_sentence=why.sentence,
            reason_nodes=self.names(why.nodes),
            exit_code=job.exit_code,
            signal=job.signal,
            restart_count=job.restart_count,
            dependency=cluster.dependencies.text(job.whole),
            priority=0 if job.state is JobState.SUSPENDED else job.priority,
            direct=job.admin_priority,
            nice=job.nice,
            submit_time=job.submit_time,
            eligible_time=job.eligible_time,
            start_time=job.start_time,
            end_time=job.end_time,
            suspended=job.suspended,
            suspended_since=job.suspended_since,
            planned_start=job.planned_start,
            planned_nodes=self.names(job.planned_nodes),
            time_limit=None if job.time_limit == YEAR else job.time_limit,
            num_nodes=(job.alloc_nodes or job.planned_nodes).bit_count() or self._least_nodes(job, int(requested[0])),
            num_cpus=int((allocated or requested)[0]),
            tres_requested=self._by_name(requested),
            tres_allocated=NO_COUNTS if allocated is None else self._by_name(allocated),
            nodes=self.names(job.alloc_nodes),
            request=spec,
        )

    def ended(self, record: JobRecord) -> JobLine:
        """Make the line of a job that has ended. Nodes and partitions that do not exist any more are left out."""
        spec, start = record.spec, record.start_time
        partition = self._state.partitions.get(record.partition)
        requested = allocated = NO_COUNTS
        if partition is not None:
            request, tres_of = JobRequest(spec, partition, record.resources), self._cluster.accounts.tres_of
            requested = self._by_name(tres_of(request, 0))
            allocated = self._by_name(tres_of(request, record.resources)) if record.resources else NO_COUNTS
        return JobLine(
            job_id=record.job_id,
            array_job_id=record.array_job_id,
            array_task=_ended_tasks(record),
            name=spec.name,
            user=spec.user or str(spec.user_id),
            assoc_user=spec.user,
            user_id=spec.user_id,
            group_id=spec.group_id,
            account=record.account or spec.account or DEFAULT_ACCOUNT,
            qos=record.qos,
            partition=record.partition,
            state=record.state.value,
            state_compact=record.state.compact,
            base_state=record.state.value,
            reason=record.reason.value,
            exit_code=record.exit_code,
            signal=record.signal,
            restart_count=record.restart_count,
            dependency=self._cluster.dependencies.left(record),
            priority=record.priority,
            nice=spec.nice,
            submit_time=record.submit_time,
            eligible_time=record.eligible_time,
            start_time=start,
            end_time=record.end_time,
            suspended=record.suspended,
            time_limit=None if record.time_limit == YEAR else record.time_limit,
            num_nodes=record.nodes.bit_count() or max(spec.min_nodes, 1),
            num_cpus=allocated.get("cpu", spec.num_cpus),
            tres_requested=requested,
            tres_allocated=allocated,
            nodes=self.names(record.nodes),
            request=spec,
        )

    @staticmethod
    def _by_tier(job: Job) -> str:
        """Name the partitions for which a job waits, those of the highest tier first as in Slurm."""
        parts = [record.partition for record in job.records]
        return ",".join(part.name for part in sorted(parts, key=lambda part: -part.priority_tier))

    def _least_nodes(self, job: Job, cpus: int) -> int:
        """Count the nodes that a job needs at least or, if it can never run any more, those that it requests.

        As in Slurm they are no fewer than its processors take on the largest nodes, or on those that it asks for.
        """
        spec = job.spec
        least = self._state.pool.least_nodes(job) if job.units else max(spec.min_nodes, 1)
        if self._largest[0] is not self._state.nodes:
            self._largest = self._state.nodes, max((node.cpus for node in self._state.nodes), default=1)
        return max(least, -(-cpus // max(self._largest[1], spec.min_cpus_per_node, spec.cpus_per_task)))

    def _by_name(self, tres: tuple[float, ...]) -> Mapping[str, int]:
        each = zip(self._cluster.accounts.tres, tres, strict=True)
        return counts({name: int(count) for name, count in each if count >= 1})

    def queue_line(self, job: Job) -> QueueLine:
        """Make the line of a job or record in the queue."""
        excess = job.held_back() if job.start_limits else None
        return QueueLine(
            job_id=job.job_id,
            user=job.user_name,
            account=self._cluster.accounts.account_of(job),
            partition=job.partition.name,
            tier=job.partition.priority_tier,
            priority=job.priority,
            is_candidate=excess is None or excess.reason in self._cluster.queue.planned_reasons,
        )


def blocking_limit(job: Job) -> BlockingLimit | None:
    """Give the limit that keeps a pending job from starting, whatever resources are free; ``None``: there is none."""
    if job.state is not JobState.PENDING:
        return None
    excess = job.held_back() or (job.limits.exceeded_alone(job) if job.limits is not None else None)
    if excess is None:
        return None
    limit, used, asked = excess
    return BlockingLimit(whose=limit.of, name=limit.name, most=limit.most, used=used, asked=asked)


def _state_words(job: Job) -> tuple[str, str]:
    """Give a job's state as ``squeue`` shows it, long and compact: the base state, or RESV_DEL_HOLD."""
    if job.state is JobState.PENDING and job.reason is Reason.RESERVATION_DELETED:
        return "RESV_DEL_HOLD", "RD"
    return job.state.value, job.state.compact


def _ended_tasks(record: JobRecord) -> str:
    if record.array_job_id is None:
        return ""
    return fold_tasks(record.tasks) if len(record.tasks) == 1 else f"[{fold_tasks(record.tasks)}]"
