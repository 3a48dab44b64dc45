"""The `Controller` of plugins, implemented by the engine's parts.

Over 400 lines: a method for each thing that a plugin can read, ask and propose.
"""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol, cast

import numpy as np

from rota.core.effects import Background, Log
from rota.core.job import QueueRecord
from rota.core.machine import by_index, by_name
from rota.core.plugin_api.accounting_views import AccountingViews, PluginTree
from rota.core.plugin_api.values import LATEST, bitmap, moment, require_functions, require_numbers, run_time, whole
from rota.core.plugin_api.values import time_limit as time_limit_of
from rota.core.queue.reasons import is_excluded
from rota.core.scheduling.availability import earliest_start, node_space_of, profile_of
from rota.core.sorted_jobs import JobSequence, queue_key
from rota.model import LONGEST, MAX_PRIORITY, Errno, JobState, Reason, RequestError
from rota.model.read_only import ReadOnlyDict, write
from rota.model.tres import CPU

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from rota.accounting import AssociationTree, Usage
    from rota.core.cluster import Cluster
    from rota.core.job import Job
    from rota.core.job_view import PluginJob
    from rota.core.jobs.lifecycle import Lifecycle
    from rota.core.limits.start_limits import Excess
    from rota.core.plugin_api.calls import PriorityCalls
    from rota.core.plugin_api.guard import PluginGuard
    from rota.core.plugin_api.plugin_state import PluginState
    from rota.core.plugin_api.plugin_timers import PluginTimers
    from rota.core.scheduling.availability import Space
    from rota.core.scheduling.preemption import Preemption
    from rota.model import Association, ClusterConfig, Node, Partition, Qos
    from rota.resources import FutureProfile

_VIEW, _RECORD = attrgetter("view"), attrgetter("_record")


class Passes(Protocol):
    """The part of the engine that makes scheduling passes."""

    #: Whether a pass is due because of what has happened since the last one.
    pass_due: bool
    #: Whether a scheduler has asked if anybody reads plans.
    asks_who_reads_plans: bool

    def make_main_pass(self) -> None:
        """Make Slurm's main pass."""

    def disable_main_pass(self) -> None:
        """Have only the scheduler plugin start jobs."""

    def add_before_pass(self, fn: Callable[[], object]) -> None:
        """Call a function before every pass."""

    def add_background(self, guard: PluginGuard, done: Callable[..., object]) -> int:
        """Register the receiver of the result of a background function; give its token."""

    @property
    def utc_offset(self) -> Callable[[int], int]:
        """Function that gives local time minus UTC in seconds, at a Unix time."""


class _PriorityPlugin(NamedTuple):
    """What a scheduler may call of the priority plugin."""

    set: Callable[[int, PluginJob], int]


class PluginController:
    """The controller of one plugin; the methods are documented in `rota.interfaces.controller.Controller`."""

    __slots__ = (
        "_cluster",
        "_config",
        "_guard",
        "_is_made",
        "_life",
        "_passes",
        "_plugin_state",
        "_preemption",
        "_queue",
        "_state",
        "_timers",
        "_tree",
        "_views",
        "common",
        "jobs",
        "nodes_of",
        "partitions",
        "priority",
        "request_class",
        "size",
    )

    common: Callable[[int, int], int]
    size: Callable[[int], int]
    nodes_of: Callable[[int], int]
    request_class: Callable[[PluginJob], Hashable]

    def __init__(
        self,
        guard: PluginGuard,
        *,
        lifecycle: Lifecycle,
        preemption: Preemption,
        timers: PluginTimers,
        plugin_state: PluginState,
        priority: PriorityCalls,
        passes: Passes,
    ) -> None:
        #: Guard of this plugin, to which failures of its callbacks are attributed.
        self._guard = guard
        self._life = lifecycle
        self._cluster: Cluster = lifecycle.cluster
        self._state = lifecycle.state
        self._queue = lifecycle.queue
        self._preemption = preemption
        self._timers = timers
        self._plugin_state = plugin_state
        self._passes = passes
        self.jobs: Mapping[int, PluginJob] = MappingProxyType(self._state.job_views)
        self.partitions: Mapping[str, Partition] = MappingProxyType(self._state.partitions)
        self.priority = _PriorityPlugin(priority.set)
        self._views = AccountingViews()
        self._tree = cast("AssociationTree", PluginTree(lifecycle.cluster.accounts.tree, self._views))
        #: The configuration, and what plugins get of it.
        self._config: tuple[ClusterConfig, ClusterConfig] | None = None
        self._state.follow_machine(self._read_machine)
        self._is_made = True

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, "_is_made"):
            raise AttributeError(f"ctld.{name} is read-only: see `rota.interfaces.Controller` for what it can do")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"ctld.{name} is read-only: see `rota.interfaces.Controller` for what it can do")

    def _read_machine(self) -> None:
        # The pool's own functions: schedulers ask for these several times a job.
        pool = self._state.pool
        classify = self._class_with_preemption if self._preemption.is_on else pool.class_of
        write(self, common=pool.common, size=pool.size, nodes_of=pool.nodes_of, request_class=classify)

    def _class_with_preemption(self, job: PluginJob) -> Hashable:
        return self._state.pool.class_of(job), self._preemption.preemption_class(job._record)

    # ---- read -------------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        return self._state.now

    @property
    def boot_time(self) -> int:
        return self._state.boot_time

    @property
    def config(self) -> ClusterConfig:
        known, config = self._config, self._state.config
        if known is None or known[0] is not config:
            parameters, places = ReadOnlyDict(config.parameters), ReadOnlyDict(config.places)
            known = config, replace(config, parameters=parameters, places=places)
            write(self, _config=known)
        return known[1]

    @property
    def nodes(self) -> Sequence[Node]:
        return tuple(self._state.nodes)

    @property
    def queue(self) -> JobSequence:
        if (self._queue.mixed or self._queue.untested) and self._cluster.reasons.are_found:
            self._cluster.reasons.pass_begins()
        return self._queue.candidates()

    @property
    def planned_queue(self) -> JobSequence:
        if not self._queue.mixed:
            if self._queue.untested and self._cluster.reasons.are_found:
                self._cluster.reasons.pass_begins()
            return self._queue.candidates()
        queue = self._cluster.reasons.with_excluded([job._record for job in self.queue])
        return JobSequence([job.view for job in queue])

    @property
    def queue_changes(self) -> int:
        return self._queue.changes

    @property
    def new_jobs(self) -> Sequence[PluginJob] | None:
        records = self._queue.new_candidates()
        if not records:  # as after most events
            return None if records is None else ()
        return tuple(map(_VIEW, records))

    @property
    def running(self) -> JobSequence:
        return self._state.running.snapshot()

    @property
    def free(self) -> int:
        return self._state.pool.free

    @property
    def up(self) -> int:
        return self._state.pool.up

    # ---- ask --------------------------------------------------------------------------------------------------

    def select(self, job: PluginJob, avail: int, nodes: int = 0) -> int:
        if nodes:
            avail = self._state.pool.without(avail, ~nodes)
        book = self._cluster.reservations
        return book.select(job._record, avail) if book.all else self._state.pool.select(job._record, avail)

    def by_node(self, resources: int) -> dict[str, dict[str, int]]:
        return by_name(self._state.pool.by_index(resources), self._state.nodes)

    def from_nodes(self, shares: Mapping[str, Mapping[str, int]]) -> int:
        try:
            return self._state.pool.from_indices(by_index(shares, self._state.node_index))
        except KeyError as error:
            raise ValueError(f"there is no node {error}") from None

    def profile(self, resolution: int = 1, estimate: Callable[[PluginJob], float] | None = None) -> FutureProfile:
        if estimate is None:
            return profile_of(self._cluster, resolution)
        require_functions(estimate)
        return profile_of(self._cluster, resolution, lambda job: run_time(estimate(job.view)))

    def node_space(
        self,
        resolution: int,
        window: int,
        *,
        prefer_busy: bool = False,
        reserve_running: bool = False,
        step: int = 0,
        soft_limits: bool = False,
    ) -> Space:
        return node_space_of(
            self._cluster,
            self._preemption if self._preemption.is_on else None,
            resolution,
            window,
            prefer_busy=prefer_busy,
            reserve_running=reserve_running,
            step=step,
            soft_limits=soft_limits,
        )

    def earliest_start(self, job: PluginJob) -> tuple[int, int] | None:
        found = earliest_start(self._cluster, job._record)
        return None if found is None or found[0] > LATEST else found  # nothing is planned for later

    def held_back(self, job: PluginJob) -> Reason | None:
        record = job._record
        if not record.start_limits:
            return None
        excess = self._queue.held_back(record)
        if (tell := self._queue.limits_tested) is not None and record.is_queued:
            tell(record, excess)
        return None if excess is None else excess.reason

    def misses_deadline(self, job: PluginJob) -> bool:
        return self._queue.misses_deadline(job._record)

    def reason(self, job: PluginJob) -> Reason:
        self._queue.flush()
        return self._cluster.reasons.of(job._record)

    @property
    def associations(self) -> AssociationTree:
        return self._tree

    @property
    def tres(self) -> tuple[str, ...]:
        return self._cluster.accounts.tres

    def association_of(self, job: PluginJob) -> Association:
        one, views = self._cluster.accounts.associate(job._record), self._views
        known: Association = views[id(one)] if id(one) in views else views.of(one)
        return known

    def qos_of(self, job: PluginJob) -> Qos | None:
        one, views = self._cluster.accounts.qos_of(job._record), self._views
        known: Qos | None = None if one is None else views[id(one)] if id(one) in views else views.of(one)
        return known

    def tres_of(self, job: PluginJob) -> tuple[float, ...]:
        return self._cluster.accounts.tres_of(job._record)

    def cpus_of(self, job: PluginJob) -> int:
        record = job._record
        planned = self._state.resources_on(record, record.tested_nodes) if record.tested_nodes else 0
        return self._state.pool.tres(planned)["cpu"] if planned else int(self._cluster.accounts.tres_of(record)[CPU])

    def partition_tres(self, partition: Partition) -> tuple[float, ...]:
        return self._cluster.accounts.partition_tres(partition)

    def keep_usage(self) -> Usage:
        return self._cluster.accounts.keep_usage()

    # ---- propose ----------------------------------------------------------------------------------------------

    def start(self, job: PluginJob, resources: int = 0, time_limit: int = 0) -> Reason | None:
        state, book, record = self._state, self._cluster.reservations, job._record
        if not self._waits(record):
            if is_excluded(record):
                return self._cluster.reasons.excluded(record)
            return Reason.BAD_CONSTRAINTS if record.state is not JobState.PENDING else record.reason
        if self._queue.late and self._queue.misses_deadline(record):
            return Reason.DEADLINE
        pool = state.pool
        if type(resources) is not int:
            resources = whole(resources)
        if type(time_limit) is not int or not 0 <= time_limit <= LONGEST:
            time_limit = time_limit_of(time_limit)
        closed = book.closed(record, state.now, time_limit or record.time_limit) if book.all else 0
        if not resources:
            resources = self.select(job, pool.free)
        elif closed and pool.nodes_of(resources) & closed:
            return Reason.RESERVATION
        elif pool.common(resources, pool.free) != resources or not pool.suffices(record, resources):
            return Reason.RESOURCES
        if not resources:
            return Reason.RESOURCES
        return self._life.runs.start(record, resources, time_limit)

    def preempt(self, job: PluginJob, nodes: int) -> bool:
        state, preemption, record = self._state, self._preemption, job._record
        nodes = nodes if type(nodes) is int else whole(nodes)
        if not preemption.is_on or not self._waits(record):
            return False
        closed = ~nodes | self._cluster.reservations.closed(record, state.now, record.time_limit)
        has_begun = preemption.make_room(record, self._state.pool.without(self._state.pool.free, closed), closed)
        if has_begun and self._queue.limits_tested is not None:  # passes write reasons: it has been tried to start it
            record.reason, self._queue.behind = Reason.RESOURCES, None
        return has_begun

    def _waits(self, job: Job) -> bool:
        """Whether a job or record is in this engine's queue."""
        if not job.sort_key or job.alloc:
            return False
        known = self._state.jobs.get(job.job_id)
        return known is job or known is job.whole

    def plan(self, job: PluginJob, start_time: int | None, nodes: int = 0) -> Reason | None:
        # Most values are right: functions are called only to make them so, or to say what is wrong.
        if start_time is not None and (type(start_time) is not int or not 0 <= start_time <= LATEST):
            start_time = moment(start_time)
        if type(nodes) is not int or (nodes and (nodes < 0 or nodes >> len(self._state.nodes))):
            nodes = bitmap(nodes, len(self._state.nodes))
        record = job._record
        is_queued = record.sort_key or (type(record) is QueueRecord and is_excluded(record))
        if record.alloc or not is_queued:
            return None
        excess = None
        if nodes:
            whole = record.whole if type(record) is QueueRecord else record
            whole.tested_nodes = nodes
            excess = self._limit_at(record, nodes) if record.limits is not None else None
        record.planned_start, record.planned_nodes = start_time, 0 if excess else nodes
        if type(record) is QueueRecord:
            record.whole.copy_earliest_plan()
        return None if excess is None else excess.reason

    def plans_are_read(self, within: int) -> bool:
        self._passes.asks_who_reads_plans = True
        return self._state.plans_unread < within

    def depends_on_plan(self, job: PluginJob) -> bool:
        record = job._record
        if record.restart_count:  # its size may be computed again
            return True
        return record.limits is not None and record.limits.depends_on_tres

    def _limit_at(self, job: Job, nodes: int) -> Excess | None:
        """Give the limit that a job would exceed on planned nodes if it had them now, and note it; ``None``: none."""
        if (tell := self._queue.limits_tested) is None:
            return None
        excess = self._cluster.policy.excess_on(job, nodes)
        if excess is not None:
            tell(job, excess)
        return excess

    def set_priority(self, job: PluginJob, priority: int) -> None:
        if type(priority) is not int or not 0 <= priority <= MAX_PRIORITY:
            raise ValueError(f"priority {priority!r} is not an integer from 0 to 2**32 - 1")
        record = job._record
        if record is record.whole or record.whole is not self._life.priorities.pricing:
            self._require_live(record)
        self._life.priorities.set(record, priority)

    def set_priorities(self, jobs: Sequence[PluginJob], priorities: Sequence[int] | NDArray[np.integer[Any]]) -> None:
        values = np.asarray(priorities)
        if values.shape != (len(jobs),) or (len(jobs) and values.dtype.kind not in "iu"):
            raise ValueError("priorities must be whole numbers, as many as jobs")
        if len(jobs) and not (values.min() >= 1 and values.max() <= MAX_PRIORITY):
            raise ValueError("a priority is not from 1 to 2**32 - 1; to hold a job use `hold`")
        if self._life.priorities.set_many(list(map(_RECORD, jobs)), values.tolist()):
            self._passes.pass_due = True

    def rank_queue(self, key: Callable[[PluginJob], float]) -> None:
        queue = self._queue.queued
        jobs = [job for job in queue if not job.admin_priority]
        jobs.sort(key=lambda job: (job.submit_time, job.job_id))
        keys = [key(job.view) for job in jobs]
        require_numbers(keys)
        order = sorted(range(len(jobs)), key=keys.__getitem__)
        for rank, job in enumerate((jobs[place] for place in reversed(order)), start=1):
            if job.is_queued:  # `key` is a plugin function, which may have held or started jobs
                job.priority = rank
                if job.whole is not job:
                    job.whole.priority = max(record.priority for record in job.whole.records)
        for job in queue:
            job.sort_key = queue_key(job)
        queue.resort()
        self._queue.new = self._queue.behind = None

    def hold(self, job: PluginJob) -> Reason | None:
        return self._propose(job._record, self._life.hold)

    def release(self, job: PluginJob) -> Reason | None:
        return self._propose(job._record, self._life.release)

    def requeue(self, job: PluginJob) -> Reason | None:
        return self._propose(job._record, self._life.requeue)

    def _propose(self, job: Job, change: Callable[[Job], None]) -> Reason | None:
        try:
            self._require_live(job)
            change(job.whole)
        except RequestError:
            return Reason.BAD_CONSTRAINTS
        return None

    def _require_live(self, job: Job) -> None:
        # While plugins compute its first priority, a job is not live yet.
        whole = job.whole
        placed = whole.alloc or self._queue.contains(whole)
        if not placed or self._state.jobs.get(job.job_id) is not whole:
            raise RequestError(f"job {job.job_id} is not a live job of this cluster", Errno.INVALID_JOB_ID)

    # ---- time and life ----------------------------------------------------------------------------------------

    def at(self, time: int, fn: Callable[[], object]) -> Callable[[], None]:
        time = time if type(time) is int else whole(time)
        if time <= self._state.now:
            raise ValueError(f"time {time} is not after now, {self._state.now}")
        return self._timers.at(time, self._guard.callback(fn), self._guard.name_of(fn))

    def every(
        self, seconds: int, fn: Callable[[], object], *, only_after_change: bool = False, quiet: bool = False
    ) -> Callable[[], None]:
        seconds = seconds if type(seconds) is int else whole(seconds)
        if seconds < 1:
            raise ValueError(f"a period of {seconds} s: at least 1 s is needed")
        guarded, name = self._guard.callback(fn), self._guard.name_of(fn)
        return self._timers.every(seconds, guarded, name, only_after_change=only_after_change, quiet=quiet)

    def utc_offset(self, time: int) -> int:
        return self._passes.utc_offset(time)

    def in_background(self, fn: Callable[[], object], done: Callable[[object], object]) -> None:
        require_functions(fn, done)
        token = self._passes.add_background(self._guard, done)
        self._state.effects.append(Background(token=token, fn=fn))

    def keep(self, save: Callable[[], object]) -> Any:
        return self._plugin_state.keep(self._guard, save)

    def before_queue(self, fn: Callable[[], object]) -> None:
        guarded = self._guard.callback(fn)
        if self._state.timers.has_sleepers:
            guarded()  # a timer with ``only_after_change`` could observe the difference
        else:
            self._queue.unflushed = guarded

    def before_pass(self, fn: Callable[[], object]) -> None:
        self._passes.add_before_pass(self._guard.callback(fn))

    def main_pass(self) -> None:
        self._passes.make_main_pass()

    def disable_main_pass(self) -> None:
        self._passes.disable_main_pass()

    def plan_licenses(self, *, on: bool = True) -> None:
        self._queue.planned_reasons = frozenset({Reason.LICENSES} if on else ())

    def log(self, message: str) -> None:
        self._state.effects.append(Log(message=str.__str__(str(message))))
