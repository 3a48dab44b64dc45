"""Replaying a workload on a machine, under given plugins, into a schedule."""

from __future__ import annotations

import gc
from collections import Counter
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rota.config.doubts import unmodelled
from rota.config.local_time import parse_moment, utc_offset_of
from rota.interrupts import watching
from rota.model import InputError, RequestError
from rota.model.counts import counted
from rota.replays.allocations import AllocationRecorder
from rota.replays.driver import PASS_PER, ReplayDriver
from rota.replays.failures import node_changes
from rota.replays.history import SAMPLES, HistoryRecorder
from rota.replays.inputs import inputs_of
from rota.replays.plugins import check_types, load_plugins, with_plugins
from rota.replays.queue_plan import Planned, plan_queue
from rota.replays.recorder import Recorder
from rota.replays.trace import make_trace
from rota.replays.untold import untold_doubts
from rota.results.node_types import types_of
from rota.results.result import Result
from rota.results.schedule import summarise
from rota.runtime.boot import boot, state_of
from rota.workload.header import time_zone
from rota.workload.window import LEAD

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.core import Engine
    from rota.model import ClusterConfig
    from rota.replays.options import ReplayOptions
    from rota.replays.scenario import Scenario
    from rota.results.schedule import Schedule
    from rota.workload import Workload

#: Number of parts in which the workload is played when a job's start is searched for.
_CHUNKS = 100
#: Share of the jobs that have to run to an end: with fewer, the figures say nothing of the workload.
_ENOUGH = 0.5
#: Number of new objects after which Python looks for cycles among them. At its default of 700 that is a twentieth of
#: the time of a replay, and it finds nothing: jobs and plans are freed when they are dropped.
_COLLECT_AFTER = 50_000


class Replay:
    """A replay in progress: a machine, its plugins, and a workload.

    A context manager: the plugins are unloaded at the end of the block.

    Raises:
        InputError: the workload, the configuration or an option cannot be used.
        PluginError: a plugin cannot be used.
        KeyboardInterrupt: Ctrl-C was pressed, whatever a plugin has made of it.
    """

    def __init__(self, scenario: Scenario) -> None:
        workload, config, options = scenario.workload, scenario.config, scenario.options
        if options.pass_per not in PASS_PER:
            raise InputError(f"{options.pass_per!r} is none of {', '.join(PASS_PER)}", field="pass_per")
        check_types(options, config)
        _report_doubts(config, options, workload)
        if any(one.speaks_of_sockets for one in workload.requests or ()):
            config = replace(config, cores_apart=True)
        self._workload = workload
        self._config = config
        self._options = options
        for note in workload.notes:
            options.report(note)
        self.trace = make_trace(workload, options.estimate, think_time=options.think_time)
        if withdrawn := len(self.trace.withdrawn):
            options.report(
                counted(
                    withdrawn,
                    "a job was withdrawn while it waited: it is in the queue until then, and in no figure",
                    "{} jobs were withdrawn while they waited: they are in the queue until then, and in no figure",
                )
            )
        if self.trace.left_out:
            options.report(
                f"{self.trace.left_out:,} of {len(workload):,} jobs "
                + counted(
                    self.trace.left_out,
                    "is left out: the log has no run time or no processors for it, or tells only of a part of it",
                    "are left out: the log has no run time or no processors for them, or tells only of a part of them",
                )
            )
        changes = node_changes(options.failures, config.nodes, self.trace.origin)
        self.utc_offset = utc_offset_of(options.time_zone or time_zone(workload.header))
        self._recorder = Recorder(self.trace, options.report, tolerate_faults=options.tolerate_faults)
        self._wall_s = 0.0
        #: In which states jobs are left at the end, and why; empty: none is.
        self._left = ""
        with watching(), ExitStack() as stack:
            host, plugins = load_plugins(stack, scenario)
            self.engine, _ = boot(
                config,
                plugins,
                boot_time=self.trace.start,
                # A copy: users without an association are added to it.
                associations=deepcopy(options.associations),
                utc_offset=self.utc_offset,
                clock=perf_counter,
                prepare=self._prepare,
            )
            self._host = host
            self._plugins = plugins
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
            strict=options.strict,
            on_finished=self._recorder.finished,
            on_effect=self._recorder.effect,
            on_refused=self._recorder.job_refused,
            on_progress=None if progress is None else lambda done: progress(done, total),
            on_launch=None if self._allocations is None else self._allocations.launched,
            node_changes=changes,
        )

    def _prepare(self, engine: Engine) -> None:
        """Prepare the engine before its plugins are started: create reservations and restore usage."""
        self.engine = engine
        engine.refuse_impossible()  # they are left out and counted
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
        self._unload()

    def _unload(self) -> None:
        with watching():
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
        """Play the workload to its end, or to ``until`` (Unix seconds); say whether there is more to play.

        Raises:
            InputError: a job can never run, and the replay is strict.
            PluginFaultError: a plugin misbehaved, and faults are not tolerated.
            KeyboardInterrupt: Ctrl-C was pressed, whatever a plugin has made of it.
        """
        begun, usual = perf_counter(), gc.get_threshold()
        if usual[0]:  # else Python does not collect at all
            gc.set_threshold(max(usual[0], _COLLECT_AFTER), *usual[1:])
        try:
            with watching():
                if until is not None:
                    more = self._driver.run(until)
                    self._driver.set_clock(until)
                elif self._history is None:
                    more = self._driver.run()
                else:
                    more = self._run_with_history(self._history)
        finally:
            gc.set_threshold(*usual)
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
        self._stop_before_passes(at)
        backfill = self._host.load("sched/backfill")
        backfill.start(self.engine.sched_controller)
        return plan_queue(self.engine, backfill.container)

    def states(self, at: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Play up to ``at`` (Unix seconds); give the engine's states before and after the passes of that second.

        This is for one pass a second.
        """
        self._stop_before_passes(at)
        before = state_of(self.engine)
        self._driver.schedules = True
        self._driver.set_clock(at, passes=True)
        self.run(at)  # what the passes have made due
        return before, state_of(self.engine)

    def _stop_before_passes(self, at: int) -> None:
        self._driver.run(at - 1)
        self._driver.schedules = False
        self._driver.run(at)
        self._driver.set_clock(at)

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

    def shortfall(self, result: Result) -> InputError | None:
        """Give the error for a result of which most jobs have not run to an end; ``None``: most have."""
        ran, total = result.summary.jobs, len(result.schedule)
        if ran >= _ENOUGH * total:
            return None
        return self._recorder.refusals.shortfall(ran, total, self._left)

    def result(self) -> Result:
        """Give the result. Reports jobs that have not ended or were refused, and faults of plugins.

        Raises:
            InputError: no job has run.
        """
        options, engine = self._options, self.engine
        if options.check:
            engine.check_invariants()
        left, refusals, total = _unfinished(engine), self._recorder.refusals, len(self.trace)
        nothing_ran = max(self._recorder.start) < 0
        if left and not nothing_ran:
            options.report(
                f"{len(engine.jobs)} of {total} jobs {counted(len(engine.jobs), 'has', 'have')} not ended: {left}"
            )
        if refusals.total > 1 and not nothing_ran:
            options.report(refusals.told(total))
        self._recorder.report_faults()
        if nothing_ran:
            raise refusals.shortfall(0, total, left)
        self._left = left
        self._unload()
        for effect in engine.drain():
            self._recorder.effect(effect)
        named = engine.view.keeps_usage or self._workload.requests is not None
        schedule = self._recorder.schedule(named=named)
        if self._allocations is not None:
            schedule = self._allocations.added_to(schedule)
        carried = np.isin(schedule.job_id, [*self._workload.carried])
        if carried.any():
            _report_late(schedule.take(np.flatnonzero(carried)), options.report)
        beside = carried.copy()
        beside[[*self.trace.withdrawn]] = True
        gone = frozenset(schedule.job_id[beside].tolist())
        if gone:  # in no figure
            schedule = schedule.take(np.flatnonzero(~beside))
        history = plans = None
        if self._history is not None:
            plans = self._history.plans().without(gone)
            schedule = replace(schedule, node_type=types_of(schedule.nodes, plans))
            begun = schedule.start >= 0
            history = self._history.history(
                dict(zip(schedule.job_id[begun].tolist(), schedule.wait[begun].tolist(), strict=True))
            )
        procs = sum(node.cpus for node in self._config.nodes)
        return Result(
            workload=self._workload.name,
            scheduler=options.scheduler,
            priority=options.priority,
            options=options.label,
            machine_procs=procs,
            origin=self.trace.origin,
            schedule=schedule,
            summary=summarise(
                schedule,
                procs,
                events=engine.events,
                passes=engine.passes,
                wall_s=self._wall_s,
                faults=self._recorder.faults,
                refused=int((~beside)[self._recorder.refused].sum()),
            ),
            priorities=history,
            plans=plans,
            provenance=with_plugins(options.provenance, self._plugins),
            inputs=inputs_of(self.trace, self._config, options),
        )


def replay(scenario: Scenario) -> Result:
    """Schedule a workload in virtual time.

    The same scenario always gives the same schedule.

    Raises:
        InputError: the workload, the configuration or an option cannot be used.
        PluginError: a plugin cannot be used.
        PluginFaultError: a plugin misbehaved, and `ReplayOptions.tolerate_faults` is not set.
    """
    with Replay(scenario) as running:
        running.run()
        return running.result()


def _report_doubts(config: ClusterConfig, options: ReplayOptions, workload: Workload) -> None:
    """Report what is not done as slurm.conf says, or as it was for want of knowledge; or refuse it."""
    plugins = (options.scheduler, options.priority, options.select)
    qos = {"normal"} if options.associations is None else options.associations.qos.keys()
    for doubt in (*unmodelled(config, plugins, qos), *untold_doubts(workload, config, qos)):
        if options.strict:
            raise InputError(doubt)
        options.report(f"warning: {doubt}")


def _report_late(carried: Schedule, report: Callable[[str], object]) -> None:
    """Report how many of the jobs that ran when the workload begins run now, and were placed in time."""
    late = int(((carried.start < 0) | (carried.wait > LEAD)).sum())
    several = "{} jobs ran at --from: they hold their places, and are in no figure"
    ran = counted(len(carried), "a job ran at --from: it holds its place, and is in no figure", several)
    report(ran + (f", but {late:,} of {len(carried):,} could not be placed by then" if late else ""))


def _unfinished(engine: Engine) -> str:
    """Tell how many jobs are left although nothing more can happen, and why; empty: none is."""
    left = Counter(f"{job.state}, {engine.view.reason(job)}" for job in engine.jobs.values())
    return "; ".join(f"{count} {kind}" for kind, count in sorted(left.items()))
