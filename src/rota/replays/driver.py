"""The driver in virtual time, with the future events of a replay.

Events of the same second are ordered:

1. ends of jobs at their time limits, so that their resources are free for all other events of the second;
2. timers and time limits of the engine;
3. nodes that fail or are restored, in the order of slurm.conf: a job that would end before its time limit in the same
   second is lost, and one that has ended at its limit is not;
4. submissions, in the order of the workload, then those of jobs that were to come some time after the end of another;
5. withdrawals of jobs, in the order of the workload;
6. all other ends, in the order of the launches.

Scheduling passes are made after each event, or once after all events of a second (``pass_per``). Nodes that change in
the same second count as one event: a job that is lost on one of them does not start again on another.

The replay ends when all jobs have ended, or when nothing can happen any more; then some jobs are left pending. Changes
of nodes after the last job are not simulated. A job that is lost and requeued runs for its whole run time. One that is
withdrawn ends then, whether it runs or waits.

Over 400 lines: the future events are in one loop, whose calls are counted.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from rota.core.effects import Accepted, Background, JobFinished, Kill, Launch, Refused, RunRequeued
from rota.core.events import Cancel, JobEnded, SchedulePass, Submit, Tick, UpdateNode
from rota.interrupts import NOTED
from rota.model.array import MOST_TASKS, parse_array
from rota.replays.refusals import never_runs
from rota.replays.trace import OPERATORS
from rota.runtime.dispatch import background_done, dispatch_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rota.core import Engine
    from rota.core.effects import Effect
    from rota.core.events import Event
    from rota.core.job import Job
    from rota.model import JobRecord
    from rota.replays.failures import NodeChange
    from rota.replays.trace import Trace

PASS_PER = ("event", "instant")
_PASS = SchedulePass()
_TICK = Tick()
#: Time after all events; later events are never handled.
_NEVER = 2**62
#: Number of successive timers, without other future events, after which the replay is ended with pending jobs.
_IDLE_TICKS = 100_000
#: Number of successive launches, without a submission, a finished job or a changed node, after which it is ended.
_FUTILE_LAUNCHES = 100_000
#: Seconds without jobs in which each period of each timer is played; of longer times only the end is.
_LONG = 30 * 86400
#: Largest number of passes at the end of a second. A pass may make another one due, for example by requeueing a job.
_PASSES_IN_A_ROW = 10
#: Number of seconds with events between two reports of progress.
_PROGRESS_EVERY = 1024


class ReplayDriver:
    """Replays a trace with an engine.

    Args:
        engine: A new engine with initialised plugins.
        trace: The jobs to replay.
        pass_per_event: Whether there is a scheduling pass after each event; else after all events of a second.
        strict: Whether a job that can never run is an error; else it is left out.
        on_finished: Function that is called with the row and the final record of every job that has ended.
        on_effect: Function that is called with every effect that the driver does not perform: faults, log lines.
        on_refused: Function that is called with the rows of a job, or of the tasks of an array, that were refused.
        on_progress: Function that is called repeatedly with the number of jobs submitted so far.
        on_launch: Function that is called with the row and the record of every job that has been started.
        node_changes: Changes of node states, by time.
    """

    def __init__(
        self,
        engine: Engine,
        trace: Trace,
        *,
        pass_per_event: bool,
        strict: bool = False,
        on_finished: Callable[[int, JobRecord], None],
        on_effect: Callable[[Effect], None],
        on_refused: Callable[[range, Refused], None],
        on_progress: Callable[[int], object] | None = None,
        on_launch: Callable[[int, Job], object] | None = None,
        node_changes: Sequence[NodeChange] = (),
    ) -> None:
        self._engine = engine
        self._trace = trace
        #: Rows of jobs, with their think times, by the row of the job whose end they wait for.
        self._waited_for = trace.followers.copy()
        self._late = {row for rows in self._waited_for.values() for row, _ in rows}
        #: Rows of all others, which come at known times, and these times, with `_NEVER` after the last one.
        rows = range(len(trace))
        self._rows = [row for row in rows if row not in self._late] if self._late else rows
        self._submit = [*map(trace.submit.__getitem__, self._rows), _NEVER]
        #: Heap of the late ones whose time is known, as (time, row).
        self._followers: list[tuple[int, int]] = []
        #: Heap of withdrawals of jobs that have been submitted, or come at known times, as (time, row).
        self._withdrawals = [
            (trace.submit[row] + s, row) for row, s in trace.withdrawn.items() if row not in self._late
        ]
        heapify(self._withdrawals)
        #: Future changes of nodes, latest first.
        self._node_changes = [*reversed(node_changes)]
        #: Whether plans matter only where `run` ends. When nodes change, sizes of planned jobs may be computed again.
        self._plans_unread = not node_changes
        self._pass_per_event = pass_per_event
        self._strict = strict
        self._on_finished = on_finished
        self._on_effect = on_effect
        self._on_refused = on_refused
        self._on_progress = on_progress
        self._on_launch = on_launch
        #: Heaps of future ends (time, number of the launch, job id, restart count): at time limits, and before them.
        self._limit_ends: list[tuple[int, int, int, int]] = []
        self._early_ends: list[tuple[int, int, int, int]] = []
        self._launches = 0
        #: Number of launches after which the replay is ended.
        self._futile_after = _FUTILE_LAUNCHES
        #: Stopped runs whose end is still in a heap, as (job id, restart count).
        self._stopped: set[tuple[int, int]] = set()
        #: Rows of live jobs in the trace, by job id.
        self._row: dict[int, int] = {}
        #: Rows of the tasks of live arrays, by array job id and task id.
        self._arrays: dict[int, dict[int, int]] = {}
        #: Whether scheduling passes are made.
        self.schedules = True
        self._begun = False
        self._dispatch = dispatch_table(self)
        #: Time of the effects that are being performed.
        self._now = 0
        #: Number of jobs of known times that have been submitted.
        self._place = 0
        self._instants = 0
        #: Number of seconds so far in which only timers were left.
        self._idle = 0

    def run(self, until: int = _NEVER) -> bool:
        """Replay the trace up to a time, or to the end; a second call continues.

        Args:
            until: Time of the last events to handle, Unix seconds. The engine's clock is not set to it.

        Returns:
            Whether there are events left.

        Raises:
            InputError: the replay is strict, and the engine refused a job that can never run.
        """
        engine, limit_ends, early_ends = self._engine, self._limit_ends, self._early_ends
        node_changes, submit, followers = self._node_changes, self._submit, self._followers
        withdrawals = self._withdrawals
        if not self._begun:
            self._begun = True
            self._perform(engine.begin(), submit[0])
        place, count = self._place, len(self._trace) - len(self._late)
        instants, idle, more = self._instants, self._idle, False
        looked = -1  # how many launches there had been when it was last asked whether it goes on
        while self._launches <= self._futile_after:
            if self._stopped:
                self._drop_stopped()
            wakeup = engine.wakeup
            now = tick = _NEVER if wakeup is None or wakeup > _NEVER else wakeup
            if limit_ends and limit_ends[0][0] < now:
                now = limit_ends[0][0]
            if early_ends and early_ends[0][0] < now:
                now = early_ends[0][0]
            if node_changes and node_changes[-1].time < now:
                now = node_changes[-1].time
            if followers and followers[0][0] < now:
                now = followers[0][0]
            if withdrawals and withdrawals[0][0] < now:
                now = withdrawals[0][0]
            if submit[place] < now:
                now = submit[place]
            elif place == count and not followers and not limit_ends and not early_ends:
                if now >= _NEVER or not self._row:
                    break
                idle += not node_changes and engine.is_idle  # those that run end at their time limits
                if idle > _IDLE_TICKS:
                    break
                if looked != self._launches and not node_changes and not withdrawals:
                    looked = self._launches  # once: thousands may be pending
                    if not engine.view.goes_on():
                        break
            if now == tick and submit[place] - now > _LONG and not self._row and now < until:
                now = tick = self._skip_empty_time(place, until)
            if now > until:
                more = True
                break
            first_launch = _NEVER
            if limit_ends and limit_ends[0][0] == now:
                first_launch = self._end_at_limit(now)
            if tick <= now:
                self._tick(now, until)
            if node_changes and node_changes[-1].time <= now:
                self._change_nodes(now)
            if submit[place] == now:
                place = self._submit_jobs(now, place)
            if followers and followers[0][0] == now:
                self._submit_followers(now)
            if withdrawals and withdrawals[0][0] == now:
                self._withdraw(now)
            if early_ends and early_ends[0][0] == now:
                self._end_early(now, first_launch)
            passes = 0
            while engine.pass_due and self.schedules and passes < _PASSES_IN_A_ROW:
                passes += 1
                self._send(_PASS, now)
            instants += 1
            if NOTED.came:  # and the code of a plugin has caught what Python raised for it
                raise KeyboardInterrupt
            if self._on_progress is not None and instants % _PROGRESS_EVERY == 0:
                self._on_progress(place)
        self._place, self._instants, self._idle = place, instants, idle
        return more

    def set_clock(self, now: int, *, passes: bool = False) -> None:
        """Set the engine's clock to ``now``, after all events up to then; perhaps make the passes that are due."""
        self._engine.plans_unread(0)
        self._send(_TICK, now)
        while passes and self._engine.pass_due:
            self._send(_PASS, now)

    # ---- events of a second -----------------------------------------------------------------------------------

    def _skip_empty_time(self, place: int, until: int) -> int:
        """Give when timers are called next, while there are no jobs: see `Engine.wakeup_without_jobs`."""
        heaps = (self._followers, self._withdrawals, self._limit_ends, self._early_ends)
        following = min([until, self._submit[place], *(heap[0][0] for heap in heaps if heap)])
        if self._node_changes:
            following = min(following, self._node_changes[-1].time)
        return self._engine.wakeup_without_jobs(following)

    def _next_end(self) -> int:
        """Give the time by which a running job will have ended; `_NEVER`: that is not known."""
        ends = self._early_ends or self._limit_ends
        if not ends or self._stopped:  # the first end may be that of a stopped run
            return _NEVER
        return ends[0][0]

    def _end_at_limit(self, now: int) -> int:
        """End the jobs whose time limit is now; give the number of the earliest of their launches."""
        ends = self._limit_ends
        first_launch = ends[0][1]
        while ends and ends[0][0] == now:
            _, _, job_id, restart_count = heappop(ends)
            if not (self._stopped and self._was_stopped(job_id, restart_count)):
                self._send(JobEnded(job_id, restart_count), now)
        return first_launch

    def _tick(self, now: int, until: int) -> None:
        """Send a `Tick`, unless the engine waited only for the time limit of a job that has just ended.

        Args:
            now: The time, Unix seconds.
            until: Time up to which is played, at which plans may be read.
        """
        wakeup = self._engine.wakeup
        if wakeup is not None and wakeup <= now:
            if self._plans_unread and self._engine.asks_who_reads_plans:
                self._engine.plans_unread(until - self._next_end())
            self._send(_TICK, now)

    def _change_nodes(self, now: int) -> None:
        """Change the states of nodes."""
        changes = self._node_changes
        while changes and changes[-1].time <= now:
            _, name, state = changes.pop()
            self._send(UpdateNode(name=name, state=state), now)
        self._futile_after = self._launches + _FUTILE_LAUNCHES
        if self._pass_per_event and self.schedules:
            self._send(_PASS, now)

    def _submit_jobs(self, now: int, place: int) -> int:
        """Submit the jobs whose submit time is now, beginning with the one at ``place``; give the next place."""
        trace, submit, rows = self._trace, self._submit, self._rows
        per_event, handle, perform = self._pass_per_event and self.schedules, self._engine.handle, self._perform
        while submit[place] == now:
            row = rows[place]
            job_id, spec = trace.job_id[row], trace.spec(row)
            self._row[job_id] = row
            tasks = self._note_array(job_id, row, spec.array) if spec.array else 1
            uid = spec.user_id if (spec.nice < 0 or spec.priority) and spec.user not in OPERATORS else 0
            if effects := handle(Submit(job_id, spec, uid), now):
                perform(effects, now)
            place += tasks
            if per_event and (effects := handle(_PASS, now)):
                perform(effects, now)
        self._futile_after = self._launches + _FUTILE_LAUNCHES
        return place

    def _submit_followers(self, now: int) -> None:
        """Submit the jobs whose think time is over now."""
        trace, followers = self._trace, self._followers
        while followers and followers[0][0] == now:
            row = heappop(followers)[1]
            trace.submit[row] = now
            if row in trace.withdrawn:
                heappush(self._withdrawals, (now + trace.withdrawn[row], row))
            self._row[trace.job_id[row]], spec = row, trace.spec(row)
            uid = spec.user_id if (spec.nice < 0 or spec.priority) and spec.user not in OPERATORS else 0
            self._send(Submit(job_id=trace.job_id[row], spec=spec, uid=uid), now)
            if self._pass_per_event and self.schedules:
                self._send(_PASS, now)
        self._futile_after = self._launches + _FUTILE_LAUNCHES

    def _withdraw(self, now: int) -> None:
        """Cancel the jobs that are withdrawn now, unless they were refused or have ended."""
        withdrawals = self._withdrawals
        while withdrawals and withdrawals[0][0] == now:
            job_id = self._trace.job_id[heappop(withdrawals)[1]]
            if job_id in self._row:
                self._send(Cancel(job_id=job_id), now)
                if self._pass_per_event and self.schedules:
                    self._send(_PASS, now)

    def _end_early(self, now: int, first_launch: int) -> None:
        """End the jobs that end now before their time limit.

        Args:
            now: The time, Unix seconds.
            first_launch: Number of the earliest launch of the jobs that have ended at their limit now.
        """
        ends, engine, per_event = self._early_ends, self._engine, self._pass_per_event and self.schedules
        handle, perform = engine.handle, self._perform
        while ends and ends[0][0] == now:
            _, launch, job_id, restart_count = heappop(ends)
            if self._stopped and self._was_stopped(job_id, restart_count):
                continue
            if per_event and engine.pass_due and first_launch < launch:
                self._send(_PASS, now)
            if effects := handle(JobEnded(job_id, restart_count), now):
                perform(effects, now)
            if per_event and engine.pass_due and (effects := handle(_PASS, now)):
                perform(effects, now)

    def _note_array(self, job_id: int, row: int, array: str) -> int:
        """Store the rows of the tasks of an array, of which ``row`` is the first; give their number."""
        tasks = parse_array(array, MOST_TASKS).ids
        self._arrays[job_id] = {task: row + place for place, task in enumerate(tasks)}
        return len(tasks)

    # ---- events and effects -----------------------------------------------------------------------------------

    def _send(self, event: Event, now: int) -> None:
        """Send an event, and perform its effects."""
        if effects := self._engine.handle(event, now):
            self._perform(effects, now)

    def _perform(self, effects: Iterable[Effect], now: int) -> None:
        self._now = now
        perform = self._dispatch
        for effect in effects:
            perform[type(effect)](effect)

    # ---- effects ----------------------------------------------------------------------------------------------

    def launch(self, effect: Launch) -> None:
        """Schedule the end of a run after its run time, unless the engine will stop it before."""
        job_id = effect.job_id
        job = self._engine.jobs[job_id]
        if job.array is not None:  # the task of a job id is known when it starts
            self._row[job_id] = self._arrays[job.array.job_id][job.task_id or 0]
        row = self._row[job_id]
        run, longest = self._trace.run[row], job.longest_run
        self._launches += 1
        if self._on_launch is not None:
            self._on_launch(row, job)
        if longest is not None and run > longest:
            return
        ends = self._limit_ends if run == longest else self._early_ends
        heappush(ends, (self._now + run, self._launches, job_id, effect.restart_count))

    def finished_with(self, effect: JobFinished) -> None:
        """Hand on the final record of a job; for an array, that of a task or of all pending tasks."""
        record = effect.record
        self._futile_after = self._launches + _FUTILE_LAUNCHES
        row = self._row.pop(record.job_id, None)
        if record.array_job_id is None:
            if row is not None:
                self._on_finished(row, record)
                if row in self._waited_for:
                    self._let_follow(row)
            return
        rows = self._arrays[record.array_job_id]
        for task in record.tasks:
            self._on_finished(rows[task], record)
        if record.array_is_over:
            del self._arrays[record.array_job_id]

    def requeued(self, effect: RunRequeued) -> None:
        """Do nothing: the job is launched again."""

    def kill(self, effect: Kill) -> None:
        """End a run immediately."""
        self._note_stopped(effect)
        self._send(JobEnded(job_id=effect.job_id, restart_count=effect.restart_count), self._now)

    def background(self, effect: Background) -> None:
        """Call a background function immediately."""
        self._send(background_done(effect), self._now)

    def answer(self, effect: Accepted | Refused) -> None:
        """Leave out a job that was refused; if the replay is strict, one that can never run ends it."""
        if isinstance(effect, Refused):
            self._refused(effect)

    def report(self, effect: Effect) -> None:
        """Hand on an effect that this driver does not perform."""
        self._on_effect(effect)

    #: These are not requested in a replay; a job that is preempted runs on during its grace time.
    send_signal = suspend = resume = fault = log = report

    def _let_follow(self, row: int) -> None:
        """Have those come that wait for the end of a job, each after its think time."""
        for follower, seconds in self._waited_for.pop(row, ()):
            heappush(self._followers, (self._now + seconds, follower))

    def _note_stopped(self, effect: Kill) -> None:
        """Record that a run has been stopped, if its end is in a heap."""
        job_id = effect.job_id
        longest = self._engine.jobs[job_id].longest_run
        if longest is None or self._trace.run[self._row[job_id]] <= longest:
            self._stopped.add((job_id, effect.restart_count))

    def _was_stopped(self, job_id: int, restart_count: int) -> bool:
        """Whether a run whose end is due was stopped before; it is removed from the stopped runs."""
        if (job_id, restart_count) not in self._stopped:
            return False
        self._stopped.remove((job_id, restart_count))
        return True

    def _drop_stopped(self) -> None:
        """Remove the next ends if they are those of stopped runs."""
        for ends in (self._limit_ends, self._early_ends):
            while ends and ends[0][2:] in self._stopped:
                self._stopped.remove(heappop(ends)[2:])

    def _refused(self, effect: Refused) -> None:
        if (row := self._row.get(effect.job_id)) is None:
            self._on_effect(effect)
            return
        if not effect.by_policy and self._strict:
            raise never_runs(self._trace.workload, row, effect)
        del self._row[effect.job_id]
        tasks = self._arrays.pop(effect.job_id, {})
        self._on_refused(range(row, row + max(len(tasks), 1)), effect)
        self._let_follow(row)
