"""The virtual-time driver: it owns the event heap, and knows how long each job runs.

Order within one instant, which fixes every tie:

1. ends of jobs that reach their time limit: the controller has known of them since they began, so their resources
   count as free throughout the instant;
2. timers and time limits of the engine;
3. nodes that fail or come back, in the order of the configuration: a job that would have ended by itself in that second
   is lost, one that has reached its limit is not;
4. submissions, in the order of the workload;
5. all other ends, in the order in which the jobs were launched.

Scheduling passes are made after each event, or once after all events of an instant (``pass_per``). Nodes that change in
one second are one event: what is lost on the first of them does not start again on the next.

Jobs that wait are given up when nothing can happen any more; as long as a node is still to change, something can. What
becomes of nodes after the last job has ended is not waited for. A job that is lost and queued again runs for its whole
run time.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from rota.core.effects import Accepted, Background, JobFinished, Kill, Launch, Refused
from rota.core.events import JobEnded, SchedulePass, Submit, Tick, UpdateNode
from rota.model import Errno, InputError
from rota.model.array import MOST_TASKS, parse_array
from rota.runtime.dispatch import background_done, dispatch_table
from rota.workload.fields import FIELD_NAMES, label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rota.core import Engine
    from rota.core.effects import Effect
    from rota.core.events import Event
    from rota.core.job import Job
    from rota.model import JobRecord
    from rota.replay.failures import NodeChange
    from rota.replay.trace import Trace

PASS_PER = ("event", "instant")
_PASS = SchedulePass()
_TICK = Tick()
#: Later than anything that happens; what is planned for then or later is never done.
_NEVER = 2**62
#: Timer calls in a row, without anything else to come, after which the jobs that still wait are given up.
_IDLE_TICKS = 100_000
#: Launches in a row, without a submission, a job that finishes or a node that changes, after which all are given up.
_FUTILE_LAUNCHES = 100_000
#: Passes at the end of an instant: a pass may itself free resources, by putting a job back in the queue.
_PASSES_IN_A_ROW = 10
#: Jobs that are larger than the machine.
_TOO_LARGE = {
    Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE,
    Errno.INVALID_NODE_COUNT,
    Errno.TOO_MANY_REQUESTED_CPUS,
}
#: Instants between two reports of progress.
_PROGRESS_EVERY = 1024


class ReplayDriver:
    """Feeds one engine with one trace.

    Args:
        engine: Fresh, its plugins initialised.
        trace: What to play.
        pass_per_event: A scheduling pass after each event; else one an instant.
        on_finished: Called with the row and the last record of every job that has ended.
        on_effect: Called with every effect that is not the driver's to perform: plugin faults, log lines.
        on_progress: Called now and then with the number of jobs submitted so far.
        on_launch: Called with the row and the record of every job that has just been started.
        node_changes: Nodes that fail and come back, by time.
    """

    def __init__(
        self,
        engine: Engine,
        trace: Trace,
        *,
        pass_per_event: bool,
        on_finished: Callable[[int, JobRecord], None],
        on_effect: Callable[[Effect], None],
        on_progress: Callable[[int], object] | None = None,
        on_launch: Callable[[int, Job], object] | None = None,
        node_changes: Sequence[NodeChange] = (),
    ) -> None:
        self._engine = engine
        self._trace = trace
        #: When each job is submitted, and after them never.
        self._submit = [*trace.submit, _NEVER]
        #: What becomes of the nodes, the next change last.
        self._node_changes = [*reversed(node_changes)]
        self._pass_per_event = pass_per_event
        self._on_finished = on_finished
        self._on_effect = on_effect
        self._on_progress = on_progress
        self._on_launch = on_launch
        #: Ends to come, as (time, launch, job id, restart count): those at the time limit, and those before it.
        self._limit_ends: list[tuple[int, int, int, int]] = []
        self._early_ends: list[tuple[int, int, int, int]] = []
        self._launches = 0
        #: Launches after which the replay is given up.
        self._futile_after = _FUTILE_LAUNCHES
        #: Runs whose end is still to come although they have been stopped, as (job id, restart count).
        self._stopped: set[tuple[int, int]] = set()
        #: Rows of live jobs by id.
        self._row: dict[int, int] = {}
        #: Rows of the tasks of live arrays, by task id.
        self._arrays: dict[int, dict[int, int]] = {}
        #: Whether scheduling passes are made.
        self.schedules = True
        self._begun = False
        self._dispatch = dispatch_table(self)
        #: When the effects that are being performed came.
        self._now = 0
        self._next_row = 0
        self._instants = 0
        #: Instants so far at which nothing but timers was left.
        self._idle = 0

    def run(self, until: int = _NEVER) -> bool:
        """Play the trace: until every job has ended, nothing more can happen, or all up to ``until`` has happened.

        Called again, it goes on where it stopped.

        Args:
            until: Unix seconds; the engine's clock does not go there by itself.

        Returns:
            Whether there is more to play.

        Raises:
            InputError: the engine refused a job that could never run.
        """
        engine, limit_ends, early_ends = self._engine, self._limit_ends, self._early_ends
        node_changes, submit = self._node_changes, self._submit
        if not self._begun:
            self._begun = True
            self._perform(engine.begin(), submit[0])
        row, count = self._next_row, len(self._trace)
        instants, idle, more = self._instants, self._idle, False
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
            if submit[row] < now:
                now = submit[row]
            elif row == count and not limit_ends and not early_ends:
                idle += not node_changes
                if now >= _NEVER or not self._row or idle > _IDLE_TICKS:
                    break
            if now > until:
                more = True
                break
            first_launch = _NEVER
            if limit_ends and limit_ends[0][0] == now:
                first_launch = self._end_at_limit(now)
            if tick <= now:
                self._tick(now)
            if node_changes and node_changes[-1].time <= now:
                self._change_nodes(now)
            if submit[row] == now:
                row = self._submit_jobs(now, row)
            if early_ends and early_ends[0][0] == now:
                self._end_early(now, first_launch)
            passes = 0
            while engine.pass_due and self.schedules and passes < _PASSES_IN_A_ROW:
                passes += 1
                self._send(_PASS, now)
            instants += 1
            if self._on_progress is not None and instants % _PROGRESS_EVERY == 0:
                self._on_progress(row)
        self._next_row, self._instants, self._idle = row, instants, idle
        return more

    def set_clock(self, now: int) -> None:
        """Move the engine's clock on to ``now``, up to which all has been played."""
        self._send(_TICK, now)

    # ---- what happens at an instant ---------------------------------------------------------------------------

    def _end_at_limit(self, now: int) -> int:
        """End the jobs whose time limit is now; give the earliest launch of them."""
        ends = self._limit_ends
        first_launch = ends[0][1]
        while ends and ends[0][0] == now:
            _, _, job_id, restart_count = heappop(ends)
            if not (self._stopped and self._was_stopped(job_id, restart_count)):
                self._send(JobEnded(job_id, restart_count), now)
        return first_launch

    def _tick(self, now: int) -> None:
        """Wake the engine, unless what was due was the time limit of a job that has just ended."""
        wakeup = self._engine.wakeup
        if wakeup is not None and wakeup <= now:
            self._send(_TICK, now)

    def _change_nodes(self, now: int) -> None:
        """Let nodes fail or come back."""
        changes = self._node_changes
        while changes and changes[-1].time <= now:
            _, name, state = changes.pop()
            self._send(UpdateNode(name=name, state=state), now)
        self._futile_after = self._launches + _FUTILE_LAUNCHES
        if self._pass_per_event and self.schedules:
            self._send(_PASS, now)

    def _submit_jobs(self, now: int, row: int) -> int:
        """Submit the jobs that are submitted now, from ``row`` on; give the next row."""
        trace, submit = self._trace, self._submit
        while submit[row] == now:
            job_id, spec = trace.job_id[row], trace.spec(row)
            self._row[job_id] = row
            tasks = self._note_array(job_id, row, spec.array) if spec.array else 1
            self._send(Submit(job_id=job_id, spec=spec), now)
            row += tasks
            if self._pass_per_event and self.schedules:
                self._futile_after = self._launches + _FUTILE_LAUNCHES
                self._send(_PASS, now)
        self._futile_after = self._launches + _FUTILE_LAUNCHES
        return row

    def _end_early(self, now: int, first_launch: int) -> None:
        """End the jobs that end now before their limit; ``first_launch``: of those that have just ended at theirs."""
        ends, engine, per_event = self._early_ends, self._engine, self._pass_per_event and self.schedules
        while ends and ends[0][0] == now:
            _, launch, job_id, restart_count = heappop(ends)
            if self._stopped and self._was_stopped(job_id, restart_count):
                continue
            if per_event and engine.pass_due and first_launch < launch:
                self._send(_PASS, now)
            self._send(JobEnded(job_id, restart_count), now)
            if per_event and engine.pass_due:
                self._send(_PASS, now)

    def _note_array(self, job_id: int, row: int, array: str) -> int:
        """Note in which rows the tasks of an array are, from its first on; give their number."""
        tasks = parse_array(array, MOST_TASKS).ids
        self._arrays[job_id] = {task: row + place for place, task in enumerate(tasks)}
        return len(tasks)

    # ---- talking with the engine ------------------------------------------------------------------------------

    def _send(self, event: Event, now: int) -> None:
        """Send an event, and do what the engine wants done."""
        if effects := self._engine.handle(event, now):
            self._perform(effects, now)

    def _perform(self, effects: Iterable[Effect], now: int) -> None:
        self._now = now
        perform = self._dispatch
        for effect in effects:
            perform[type(effect)](effect)

    # ---- effects ----------------------------------------------------------------------------------------------

    def launch(self, effect: Launch) -> None:
        """Let the job end when its run time is over; one that would run for longer than it may the engine stops."""
        job_id = effect.job_id
        job = self._engine.jobs[job_id]
        if job.array is not None:  # only now it is known which task this is
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
        """Note what became of a job: of an array one task, or all that still waited."""
        record = effect.record
        self._futile_after = self._launches + _FUTILE_LAUNCHES
        row = self._row.pop(record.job_id, None)
        if record.array_job_id is None:
            if row is not None:
                self._on_finished(row, record)
            return
        rows = self._arrays[record.array_job_id]
        for task in record.tasks:
            self._on_finished(rows[task], record)
        if record.array_is_over:
            del self._arrays[record.array_job_id]

    def kill(self, effect: Kill) -> None:
        """Let a run end at once."""
        self._note_stopped(effect)
        self._send(JobEnded(job_id=effect.job_id, restart_count=effect.restart_count), self._now)

    def background(self, effect: Background) -> None:
        """Do a piece of work on the spot."""
        self._send(background_done(effect), self._now)

    def answer(self, effect: Accepted | Refused) -> None:
        """End the replay if a job could never run; one that may not is left out."""
        if isinstance(effect, Refused):
            self._refused(effect)

    def report(self, effect: Effect) -> None:
        """Hand on what is not for a driver in virtual time."""
        self._on_effect(effect)

    #: Nobody asks for these in a replay; a job that gives way has its grace time, whatever it is told.
    send_signal = suspend = resume = report
    fault = log = report

    def _note_stopped(self, effect: Kill) -> None:
        """Remember that a run has been stopped, if it is put down to end later."""
        job_id = effect.job_id
        longest = self._engine.jobs[job_id].longest_run
        if longest is None or self._trace.run[self._row[job_id]] <= longest:
            self._stopped.add((job_id, effect.restart_count))

    def _was_stopped(self, job_id: int, restart_count: int) -> bool:
        """Whether a run whose end has come was stopped before; it is forgotten then."""
        if (job_id, restart_count) not in self._stopped:
            return False
        self._stopped.remove((job_id, restart_count))
        return True

    def _drop_stopped(self) -> None:
        """Forget the next ends if they are those of runs that have been stopped: nothing happens then."""
        for ends in (self._limit_ends, self._early_ends):
            while ends and ends[0][2:] in self._stopped:
                self._stopped.remove(heappop(ends)[2:])

    def _refused(self, effect: Refused) -> None:
        row = self._row.get(effect.job_id)
        if row is None:
            self._on_effect(effect)
            return
        if effect.by_policy:  # the user would have been told, and the log goes on
            del self._row[effect.job_id]
            self._on_effect(effect)
            return
        workload = self._trace.workload
        field, cure = None, ""
        if effect.errno in _TOO_LARGE:
            cure = "; --filter sc15 drops such jobs"
        if cure and workload.requests is None:
            requested = workload.requested_procs[row] > 0
            field = label(FIELD_NAMES.index("requested_procs" if requested else "allocated_procs"))
        raise InputError(
            f"job {effect.job_id} cannot be replayed: {effect.message}{cure}",
            path=workload.source,
            line=int(workload.line[row]),
            field=field,
        )
