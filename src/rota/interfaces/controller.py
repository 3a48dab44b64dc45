"""The `Controller`: all that a plugin can see and do.

It reads (now, configuration, jobs, queue, nodes, partitions), asks (what would this job get now, when could it
start) and proposes (start, plan, hold, requeue …). The engine may refuse a proposal with a typed `Reason`, and stays
consistent whatever is proposed.

A **resource set** is an ``int``. On a machine of interchangeable processors it is their number, on a machine of
nodes a bitmap of whole nodes. One notation serves both: disjoint sets are joined with ``+``, a subset is taken away
with ``-``, 0 is the empty set; `Controller.common` is the intersection and `Controller.size` the number of units.
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
    """What ``init(ctld)`` is handed: a `Controller`."""

    # ---- read -------------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """Unix seconds."""

    @property
    def boot_time(self) -> int:
        """When this engine's clock began, Unix seconds: in a replay the start of the log."""

    @property
    def config(self) -> ClusterConfig:
        """slurm.conf, as it is in force."""

    @property
    def nodes(self) -> Sequence[Node]:
        """All nodes, in the order of their bits."""

    @property
    def partitions(self) -> Mapping[str, Partition]:
        """All partitions by name."""

    @property
    def jobs(self) -> Mapping[int, J]:
        """Every job that has not ended, by job id."""

    @property
    def queue(self) -> Sequence[J]:
        """Pending jobs that may start now if they fit, first in line first: those that nothing holds back.

        Jobs in reservations come first; then the order is partition tier, priority, submit time, job id. During one
        call into a plugin the sequence does not change: a job that was started stays in it, with ``job.state`` RUNNING,
        until the call returns, and one that is held back since another was started stays in it as well: see
        `held_back`.

        A job that names several partitions stands in it once for each that could take it now, as a `QueueRecord`:
        that reads as a job does, with partition, units, time limit and priority of its own, and can be given to every
        function that takes a job. What becomes of one of them becomes of the `whole` job.
        """

    @property
    def new_jobs(self) -> Sequence[J] | None:
        """What joined the queue since the last pass, if nothing else happened since that could let a job start.

        ``None``: look at the whole queue. A scheduler may ignore this; one that keeps what it knew at the end of the
        last pass can limit itself to these jobs.
        """

    @property
    def running(self) -> Sequence[J]:
        """Running jobs by ``end_time``, the expected one, soonest first."""

    @property
    def free(self) -> int:
        """Resource set that is up and not allocated."""

    @property
    def up(self) -> int:
        """Resource set that is up, free or not: it changes when nodes go down, are drained, or come back."""

    @property
    def priority(self) -> PriorityCalls[J]:
        """The priority plugin."""

    @property
    def associations(self) -> AssociationTree:
        """Accounts and users."""

    @property
    def tres(self) -> tuple[str, ...]:
        """Names of the cluster's TRES; counts and weights of TRES are in this order."""

    # ---- ask --------------------------------------------------------------------------------------------------

    def select(self, job: J, avail: int, nodes: int = 0) -> int:
        """Give the part of resource set ``avail`` that the job would be given, 0 when it does not fit.

        With ``nodes``, a bitmap, it is given only what is on these.
        """

    def common(self, a: int, b: int) -> int:
        """Intersect two resource sets (interchangeable processors: the smaller)."""

    def size(self, resources: int) -> int:
        """Count the units in a resource set: processors, or nodes where these are given out whole."""

    def nodes_of(self, resources: int) -> int:
        """Give the nodes of which a resource set has something, as a bitmap: bit 0 is the first of `nodes`."""

    def by_node(self, resources: int) -> dict[str, dict[str, int]]:
        """Say how much of what a resource set has of each node, by the node's name: plain data, for `keep`."""

    def from_nodes(self, shares: Mapping[str, Mapping[str, int]]) -> int:
        """Make the resource set that `by_node` has told of.

        Raises:
            ValueError: a node is no more, or has not so much.
        """

    def profile(self, resolution: int = 1) -> ProfileOf[J]:
        """Make a profile of what will be free from now on, as running jobs reach their expected ends.

        Args:
            resolution: Seconds; expected ends are rounded up to a multiple.
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
        """Make what backfill plans with, as it is now.

        Args:
            resolution: The grid of reservations, seconds.
            window: How far to look, seconds.
            prefer_busy: What starts later gets nodes that are in use now before others of their weight.
            reserve_running: Running jobs that have whole nodes hold them until their ends on the grid, except those
                that can be preempted.
            step: Running jobs that end within 30 s are taken to end together, then those within twice that, and so on;
                or, with this, within so many seconds more each time.
            soft_limits: Running jobs with ``--time-min`` are expected to end after that; those that have run for
                longer, in the middle of what is left of their time limits.
        """

    def request_class(self, job: J) -> Hashable:
        """Give what is equal for jobs that would be placed alike: where one does not fit, none of them does."""

    def held_back(self, job: J) -> Reason | None:
        """Why a job of the queue may not start now whatever is free: a limit, licences …; ``None``: it may.

        Such jobs are not in `queue`. Ask where starting one job can hold back another of the same walk: what is held
        back should be passed over, and nobody should wait for it.
        """

    def earliest_start(self, job: J) -> tuple[int, int] | None:
        """When the job could start if no other job in the queue did, as running jobs reach their expected ends.

        Returns:
            That time (Unix seconds; EASY's *shadow time*) and all that will be free then, of which the job needs a
            part; ``None`` when it is not foreseeable, because nodes that it needs are down.
        """

    def reason(self, job: J) -> Reason:
        """Why the job is where it is."""

    def association_of(self, job: J) -> Association:
        """Whom the job is charged to. A user who is in no association is added to the tree, with one share."""

    def qos_of(self, job: J) -> Qos | None:
        """The job's QOS; ``None`` when it has asked for one that there is not."""

    def tres_of(self, job: J) -> tuple[float, ...]:
        """How much of each TRES the job has been given or, while it waits, asks for."""

    def partition_tres(self, partition: Partition) -> tuple[float, ...]:
        """How much of each TRES the partition has."""

    def keep_usage(self) -> Usage:
        """Have the engine charge associations for what jobs use from now on; without this it does not.

        The engine says when jobs start and end; the plugin says how usage fades, and calls `Usage.advance` when a
        period is over.
        """

    # ---- propose ----------------------------------------------------------------------------------------------

    def start(self, job: J, resources: int = 0, time_limit: int = 0) -> Reason | None:
        """Start a pending job now, on ``resources`` or, when that is 0, on what `select` gives it.

        Args:
            job: The job, or one of its queue records.
            resources: Where.
            time_limit: Seconds, if that is to be another one than it has.

        Returns:
            ``None`` when it was started, else why not: nothing has changed then.
        """

    def preempt(self, job: J, nodes: int) -> bool:
        """Have running jobs give way, as ``PreemptType`` and ``PreemptMode`` say, so that one that waits fits.

        It can be started when they have ended: in a later pass.

        Args:
            job: The job, or one of its queue records.
            nodes: Bitmap of the nodes that it may have.

        Returns:
            Whether it will fit then, also if those had been told to go before; else nothing has changed.
        """

    def plan(self, job: J, start_time: int | None, nodes: int = 0) -> None:
        """Record when and where the scheduler means to start the job; people see it, nothing enforces it.

        Args:
            job: The job, or one of its queue records.
            start_time: Unix seconds; ``None``: nothing is planned any more.
            nodes: Bitmap, 0 when left open.
        """

    def set_priority(self, job: J, priority: int) -> None:
        """Give a pending job, or one of its queue records, another priority. 0 holds the job.

        Raises:
            RequestError: the job is not pending.
            ValueError: not an unsigned 32-bit number.
        """

    def set_priorities(self, jobs: Sequence[J], priorities: Sequence[int] | NDArray[np.integer[Any]]) -> None:
        """Give many jobs new priorities and sort the queue once; a pass follows if its order has changed.

        Jobs that have ended, are held or have a priority that an administrator set are left as they are.

        Raises:
            ValueError: not as many whole numbers from 1 to 2**32 - 1 as there are jobs.
        """

    def rank_queue(self, key: Callable[[J], float]) -> None:
        """Order the queue by ascending ``key``: priorities become ranks, equal keys stay in order of submission.

        For orders that an unsigned 32-bit number cannot express. Partition tiers still come first, and jobs whose
        priority an administrator has set are left alone.
        """

    def hold(self, job: J) -> Reason | None:
        """Hold a pending job, as an administrator would. ``None``, or why not."""

    def release(self, job: J) -> Reason | None:
        """Release a held job. ``None``, or why not."""

    def requeue(self, job: J) -> Reason | None:
        """Stop a running job and put it back in the queue. ``None``, or why not."""

    # ---- time and life ----------------------------------------------------------------------------------------

    def at(self, time: int, fn: Callable[[], object]) -> None:
        """Call ``fn`` once, at ``time`` (Unix seconds, after now); a scheduling pass follows.

        Raises:
            ValueError: the time is not after now.
        """

    def every(
        self, seconds: int, fn: Callable[[], object], *, only_after_change: bool = False, quiet: bool = False
    ) -> Callable[[], None]:
        """Call ``fn`` every so many seconds from now on, virtual ones in a replay; a scheduling pass follows.

        With ``only_after_change`` the calls at which nothing could be different are left out: no job, node or
        partition has changed since the last. A ``quiet`` one is followed by no pass, unless ``fn`` does something that
        calls for one.

        Returns:
            A function that stops it.
        """

    def utc_offset(self, time: int) -> int:
        """Local time minus UTC in seconds, at ``time`` (Unix seconds)."""

    def in_background(self, fn: Callable[[], object], done: Callable[[object], object]) -> None:
        """Run ``fn`` outside the engine, then call ``done`` with its result; a replay runs it on the spot."""

    def keep(self, save: Callable[[], object]) -> Any:
        """Have what the plugin remembers outlive the process; to be called in ``init``.

        Args:
            save: Gives it as plain data, as JSON has it. Called whenever the engine's state is saved.

        Returns:
            What it gave when the state was saved from which the engine goes on, as JSON gives it back; ``None``:
            nothing. Jobs, nodes and slurm.conf may be others by now.
        """

    def before_queue(self, fn: Callable[[], object]) -> None:
        """Call ``fn`` once, before somebody next looks at the order of the queue; it replaces the one given before.

        For priorities that have changed while nobody could tell the difference. With timers that sleep until something
        changes, `every` ``only_after_change``, that is at once.
        """

    def before_pass(self, fn: Callable[[], object]) -> None:
        """Call ``fn`` before every scheduling pass, for priorities that change with time."""

    def main_pass(self) -> None:
        """Make Slurm's main pass now: start jobs in queue order, with its blocking rule."""

    def disable_main_pass(self) -> None:
        """Take over: from now on only this plugin starts jobs.

        Otherwise the engine makes its main pass after every successful ``slurm_sched_p_schedule``. It still makes one
        when that call fails.

        As long as no job is queued, and none was when the last pass ended, no passes are made then, unless something
        else goes by them: `before_pass`, periodic timers, options of SchedulerParameters that space passes out.
        """

    def plan_licenses(self, *, on: bool = True) -> None:
        """Plan with licences: from now on `node_space` knows of them, and `queue` has the jobs that wait for them."""

    def log(self, message: str) -> None:
        """Write to rota's log."""


Controller: TypeAlias = ControllerOf[Job]
