"""Replaying a workload on a machine, under given plugins, into a schedule."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rota.config.local_time import parse_moment, utc_offset_of
from rota.core.effects import Log, PluginFault, Refused
from rota.interfaces import APIS
from rota.loader import PluginHost
from rota.model import InputError, RequestError
from rota.replay.allocations import AllocationRecorder
from rota.replay.driver import PASS_PER, ReplayDriver
from rota.replay.failures import node_changes
from rota.replay.history import SAMPLES, HistoryRecorder
from rota.replay.queue_plan import Planned, plan_queue
from rota.replay.trace import make_trace
from rota.resources import shares_nodes
from rota.results.schedule import STATES, ReplayResult, Schedule, summarise
from rota.runtime.boot import Plugins, boot
from rota.workload.header import time_zone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rota.accounting import AssociationTree
    from rota.core import Engine
    from rota.core.effects import Effect
    from rota.model import ClusterConfig, JobRecord
    from rota.replay.failures import Failure
    from rota.replay.reservation_file import ReservationLine
    from rota.replay.trace import Trace
    from rota.results.usage_file import UsageFile
    from rota.workload import Workload

#: Number of parts in which the workload is played when a job's start is searched for.
_CHUNKS = 100
_STATE_CODE = {state: code for code, state in enumerate(STATES)}


@dataclass(kw_only=True)
class ReplayOptions:
    """Options of a replay; the defaults are those of ``rota replay``."""

    scheduler: str = "sched/easy"
    priority: str = "priority/basic"
    #: Node selection plugin, for machines on which nodes are shared.
    select: str = "select/cons_tres"
    #: Directories of plugins, searched before the installed and the built-in ones.
    plugin_dir: Sequence[Path | str] = ()
    #: Time limits of the jobs: ``requested``, or the ``actual`` run times.
    estimate: str = "requested"
    #: A scheduling pass after each ``event``, or one for each ``instant``.
    pass_per: str = "instant"
    #: Associations; ``None``: the workload's users and accounts, with one share each.
    associations: AssociationTree | None = None
    #: Usage of the associations before the log begins.
    usage: UsageFile | None = None
    #: Time zone, such as ``Europe/Stockholm``; empty: that of the workload, else UTC.
    time_zone: str = ""
    #: Node failures; see `rota.replay.failures`.
    failures: Sequence[Failure] = ()
    #: Advance reservations; see `rota.replay.reservation_file`.
    reservations: Sequence[ReservationLine] = ()
    #: Record a history of plans, fair-share and priority factors (if the priority plugin has these), and the nodes of
    #: each job.
    history: bool = False
    #: Check the engine's invariants at the end.
    check: bool = False
    #: Distinguishes the run from others in reports.
    label: str = ""
    #: Is called with messages for the administrator: plugin faults, and what plugins log.
    report: Callable[[str], object] = field(default=lambda _text: None)
    #: Is called now and then with the number of jobs submitted so far and their total.
    progress: Callable[[int, int], object] | None = None


class _Recorder:
    """Records the start, end and state of every job."""

    def __init__(self, trace: Trace, report: Callable[[str], object]) -> None:
        self._trace = trace
        self._report = report
        count = len(trace)
        self.start = [-1] * count
        self.end = [-1] * count
        self.state = [0] * count
        self.limit = trace.time_limit.copy()
        #: Account that was charged, if that is known, else the one that the job asked for.
        self.account = trace.account.copy()
        #: Number of jobs that were refused because of limits.
        self.refused = 0
        #: Faults by (plugin, function): only the first of each is reported when it happens.
        self._faults: set[tuple[str, str]] = set()

    def finished(self, row: int, job: JobRecord) -> None:
        """Record a job that has ended."""
        if job.start_time is not None:
            self.start[row] = job.start_time
        self.end[row] = job.end_time
        self.state[row] = _STATE_CODE[job.state]
        self.limit[row] = job.time_limit
        if job.account:
            self.account[row] = job.account

    def effect(self, effect: Effect) -> None:
        """Report an effect that the driver does not perform."""
        if isinstance(effect, PluginFault):
            if (effect.plugin, effect.symbol) not in self._faults:
                self._faults.add((effect.plugin, effect.symbol))
                about = "" if effect.job_id is None else f" for job {effect.job_id}"
                self._report(_one_line(f"plugin {effect.plugin}: {effect.symbol}{about} {effect.message}"))
        elif isinstance(effect, Refused) and effect.job_id:
            self.refused += 1
            if self.refused == 1:
                self._report(_one_line(f"job {effect.job_id} was refused: {effect.message}"))
        elif isinstance(effect, Log | Refused):
            self._report(_one_line(effect.message))

    def schedule(self, *, named: bool) -> Schedule:
        """Make the schedule, with names of users and accounts if they are known."""
        trace = self._trace
        return Schedule(
            job_id=np.asarray(trace.job_id, np.int64),
            user_id=np.asarray(trace.user_id, np.int64),
            submit=np.asarray(trace.submit, np.int64),
            start=np.asarray(self.start, np.int64),
            end=np.asarray(self.end, np.int64),
            procs=np.asarray(trace.procs, np.int64),
            time_limit=np.asarray(self.limit, np.int64),
            state=np.asarray(self.state, np.int8),
            user=tuple(trace.user) if named else None,
            account=tuple(self.account) if named else None,
        )


class Replay:
    """A replay in progress: a machine, its plugins, and a workload.

    A context manager: the plugins are unloaded at the end of the block.

    Raises:
        InputError: the workload, the configuration or an option cannot be used.
        PluginError: a plugin cannot be used.
    """

    def __init__(self, workload: Workload, config: ClusterConfig, options: ReplayOptions | None = None) -> None:
        options = options or ReplayOptions()
        if options.pass_per not in PASS_PER:
            raise InputError(f"{options.pass_per!r} is none of {', '.join(PASS_PER)}", field="pass_per")
        _check_type(options.scheduler, "sched", "scheduler")
        _check_type(options.priority, "priority", "priority")
        _check_type(options.select, "select", "select")
        self._workload = workload
        self._config = config
        self._options = options
        self.trace = make_trace(workload, options.estimate)
        if self.trace.left_out:
            options.report(
                f"{self.trace.left_out:,} of {len(workload):,} jobs are left out: "
                "the log has no run time or no processors for them, or tells only of a part of them"
            )
        changes = node_changes(options.failures, config.nodes, self.trace.origin)
        self.utc_offset = utc_offset_of(options.time_zone or time_zone(workload.header))
        self._recorder = _Recorder(self.trace, options.report)
        self._wall_s = 0.0
        with ExitStack() as stack:
            host = stack.enter_context(PluginHost(options.plugin_dir, report=options.report))
            priority, sched = host.load(options.priority), host.load(options.scheduler)
            select = host.load(options.select) if shares_nodes(config) else None
            self.engine, _ = boot(
                config,
                Plugins(priority, sched, select),
                boot_time=self.trace.start,
                # A copy: users without an association are added to it.
                associations=deepcopy(options.associations),
                utc_offset=self.utc_offset,
                clock=perf_counter,
                prepare=self._prepare,
            )
            self._host = host
            self._stack = stack.pop_all()
        if self.engine.view.keeps_usage:
            self._associate()
        elif options.usage is not None:
            options.report(f"warning: {options.usage.path}: left out: {options.priority} keeps no usage")
        self._history = HistoryRecorder(self.engine) if options.history else None
        view = self.engine.view
        records = options.history and not view.interchangeable
        self._allocations = AllocationRecorder(view, len(self.trace)) if records else None
        progress, total = options.progress, len(self.trace)
        self._driver = ReplayDriver(
            self.engine,
            self.trace,
            pass_per_event=options.pass_per == "event",
            on_finished=self._recorder.finished,
            on_effect=self._recorder.effect,
            on_progress=None if progress is None else lambda done: progress(done, total),
            on_launch=None if self._allocations is None else self._allocations.launched,
            node_changes=changes,
        )

    def _prepare(self, engine: Engine) -> None:
        """Prepare the engine before its plugins are started: create reservations and restore usage."""
        self.engine = engine
        for one in self._options.reservations:
            try:
                engine.reserve(one.reservation(self.trace.origin, self.utc_offset))
            except RequestError as error:
                raise one.line.error(str(error), "ReservationName") from None
        if self._options.usage is not None:
            self._associate()  # before usage is restored, or that of users without an association would be lost
            try:
                engine.restore_usage(self._options.usage.data)
            except InputError as error:
                raise self._options.usage.blame(error) from None

    @property
    def usage(self) -> dict[str, Any] | None:
        """Usage of the associations, as `Usage.save` gives it; ``None`` if it is not kept."""
        return self.engine.view.usage()

    def __enter__(self) -> Self:
        """Enter the context."""
        return self

    def __exit__(self, *_: object) -> None:
        """Unload the plugins."""
        self._stack.close()

    def _associate(self) -> None:
        """Add all users without an association to the tree now, so that shares do not change during the replay."""
        missing = self.engine.add_users(sorted(self.trace.charged()))
        if missing and self._options.associations is not None:
            (user, account), *others = missing
            more = f" and {len(others):,} others" if others else ""
            self._options.report(
                f"warning: user {user} of account {account}{more} are in no association: each is added with one share"
            )

    def run(self, until: int | None = None) -> bool:
        """Play the workload to its end, or to ``until`` (Unix seconds); say whether there is more to play."""
        begun = perf_counter()
        if until is not None:
            more = self._driver.run(until)
            self._driver.set_clock(until)
        elif self._history is None:
            more = self._driver.run()
        else:
            more = self._run_with_history(self._history)
        self._wall_s += perf_counter() - begun
        return more

    def _run_with_history(self, history: HistoryRecorder) -> bool:
        step = max((self.trace.submit[-1] - self.trace.start) // SAMPLES, 1)
        moment = self.trace.start
        while self._driver.run(moment):
            history.sample()
            if history.is_full:
                history.thin()
                step *= 2
            moment += step
        history.sample()
        return False

    def plan(self, at: int) -> list[Planned]:
        """Play up to ``at`` (Unix seconds) and make one cycle of ``sched/backfill`` over the queue at that time.

        Jobs submitted at ``at`` are in the queue; no other pass is made then. The replay cannot go on after this.
        """
        self._driver.run(at - 1)
        self._driver.schedules = False
        self._driver.run(at)
        self._driver.set_clock(at)
        backfill = self._host.load("sched/backfill")
        backfill.start(self.engine.sched_controller)
        return plan_queue(self.engine, backfill.container)

    def moment(self, text: str) -> int:
        """Parse a point of time in this replay, see `parse_moment`; give Unix seconds."""
        return parse_moment(text, self.trace.origin, self.utc_offset)

    def start_of(self, job_id: int) -> int | None:
        """Give the start of a job, Unix seconds; ``None``: it has not started so far."""
        job = self.engine.jobs.get(job_id)
        if job is not None:
            return job.start_time
        start = self._recorder.start[self.trace.job_id.index(job_id)]
        return start if start >= 0 else None

    def find_start(self, job_id: int) -> int | None:
        """Play on until a job starts; give its start, Unix seconds, ``None`` if it never starts.

        Raises:
            InputError: the workload has no such job.
        """
        trace = self.trace
        if job_id not in trace.job_id:
            raise InputError(f"the workload has no job {job_id} that is replayed", field="JOB")
        submit = trace.submit[trace.job_id.index(job_id)]
        step = max((trace.submit[-1] - submit) // _CHUNKS, 3600)
        moment = submit
        while self.run(moment):
            start = self.start_of(job_id)
            if start is not None:
                return start
            moment += step
        return self.start_of(job_id)

    def result(self) -> ReplayResult:
        """Give the result. Reports jobs that have not ended, and faults of plugins."""
        options, engine = self._options, self.engine
        if options.check:
            engine.check_invariants()
        _report_faults(engine, options.report)
        _report_unfinished(engine, len(self.trace), options.report)
        if self._recorder.refused > 1:
            options.report(f"{self._recorder.refused:,} of {len(self.trace):,} jobs were refused by limits")
        self._stack.close()
        for effect in engine.drain():
            self._recorder.effect(effect)
        schedule = self._recorder.schedule(named=engine.view.keeps_usage)
        if self._allocations is not None:
            schedule = self._allocations.added_to(schedule)
        history = plans = None
        if self._history is not None:
            plans = self._history.plans()
            begun = schedule.start >= 0
            history = self._history.history(
                dict(zip(schedule.job_id[begun].tolist(), schedule.wait[begun].tolist(), strict=True))
            )
        procs = sum(node.cpus for node in self._config.nodes)
        return ReplayResult(
            workload=self._workload.name,
            scheduler=options.scheduler,
            priority=options.priority,
            options=options.label,
            machine_procs=procs,
            origin=self.trace.origin,
            schedule=schedule,
            summary=summarise(schedule, procs, events=engine.events, passes=engine.passes, wall_s=self._wall_s),
            priorities=history,
            plans=plans,
        )


def replay(workload: Workload, config: ClusterConfig, options: ReplayOptions | None = None) -> ReplayResult:
    """Schedule a workload in virtual time.

    The same arguments always give the same schedule.

    Raises:
        InputError: the workload, the configuration or an option cannot be used.
        PluginError: a plugin cannot be used.
    """
    with Replay(workload, config, options) as running:
        running.run()
        return running.result()


def _check_type(plugin_type: str, major: str, option: str) -> None:
    """Refuse a plugin of the wrong API; everything else is checked by the host."""
    other = plugin_type.partition("/")[0]
    if other != major and other in APIS:
        raise InputError(f"{plugin_type} is a plugin of type {other}: name one of type {major}", field=option)


def _report_unfinished(engine: Engine, total: int, report: Callable[[str], object]) -> None:
    """Report how many jobs are left although nothing more can happen, and why."""
    left = Counter(f"{job.state}, {engine.view.reason(job)}" for job in engine.jobs.values())
    if left:
        kinds = "; ".join(f"{count} {kind}" for kind, count in sorted(left.items()))
        report(f"{left.total()} of {total} jobs have not ended: {kinds}")


def _one_line(text: str) -> str:
    """Join the lines of a message."""
    return " ".join(text.split())


def _report_faults(engine: Engine, report: Callable[[str], object]) -> None:
    """Report the number of faults of each plugin."""
    for (plugin, symbol), count in sorted(engine.faults.items()):
        report(
            f"plugin {plugin}: {symbol} misbehaved {count} times; where an answer was needed, rota gave its own (FIFO)"
        )
