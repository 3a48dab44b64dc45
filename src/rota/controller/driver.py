"""The driver of a live cluster: feeds the engine, writes its events down, and has its effects performed.

Every event is handled at once, and written down in the next commit, together with the accounting records that it has
caused. Only then are its effects performed and requests answered. So whatever anybody has seen outlives the process;
what is lost with it, nobody has seen.

When it cannot write, it goes back to what is written: it reads the state anew, refuses all requests, and goes on when
the disk can be written again. Running jobs are not touched, and ends that are reported meanwhile are asked for again.

It does the same when handling an event has failed, as for want of memory, because the engine may be half changed then:
what came before is written first, and of the event itself nothing is. A request is refused, and that is its end; a
report or a pass is tried again later.

Over 400 lines: it is one circle, event, commit, effect, and half of a circle explains nothing.
"""

from __future__ import annotations

import asyncio
import json
import traceback
from dataclasses import replace
from functools import partial
from itertools import chain
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from rota.controller.activity import Tally
from rota.controller.changes import changes_of
from rota.controller.committer import Committer
from rota.controller.copies import in_copy
from rota.controller.second_tries import SecondTries
from rota.controller.slices import InTurn
from rota.core import events as ev
from rota.core.effects import Accepted, JobFinished, Kill, Launch, Log, PluginFault, Refused, RunRequeued
from rota.core.event_codec import decode, encode
from rota.core.plain import shape_of
from rota.core.set_back import set_back
from rota.core.snapshot import outstanding, save
from rota.executor.supervisor.shortage import missing
from rota.model import ClusterConfig, Errno, RotaError
from rota.model.array import MOST_TASKS, count_tasks
from rota.runtime.dispatch import background_done, dispatch_table
from rota.store import DatabaseError
from rota.store.database import compress
from rota.store.writes import add_event, add_snapshot, drop_snapshot, set_fact

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from rota.controller.changes import Change
    from rota.controller.clock import ClusterClock
    from rota.controller.shortages import Shortages
    from rota.core import Engine
    from rota.core.effects import Background, Effect, ResumeRun, SendSignal, SuspendRun
    from rota.core.events import JobEnded, LaunchFailed
    from rota.core.job import Job
    from rota.model import JobRecord
    from rota.store import Database, Write
    from rota.store.heads import Head, Heads

#: Seconds after which it is tried again whether the disk can be written.
_RETRY = 1.0
#: Seconds after which a job is tried again that could not be started for want of memory or the like.
_AGAIN = 60
#: Seconds of work that a new start may have to do again, unless saving the state takes longer; and what of that is the
#: reading of an event.
_TO_DO_AGAIN, _READING = 0.25, 0.00002
#: Name of the fact that is the next job id, and of the clock's state.
NEXT_JOB_ID, CLOCK = "next_job_id", "clock"
#: Name of the fact that counts the commits without an event, which the journal's length does not show.
OTHERS = "others"


class Runs(Protocol):
    """What becomes of the engine's runs: the side of the driver on which processes are."""

    def choose(self, engine: Engine, effect: Launch) -> list[Write]:
        """Choose cores and devices for a run, and give what to write down."""

    def launch(self, effect: Launch) -> None:
        """Start a run, unless it has started."""

    def kill(self, effect: Kill, job: Job | None) -> None:
        """Stop a run, of a job that may not be known any more."""

    def send_signal(self, effect: SendSignal) -> None:
        """Send a signal to a run."""

    def suspend(self, effect: SuspendRun) -> None:
        """Suspend a run."""

    def resume(self, effect: ResumeRun) -> None:
        """Resume a suspended run."""

    def ended(self, event: JobEnded | LaunchFailed) -> list[Write]:
        """Take back what a run has had, and give what to write down."""

    def finished(self, engine: Engine, record: JobRecord) -> list[Write]:
        """Give what to write down about a job that has ended."""

    def requeued(self, engine: Engine, record: JobRecord) -> list[Write]:
        """Give what to write down about a run after which its job is queued again."""

    def kept(self, record: JobRecord) -> None:
        """Hear that what there is to write down about a job that has ended is on disk."""

    def read_state(self) -> None:
        """Begin with what is written down."""

    def agree(self, engine: Engine) -> list[Write]:
        """Agree with an engine that was made from what is written down, and give what to write down."""


#: The answer to a request; ``None``: it was carried out.
Answer: TypeAlias = "asyncio.Future[Refused | None]"


class LiveDriver:
    """The driver of a live cluster.

    Args:
        database: The cluster's database.
        clock: Its clock.
        boot: Makes an engine for a configuration from a saved state, with its plugins; from ``None`` a new one.
        config: The configuration (slurm.conf); it may be another one than before a restart.
        runs: Performs effects on runs.
        first_job_id: Id of the first job of a new cluster.
        shortages: Is told what the machine is short of.
        log: Writes a line for the administrator.
        heads: Where it is said how far the database has come.
    """

    def __init__(
        self,
        database: Database,
        clock: ClusterClock,
        *,
        heads: Heads,
        boot: Callable[[dict[str, Any] | None, ClusterConfig], Engine],
        config: ClusterConfig,
        runs: Runs,
        first_job_id: int = 1,
        shortages: Shortages,
        log: Callable[[str], None],
    ) -> None:
        self._database = database
        self._clock = clock
        self._boot = boot
        self._config = config
        self._runs = runs
        self._shortages = shortages
        self._log = log
        self._first_job_id = first_job_id
        self._loop = asyncio.get_running_loop()
        self._committer = Committer(database, self._loop, self._on_failure, heads)
        #: What is to be done since what led to it is on disk.
        self._due = InTurn()
        self._heads = heads
        self._second_tries = SecondTries(self._loop)
        self._perform = dispatch_table(self)
        self._background: set[asyncio.Task[None]] = set()
        #: Changes to write, effects to perform and answers to give once they are written.
        self._writes: list[Write] = []
        self._effects: list[Effect] = []
        self._answers: list[tuple[Answer, Refused | None]] = []
        #: Called when the reports before them are written.
        self._then: list[Callable[[], None]] = []
        #: Answers that wait for a commit.
        self._committing: set[Answer] = set()
        self.tally = Tally(clock.now())
        #: Called with the id of each job that has been launched, and with each job that has ended, when it is on disk.
        self.on_launched: list[Callable[[int], None]] = []
        self.on_finished: list[Callable[[JobRecord], None]] = []
        #: Called with the changes of job states, when they are on disk.
        self.on_changes: list[Callable[[list[Change]], None]] = []
        self._changes: list[Change] = []
        #: Called with each event that was handled, its effects and its time, for what is to be written with it.
        self.on_handled: list[Callable[[ev.Event, list[Effect], int], list[Write]]] = []
        #: When the state last changed, Unix seconds.
        self.changed_at = clock.now()
        #: Number of the last event.
        self._seq = 0
        #: Number of the last event of the last commit, and of commits without one.
        self._committed_seq = self._others = 0
        #: Whether there is a snapshot from which events lead to the present state; and whether those before it do.
        self._is_saved = self._leads_on = True
        #: Whether there is a snapshot in what is to be written.
        self._has_snapshot = False
        #: Seconds for which the engine has worked since the last snapshot, and that saving has taken.
        self._work = self._saving_takes = 0.0
        self._saving: asyncio.Task[None] | None = None
        self._commit_due = self._pass_due = False
        self._wakeup: asyncio.TimerHandle | None = None
        self._wakeup_at: int | None = None
        #: Why nothing can be written; empty: it can.
        self.trouble = ""
        self.next_job_id = first_job_id
        self.engine: Engine
        self._read_state()

    # ---- state ------------------------------------------------------------------------------------------------

    def _read_state(self) -> None:
        """Make the engine from what is written down."""
        self._runs.read_state()
        facts = self._database.facts()
        self.next_job_id = int(facts.get(NEXT_JOB_ID, self._first_job_id))
        self._others = int(facts.get(OTHERS, 0))
        self._seq = self._committed_seq = 0
        snapshot = self._database.last_snapshot()
        if snapshot is None:
            self.engine = self._boot(None, self._config)
            self._is_saved = False
            return
        self._seq = snapshot[0]
        state, config = snapshot[1]["engine"], shape_of(ClusterConfig).decode(snapshot[1]["config"])
        self.engine = self._boot(state, config)
        began = perf_counter()
        for number, time, data in self._database.events_after(self._seq):
            event = decode(data)
            self.engine.handle(event, time)
            if isinstance(event, ev.Submit):
                self.next_job_id = max(self.next_job_id, event.job_id + _ids_of(event))
            self._seq = number
        self._work = perf_counter() - began
        self._committed_seq = self._seq
        goes_back = self.engine.view.now > self._clock.now()
        if goes_back or not _equal(self.engine.view.config, self._config):
            state = save(self.engine)
            self.engine = self._boot(set_back(state, self._clock.now()) if goes_back else state, self._config)
            self._is_saved = self._leads_on = False
        if self._database.bad_snapshots:
            self._log(
                f"error: the snapshot at event {self._database.bad_snapshots[0]} is damaged: the one before is used"
            )
            self._is_saved = False

    def start(self) -> None:
        """Have all runs put into their states, and begin to work. Call it when reports can be received."""
        self._writes += self._runs.agree(self.engine)
        self._effects += outstanding(self.engine)
        if self._writes or not self._is_saved:
            self._save()
        self._commit_soon()
        self._follow_up()

    def close(self) -> None:
        """Save the state and write what is left."""
        self._save_no_more()
        self._due.finish()
        if not self.trouble:
            self._save()
            self._commit()
        self._committer.close()
        self._heads.close()

    def _save(self) -> None:
        """Save the engine's state."""
        self._work = 0.0
        self._saved(self._seq, self._snapshot())

    def _snapshot(self) -> bytes:
        config = shape_of(ClusterConfig).encode(self.engine.view.config)
        return compress({"engine": save(self.engine), "config": config})

    def _saved(self, seq: int, snapshot: bytes) -> None:
        self._has_snapshot = self._is_saved = True
        self._writes += [drop_snapshot(bad) for bad in self._database.bad_snapshots]
        self._database.bad_snapshots = []
        self._writes += add_snapshot(seq, snapshot, leads_on=self._leads_on)
        self._leads_on = True
        self._writes += set_fact(NEXT_JOB_ID, str(self.next_job_id))

    async def _save_in_copy(self) -> None:
        """Save the engine's state while work goes on. It is written after the events that have led to it."""
        if self.trouble:  # the engine may be half changed
            return
        seq, began, self._work = self._seq, perf_counter(), 0.0
        try:
            snapshot = await in_copy(self._snapshot)
        except OSError as error:  # no room for a process; it is tried again after as much work
            self._log(f"error: the state is not saved now: {error}")
            return
        self._saving_takes = perf_counter() - began
        self._saved(seq, snapshot)
        self._commit_soon()

    def _save_no_more(self) -> None:
        """Have nothing saved any more of what there was until now."""
        if self._saving is not None:
            self._saving.cancel()

    # ---- events -----------------------------------------------------------------------------------------------

    def submit(self, event: ev.Submit, writes: list[Write]) -> Answer:
        """Submit a job with the id `next_job_id`; see `request`."""
        answer, refused = self._ask(event, writes)
        if refused is None:
            self.tally.submitted()
            self.next_job_id = event.job_id + _ids_of(event)
        return answer

    def request(self, event: ev.Event, *, writes: list[Write] | None = None) -> Answer:
        """Hand a request to the engine.

        Args:
            event: The request.
            writes: What to write down with it if it is accepted.

        Returns:
            The answer, which comes when the request is on disk.
        """
        return self._ask(event, writes or [])[0]

    def _ask(self, event: ev.Event, writes: list[Write]) -> tuple[Answer, Refused | None]:
        """Hand a request to the engine; give its answer, and what this will be."""
        answer: Answer = self._loop.create_future()
        if self.trouble:
            refused: Refused | None = _no_work(self.trouble)
            answer.set_result(refused)
            return answer, refused
        place = len(self._writes)
        refused = next((one for one in self._handle(event) if isinstance(one, Refused)), None)
        if refused is None:
            self._writes[place:place] = writes  # before what comes of it, which may be the end of the job
        self._answers.append((answer, refused))
        return answer, refused

    def no_commit(self) -> AbstractContextManager[object]:
        """Give a context in which no commit is being made."""
        return self._committer.writing

    def write(self, writes: list[Write]) -> None:
        """Write something else with the next commit, unless nothing can be written."""
        if not self.trouble:
            self._writes += writes
            self._commit_soon()

    def when_written(self, call: Callable[[], None]) -> None:
        """Call a function when all that is to be written is on disk, and never if it is lost."""
        self._then.append(call)

    def keep(self, writes: list[Write]) -> Answer:
        """Write something else with the next commit; the answer comes when it is on disk."""
        answer: Answer = self._loop.create_future()
        if self.trouble:
            answer.set_result(_no_work(self.trouble))
            return answer
        self._writes += writes
        self._answers.append((answer, None))
        self._commit_soon()
        return answer

    def clock_changed(self) -> None:
        """Keep the clock, which has caught up, and do what is due."""
        self.write(set_fact(CLOCK, json.dumps(self._clock.save())))
        self._wakeup_at = None
        self._follow_up()

    async def idle(self) -> None:
        """Wait until no job has resources."""
        changed = asyncio.Event()

        def notice(_: JobRecord) -> None:
            changed.set()

        self.on_finished.append(notice)
        while any(job.alloc for job in self.engine.jobs.values()):
            changed.clear()
            await changed.wait()
        self.on_finished.remove(notice)

    def reconfigure(self, config: ClusterConfig, uid: int) -> Answer:
        """Put another configuration into force, whole or not at all."""
        answer, refused = self._ask(ev.Reconfigure(config=config, uid=uid), [])
        if refused is None:
            self._config = config
        return answer

    def report(self, event: ev.Event, then: Callable[[], None] | None = None) -> None:
        """Hand a report to the engine; ``then`` is called when it is on disk."""
        if self.trouble or self._second_tries.waits(event):
            return
        self._handle(event, lambda: self.report(event, then))
        if then is not None and not self.trouble:
            self._then.append(then)

    def _handle(self, event: ev.Event, again: Callable[[], None] | None = None) -> list[Effect]:
        """Have the engine handle an event, and note what is to be written and performed.

        Args:
            event: The event.
            again: Tries it again, should that fail; ``None``: it is a request, which is refused then.
        """
        seq, writes, performed = self._seq, len(self._writes), len(self._effects)
        try:
            effects = self._handled(event)
        except Exception as error:  # noqa: BLE001 - whatever it is, the engine may be half changed
            self._seq = seq
            del self._writes[writes:], self._effects[performed:]
            self._go_back(error)
            if again is not None:
                pause = self._second_tries.failed(event, again)
                self._log(f"{type(event).__name__} is tried again in {pause:g} s")
            return [_failed(error)]
        self._second_tries.succeeded(event)
        self._follow_up()
        self._commit_soon()  # after the pass, which is in the same commit
        return effects

    def _handled(self, event: ev.Event) -> list[Effect]:
        now, began = self._clock.now(), perf_counter()
        effects = self.engine.handle(event, now)
        took = perf_counter() - began
        self._work += took + _READING
        if isinstance(event, ev.SchedulePass | ev.Tick):
            if isinstance(event, ev.SchedulePass):
                self.tally.passed(took, now)
            self.tally.backfilled(self.engine.view.backfill(), took, now)
        if not any(isinstance(one, Refused) for one in effects):
            self._seq += 1
            self._writes.append(add_event(self._seq, now, json.dumps(encode(event), separators=(",", ":"))))
        for listener in self.on_handled:
            self._writes += listener(event, effects, now)
        for effect in effects:
            if isinstance(effect, JobFinished):
                self._writes += self._runs.finished(self.engine, effect.record)
            elif isinstance(effect, RunRequeued):
                self._writes += self._runs.requeued(self.engine, effect.record)
        if isinstance(event, ev.JobEnded | ev.LaunchFailed):
            self._writes += self._runs.ended(event)
        for effect in effects:
            if isinstance(effect, Launch):
                self._writes += self._runs.choose(self.engine, effect)
        self._effects += effects
        if effects or not isinstance(event, ev.SchedulePass | ev.Tick):
            self.changed_at = now
        if self.on_changes:
            self._changes += changes_of(event, effects, self.engine, now)
        return effects

    def _follow_up(self) -> None:
        """Make a pass soon if one is due, and wake when the engine wants to be woken."""
        if self.engine.pass_due and not self._pass_due:
            self._pass_due = True
            self._loop.call_soon(self._make_pass)
        at = self.engine.wakeup
        if at != self._wakeup_at:
            if self._wakeup is not None:
                self._wakeup.cancel()
            self._wakeup_at = at
            self._wakeup = None
            if at is not None:
                self._wakeup = self._loop.call_later(max(self._clock.until(at), 0.0), self._wake)

    def _make_pass(self) -> None:
        self._pass_due = False
        event = ev.SchedulePass()
        if self.engine.pass_due and not self.trouble and not self._second_tries.waits(event):
            self._handle(event, self._follow_up)

    def _wake(self) -> None:
        self._wakeup_at = self._wakeup = None
        event = ev.Tick()
        if self.trouble or self._second_tries.waits(event):
            return
        at = self.engine.wakeup
        if at is not None and at <= self._clock.now():
            self._handle(event, self._wake)
        else:
            self._follow_up()

    # ---- commits ----------------------------------------------------------------------------------------------

    def _commit_soon(self) -> None:
        if not self._commit_due:
            self._commit_due = True
            self._loop.call_soon(self._commit)

    def _commit(self) -> None:
        self._commit_due = False
        if self.trouble:
            return
        if self._work > max(_TO_DO_AGAIN, self._saving_takes) and (self._saving is None or self._saving.done()):
            self._saving = self._loop.create_task(self._save_in_copy())
        self._hand_over()

    def _hand_over(self) -> None:
        """Hand over what is to be written, and then performed and answered."""
        writes, self._writes = self._writes, []
        effects, self._effects = self._effects, []
        answers, self._answers = self._answers, []
        then, self._then = self._then, []
        changes, self._changes = self._changes, []
        if writes and self._seq == self._committed_seq:
            self._others += 1
            writes += set_fact(OTHERS, str(self._others))
        has_snapshot, self._has_snapshot = self._has_snapshot, False
        self._committed_seq = self._seq
        waiting = {answer for answer, _ in answers}
        self._committing |= waiting

        def done() -> None:
            self._committing -= waiting
            performed = (partial(self._perform_one, effect) for effect in effects)
            answered = (partial(_answer, answer, refused) for answer, refused in answers)
            told = (partial(listener, changes) for listener in self.on_changes if changes)
            self._due.add(chain(performed, answered, then, told))

        self._committer.commit(writes, done, self._head, sync=has_snapshot)

    @property
    def _head(self) -> Head:
        """How far the database has come with the next commit."""
        return self._heads.head._replace(seq=self._seq, next_job_id=self.next_job_id, others=self._others)

    def _perform_one(self, effect: Effect) -> None:
        """Perform an effect. A defect must not keep others from being performed; a job that it concerns fails."""
        try:
            self._perform[type(effect)](effect)
        except Exception as error:  # noqa: BLE001 - whatever it is
            defect = f"{type(effect).__name__}: this is a defect of rota:\n{traceback.format_exc()}"
            self._log(f"error: {error if isinstance(error, RotaError) else defect}")
            if isinstance(effect, Launch):
                again = _AGAIN if missing(error) else None
                failed = ev.LaunchFailed(job_id=effect.job_id, restart_count=effect.restart_count, again_after=again)
                self.report(failed)

    def _on_failure(self, error: DatabaseError) -> None:
        """Go back to what is written down, and refuse what is not."""
        self.trouble = f"it cannot write its state: {error}"
        self._save_no_more()
        self._log(f"error: the database cannot be written: {error}; no work is taken until it can")
        lost = [*self._committing, *(answer for answer, _ in self._answers)]
        self._writes, self._effects, self._answers, self._then, self._committing = [], [], [], [], set()
        self._changes = []
        for answer in lost:
            if not answer.done():
                answer.set_result(_no_work(self.trouble))
        self._loop.call_later(_RETRY, self._retry)

    def _go_back(self, error: Exception) -> None:
        """Go back to what is written down after an event has failed. What came before it is written first."""
        self._log(f"error: {_what_failed(error)}:\n{''.join(traceback.format_exception(error))}")
        self._hand_over()  # without a snapshot, which would be of an engine that is half changed
        self.trouble = _what_failed(error)
        self._committer.commit([], self._retry, self._head)

    def _retry(self) -> None:
        self._due.finish()  # before the state that is read says it again
        try:
            self._database.write(set_fact(CLOCK, json.dumps(self._clock.save())))
            self._read_state()
        except Exception as error:  # noqa: BLE001 - there is no other state to go on with
            if not isinstance(error, DatabaseError):
                self._log(f"error: the state cannot be read: {error!r}; it is tried again")
            self._loop.call_later(_RETRY, self._retry)
            return
        self.trouble = ""
        self._log("the controller has gone back to what is written down, and takes work again")
        self._committer.resume()
        self.start()

    # ---- effects ----------------------------------------------------------------------------------------------

    def launch(self, effect: Launch) -> None:
        """Start a job."""
        self._runs.launch(effect)
        self.tally.started()
        for listener in list(self.on_launched):
            listener(effect.job_id)

    def kill(self, effect: Kill) -> None:
        """Stop a job."""
        self._runs.kill(effect, self.engine.jobs.get(effect.job_id))

    def send_signal(self, effect: SendSignal) -> None:
        """Send a signal to a job."""
        self._runs.send_signal(effect)

    def suspend(self, effect: SuspendRun) -> None:
        """Suspend a job."""
        self._runs.suspend(effect)

    def resume(self, effect: ResumeRun) -> None:
        """Resume a suspended job."""
        self._runs.resume(effect)

    def finished_with(self, effect: JobFinished) -> None:
        """Tell those who wait for the job."""
        self._runs.kept(effect.record)
        self.tally.ended(effect.record.state)
        for listener in list(self.on_finished):
            listener(effect.record)

    def requeued(self, effect: RunRequeued) -> None:
        """Do nothing: its record was written with the event."""

    def answer(self, effect: Accepted | Refused) -> None:
        """Do nothing: `request` has the answer."""

    def fault(self, effect: PluginFault) -> None:
        """Tell the administrator about a fault of a plugin."""
        about = "" if effect.job_id is None else f" for job {effect.job_id}"
        self._log(f"error: plugin {effect.plugin}: {effect.symbol}{about}: {effect.message}")

    def log(self, effect: Log) -> None:
        """Write a message to the log."""
        self._log(effect.message)

    def background(self, effect: Background) -> None:
        """Run a function in a thread."""

        async def run() -> None:
            call = partial(asyncio.to_thread, background_done, effect)
            self.report(await self._shortages.patiently(call, "work of plugins", inf))

        task = self._loop.create_task(run())
        self._background.add(task)
        task.add_done_callback(self._background.discard)


def _answer(answer: Answer, refused: Refused | None) -> None:
    if not answer.done():
        answer.set_result(refused)


def _ids_of(event: ev.Submit) -> int:
    """Count the job ids that a job takes: one, or one for each task of an array."""
    return count_tasks(event.spec.array, MOST_TASKS)


def _equal(one: ClusterConfig, other: ClusterConfig) -> bool:
    """Whether two configurations say the same, wherever it is written."""
    return replace(one, places={}) == replace(other, places={})


def _no_work(trouble: str) -> Refused:
    message = f"the controller takes no work ({trouble}): nothing was changed; try again later"
    return Refused(job_id=0, errno=Errno.INTERNAL, message=message)


def _failed(error: Exception) -> Refused:
    advice = "ask for less, or try again later" if isinstance(error, MemoryError) else "controller.log says more"
    message = f"{_what_failed(error)}: nothing was changed; {advice}"
    return Refused(job_id=0, errno=Errno.INTERNAL, message=message)


def _what_failed(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    return f"this is a defect of rota: {error!r}"
