"""Schedules to report on: written down job by job, or a whole log from a seed."""

from __future__ import annotations

import heapq
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pytest

from rota.model import JobState, Node
from rota.replays import ReplayOptions, Scenario, replay
from rota.results.priority_history import JobFactors, PriorityHistory
from rota.results.schedule import STATES, ReplayResult, Schedule, summarise
from rota.testing import cluster
from rota.workload import read_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rota.model import ClusterConfig
    from rota.replays.failures import Failure

COMPLETED, CANCELLED, RUNNING = (STATES.index(s) for s in (JobState.COMPLETED, JobState.CANCELLED, JobState.RUNNING))
#: Job number, user, submit, start, end, processors, requested time.
Row = tuple[int, int, int, int, int, int, int]


class MakeSchedule(Protocol):
    """Build a schedule, one row a job."""

    def __call__(self, rows: Sequence[Row]) -> Schedule:
        """Build it; a job without a start was cancelled, one without an end still runs."""


class RandomLog(Protocol):
    """Build a log that some machine could have had."""

    def __call__(self, jobs: int, seed: int) -> Schedule:
        """Build it, for a machine of ten processors."""


class MakeHistory(Protocol):
    """Build a history of priorities."""

    def __call__(self, schedule: Schedule, *, fair_tree: bool = True) -> PriorityHistory:
        """Build it, over the time of the schedule; see `fair_history`."""


class MakeResult(Protocol):
    """Build a result from a schedule."""

    def __call__(
        self,
        schedule: Schedule,
        *,
        options: str = "",
        workload: str = "log.swf",
        origin: int = 0,
        faults: Mapping[str, int] | None = None,
        refused: int = 0,
    ) -> ReplayResult:
        """Build it, on a machine of ten processors."""


#: Four jobs for three nodes of four processors. Job 1 gets n1 and n2, may run for an hour and runs for 50 minutes. Job
#: 2 needs all nodes for half an hour. Job 3 needs one for two hours: on n3 it would be in the way of job 2. Job 4, for
#: 30 minutes at most and 20 in fact, is not: it gets half of n3, in the backfill cycle of second 60, for that of
#: second 30 comes before submissions.
EVENTS = """\
-dt 0.0 -e submit_batch_job | -sim-walltime 3000 --uid=ann -N 2 -n 8 -t 60 job.sh
-dt 10.0 -e submit_batch_job | -sim-walltime 1800 --uid=bob -N 3 -n 12 -t 30 job.sh
-dt 20.0 -e submit_batch_job | -sim-walltime 7200 --uid=eve -N 1 -n 4 -t 120 job.sh
-dt 30.0 -e submit_batch_job | -sim-walltime 1200 --uid=joe -N 1 -n 2 -t 30 job.sh
"""
#: Two nodes of four processors with the feature old, and one of eight with new and two GPUs. Job 1 has both old ones
#: for 3000 s and may keep them for 3600. Job 2 wants them, too, and waits for that; it is planned at 3600. Job 3 comes
#: after it, and has half of the new node and a GPU from the first backfill cycle on, for 1000 s.
TWO_TYPES = """\
-dt 0.0 -e submit_batch_job | -sim-walltime 3000 --uid=ann -N 2 -n 8 -t 60 -C old job.sh
-dt 0.0 -e submit_batch_job | -sim-walltime 600 --uid=bob -N 2 -n 8 -t 30 -C old job.sh
-dt 0.0 -e submit_batch_job | -sim-walltime 1000 --uid=eve -N 1 -n 4 -t 30 -C new --gres=gpu:1 job.sh
"""
#: Nodes share out nothing but processors, one by one.
SHARED_NODES: dict[str, Any] = {"SelectType": "select/cons_tres", "SelectTypeParameters": "CR_CPU"}


def rows_to_schedule(rows: Sequence[Row]) -> Schedule:
    columns = np.array(rows, np.int64).reshape(-1, 7).T
    names = ("job_id", "user_id", "submit", "start", "end", "procs", "time_limit")
    start, end = columns[3], columns[4]
    state = np.where(start < 0, CANCELLED, np.where(end < 0, RUNNING, COMPLETED)).astype(np.int8)
    named: dict[str, Any] = {name: column.copy() for name, column in zip(names, columns, strict=True)}
    return Schedule(**named, state=state)


@pytest.fixture
def make_schedule() -> MakeSchedule:
    return rows_to_schedule


@pytest.fixture
def make_result() -> MakeResult:
    def build(
        schedule: Schedule,
        *,
        options: str = "",
        workload: str = "log.swf",
        origin: int = 0,
        faults: Mapping[str, int] | None = None,
        refused: int = 0,
    ) -> ReplayResult:
        return ReplayResult(
            workload=workload,
            scheduler="sched/easy",
            priority="priority/basic",
            options=options,
            machine_procs=10,
            origin=origin,
            schedule=schedule,
            summary=summarise(
                schedule, 10, events=2 * len(schedule), passes=3, wall_s=0.5, faults=faults or {}, refused=refused
            ),
        )

    return build


def fair_history(schedule: Schedule, *, fair_tree: bool = True) -> PriorityHistory:
    """Four samples: physics has the groups optics and plasma, chemistry none, and biology has used nothing yet.

    Half of what physics used was used by a user directly in that account.
    """
    first = int(schedule.submit.min(initial=0))
    last = max(int(schedule.end.max(initial=0)), first + 3)
    physics = np.array([0.0, 0.8, 0.6, 0.4])
    columns = [physics, physics / 4, physics / 4, np.array([0.0, 0.2, 0.4, 0.6]), np.zeros(4)]
    usage, target = np.stack(columns, axis=1), np.array([0.5, 0.3, 0.2, 0.4, 0.1])
    with np.errstate(divide="ignore"):
        fairshare = target / usage if fair_tree else np.exp2(-usage / target)
    return PriorityHistory(
        times=np.linspace(first, last, 4).astype(np.int64),
        accounts=("physics", "optics", "plasma", "chemistry", "biology"),
        depth=(1, 2, 2, 1, 1),
        usage_share=usage,
        target_share=target,
        fairshare=fairshare,
        fair_tree=fair_tree,
        waits=tuple(
            JobFactors(
                job_id=int(job),
                user="ann",
                account="optics",
                wait=90,
                priority=1150,
                age=250.5,
                fairshare=1e3,
                nice=100,
            )
            for job in schedule.job_id[:2]
        ),
    )


@pytest.fixture
def make_history() -> MakeHistory:
    return fair_history


def with_names(schedule: Schedule) -> Schedule:
    """Users are called u1, u2, …; those with odd numbers are charged to optics, the others to chemistry."""
    ids = schedule.user_id.tolist()
    return replace(
        schedule,
        user=tuple(f"u{user}" for user in ids),
        account=tuple("optics" if user % 2 else "chemistry" for user in ids),
    )


@pytest.fixture
def name_jobs() -> Callable[[Schedule], Schedule]:
    return with_names


@pytest.fixture
def three_jobs() -> Schedule:
    """Job 2 waits 50 s behind job 1, job 3 is cancelled in the queue after 30 s."""
    return rows_to_schedule(
        [
            (1, 7, 100, 100, 200, 6, 120),
            (2, 8, 150, 200, 205, 8, 60),
            (3, 7, 160, -1, 190, 2, 60),
        ]
    )


@pytest.fixture
def small_replay(tmp_path: Path) -> Callable[..., ReplayResult]:
    """Replay `EVENTS`."""

    def build(
        *,
        config: ClusterConfig | None = None,
        text: str = EVENTS,
        scheduler: str = "sched/backfill",
        history: bool = True,
        failures: Sequence[Failure] = (),
        **parameters: str,
    ) -> ReplayResult:
        events = tmp_path / "four.events"
        events.write_text(text)
        nodes = [Node(name=f"n{i}", cpus=4) for i in (1, 2, 3)]
        # In this version a job that is planned later gets the first node that will be free then.
        machine = config or cluster(nodes=nodes, **(SHARED_NODES | {"SlurmVersion": "25.11"} | parameters))
        options = ReplayOptions(scheduler=scheduler, history=history, failures=failures, check=True)
        result = replay(Scenario(read_workload(events), machine, options))
        events.unlink()
        return result

    return build


@pytest.fixture
def two_types(small_replay: Callable[..., ReplayResult]) -> ReplayResult:
    nodes = [Node(name=f"n{i}", cpus=4, features=("old",)) for i in (1, 2)]
    nodes.append(Node(name="m1", cpus=8, features=("new",), gres=("gpu:2",)))
    config = cluster(nodes=nodes, SelectType="select/cons_tres", SelectTypeParameters="CR_CPU", GresTypes="gpu")
    return small_replay(config=config, text=TWO_TYPES)


@pytest.fixture
def random_log() -> RandomLog:
    """First come, first served on ten processors, so that nothing is oversubscribed."""

    def build(jobs: int, seed: int) -> Schedule:
        random, now, rows = Random(seed), 0, []  # noqa: S311 - jobs, not secrets
        free, running, started = 10, [(0, 0)], 0
        for job in range(1, jobs + 1):
            now += int(random.expovariate(1 / 400))
            procs, run = random.randint(1, 10), int(random.expovariate(1 / 900))
            started = max(started, now)
            while running and (running[0][0] <= started or free < procs):
                end, held = heapq.heappop(running)
                free, started = free + held, max(started, end)
            heapq.heappush(running, (started + run, procs))
            free -= procs
            rows.append((job, random.randint(1, 6), now, started, started + run, procs, run + 60))
        return rows_to_schedule(rows)

    return build
