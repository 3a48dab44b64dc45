"""The view: read access to the engine for all others, which does not change its state.

Lines are made on demand. Data that a replay reads often for its history has functions of its own that make few lines.

Over 400 lines: all that can be asked is in one place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from rota.core.view.future import Future
from rota.core.view.job_lines import JobLines, blocking_limit
from rota.core.view.machine_lines import (
    allocation_lines,
    gpus_by_node,
    license_lines,
    node_lines,
    partition_line,
    reservation_line,
)
from rota.core.view.usable_parts import UsableParts
from rota.model import MultifactorConf, PriorityFactorsRequest
from rota.model.association import AccountingLines, QosUsage
from rota.model.lines import (
    AssociationLine,
    BackfillStatistics,
    MainPassStatistics,
    PlannedLine,
    QueuePosition,
    Statistics,
    counts,
)
from rota.resources import SharedNodePool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rota.accounting import AssociationTree
    from rota.core.cluster import Cluster
    from rota.core.job import Job
    from rota.core.plugin_api.calls import PriorityCalls, SchedCalls
    from rota.core.scheduling.main_pass import PassStatistics
    from rota.core.scheduling.preemption import Preemption
    from rota.core.settings import Settings
    from rota.model import Association, ClusterConfig, JobRecord, NodeState, PriorityFactors, Reason
    from rota.model.lines import (
        AllocationLine,
        JobLine,
        LicenseLine,
        NodeLine,
        PartitionLine,
        QueueLine,
        ReservationLine,
    )
    from rota.model.reservation import Reservation

_EVERYBODY = PriorityFactorsRequest()


class Counts(Protocol):
    """The engine's counters, and whether it needs a pass."""

    #: Whether a scheduling pass is due.
    pass_due: bool
    #: Number of faults of each (plugin, function).
    faults: Counter[tuple[str, str]]
    #: Number of events handled and of scheduling passes made.
    events: int
    passes: int


class ClusterView:
    """Read access to a cluster.

    Deferred priorities (see `Controller.before_queue`) are computed before the queue is read, as for the scheduler.
    They are the same whether they are read or not.

    Args:
        cluster: The cluster.
        engine: The engine's counters.
        preemption: Determines which jobs can be preempted.
        passes: Statistics of the main passes.
        priority: The priority plugin.
        sched: The scheduler plugin.
        utc_offset: Function that gives local time minus UTC in seconds, at a Unix time.
    """

    __slots__ = (
        "_accounts",
        "_cluster",
        "_counts",
        "_lines",
        "_passes",
        "_preemption",
        "_priority",
        "_queue",
        "_sched",
        "_state",
        "utc_offset",
    )

    def __init__(
        self,
        cluster: Cluster,
        *,
        engine: Counts,
        preemption: Preemption,
        passes: PassStatistics,
        priority: PriorityCalls,
        sched: SchedCalls,
        utc_offset: Callable[[int], int],
    ) -> None:
        self._cluster = cluster
        self._state = cluster.state
        self._queue = cluster.queue
        self._accounts = cluster.accounts
        self._counts = engine
        self._preemption = preemption
        self._passes = passes
        self._priority = priority
        self._sched = sched
        self._lines = JobLines(cluster)
        self.utc_offset = utc_offset

    def compute_deferred(self) -> None:
        """Compute deferred priorities.

        No pass follows: priorities are deferred only while their order makes no difference.
        """
        due = self._counts.pass_due
        self._queue.flush()
        self._counts.pass_due = due

    # ---- general ----------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """The time now, Unix seconds."""
        return self._state.now

    @property
    def config(self) -> ClusterConfig:
        """The configuration (slurm.conf) in force."""
        return self._state.config

    @property
    def settings(self) -> Settings:
        """What the engine heeds of the configuration, as values."""
        return self._state.settings

    @property
    def tres(self) -> tuple[str, ...]:
        """Names of the cluster's TRES; counts are in this order."""
        return self._accounts.tres

    @property
    def priority_conf(self) -> MultifactorConf:
        """The priority configuration in slurm.conf.

        Raises:
            InputError: a value cannot be used.
        """
        return MultifactorConf.of(self._state.config, self._accounts.tres)

    def scheduler_parameters(self) -> str:
        """Give SchedulerParameters as ``scontrol show config`` prints them: slurm.conf's, else the plugin's."""
        return self._state.config.get("SchedulerParameters") or self._sched.get_conf() or "(null)"

    def statistics(self) -> Statistics:
        """Give the statistics of ``sdiag``."""
        jobs = Counter("COMPLETING" if job.completing else job.state.value for job in self._state.jobs.values())
        passes = self._passes
        faults = {f"{plugin}: {symbol}": count for (plugin, symbol), count in sorted(self._counts.faults.items())}
        return Statistics(
            now=self._state.now,
            boot_time=self._state.boot_time,
            jobs=counts(jobs),
            events=self._counts.events,
            passes=self._counts.passes,
            main=MainPassStatistics(
                cycles=passes.cycles,
                last_queue_length=passes.last_queue_length,
                last_depth=passes.last_depth,
                depth=passes.depth,
                mean_depth=passes.mean_depth,
                jobs_started=passes.jobs_started,
                exits=counts(passes.exits),
            ),
            backfill=self.backfill(),
            faults=counts(faults),
        )

    def backfill(self) -> BackfillStatistics | None:
        """Give the statistics of backfill; ``None``: the scheduler keeps none."""
        return self._sched.statistics(_backfill)

    # ---- jobs -------------------------------------------------------------------------------------------------

    def job_count(self) -> int:
        """Count the live jobs, and each waiting task of an array."""
        waiting = sum(len(array.pending) - 1 for array in self._state.arrays.values() if array.pending)
        return len(self._state.jobs) + waiting

    def find(self, job_id: int, task_id: int | None) -> list[Job]:
        """Find a live job, a task of an array or, without ``task_id``, all jobs of an array.

        Raises:
            RequestError: there is none.
        """
        return [job for job, _ in self._state.find(job_id, task_id)]

    def has_array(self, job_id: int) -> bool:
        """Whether tasks of a job array live."""
        return job_id in self._state.arrays

    def jobs(self) -> tuple[JobLine, ...]:
        """Give all live jobs, in order of submission."""
        self.compute_deferred()
        return tuple(map(self._lines.line, self._state.jobs.values()))

    def job(self, job_id: int) -> JobLine | None:
        """Give a live job; ``None``: there is none of this id."""
        job = self._state.jobs.get(job_id)
        return None if job is None else self.line(job)

    def line(self, job: Job) -> JobLine:
        """Give the line of a job record; the job may have ended."""
        self.compute_deferred()
        return self._lines.line(job)

    def ended(self, record: JobRecord) -> JobLine:
        """Give the line of a job that has ended."""
        return self._lines.ended(record)

    def allocation(self, job_id: int) -> tuple[AllocationLine, ...]:
        """Give the allocation of a live job by node; empty: it has none."""
        job = self._state.jobs.get(job_id)
        return allocation_lines(self._cluster, job) if job is not None and job.alloc else ()

    def gpus(self, job_id: int) -> dict[str, dict[str, tuple[int, ...]]]:
        """Give the GPUs of a live job by node and type; nodes of which only their number is known are left out."""
        job = self._cluster.state.jobs.get(job_id)
        return gpus_by_node(self._cluster, job) if job is not None and job.alloc else {}

    def reason(self, job: Job) -> Reason:
        """Say why a job is pending, or in its state."""
        self.compute_deferred()
        return self._cluster.reasons.of(job)

    def reasons(self) -> dict[Reason, tuple[int, int]]:
        """Count the pending jobs of each reason, and the processors that they ask for; tasks of arrays count each."""
        self.compute_deferred()
        jobs: Counter[Reason] = Counter()
        processors: Counter[Reason] = Counter()
        for job, reason in self._cluster.reasons.of_all():
            tasks = max(job.waiting_tasks, 1)
            jobs[reason] += tasks
            processors[reason] += tasks * job.num_cpus
        return {reason: (number, processors[reason]) for reason, number in jobs.items()}

    def goes_on(self) -> bool:
        """Whether a job might still start or end though nobody asks for anything any more.

        None does if none runs, and all are held, wait for nodes that are down, exceed what their partitions allow them,
        or a job of their user or QOS, and the like.
        """
        state = self._state
        return bool(state.running or state.completing) or self._cluster.reasons.may_go_away()

    def is_stuck(self, job: Job) -> bool:
        """Whether a pending job cannot start unless somebody changes something: it is held, or its partition down."""
        self.compute_deferred()
        return self._cluster.reasons.is_stuck(job)

    def usable_parts(self, parts: Sequence[int]) -> UsableParts:
        """Prepare to count the pending jobs that could use each of some sets of nodes (bitmaps)."""
        self.compute_deferred()
        return UsableParts(self._cluster, parts)

    def factors(self, request: PriorityFactorsRequest = _EVERYBODY) -> tuple[PriorityFactors, ...]:
        """Give priority factors as ``sprio`` shows them, from the priority plugin."""
        self.compute_deferred()
        return tuple(self._priority.factors(request))

    # ---- the queue --------------------------------------------------------------------------------------------

    @property
    def queue_length(self) -> int:
        """Number of queued jobs; parked jobs do not count."""
        self.compute_deferred()
        return len(self._queue.waiting())

    def waiting(self) -> list[int]:
        """Give the ids of all pending jobs: those in the queue in its order, then the others."""
        self.compute_deferred()
        return [job.job_id for job in (*self._queue.waiting(), *self._queue.parked.values())]

    def queue(self) -> tuple[QueueLine, ...]:
        """Give the queue in order: a job with several partitions once for each in which it may start."""
        self.compute_deferred()
        return tuple(map(self._lines.queue_line, self._queue.queued))

    def queue_position(self, job_id: int) -> QueuePosition | None:
        """Give the queue position of a live job; ``None``: there is none of this id."""
        self.compute_deferred()
        job = self._first(job_id)
        if job is None:
            return None
        ahead: list[QueueLine] = []
        if job.is_queued:
            for other in self._queue.queued:
                if other is job:
                    break
                ahead.append(self._lines.queue_line(other))
        return QueuePosition(
            job=self._lines.line(job),
            partition=job.partition.name,
            tier=job.partition.priority_tier,
            num_cpus=job.num_cpus,
            planned_start=job.whole.planned_start,
            place=len({one.job_id for one in ahead}) + 1 if job.is_queued else 0,
            queue_length=self.queue_length,
            ahead=tuple(ahead),
            held_by=blocking_limit(job),
        )

    def planned(self, most: int) -> tuple[PlannedLine, ...]:
        """Give the jobs of the queue with a planned start, in queue order, at most ``most``."""
        self.compute_deferred()
        found = ((place, job) for place, job in enumerate(self._queue.waiting(), 1) if job.planned_start is not None)
        return tuple(self._planned(place, job) for (place, job), _ in zip(found, range(most), strict=False))

    def _planned(self, place: int, job: Job) -> PlannedLine:
        nodes = 0 if self._state.pool.interchangeable else job.planned_nodes
        return PlannedLine(
            job_id=job.job_id,
            place=place,
            start=max(job.planned_start or 0, self._state.now),
            num_cpus=self._cpus_on(job, nodes),
            nodes=nodes,
            reason=self._cluster.reasons.of(job).value,
        )

    def _cpus_on(self, job: Job, nodes: int) -> int:
        """Count the processors that a job gets on planned nodes: all of them, where whole nodes are allocated."""
        pool = self._state.pool
        # For a job with several partitions this is the record with the earliest plan.
        record = next((one for one in job.records if one.planned_start == job.planned_start), job)
        by_piece = isinstance(pool, SharedNodePool) and not pool.is_whole(record)
        if nodes and not by_piece:
            return sum(node.cpus for index, node in enumerate(self._state.nodes) if nodes >> index & 1)
        return job.num_cpus

    def future(self, job_id: int) -> Future | None:
        """Make a `Future` for a job, to try variants; ``None``: a limit holds it back, or it is not in the queue.

        Raises:
            InputError: an option of SchedulerParameters cannot be used.
        """
        self.compute_deferred()
        job = self._first(job_id)
        if job is None or not job.is_queued or job.held_back() is not None:
            return None
        return Future(self._cluster, self._preemption, job)

    def _first(self, job_id: int) -> Job | None:
        """Find a live job or, with several partitions, its first record in the queue."""
        job = self._state.jobs.get(job_id)
        if job is None or not job.is_queued:
            return job
        return min((one for one in job.records or (job,) if one.sort_key), key=lambda one: one.sort_key)

    # ---- the machine ------------------------------------------------------------------------------------------

    @property
    def interchangeable(self) -> bool:
        """Whether the machine has interchangeable processors, so that nodes have no meaning."""
        return self._state.pool.interchangeable

    @property
    def machine(self) -> tuple[tuple[str, int], ...]:
        """Name and number of processors of each node, in the order of bits."""
        return tuple((node.name, node.cpus) for node in self._state.nodes)

    def names(self, nodes: int) -> tuple[str, ...]:
        """Name the nodes of a bitmap."""
        return self._lines.names(nodes)

    def nodes_in(self, state: NodeState) -> int:
        """Give the bitmap of the nodes that an administrator has put into a state."""
        return sum(1 << index for index, node in enumerate(self._state.nodes) if node.state is state)

    def cpus_by_node(self, job: Job) -> NDArray[np.uint32] | None:
        """Count the processors of each node that are allocated to a job; ``None``: it has whole nodes."""
        pool = self._state.pool
        return pool.processors(job.alloc) if isinstance(pool, SharedNodePool) else None

    def gres_of(self, job: Job) -> dict[str, int]:
        """Count the GRES that are allocated to a job by name, such as ``gres/gpu``; empty where whole nodes are."""
        held = self._state.pool.tres(job.alloc)
        return {name: number for name, number in held.items() if number and name.startswith("gres/")}

    def nodes(self) -> tuple[NodeLine, ...]:
        """Give all nodes, in the order of slurm.conf."""
        return node_lines(self._cluster)

    def partitions(self) -> tuple[PartitionLine, ...]:
        """Give all partitions, in the order of slurm.conf."""
        return tuple(partition_line(self._cluster, one, self.names) for one in self._state.partitions.values())

    def reservations(self) -> tuple[ReservationLine, ...]:
        """Give all reservations, in order of creation."""
        every = self._cluster.reservations.all.values()
        return tuple(reservation_line(one, self._state.now, self.names) for one in every)

    def reservation(self, name: str) -> Reservation | None:
        """Give a reservation as it was asked for; ``None``: there is none of the name."""
        return self._cluster.reservations.all.get(name)

    def licenses(self) -> tuple[LicenseLine, ...]:
        """Give all licences."""
        return license_lines(self._cluster)

    # ---- accounting -------------------------------------------------------------------------------------------

    @property
    def keeps_usage(self) -> bool:
        """Whether usage is kept, which a priority plugin asks for."""
        return self._accounts.usage is not None

    def usage(self) -> dict[str, Any] | None:
        """Give usage as JSON data; ``None``: it is not kept."""
        usage = self._accounts.usage
        return None if usage is None else usage.save()

    def associations(self, *, users: bool = True, run_seconds: bool = True) -> tuple[AssociationLine, ...]:
        """Give all associations, or only those of accounts, in tree order with usage and fair-share.

        Without ``run_seconds``, `grp_used_tres_run_secs`, which takes longest, is left out.
        """
        chosen = ((one, depth) for one, depth in self._accounts.tree.hierarchy() if users or not one.user)
        return self._association_lines(chosen, run_seconds=run_seconds)

    @property
    def tree(self) -> AssociationTree:
        """The tree of associations, which is not to be modified."""
        return self._accounts.tree

    def accounting(self) -> AccountingLines:
        """Give the accounts, users and QOS."""
        tree = self._accounts.tree
        return AccountingLines(
            accounts=tuple(map(replace, tree.accounts.values())),
            users=tuple(map(replace, tree.users.values())),
            qos=tuple(map(replace, tree.qos.values())),
        )

    def qos_usage(self, name: str) -> QosUsage:
        """Give what jobs of a QOS have used; nothing where usage is not kept."""
        usage = self._accounts.usage
        if usage is None:
            return QosUsage()
        return QosUsage(
            usage_raw=usage.qos_raw(name),
            usage_tres_raw=tuple(usage.qos_used(name, index) for index in range(len(usage.tres))),
            grp_used_wall=usage.qos_used(name, -1),
        )

    def associations_of(self, job_id: int) -> tuple[AssociationLine, ...]:
        """Give the association of a live job and the accounts above it, its own first, without the root.

        Empty if the job has none, or does not exist.
        """
        job = self._first(job_id)
        association = None if job is None else self._accounts.association_of(job)
        if association is None:
            return ()
        tree = self._accounts.tree
        path = tree.path(tree.row(association)).tolist()[:-1]
        return self._association_lines((tree.associations[row], len(path) - above) for above, row in enumerate(path))

    def _association_lines(
        self, several: Iterable[tuple[Association, int]], *, run_seconds: bool = True
    ) -> tuple[AssociationLine, ...]:
        """Fill in copies of associations: usage by the engine, shares and fair-share by the priority plugin."""
        lines = tuple(
            AssociationLine(association=replace(one, limits=dict(one.limits)), depth=depth) for one, depth in several
        )
        self._accounts.fill((line.association for line in lines), run_seconds=run_seconds)
        for line in lines:
            self._priority.set_assoc_usage(line.association)
        return lines

    def target_share(self, association: Association) -> float:
        """Give an association's target share of the cluster."""
        tree = self._accounts.tree
        return tree.target_share(tree.row(association))


#: Counters of cycles in the statistics of a scheduler plugin.
_OF_CYCLES = ("cycles", "last_queue_length", "last_depth", "last_table_size", "jobs_started")


def _backfill(one: object) -> BackfillStatistics | None:
    """Read a plugin's statistics of cycles, which may be any object; ``None``: these are none."""
    numbers: dict[str, Any] = {name: getattr(one, name, None) for name in _OF_CYCLES}
    exits = getattr(one, "exits", None)
    if not isinstance(exits, Mapping) or any(type(number) is not int for number in numbers.values()):
        return None
    return BackfillStatistics(**numbers, exits=counts(exits))
