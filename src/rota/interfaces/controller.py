"""The `Controller`: everything that a plugin can read, ask and do.

A plugin reads (now, configuration, jobs, queue, nodes, partitions), asks (what a job would get now, when it could
start) and proposes (start, plan, hold, requeue …). The engine may refuse a proposal with a `Reason`; whatever is
proposed, its state stays consistent.

Over 400 lines: a method for each thing that a plugin can read, ask and propose.

A **resource set** is an ``int``: on a machine of interchangeable processors a number of processors, on a machine with
whole nodes a bitmap of nodes. In both cases disjoint sets are joined with ``+``, a subset is removed with ``-``, and 0
is the empty set; `Controller.common` gives the intersection, `Controller.size` the number of units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from rota.interfaces.job import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rota.accounting import AssociationTree, Usage
    from rota.interfaces.profile import NodeSpaceOf, ProfileOf
    from rota.model import Association, ClusterConfig, Node, Partition, Qos, Reason

J = TypeVar("J")
J_contra = TypeVar("J_contra", contravariant=True)


class PriorityCalls(Protocol[J_contra]):
    """The priority plugin as the scheduler plugin sees it."""

    def set(self, last_prio: int, job_ptr: J_contra) -> int:
        """Call ``priority_p_set``."""


class ControllerOf(Protocol[J]):
    """The argument of ``init(ctld)``: a `Controller`."""

    # ---- read -------------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """The time now, Unix seconds."""

    @property
    def boot_time(self) -> int:
        """When the engine's clock began, Unix seconds: in a replay, when the log begins."""

    @property
    def config(self) -> ClusterConfig:
        """The configuration (slurm.conf) in force."""

    @property
    def nodes(self) -> Sequence[Node]:
        """All nodes, in the order of their bits in bitmaps."""

    @property
    def partitions(self) -> Mapping[str, Partition]:
        """All partitions by name."""

    @property
    def jobs(self) -> Mapping[int, J]:
        """All jobs that have not ended, by job id."""

    @property
    def queue(self) -> Sequence[J]:
        """Pending jobs that may start now if resources are free, in queue order. Jobs that are held back are not in it.

        Jobs in reservations come first; the order is then by partition tier, priority, submit time and job id. During
        one call of a plugin function the sequence does not change: a job that was started stays in it, with
        ``job.state`` RUNNING, until the call returns, as does a job that a limit holds back since another was started:
        see `held_back`.

        A job that names several partitions is in it once for each partition in which it could start, as a
        `QueueRecord`. A record can be read like a job, with partition, units, time limit and priority of its own, and
        can be passed to every function that takes a job. What is done to a record is done to the `whole` job.
        """

    @property
    def planned_queue(self) -> Sequence[J]:
        """`queue` as Slurm's backfill plans for it: with records in partitions whose ``AllowAccounts`` exclude the job.

        `start` refuses them.
        """

    @property
    def new_jobs(self) -> Sequence[J] | None:
        """Jobs that joined the queue since the last pass, if nothing else has happened that could let a job start.

        ``None``: the whole queue has to be considered. A scheduler may ignore this. One that keeps its results of the
        last pass needs to consider these jobs only.
        """

    @property
    def queue_changes(self) -> int:
        """A number that grows whenever a pending job comes or goes, or it is considered anew whether it can start.

        What a plugin has found of all pending jobs is still so while it is the same.
        """

    @property
    def running(self) -> Sequence[J]:
        """Running jobs, by their expected ``end_time``, soonest first."""

    @property
    def free(self) -> int:
        """Resources that are up and not allocated, as a resource set."""

    @property
    def up(self) -> int:
        """Resources that are up, allocated or not, as a resource set. It changes when nodes fail or return."""

    @property
    def priority(self) -> PriorityCalls[J]:
        """The priority plugin."""

    @property
    def associations(self) -> AssociationTree:
        """The tree of associations."""

    @property
    def tres(self) -> tuple[str, ...]:
        """Names of the cluster's TRES; counts and weights are in this order."""

    # ---- ask --------------------------------------------------------------------------------------------------

    def select(self, job: J, avail: int, nodes: int = 0) -> int:
        """Give the part of a resource set that the job would get, 0 if it does not fit.

        With ``nodes``, a bitmap, only resources of these nodes are given.
        """

    def common(self, a: int, b: int) -> int:
        """Intersect two resource sets; of interchangeable processors, give the smaller number."""

    def size(self, resources: int) -> int:
        """Count the units of a resource set: processors, or nodes where whole nodes are allocated."""

    def nodes_of(self, resources: int) -> int:
        """Give the nodes on which a resource set has resources, as a bitmap: bit 0 is the first of `nodes`."""

    def by_node(self, resources: int) -> dict[str, dict[str, int]]:
        """Describe a resource set as plain data, for `keep`: amounts by resource, by the name of the node."""

    def from_nodes(self, shares: Mapping[str, Mapping[str, int]]) -> int:
        """Make a resource set from what `by_node` has given.

        Raises:
            ValueError: a node does not exist any more, or does not have that much.
        """

    def profile(self, resolution: int = 1, estimate: Callable[[J], float] | None = None) -> ProfileOf[J]:
        """Make an availability profile: what is free from now on, as running jobs reach their expected ends.

        Args:
            resolution: Seconds; expected ends are rounded up to a multiple of this.
            estimate: Gives the run time of a job in seconds, in place of its time limit; it is called once for each
                running job. One that the job has outlived counts as 1, 5, 15 or 30 minutes or 1, 2, 5, 10, 20, 50 or
                100 hours longer, the first of these that lies ahead (Tsafrir et al. 2007), and none as longer than the
                time limit, at which alone jobs are stopped.

        Raises:
            TypeError: an estimate is no number.
            ValueError: an estimate is negative or NaN.
        """

    def node_space(
        self,
        resolution: int,
        window: int,
        *,
        prefer_busy: bool = False,
        reserve_running: bool = False,
        step: int = 0,
        soft_limits: bool = False,
    ) -> NodeSpaceOf[J]:
        """Make the node space map with which backfill plans.

        Args:
            resolution: Seconds between the points of time at which reservations may begin and end.
            window: How far ahead to plan, seconds.
            prefer_busy: Prefer nodes that are in use now to others of their weight, for jobs that start later.
            reserve_running: Reserve the nodes of running jobs that have whole nodes until their ends, unless they can
                be preempted.
            step: Running jobs that end within 30 s are assumed to end together, then those within twice that time, and
                so on; with this, each time within so many seconds more.
            soft_limits: Running jobs with ``--time-min`` are expected to end after that time; those that have run
                longer, in the middle of what is left of their time limit.
        """

    def request_class(self, job: J) -> Hashable:
        """Give a value that is equal for jobs that are placed alike: if one of them does not fit, none does.

        That includes which running jobs can be preempted for them.
        """

    def held_back(self, job: J) -> Reason | None:
        """Why a job of the queue may not start now, whatever resources are free: a limit, licences …; ``None``: it may.

        It is shown as why the job waits, unless the scheduler has replaced the main pass. Such jobs are not in `queue`.
        A scheduler should ask after it has started another job, and skip jobs that are held back without reserving
        resources for them.
        """

    def misses_deadline(self, job: J) -> bool:
        """Whether a job of the queue cannot end by its deadline any more; if so, it ends after this call of the plugin.

        The main pass asks this of each job that it comes to. If the scheduler has replaced it, such jobs end by
        themselves, and are never in the queue.
        """

    def earliest_start(self, job: J) -> tuple[int, int] | None:
        """When the job could start if it were alone in the queue, as running jobs reach their expected ends.

        Returns:
            That time (Unix seconds; EASY's *shadow time*) and all resources that will be free then, of which the job
            needs a part; ``None`` if it cannot be foreseen, because nodes that it needs are down.
        """

    def reason(self, job: J) -> Reason:
        """Why the job is pending, or in its state."""

    def association_of(self, job: J) -> Association:
        """The association that the job is charged to. A user without one is added to the tree, with one share."""

    def qos_of(self, job: J) -> Qos | None:
        """The job's QOS; ``None`` if it asks for one that does not exist."""

    def tres_of(self, job: J) -> tuple[float, ...]:
        """Counts of the TRES that the job has been given or, while it is pending, asks for."""

    def cpus_of(self, job: J) -> int:
        """Count the processors that a job asks for or, once it has been planned, those of its last plan."""

    def partition_tres(self, partition: Partition) -> tuple[float, ...]:
        """Counts of the partition's TRES."""

    def keep_usage(self) -> Usage:
        """Have the engine account for usage from now on, which it does not do otherwise.

        The engine reports starts and ends of jobs; the plugin sets the decay and calls `Usage.advance` at the end of
        each period.
        """

    # ---- propose ----------------------------------------------------------------------------------------------

    def start(self, job: J, resources: int = 0, time_limit: int = 0) -> Reason | None:
        """Start a pending job now, on a resource set or, if that is 0, on what `select` gives.

        Args:
            job: The job, or one of its queue records.
            resources: Resource set to allocate.
            time_limit: Another time limit in seconds; 0: the job's.

        Returns:
            ``None`` if the job was started, else why not; then nothing has changed.
        """

    def preempt(self, job: J, nodes: int) -> bool:
        """Preempt running jobs, as ``PreemptType`` and ``PreemptMode`` say, so that a pending job fits.

        The job can be started in a later pass, when they have ended.

        Args:
            job: The job, or one of its queue records.
            nodes: Bitmap of the nodes that the job may use.

        Returns:
            Whether the job will fit, also if enough jobs had been preempted before; else nothing has changed.
        """

    def plan(self, job: J, start_time: int | None, nodes: int = 0) -> Reason | None:
        """Record when and where the scheduler plans to start the job. It is shown to users, and has no other effect.

        Args:
            job: The job, or one of its queue records.
            start_time: Unix seconds; ``None``: remove the plan.
            nodes: Bitmap of the planned nodes; 0: left open.

        Returns:
            The limit that the job would exceed if it had these nodes now: Slurm's backfill then reserves nothing for
            it; ``None``: there is none, or the scheduler has replaced the main pass.
        """

    def plans_are_read(self, within: int) -> bool:
        """Whether anybody may read the plans that are made now. Live, the answer is always yes.

        A replay knows when its history is recorded. Jobs that cannot start now need no plan if nobody reads it, but for
        those of which `depends_on_plan` is true.

        Args:
            within: Seconds within which plans are made anew after the next change of jobs.
        """

    def depends_on_plan(self, job: J) -> bool:
        """Whether the plan of a pending job may have effects besides being shown.

        Limits are compared with the nodes planned last, and the size of a job that was requeued is that of its plan.
        """

    def set_priority(self, job: J, priority: int) -> None:
        """Set the priority of a pending job or of one of its queue records. 0 holds the job.

        Raises:
            RequestError: the job is not pending.
            ValueError: the priority is not an unsigned 32-bit number.
        """

    def set_priorities(self, jobs: Sequence[J], priorities: Sequence[int] | NDArray[np.integer[Any]]) -> None:
        """Set the priorities of many jobs and sort the queue once. A pass follows if the order has changed.

        Jobs that have ended or are held, and jobs with a priority set by an administrator, are skipped.

        Raises:
            ValueError: the priorities are not as many whole numbers from 1 to 2**32 - 1 as there are jobs.
        """

    def rank_queue(self, key: Callable[[J], float]) -> None:
        """Sort the queue by ascending ``key``: priorities become ranks; equal keys stay in order of submission.

        For orders that an unsigned 32-bit number cannot express. Partition tiers still come first. Jobs with a priority
        set by an administrator are skipped.
        """

    def hold(self, job: J) -> Reason | None:
        """Hold a pending job, as an administrator would. Gives ``None``, or why not."""

    def release(self, job: J) -> Reason | None:
        """Release a held job. Gives ``None``, or why not."""

    def requeue(self, job: J) -> Reason | None:
        """Stop a running job and requeue it. Gives ``None``, or why not."""

    # ---- time and life ----------------------------------------------------------------------------------------

    def at(self, time: int, fn: Callable[[], object]) -> Callable[[], None]:
        """Call ``fn`` once, at ``time`` (Unix seconds, after now); a scheduling pass follows.

        After a restart it is called only if ``init`` asks for it again; then it keeps its place among what is due with
        it.

        Returns:
            A function that stops it.

        Raises:
            ValueError: the time is not after now.
        """

    def every(
        self, seconds: int, fn: Callable[[], object], *, only_after_change: bool = False, quiet: bool = False
    ) -> Callable[[], None]:
        """Call ``fn`` every so many seconds from now on; a scheduling pass follows each call.

        With ``only_after_change`` calls are skipped while no job, node or partition has changed since the last call.
        With ``quiet`` no pass follows, unless ``fn`` does something that requires one. If a replay has no jobs for more
        than a month, only the last calls of that time are made.

        Returns:
            A function that stops the calls.
        """

    def utc_offset(self, time: int) -> int:
        """Give local time minus UTC in seconds, at a Unix time."""

    def in_background(self, fn: Callable[[], object], done: Callable[[object], object]) -> None:
        """Run ``fn`` outside of the engine, then call ``done`` with its result. A replay runs it immediately."""

    def keep(self, save: Callable[[], object]) -> Any:
        """Save the plugin's state with the engine's; to be called in ``init``.

        Args:
            save: Gives the plugin's state as JSON data. It is called whenever the engine's state is saved.

        Returns:
            The plugin's state from before a restart, as JSON gives it back; ``None`` if there is none. Jobs, nodes and
            slurm.conf may have changed.
        """

    def before_queue(self, fn: Callable[[], object]) -> None:
        """Call ``fn`` once, before the order of the queue is next needed. It replaces the function set before.

        For priorities whose computation can be deferred. While there are timers with ``only_after_change``, ``fn`` is
        called immediately.
        """

    def before_pass(self, fn: Callable[[], object]) -> None:
        """Call ``fn`` before every scheduling pass, for priorities that change with time."""

    def main_pass(self) -> None:
        """Make Slurm's main pass now: start jobs in queue order; a job that does not fit blocks its partition."""

    def disable_main_pass(self) -> None:
        """Disable the engine's main pass: from now on only the plugin starts jobs.

        Otherwise the engine makes its main pass after every successful ``slurm_sched_p_schedule``. It always makes one
        if that call fails.

        Then no passes are made while the queue is empty, and was so at the end of the last pass, unless something
        depends on them: `before_pass`, periodic timers, options of SchedulerParameters that delay passes.
        """

    def plan_licenses(self, *, on: bool = True) -> None:
        """Plan licences: from now on `node_space` includes them, and `queue` includes jobs that wait for licences."""

    def log(self, message: str) -> None:
        """Write to rota's log."""


Controller: TypeAlias = ControllerOf[Job]
