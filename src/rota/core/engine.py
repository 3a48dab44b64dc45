"""The engine: events in, effects out.

Over 400 lines: the handler of every event is here, and all that drivers call.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rota.core import events as ev
from rota.core.cluster import Cluster
from rota.core.effects import Accepted, Refused
from rota.core.event_codec import problem_of
from rota.core.invariants import check_invariants
from rota.core.jobs.checks import as_user, require_administrator
from rota.core.jobs.lifecycle import Lifecycle
from rota.core.jobs.new_jobs import Place
from rota.core.jobs.requests import JobRequests
from rota.core.plugin_api.calls import PriorityCalls, SchedCalls, SelectCalls
from rota.core.plugin_api.controller import PluginController
from rota.core.plugin_api.guard import PluginGuard
from rota.core.plugin_api.plugin_state import PluginState
from rota.core.plugin_api.plugin_timers import PluginTimers
from rota.core.reconfigure import (
    change_machine,
    delete_partition,
    may_change,
    reconfigure,
    set_of_nodes,
    set_partition,
)
from rota.core.scheduling.main_pass import MainPass
from rota.core.scheduling.pass_options import PassOptions
from rota.core.scheduling.pass_times import PassTimes
from rota.core.scheduling.preemption import Preemption, PreemptionOptions
from rota.core.timers import TimerKind
from rota.core.view.cluster_view import ClusterView
from rota.model import Errno, PolicyError, RequestError, RotaError
from rota.model.read_only import write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from rota.accounting import AssociationTree
    from rota.core.effects import Effect, PluginFault
    from rota.core.job import Job
    from rota.core.job_view import PluginJob
    from rota.core.timers import Timer
    from rota.interfaces.controller import ControllerOf
    from rota.model import ClusterConfig, Partition
    from rota.model.reservation import Reservation


class Engine:
    """The controller of one cluster.

    A driver hands it events with their times, and performs the effects that it returns. `wakeup` tells when the driver
    has to send the next `Tick`, and `pass_due` whether it has to send a `SchedulePass`. The state is read through
    `view`.

    Args:
        config: The configuration (slurm.conf).
        priority: Symbol container of the priority plugin.
        sched: Symbol container of the scheduler plugin.
        select: Symbol container of the node selection plugin, for a machine with shared nodes; ``None``: the first
            nodes that fit are selected.
        boot_time: When the clock begins, Unix seconds.
        associations: The tree of associations, until a saved state with its own is restored; ``None``: only the root,
            and users are added when they submit jobs.
        utc_offset: Function that gives local time minus UTC, in seconds, at a Unix time; ``None``: local time is UTC.
        clock: Function that gives the real time in seconds, used only to report slow plugins; ``None``: they are not
            reported.

    The caller has to call the plugins' ``init``, each with its controller, and then `begin`.

    Raises:
        InputError: an option of SchedulerParameters cannot be used.
    """

    __slots__ = (
        "_background",
        "_before_pass",
        "_driver_handlers",
        "_in_main_pass",
        "_is_full_pass",
        "_main_pass",
        "_makes_main_pass",
        "_pass_times",
        "_plugin_timers",
        "_queue_was_empty",
        "_report_handlers",
        "_request_handlers",
        "_skips_empty_passes",
        "_timer_handlers",
        "_token",
        "asks_who_reads_plans",
        "cluster",
        "events",
        "faults",
        "job_requests",
        "jobs",
        "lifecycle",
        "pass_due",
        "passes",
        "plugin_state",
        "plugins_may_read_plans",
        "preemption",
        "priority_controller",
        "priority_guard",
        "priority_plugin",
        "sched_controller",
        "sched_guard",
        "sched_plugin",
        "select_controller",
        "select_guard",
        "state",
        "utc_offset",
        "view",
    )

    def __init__(
        self,
        config: ClusterConfig,
        *,
        priority: object,
        sched: object,
        select: object | None = None,
        boot_time: int = 0,
        associations: AssociationTree | None = None,
        utc_offset: Callable[[int], int] | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.select_guard = None if select is None else PluginGuard(select, self._fault, clock)
        self.utc_offset = utc_offset or _utc
        choose = SelectCalls(self.select_guard).job_test
        self.cluster = Cluster(config, boot_time, associations, choose, self.utc_offset)
        self.state = self.cluster.state
        #: The records of all live jobs by id, for drivers. All other reading is through `view`.
        self.jobs: Mapping[int, Job] = MappingProxyType(self.state.jobs)
        #: Number of faults of each (plugin, symbol).
        self.faults: Counter[tuple[str, str]] = Counter()
        #: Number of events handled, and of scheduling passes made.
        self.events = 0
        self.passes = 0
        #: Whether a pass is due because of what has happened since the last one.
        self.pass_due = False
        #: Whether a plugin may read the plans of jobs: all but rota's own may.
        self.plugins_may_read_plans = True
        #: Whether the scheduler has asked if anybody reads plans: else the driver need not say it.
        self.asks_who_reads_plans = False
        self.priority_guard = PluginGuard(priority, self._fault, clock)
        self.sched_guard = PluginGuard(sched, self._fault, clock)
        self.priority_plugin = PriorityCalls(self.priority_guard)
        self.cluster.accounts.ask_shares = self.priority_plugin.set_assoc_usage
        self.sched_plugin = SchedCalls(self.sched_guard)
        #: Changes of jobs.
        self.lifecycle = Lifecycle(self.cluster, self.sched_plugin)
        #: Requests about jobs.
        self.job_requests = JobRequests(self.lifecycle)
        runs = self.lifecycle.runs
        self.preemption = Preemption(self.cluster, runs)
        self._main_pass = MainPass(self.cluster, runs, self.sched_plugin.job_is_pending, self.preemption)
        #: Read access for others.
        self.view = ClusterView(
            self.cluster,
            engine=self,
            preemption=self.preemption,
            passes=self._main_pass.statistics,
            priority=self.priority_plugin,
            sched=self.sched_plugin,
            utc_offset=self.utc_offset,
        )
        self._plugin_timers = PluginTimers(self.state)
        self.plugin_state = PluginState()
        #: Delays passes; ``None``: they are made as soon as they are due.
        self._pass_times: PassTimes | None = None
        self._makes_main_pass = True
        #: Whether no passes are made while the queue is empty; and whether it was empty after the last pass.
        self._skips_empty_passes = False
        self._queue_was_empty = False
        self._in_main_pass = False
        #: Whether the next main pass tests the whole queue.
        self._is_full_pass = False
        self._before_pass: tuple[Callable[..., object], ...] = ()
        #: Background work by token: the guard of its plugin, and the function that receives the result.
        self._background: dict[int, tuple[PluginGuard, Callable[..., object]]] = {}
        self._token = 0
        self.priority_controller = self._controller(self.priority_guard)
        self.sched_controller = self._controller(self.sched_guard)
        self.select_controller = self._controller(self.select_guard or self.sched_guard)
        #: Handlers of timers that are due; they return whether a scheduling pass is due then.
        self._timer_handlers: dict[TimerKind, Callable[[Timer], bool]] = {
            TimerKind.BEGIN_TIME: self._at_begin_time,
            TimerKind.DEADLINE: self._at_deadline,
            TimerKind.SWITCHES: self._at_switches,
            TimerKind.DEPENDENCY: self._at_dependency,
            TimerKind.JOB_MINUTES: self._at_job_minutes,
            TimerKind.GROUP_MINUTES: self._at_group_minutes,
            TimerKind.LIMITS_DECAY: self._at_limits_decay,
            TimerKind.RESERVATION: self._at_reservation,
            TimerKind.PREEMPT_EXEMPT: self._at_exempt_end,
            TimerKind.PREEMPT_GRACE: self._at_grace,
            TimerKind.PASS_FOR_NEW_JOBS: self._at_pass_time,
            TimerKind.PASS_PUT_OFF: self._at_pass_time,
            TimerKind.FULL_PASS: self._at_pass_time,
            TimerKind.PLUGIN: self._plugin_timers.call,
            TimerKind.PLUGIN_ONCE: self._plugin_timers.call,
        }
        #: Handlers of the events with which the driver lets the engine work.
        self._driver_handlers: dict[type[Any], Callable[[], None]] = {
            ev.SchedulePass: self._on_schedule_pass,
            ev.Tick: self._on_tick,
        }
        #: Handlers of requests, which raise `RotaError` before they change anything; and handlers of reports.
        self._request_handlers: dict[type[Any], Callable[[Any], None]] = {
            ev.Submit: self._on_submit,
            ev.Cancel: self._on_job_request,
            ev.SignalJob: self._on_job_request,
            ev.Hold: self._on_job_request,
            ev.Release: self._on_job_request,
            ev.Requeue: self._on_job_request,
            ev.Resubmit: self._on_resubmit,
            ev.Suspend: self._on_job_request,
            ev.Resume: self._on_job_request,
            ev.UpdateJob: self._on_update_job,
            ev.UpdateAccounting: self._on_update_accounting,
            ev.CreateReservation: self._on_reservation,
            ev.UpdateReservation: self._on_reservation,
            ev.DeleteReservation: self._on_reservation,
            ev.UpdateNode: self._on_update_node,
            ev.CreatePartition: self._on_create_partition,
            ev.UpdatePartition: self._on_update_partition,
            ev.DeletePartition: self._on_delete_partition,
            ev.Reconfigure: self._on_reconfigure,
        }
        self._report_handlers: dict[type[Any], Callable[[Any], None]] = {
            ev.JobEnded: self._on_job_ended,
            ev.LaunchFailed: self._on_launch_failed,
            ev.StepChanged: self._on_step_changed,
            ev.BackgroundDone: self._on_background_done,
        }

    # ---- driving ----------------------------------------------------------------------------------------------

    def begin(self) -> list[Effect]:
        """Begin, after the plugins' ``init`` has been called; give the effects so far.

        Plugins are told the size of the machine.

        Raises:
            InputError: a parameter of slurm.conf cannot be used.
        """
        self._send_cluster_usage()
        if self._pass_times is None:
            self._set_pass_times()
        self._plugin_timers.drop_unclaimed()
        self.cluster.policy.schedule_ends()
        return self.drain()

    def _controller(self, guard: PluginGuard) -> ControllerOf[PluginJob]:
        return PluginController(
            guard,
            lifecycle=self.lifecycle,
            preemption=self.preemption,
            timers=self._plugin_timers,
            plugin_state=self.plugin_state,
            priority=self.priority_plugin,
            passes=self,
        )

    def drain(self) -> list[Effect]:
        """Give the effects since the last event, which plugins have caused in ``init``, ``fini`` or when asked."""
        effects, self.state.effects = self.state.effects, []
        return effects

    def handle(self, event: ev.Event, now: int) -> list[Effect]:
        """Handle an event; give its effects.

        A request that is refused changes nothing. An object that is no event, or has a field of the wrong type, is
        refused as well.

        Args:
            event: The event.
            now: The time, Unix seconds. A time before that of the last event counts as that.
        """
        state = self.state
        if now > state.now:
            state.now = now
        self.events += 1
        if (advance := self._driver_handlers.get(type(event))) is not None:
            advance()
        elif problem := problem_of(event):
            state.effects.append(_refusal(event, RequestError(problem, Errno.INVALID_EVENT)))
        elif (handler := self._report_handlers.get(type(event))) is not None:
            handler(event)
        else:
            self._carry_out(event)
        if state.to_end:
            self.lifecycle.end_all()
        while state.is_leaving and self._remove_unused():
            self.lifecycle.end_all()
        if state.timers.asleep and self.cluster.queue.changed:
            state.timers.wake(state.now)
        effects, state.effects = state.effects, []
        return effects

    def _carry_out(self, event: Any) -> None:
        """Carry out a request, or refuse it. Success is answered if the request has an id, and a refusal always."""
        try:
            self._request_handlers[type(event)](event)
        except RotaError as error:
            self.state.effects.append(_refusal(event, error))
        else:
            if event.request_id:
                self.state.effects.append(Accepted(request_id=event.request_id))

    @property
    def is_idle(self) -> bool:
        """Whether no job runs."""
        return not self.state.running.jobs

    @property
    def wakeup(self) -> int | None:
        """When the driver has to send a `Tick`, Unix seconds: the next timer or time limit; ``None``: there is none."""
        timers, running = self.state.timers.heap, self.state.running.jobs
        due = timers[0][0] if timers else None
        if not running:
            return due
        end: int = running[0].end_time  # type: ignore[assignment] # a running job has one
        return end if due is None or end < due else due

    def wakeup_without_jobs(self, until: int) -> int:
        """When the driver has to send a `Tick` if there are no jobs, and there will be none for long.

        Args:
            until: Up to when it sends nothing else, Unix seconds.
        """
        return self.state.timers.next_without_jobs(until)

    def plans_unread(self, seconds: int) -> None:
        """Say that nobody reads plans until so many seconds after the next end of a running job; 0: that is not known.

        Until something else is said, a scheduler need not plan jobs that cannot start now, unless plugins may read
        their plans.
        """
        self.state.plans_unread = 0 if self.plugins_may_read_plans else seconds

    # ---- before it begins -------------------------------------------------------------------------------------

    def restore_usage(self, saved: dict[str, Any]) -> None:
        """Restore earlier usage, as soon as a plugin asks for usage to be kept.

        Args:
            saved: The result of `Usage.save`.

        Raises:
            InputError: the data is not such a result, or that of another cluster.
        """
        self.cluster.accounts.restore_usage(saved)

    def add_users(self, charged: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Add missing associations.

        Args:
            charged: Names of users and accounts.

        Returns:
            Those that had no association, and have got one.
        """
        return self.cluster.accounts.add_users(charged)

    def reserve(self, reservation: Reservation) -> None:
        """Create a reservation before the first event; later it is done by the event `CreateReservation`.

        Raises:
            RequestError: the reservation cannot be made.
        """
        self.cluster.reservations.create(reservation)

    def refuse_impossible(self) -> None:
        """Refuse all jobs that can never run from now on; Slurm lets some of them wait for ever."""
        self.state.refuses_impossible = True

    def ask_priorities(self) -> None:
        """Have the plugins compute the priorities of pending jobs anew: other plugins than these have given them."""
        self.lifecycle.ask_priorities()

    # ---- checking ---------------------------------------------------------------------------------------------

    def check_invariants(self) -> None:
        """Check that the state is consistent.

        Raises:
            InvariantError: it is not.
        """
        check_invariants(self.cluster)

    # ---- events -----------------------------------------------------------------------------------------------

    def _on_submit(self, event: ev.Submit) -> None:
        job_id, spec, uid, _ = event
        if uid:
            if uid != spec.user_id:
                require_administrator(uid, "submit jobs for others", Errno.ACCESS_DENIED)
            spec = as_user(spec)
        self.lifecycle.submit(job_id, spec)
        self._request_pass(may_wait=True)

    def _on_resubmit(self, event: ev.Resubmit) -> None:
        if event.uid not in {0, event.spec.user_id}:
            require_administrator(event.uid, "requeue jobs of others", Errno.ACCESS_DENIED)
        place = None if event.array_job_id is None else Place(event.array_job_id, event.tasks)
        if bool(event.spec.array) is not (place is not None) or event.restart_count < 1:
            raise RequestError(f"job {event.job_id} cannot be queued again", Errno.DISABLED)
        if event.spec.allocation_only:
            raise RequestError(f"job {event.job_id} has no script that could run again", Errno.BATCH_ONLY)
        if not self.lifecycle.runs.may_requeue(event.spec):
            raise RequestError(f"job {event.job_id} is not to be requeued", Errno.DISABLED)
        delay = self.state.settings.requeue_delay
        begin_time = max(event.spec.begin_time, self.state.now + delay if delay else 0)
        self.lifecycle.submit(event.job_id, event.spec._replace(begin_time=begin_time), place)
        job = self.state.jobs[event.job_id]
        self.cluster.dependencies.queued_again(job, event.tasks)
        job.restart_count = event.restart_count
        if event.hold:
            self.lifecycle.hold(job)
        self._request_pass(may_wait=True)

    def _on_job_ended(self, event: ev.JobEnded) -> None:
        stopped = event.job_id in self.state.completing
        if self.lifecycle.runs.ended(event):
            self._request_pass(may_wait=self._main_pass.options.ends_wait and not stopped)

    def _on_launch_failed(self, event: ev.LaunchFailed) -> None:
        if self.lifecycle.runs.launch_failed(event):
            self._request_pass()

    def _on_step_changed(self, event: ev.StepChanged) -> None:
        self.lifecycle.runs.step_changed(event)

    def _on_job_request(self, event: ev.JobRequest) -> None:
        self.job_requests.carry_out(event)
        self._request_pass(may_wait=isinstance(event, ev.Release))

    def _on_update_job(self, event: ev.UpdateJob) -> None:
        self.job_requests.update(event)
        self.cluster.queue.new = None
        self._request_pass(may_wait=True)

    def _on_update_accounting(self, event: ev.UpdateAccounting) -> None:
        if self.cluster.change_accounting(event):
            self.priority_plugin.reconfig()
        self.cluster.queue.reconsider_all()
        self._request_pass()

    def _on_reservation(self, event: ev.CreateReservation | ev.UpdateReservation | ev.DeleteReservation) -> None:
        require_administrator(event.uid, "change reservations")
        if isinstance(event, ev.CreateReservation):
            self.cluster.reservations.create(event.reservation)
        elif isinstance(event, ev.UpdateReservation):
            self.cluster.reservations.update(event.reservation)
        else:
            self.cluster.reservations.delete(event.name)
        self.sched_plugin.partition_change()
        self._request_pass(may_wait=True)

    def _on_update_node(self, event: ev.UpdateNode) -> None:
        require_administrator(event.uid, "change nodes")
        before = self._cluster_usage()
        names = dict.fromkeys((event.name, *event.others))
        which = [self.state.index_of(name) for name in names]
        if event.features is not None or event.weight is not None:
            set_of_nodes(self.cluster, which, event.features, event.weight)
            self._machine_changed(before)
            which = [self.state.index_of(name) for name in names]  # the machine may have another order now
        nodes = self.state.nodes
        changes: dict[str, Any] = {"comment": event.comment, "extra": event.extra}
        changes = {name: text for name, text in changes.items() if text is not None}
        for index in which if changes else ():
            nodes[index] = nodes[index]._replace(**changes)
        if event.state is not None or event.reason:
            if self.lifecycle.update_nodes(which, event.state, event.reason, event.uid):
                self.sched_plugin.partition_change()
            if self._cluster_usage() != before:
                self._send_cluster_usage()
        self._request_pass(may_wait=True)

    def _on_update_partition(self, event: ev.UpdatePartition) -> None:
        partition = self._partition_to_change(event.name, event.uid)
        if event.partition is not None:
            before = self._cluster_usage()
            set_partition(self.cluster, replace(event.partition, name=partition.name))
            self._machine_changed(before)
        if event.state is not None:
            write(partition, state=event.state)
            self._partitions_changed()

    def _on_create_partition(self, event: ev.CreatePartition) -> None:
        require_administrator(event.uid, "change partitions")
        name = event.partition.name
        if name in self.state.partitions:
            raise RequestError(
                f"Invalid partition name specified: there is one named {name!r}", Errno.INVALID_PARTITION_NAME
            )
        before = self._cluster_usage()
        set_partition(self.cluster, event.partition)
        self._machine_changed(before)

    def _on_delete_partition(self, event: ev.DeletePartition) -> None:
        partition = self._partition_to_change(event.name, event.uid)
        before = self._cluster_usage()
        delete_partition(self.cluster, partition.name)
        self._machine_changed(before)

    def _partition_to_change(self, name: str, uid: int) -> Partition:
        require_administrator(uid, "change partitions")
        partition = self.state.partition_of(name)
        if partition.name in self.state.leaving_partitions:
            raise RequestError(
                f"Invalid partition name specified: {name} is not in slurm.conf any more, and leaves",
                Errno.INVALID_PARTITION_NAME,
            )
        return partition

    def _on_reconfigure(self, event: ev.Reconfigure) -> None:
        require_administrator(event.uid, "read slurm.conf again")
        before = self._cluster_usage()
        options = PassOptions.read(event.config)
        PreemptionOptions.read(event.config)  # an error is to change nothing
        reconfigure(self.cluster, event.config)
        if options != self._main_pass.options:
            self._main_pass.options = options
            self._set_pass_times()
        self._machine_changed(before)

    def _machine_changed(self, before: tuple[int, int]) -> None:
        """Tell the plugins to read slurm.conf again."""
        self.priority_plugin.reconfig()
        if self._cluster_usage() != before:
            self._send_cluster_usage()
        self.sched_plugin.reconfig()
        self._partitions_changed()

    def _remove_unused(self) -> bool:
        """Remove or change what is not as in slurm.conf, as far as running jobs have ended."""
        if not may_change(self.state):
            return False
        before = self._cluster_usage()
        if not change_machine(self.cluster):
            return False
        self._machine_changed(before)
        return True

    def _partitions_changed(self) -> None:
        self.cluster.queue.reconsider_all()
        self.sched_plugin.partition_change()
        self._request_pass(may_wait=True)

    def _on_background_done(self, event: ev.BackgroundDone) -> None:
        waiting = self._background.pop(event.token, None)
        if waiting is None:
            return
        guard, done = waiting
        if event.error:
            guard.report("in_background", None, event.error)
        else:
            guard.callback(done)(event.result)
        self.pass_due = True

    def _on_tick(self) -> None:
        state, handlers = self.state, self._timer_handlers
        self.cluster.queue.changed = False  # timers that fall asleep now wait for what happens from now on
        for timer in state.timers.due(state.now):
            if handlers[timer.kind](timer):
                self.pass_due = True
        self.lifecycle.runs.enforce_time_limits()

    def _on_schedule_pass(self) -> None:
        if self._pass_times is not None:
            is_full = self._pass_times.begin() if self.pass_due else None
            if is_full is None:
                self.pass_due = False
                return
            self._is_full_pass = is_full
        queue = self.cluster.queue
        if queue.unflushed is not None:
            queue.flush()
        self.pass_due = False
        self.passes += 1
        for fn in self._before_pass:
            fn()
        schedule = self.sched_plugin.schedule
        succeeded = schedule is None or schedule()
        if self._makes_main_pass or not succeeded:
            self.make_main_pass()
        queue.new = [] if succeeded else None
        self._queue_was_empty = not queue.queued.jobs

    def _request_pass(self, *, may_wait: bool = False) -> None:
        """Let a pass be due: now, or when SchedulerParameters allows it; not if there is nothing to do for it.

        Args:
            may_wait: Whether the reason is one after which passes may be delayed, see `PassTimes`.
        """
        if self._queue_was_empty and self._skips_empty_passes:
            state = self.state
            if not (self.cluster.queue.queued.jobs or state.to_end or state.timers.periods):
                return
        if self._pass_times is None or self._pass_times.is_due(may_wait=may_wait):
            self.pass_due = True

    def _set_pass_times(self) -> None:
        """Apply the options that delay passes."""
        if self._pass_times is not None:
            self._pass_times.stop()
        options = self._main_pass.options
        self._pass_times = PassTimes(self.state, options) if options.delays else None
        self._set_skips_empty_passes()

    def save_passes(self) -> list[Any]:
        """Give the state of passes as JSON data."""
        return [self.pass_due, self._queue_was_empty, None if self._pass_times is None else self._pass_times.save()]

    def restore_passes(self, saved: list[Any]) -> None:
        """Restore the saved state of passes, before `begin`."""
        self.pass_due, self._queue_was_empty, times = saved
        self._set_pass_times()
        if self._pass_times is not None and times is not None:
            self._pass_times.restore(times)

    # ---- timers -----------------------------------------------------------------------------------------------

    def _at_begin_time(self, timer: Timer) -> bool:
        self.cluster.queue.begin_time_reached(timer.job_id)
        return True

    def _at_deadline(self, timer: Timer) -> bool:
        self.lifecycle.missed_deadline(timer.job_id)
        return True

    def _at_switches(self, timer: Timer) -> bool:
        self.cluster.queue.waited_for_switches(self.state.jobs[timer.job_id])
        return True

    def _at_dependency(self, timer: Timer) -> bool:
        self.cluster.dependencies.after_time_reached(timer.job_id)
        return True

    def _at_job_minutes(self, timer: Timer) -> bool:
        self.state.to_end.append(self.state.jobs[timer.job_id])
        return False

    def _at_group_minutes(self, timer: Timer) -> bool:
        self.state.to_end += self.cluster.policy.used_up(timer.name)
        return False

    def _at_limits_decay(self, timer: Timer) -> bool:  # noqa: ARG002 - there is but one
        self.cluster.queue.touch()
        return True

    def _at_reservation(self, timer: Timer) -> bool:
        self.cluster.reservations.begin_or_end(timer.name)
        self.sched_plugin.partition_change()
        return True

    def _at_exempt_end(self, timer: Timer) -> bool:  # noqa: ARG002 - whose it is does not matter
        self.cluster.queue.touch()
        return True

    def _at_grace(self, timer: Timer) -> bool:
        self.preemption.grace_is_over(timer.job_id, timer.run)
        return True

    def _at_pass_time(self, timer: Timer) -> bool:
        if self._pass_times is not None:
            self._pass_times.time_has_come(timer.kind)
        return True

    # ---- for the controller that plugins are handed -----------------------------------------------------------

    def make_main_pass(self) -> None:
        """Make Slurm's main pass, unless one is under way."""
        if self._in_main_pass:
            return
        self._in_main_pass = True
        try:
            self._main_pass.run(full=self._is_full_pass)
        finally:
            self._in_main_pass = False
            self._is_full_pass = False

    def disable_main_pass(self) -> None:
        """Let only the scheduler plugin start jobs."""
        self._makes_main_pass = False
        self.cluster.reasons.derive()
        self._set_skips_empty_passes()

    def _set_skips_empty_passes(self) -> None:
        """Determine whether passes over an empty queue can be left out: nothing observes them."""
        self._skips_empty_passes = not (self._makes_main_pass or self._before_pass or self._pass_times)

    def add_before_pass(self, fn: Callable[..., object]) -> None:
        """Call a function before every pass."""
        self._before_pass = (*self._before_pass, fn)
        self._set_skips_empty_passes()

    def add_background(self, guard: PluginGuard, done: Callable[..., object]) -> int:
        """Register the receiver of the result of a background function; give its token."""
        self._token += 1
        self._background[self._token] = (guard, done)
        return self._token

    def _cluster_usage(self) -> tuple[int, int]:
        """Give the number of processors of the machine, and the half-life of usage in seconds."""
        return self.state.usable_cpus(), self.state.config.half_life()

    def _send_cluster_usage(self) -> None:
        self.priority_plugin.set_max_cluster_usage(*self._cluster_usage())

    def _fault(self, fault: PluginFault) -> None:
        self.faults[fault.plugin, fault.symbol] += 1
        self.state.effects.append(fault)


def _utc(time: int) -> int:  # noqa: ARG001 - UTC is the same at all times
    return 0


def _pass_follows(timer: Timer) -> bool:  # noqa: ARG001 - all that is wanted is a pass
    return True


def _refusal(event: Any, error: RotaError) -> Refused:
    """Make the refusal of a request, which may be any object."""
    job_id, request_id = (getattr(event, name, 0) for name in ("job_id", "request_id"))
    return Refused(
        request_id=request_id if type(request_id) is int else 0,
        job_id=job_id if type(job_id) is int else 0,
        errno=error.errno,
        message=str(error),
        by_policy=isinstance(error, PolicyError),
    )
