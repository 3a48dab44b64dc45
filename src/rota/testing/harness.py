"""An engine with plugins, driven by a test.

The harness is a driver, like the replay's and the live controller's: it sends events and performs effects. What it adds
is a clock that the test moves, a log of all effects (`rota.testing.effect_log`), and a check of the engine's invariants
after every event.

Over 400 lines: one class has all that a test can do with a cluster, most of it in a line or two.
"""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from rota.core import events as ev
from rota.core.effects import Refused
from rota.core.job import Job
from rota.core.snapshot import save
from rota.model import JobState, NodeState, Partition, PartitionState, RequestError
from rota.resources import shares_nodes
from rota.runtime.boot import Plugins, boot
from rota.runtime.dispatch import background_done, dispatch_table
from rota.testing.agenda import Agenda
from rota.testing.builders import cluster, spec
from rota.testing.effect_log import EffectLog
from rota.testing.loading import load_plugin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rota.accounting import AssociationTree
    from rota.core.effects import Background, Effect, JobFinished, Kill, Launch
    from rota.interfaces.controller import ControllerOf
    from rota.loader import LoadedPlugin
    from rota.model import ClusterConfig, JobRecord, JobSpec, Reason

T = TypeVar("T")

#: Order at one time, as in a replay: ends of jobs, then timers and time limits, then the script.
_ENDS, _SCRIPT = 0, 1


class Harness(EffectLog):
    """A cluster in a test.

    Requests that the engine refuses raise `RequestError`, with its ``errno``.

    Example::

        with Harness(cluster(cpus=4)) as rota:
            first = rota.submit(cpus=4, run=60)
            second = rota.submit(cpus=4)
            rota.wait(60)
            assert first.state is JobState.COMPLETED
            assert second.start_time == 60
    """

    def __init__(
        self,
        config: ClusterConfig | None = None,
        *,
        sched: object = "sched/builtin",
        priority: object = "priority/basic",
        plugin_dir: str | Path | Sequence[str | Path] = (),
        associations: AssociationTree | None = None,
        now: int = 0,
        passes: bool = True,
        performs: bool = True,
    ) -> None:
        """Load the plugins and start the engine.

        Args:
            config: The machine; ``None``: 4 processors.
            sched: A plugin type, which is found and loaded as by rota itself, or a symbol container, or a function or
                class that makes a new one.
            priority: The priority plugin, given in the same way.
            plugin_dir: Directories that are searched first for plugin types.
            associations: The tree of associations; ``None``: users are added under the root when they submit a job.
            now: Initial time, Unix seconds.
            passes: Make a scheduling pass whenever one is due; else the test calls `run_pass`.
            performs: Perform effects: end jobs that are to be killed or whose run time is over, and run background
                functions. Else the test sends the events.

        Raises:
            PluginError: a plugin cannot be used.
        """
        super().__init__(now)
        #: Functions that are called after every event, besides the check of the engine's invariants.
        self.checks: list[Callable[[], object]] = []
        #: All jobs since the engine was last started, by job id.
        self._known: dict[int, Job] = {}
        #: Runs that have started, by job id and restart count.
        self._launched: set[tuple[int, int]] = set()
        self._dispatch = dispatch_table(self)
        self._passes = passes
        self._performs = performs
        self._batch = False
        self._agenda = Agenda()
        #: Run time and exit code of jobs that end by themselves, by job id.
        self._runs: dict[int, tuple[int, int]] = {}
        self._next_id = count(1)
        self._config = config or cluster(cpus=4)
        self._plugins = (priority, sched)
        self._associations = associations
        self._dirs = [Path(one) for one in ([plugin_dir] if isinstance(plugin_dir, str | Path) else plugin_dir)]
        self._boot(None)

    def _boot(self, saved: dict[str, Any] | None) -> None:
        """Load the plugins and start an engine, new or from a saved state."""
        with ExitStack() as stack:
            priority, sched = (self._load(stack, plugin) for plugin in self._plugins)
            select = self._load(stack, "select/cons_tres") if shares_nodes(self._config) else None
            self.engine, effects = boot(
                self._config,
                Plugins(priority, sched, select),
                boot_time=self.now,
                associations=deepcopy(self._associations),
                saved=saved,
            )
            self._stack = stack.pop_all()
        effects += self.engine.begin()
        self._check()
        self._take(effects)

    def restart(self, config: ClusterConfig | None = None) -> None:
        """Restart the engine from its saved state, converted to JSON and back, with newly loaded plugins.

        Job records from before the restart are not updated any more: use `job` to get the new ones.

        Args:
            config: Another slurm.conf; ``None``: the one in force.
        """
        saved = json.dumps(save(self.engine))
        self._stack.close()
        self._config = config or self.engine.view.config
        self._boot(json.loads(saved))
        self._pass_if_due()

    def _load(self, stack: ExitStack, plugin: object) -> LoadedPlugin:
        """Load a plugin; it is unloaded with the others."""
        loaded = load_plugin(plugin, self._dirs)
        stack.callback(loaded.close, self.logs.append)
        return loaded

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Unload the plugins: ``fini`` is called."""
        self._stack.close()

    # ---- events -----------------------------------------------------------------------------------------------

    def send(self, event: ev.Event) -> list[Effect]:
        """Send an event to the engine now, perform its effects, and check the invariants.

        Returns:
            The effects of this event.

        Raises:
            InvariantError: the engine's state is inconsistent.
        """
        effects = self.engine.handle(event, self.now)
        self._check()
        self._take(effects)
        if self._passes and not self._batch and self.engine.pass_due:
            self.run_pass()
        return effects

    def submit(
        self,
        request: JobSpec | None = None,
        *,
        job_id: int | None = None,
        run: int | None = None,
        exit_code: int = 0,
        uid: int = 0,
        **fields: Any,
    ) -> Job:
        """Submit a job.

        Args:
            request: Result of `spec`; ``None``: it is made from ``fields``.
            job_id: Job id; ``None``: the next one.
            run: Run time in seconds; ``None``: until `end` or its time limit.
            exit_code: Exit code at its end.
            uid: User id of who submits it; 0: an administrator.
            fields: Arguments of `spec`.

        Returns:
            The engine's own record, which the engine goes on to update.

        Raises:
            RequestError: the job was refused.
        """
        if job_id is None:
            job_id = next(self._next_id)
        if run is not None:
            self._runs[job_id] = run, exit_code
        batch, self._batch = self._batch, True
        try:
            self._request(ev.Submit(job_id=job_id, spec=spec(**fields) if request is None else request, uid=uid))
            job = self._known[job_id]
            for _ in range(job.waiting_tasks - 1):  # ids of the array's tasks
                next(self._next_id)
        finally:
            self._batch = batch
        self._pass_if_due()
        return job

    @contextmanager
    def together(self) -> Iterator[None]:
        """Delay the next scheduling pass until the end of the block."""
        batch, self._batch = self._batch, True
        try:
            yield
        finally:
            self._batch = batch
            self._pass_if_due()

    def end(self, job: Job | int, exit_code: int = 0) -> None:
        """End a running or completing job."""
        record = self.job(job)
        self.send(ev.JobEnded(job_id=record.job_id, restart_count=record.restart_count, exit_code=exit_code))

    def launch_fails(self, job: Job | int) -> None:
        """Make a job's launch fail."""
        record = self.job(job)
        self.send(ev.LaunchFailed(job_id=record.job_id, restart_count=record.restart_count))

    def cancel(self, job: Job | int) -> None:
        """Cancel a job."""
        self._request(ev.Cancel(job_id=_id(job)))

    def hold(self, job: Job | int, *, by_user: bool = False) -> None:
        """Hold a pending job."""
        self._request(ev.Hold(job_id=_id(job), by_user=by_user))

    def release(self, job: Job | int, *, by_user: bool = False) -> None:
        """Release a held job."""
        self._request(ev.Release(job_id=_id(job), by_user=by_user))

    def requeue(self, job: Job | int) -> None:
        """Requeue a running job."""
        self._request(ev.Requeue(job_id=_id(job)))

    def node(self, name: str, state: NodeState) -> None:
        """Set a node's state."""
        self._request(ev.UpdateNode(name=name, state=state))

    def partition(self, name: str, state: PartitionState) -> None:
        """Set a partition's state."""
        self._request(ev.UpdatePartition(name=name, state=state))

    def reconfigure(self, config: ClusterConfig) -> None:
        """Read slurm.conf again."""
        self._request(ev.Reconfigure(config=config))

    def tick(self) -> None:
        """Handle timers and time limits that are due."""
        self.send(ev.Tick())

    def run_pass(self) -> None:
        """Make a scheduling pass."""
        effects = self.engine.handle(ev.SchedulePass(), self.now)
        self._check()
        self._take(effects)

    def propose(self, fn: Callable[[ControllerOf[Job]], T]) -> T | None:
        """Call a function with the scheduler plugin's controller, as if the plugin did so now.

        Returns:
            Its result; ``None`` also if it raised, which is recorded as a fault.
        """
        answers: list[T] = []

        def call(_result: object) -> None:
            answers.append(fn(self.ctld))

        token = self.engine.add_background(self.engine.sched_guard, call)
        self.send(ev.BackgroundDone(token=token))
        return answers[0] if answers else None

    def _request(self, event: ev.Event) -> None:
        for effect in self.send(event):
            if isinstance(effect, Refused):
                raise RequestError(effect.message, effect.errno)

    # ---- time -------------------------------------------------------------------------------------------------

    def at(self, time: int, fn: Callable[[], object]) -> None:
        """Call a function at a time, after the ends and the timers of that time."""
        self._agenda.put(time, _SCRIPT, fn)

    def wait(self, seconds: int) -> None:
        """Advance the clock by some seconds, and handle what is due."""
        self.until(self.now + seconds)

    def jump(self, seconds: int) -> None:
        """Set the clock ahead, and handle late what has become due."""
        self._instant(self.now + seconds)

    def until(self, time: int) -> None:
        """Advance the clock up to and including ``time``."""
        while (due := self._next_due()) is not None and due <= time:
            self._instant(due)
        self.now = max(self.now, time)

    def run_to_end(self, horizon: int = 2**40) -> None:
        """Advance the clock until all jobs have ended and nothing is scheduled, or nothing is due by ``horizon``."""
        while self._agenda or self.engine.jobs:
            due = self._next_due()
            if due is None or due > horizon:
                return
            self._instant(due)

    def _next_due(self) -> int | None:
        due = [time for time in (self._agenda.next_time, self.engine.wakeup) if time is not None]
        return min(due, default=None)

    def _instant(self, time: int) -> None:
        """Handle everything that is due at one time, then make a pass."""
        self.now = max(self.now, time)
        self._batch = True
        try:
            self._agenda.play(self.now, _ENDS)
            wakeup = self.engine.wakeup
            if wakeup is not None and wakeup <= self.now:
                self.tick()
            self._agenda.play(self.now, _SCRIPT)
        finally:
            self._batch = False
        self._pass_if_due()

    def _pass_if_due(self) -> None:
        if self._passes and not self._batch and self.engine.pass_due:
            self.run_pass()

    # ---- effects ----------------------------------------------------------------------------------------------

    def _check(self) -> None:
        self._known |= self.engine.jobs
        self.engine.check_invariants()
        for check in self.checks:
            check()

    def _take(self, effects: list[Effect]) -> None:
        """Record and perform effects."""
        self.effects += effects
        for effect in list(effects):
            self._dispatch[type(effect)](effect)

    def launch(self, effect: Launch) -> None:
        """Start a job, which ends after the run time given at its submission."""
        identity = effect.job_id, effect.restart_count
        if identity in self._launched:
            return  # it has been running since before a restart
        self._launched.add(identity)
        super().launch(effect)
        job = self.engine.jobs[effect.job_id]
        run = self._runs.get(job.array_job_id)
        if run is not None and self._performs:
            end = ev.JobEnded(job_id=effect.job_id, restart_count=effect.restart_count, exit_code=run[1])
            self._agenda.put(self.now + run[0], _ENDS, lambda: self.send(end))

    def kill(self, effect: Kill) -> None:
        """End a run immediately."""
        super().kill(effect)
        if self._performs:
            self.send(ev.JobEnded(job_id=effect.job_id, restart_count=effect.restart_count))

    def finished_with(self, effect: JobFinished) -> None:
        """Keep the record of a job that has ended."""
        record = effect.record
        if record.job_id not in self._known:
            self._known[record.job_id] = _over_at_once(record, self.ctld.partitions)
        super().finished_with(effect)

    def background(self, effect: Background) -> None:
        """Run a background function immediately."""
        if self._performs:
            self.send(background_done(effect))

    # ---- asking -----------------------------------------------------------------------------------------------

    @property
    def ctld(self) -> ControllerOf[Job]:
        """The scheduler plugin's controller, to read from; see `propose`. It takes records of jobs as well as views."""
        return cast("ControllerOf[Job]", self.engine.sched_controller)

    def job(self, job: Job | int) -> Job:
        """Find a job, live or ended, by its id.

        Raises:
            KeyError: there is no such job.
        """
        if isinstance(job, Job):
            return job
        return self._known[job]

    def state(self, job: Job | int) -> JobState:
        """Give a job's state."""
        return self.job(job).state

    def reason(self, job: Job | int) -> Reason:
        """Say why a job is pending, or in its state."""
        return self.engine.view.reason(self.job(job))

    @property
    def queue(self) -> list[int]:
        """Ids of the jobs in the queue, in order; jobs that are held or wait for a time are not in it."""
        return [line.job_id for line in self.engine.view.queue() if line.is_candidate]

    @property
    def running(self) -> list[int]:
        """Ids of the running jobs, ascending."""
        return sorted(job.job_id for job in self.ctld.running)

    @property
    def starts(self) -> dict[int, int]:
        """Starts of the jobs that have ended, by job id; without jobs that never ran."""
        return {job.job_id: job.start_time for job in self.finished if job.start_time is not None}

    @property
    def known(self) -> list[Job]:
        """All jobs since the engine was last started."""
        return list(self._known.values())

    @property
    def live(self) -> list[Job]:
        """Jobs that have not ended."""
        return list(self.engine.jobs.values())

    def count(self, state: JobState) -> int:
        """Count the jobs that ended in a state."""
        return sum(job.state is state for job in self.finished)


def _id(job: Job | int) -> int:
    return job.job_id if isinstance(job, Job) else job


def _over_at_once(record: JobRecord, partitions: Mapping[str, Partition]) -> Job:
    """Make the record of a job that ended in the event of its submission."""
    partition = partitions.get(record.partition) or Partition(name=record.partition, nodes=0)  # may be removed by now
    job = Job(record.job_id, record.spec, record.submit_time, partition, 1)
    job.state, job.reason, job.end_time = record.state, record.reason, record.end_time
    return job
