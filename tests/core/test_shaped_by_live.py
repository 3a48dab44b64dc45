"""A second driver, which is as unreliable as real machines.

Reports are late, repeated and out of order; launches fail, or are performed late or twice; jobs are killed late; states
of nodes and partitions change; the controller is restarted; time advances irregularly. After every event the engine's
invariants hold, and running processes have disjoint resources. When all reports have been delivered, every job has
ended.
"""

from __future__ import annotations

import json
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from rota.core import events as ev
from rota.core.effects import Kill, Launch
from rota.core.snapshot import restore, save
from rota.model import InputError, JobState, NodeState, PartitionState, Reason, RequestError
from rota.resources import WholeNodePool
from rota.testing import MACHINES, Harness, cluster, random_script

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.core.effects import Effect

SCHEDULERS = ("sched/builtin", "sched/easy", "sched/conservative", "sched/backfill")


class _Run(NamedTuple):
    """One run of a job."""

    job_id: int
    restart_count: int


class LiveDriver:
    """Sends events and performs effects at random times."""

    def __init__(self, rng: Random, machine: str, sched: str) -> None:
        self.rng = rng
        self.config = MACHINES[machine]()
        self.rota = Harness(self.config, sched=sched, passes=False, performs=False)
        self.whole = self.rota.engine.state.pool.up
        self.requests = list(random_script(rng, self.config, jobs=40).submissions)
        #: Launches and kills that the engine wants and that have not been performed.
        self.wanted: list[Launch | Kill] = []
        #: What really runs, with its resources.
        self.processes: dict[_Run, int] = {}
        #: Runs that were launched, or whose launch has failed: neither happens again.
        self.seen: set[_Run] = set()
        #: News on its way to the engine.
        self.inbox: list[ev.Event] = []
        self.submitted = 0
        self._taken = 0
        self._actions: list[Callable[[], None]] = [
            self.submit, self.submit, self.wait, self.wait, self.tick, self.schedule, self.schedule,
            self.perform, self.perform, self.perform, self.exit, self.exit, self.deliver, self.deliver, self.deliver,
            self.repeat, self.request, self.request, self.change_machine, self.schedule, self.restart,
        ]  # fmt: skip

    def step(self) -> None:
        """Make a random step, and check."""
        self.rng.choice(self._actions)()
        self.collect()
        self.check_processes()

    def collect(self) -> None:
        """Collect new effects; some are added twice, and so performed twice."""
        new: list[Effect] = self.rota.effects[self._taken :]
        self._taken = len(self.rota.effects)
        for effect in new:
            if isinstance(effect, Launch | Kill):
                self.wanted += [effect] * self.rng.choice((1, 1, 1, 2))

    def check_processes(self) -> None:
        """Check that the resources of running processes are disjoint, and exist."""
        held = list(self.processes.values())
        assert self.rota.engine.state.pool.common(sum(held), self.whole) == sum(held)
        if isinstance(self.rota.engine.state.pool, WholeNodePool):
            assert sum(nodes.bit_count() for nodes in held) == sum(held).bit_count()

    # ---- what may happen ------------------------------------------------------------------------------------------

    def submit(self) -> None:
        if self.requests:
            self.submitted += 1
            with suppress(RequestError):
                self.rota.submit(self.requests.pop().spec, job_id=self.submitted)

    def wait(self) -> None:
        self.rota.now += self.rng.choice((0, 1, 5, 60, 400))

    def tick(self) -> None:
        """Send a `Tick`, usually in time, sometimes without need."""
        wakeup = self.rota.engine.wakeup
        if wakeup is not None and self.rng.random() < 0.7:
            self.rota.now = max(self.rota.now, wakeup)
        self.rota.tick()

    def schedule(self) -> None:
        if self.rota.engine.pass_due or self.rng.random() < 0.1:
            self.rota.run_pass()

    def perform(self) -> None:
        """Perform one effect, not necessarily the oldest; it may have been performed before."""
        if not self.wanted:
            return
        effect = self.wanted.pop(self.rng.randrange(len(self.wanted)))
        run = _Run(effect.job_id, effect.restart_count)
        if isinstance(effect, Kill):
            # Before its launch or after its end there is nothing to kill, and the answer is the same.
            self.seen.add(run)
            self.processes.pop(run, None)
            self.inbox.append(ev.JobEnded(job_id=run.job_id, restart_count=run.restart_count))
        elif run not in self.seen:
            self.seen.add(run)
            if self.rng.random() < 0.1:
                boot = self.rng.random() < 0.5
                self.inbox.append(ev.LaunchFailed(job_id=run.job_id, restart_count=run.restart_count, boot=boot))
            else:
                self.processes[run] = effect.resources

    def exit(self) -> None:
        """End a process."""
        if self.processes:
            run = self.rng.choice(list(self.processes))
            del self.processes[run]
            how: dict[str, Any] = self.rng.choice(
                ({}, {}, {"exit_code": 1}, {"signal": 9}, {"outcome": _outcome(self.rng)})
            )
            time = self.rng.choice((None, self.rota.now - self.rng.randint(0, 100)))
            self.inbox.append(ev.JobEnded(job_id=run.job_id, restart_count=run.restart_count, time=time, **how))

    def deliver(self) -> None:
        """Send some reports, of which some are sent again later."""
        if self.inbox:
            place = self.rng.randrange(len(self.inbox))
            news = self.inbox[place] if self.rng.random() < 0.2 else self.inbox.pop(place)
            self.rota.send(news)

    def repeat(self) -> None:
        """Send very old reports, or reports about runs that never were."""
        if self.seen:
            run = self.rng.choice(sorted(self.seen))
            if run not in self.processes:
                self.rota.send(ev.JobEnded(job_id=run.job_id, restart_count=run.restart_count))
        self.rota.send(ev.LaunchFailed(job_id=1000 + self.rng.randrange(5)))

    def request(self) -> None:
        """Send a random request about a job, which may be invalid."""
        kind = self.rng.choice((ev.Cancel, ev.Hold, ev.Release, ev.Requeue, ev.Suspend, ev.Resume))
        with suppress(RequestError):
            self.rota.send(kind(job_id=self.rng.randint(1, max(self.submitted, 1))))

    def change_machine(self) -> None:
        if self.rng.random() < 0.6:
            self._repair()
        elif self.rng.random() < 0.7:
            # A node that runs something, if there is one, for it to matter.
            held = sum(set(self.processes.values())) if len(self.config.nodes) > 1 else 1
            nodes = [node for i, node in enumerate(self.config.nodes) if held >> i & 1] or self.config.nodes
            self.rota.node(self.rng.choice(nodes).name, self.rng.choice((NodeState.DOWN, NodeState.DRAIN)))
        else:
            self.rota.partition(self.rng.choice(self.config.partitions).name, self.rng.choice(list(PartitionState)))

    def _repair(self) -> None:
        for node in self.config.nodes:
            self.rota.node(node.name, NodeState.UP)
        for part in self.config.partitions:
            self.rota.partition(part.name, PartitionState.UP)

    def restart(self) -> None:
        """Restart the controller; the processes continue to run."""
        before = _places(self.rota)
        self.rota.restart()
        after = _places(self.rota)
        # Jobs whose begin time has come without anybody having noticed may be in the queue now.
        now = self.rota.engine.view.now
        for job_id, place in before.items():
            if not (place == ("pending", Reason.BEGIN_TIME) and self.rota.job(job_id).spec.begin_time <= now):
                assert after[job_id] == place
        assert set(after) == set(before)

    # ---- the end --------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Set all nodes up and send all reports until every job has ended."""
        self._repair()
        for _ in range(2000):
            for job in self.rota.live:
                if job.priority == 0 and job.state is JobState.PENDING:
                    self.rota.release(job)
                elif job.state is JobState.PENDING and not job.units:
                    self.rota.cancel(job)  # it can never run
                if job.state is JobState.SUSPENDED:
                    self.rota.send(ev.Resume(job_id=job.job_id))
            self.collect()
            while self.wanted:
                self.perform()
            while self.processes:
                self.exit()
            while self.inbox:
                self.rota.send(self.inbox.pop())
            self.check_processes()
            if not self.rota.live:
                return
            self.rota.run_pass()
            self.collect()
            if not self.wanted and self.rota.engine.wakeup is not None:
                self.rota.now = max(self.rota.now, self.rota.engine.wakeup)
                self.rota.tick()
        raise AssertionError(f"still live: {[(job, self.rota.reason(job)) for job in self.rota.live]}")


def _outcome(rng: Random) -> ev.Outcome:
    return rng.choice(list(ev.Outcome))


def _places(rota: Harness) -> dict[int, object]:
    """Give the collection in which each job is, with its state."""
    queue, places = rota.queue, dict[int, object]()
    for job in rota.live:
        if job.job_id in queue:
            places[job.job_id] = ("queue", queue.index(job.job_id)) if not _someone_may_join(rota) else "queue"
        elif job.completing:
            places[job.job_id] = ("completing", job.state, job.alloc, job.reason)
        elif job.state is JobState.SUSPENDED:
            places[job.job_id] = ("suspended", job.alloc, job.start_time, job.suspended_since, job.restart_count)
        elif job.state is JobState.RUNNING:
            places[job.job_id] = ("running", job.alloc, job.start_time, job.end_time, job.restart_count)
        else:
            places[job.job_id] = ("pending", job.reason)
    return places


def _someone_may_join(rota: Harness) -> bool:
    now = rota.engine.view.now
    return any(0 < job.spec.begin_time <= now for job in rota.live if job.state is JobState.PENDING)


def _fuzz(seed: int, machine: str, sched: str, steps: int) -> LiveDriver:
    driver = LiveDriver(Random(f"{seed} {machine} {sched}"), machine, sched)  # noqa: S311 - repeatable on purpose
    for _ in range(steps):
        driver.step()
    driver.settle()
    assert not driver.rota.engine.faults
    driver.rota.close()
    return driver


@pytest.mark.parametrize("sched", SCHEDULERS)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.seeds(2, 15)
def test_the_engine_stays_right_under_an_unreliable_driver(machine: str, sched: str, seeds: range) -> None:
    ended: set[JobState] = set()
    for seed in seeds:
        driver = _fuzz(seed, machine, sched, 250)
        ended |= {job.state for job in driver.rota.finished}
    if len(seeds) == 15:
        # The fuzz has been everywhere. Nobody has a deadline there, or goes before others.
        assert ended == {state for state in JobState if state.finished} - {JobState.DEADLINE, JobState.PREEMPTED}


@pytest.mark.slow
@pytest.mark.parametrize("sched", SCHEDULERS)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("seeds", [range(5), pytest.param(range(5, 20), marks=pytest.mark.longest)], ids=str)
def test_the_engine_stays_right_at_length(machine: str, sched: str, seeds: range) -> None:
    for seed in seeds:
        _fuzz(1000 + seed, machine, sched, 500)


# ---- restarts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sched", SCHEDULERS)
def test_a_restart_loses_nothing_and_starts_nothing_twice(sched: str) -> None:
    with Harness(cluster(nodes=4), sched=sched) as rota:
        rota.submit(cpus=3, run=100, limit=100)
        rota.submit(cpus=4, run=10, limit=10)
        rota.submit(cpus=1, hold=True)
        rota.submit(cpus=1, begin=500, run=10)
        rota.wait(50)
        rota.restart()
        assert (rota.running, rota.queue) == ([1], [2])
        assert (rota.reason(3), rota.reason(4)) == (Reason.JOB_HELD_USER, Reason.BEGIN_TIME)
        rota.wait(1000)
        assert len(rota.launches) == 3
        assert rota.starts == {1: 0, 2: 100, 4: 500}


def test_priorities_go_on_from_where_they_were() -> None:
    with Harness() as rota:
        first = rota.submit(cpus=4).priority
        rota.restart()
        assert rota.submit(cpus=4).priority == first - 1


def test_a_time_limit_outlives_a_restart() -> None:
    with Harness() as rota:
        rota.submit(limit=60)
        rota.wait(30)
        rota.restart()
        rota.wait(30)
        assert rota.state(1) is JobState.TIMEOUT


def test_what_was_being_stopped_is_stopped_again() -> None:
    with Harness(performs=False) as rota:
        job = rota.submit(cpus=4)
        rota.cancel(job)
        rota.restart()
        assert [kill.job_id for kill in rota.kills] == [1, 1]
        rota.end(1)
        assert rota.state(1) is JobState.CANCELLED
        assert rota.live == []


def test_nodes_and_partitions_are_as_they_were() -> None:
    with Harness(cluster(nodes=2)) as rota:
        rota.node("n1", NodeState.DRAIN)
        rota.partition("batch", PartitionState.DOWN)
        rota.restart()
        assert [node.state for node in rota.ctld.nodes] == [NodeState.UP, NodeState.DRAIN]
        assert rota.ctld.partitions["batch"].state is PartitionState.DOWN
        assert (rota.ctld.up, rota.ctld.free) == (0b01, 0b01)


def test_saved_state_is_plain_data_that_shares_nothing_with_the_engine() -> None:
    with Harness() as rota:
        job = rota.submit(cpus=2, nice=3, priority=9, requeue=True)
        saved = save(rota.engine)
        text = json.dumps(saved)
        rota.end(job)
        assert json.dumps(saved) == text
        assert json.loads(text) == json.loads(json.dumps(saved))


@pytest.mark.parametrize("change", [{"format": 99}, {"nodes": {"x9": "UP"}}, {"jobs": [{}]}, {"passes": 7}])
def test_saved_state_that_is_none_is_not_taken(change: dict[str, object]) -> None:
    with Harness() as rota, Harness() as other:
        saved = save(rota.engine)
        with pytest.raises(InputError):
            restore(other.engine, saved | change)
