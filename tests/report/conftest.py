"""Schedules to report on: written down job by job, or a whole log from a seed."""

from __future__ import annotations

import heapq
from random import Random
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pytest

from rota.model import JobState
from rota.replay.result import STATES, ReplayResult, Schedule, summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

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


class MakeResult(Protocol):
    """Build a result from a schedule."""

    def __call__(
        self, schedule: Schedule, *, options: str = "", workload: str = "log.swf", origin: int = 0
    ) -> ReplayResult:
        """Build it, on a machine of ten processors."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "browser: drives a headless chromium; skipped where there is none")


def rows_to_schedule(rows: Sequence[Row]) -> Schedule:
    columns = np.array(rows, np.int64).reshape(-1, 7).T
    names = ("job_id", "user_id", "submit", "start", "end", "procs", "time_limit")
    start, end = columns[3], columns[4]
    state = np.where(start < 0, CANCELLED, np.where(end < 0, RUNNING, COMPLETED)).astype(np.int8)
    return Schedule(**{name: column.copy() for name, column in zip(names, columns, strict=True)}, state=state)


@pytest.fixture
def make_schedule() -> MakeSchedule:
    return rows_to_schedule


@pytest.fixture
def make_result() -> MakeResult:
    def build(schedule: Schedule, *, options: str = "", workload: str = "log.swf", origin: int = 0) -> ReplayResult:
        return ReplayResult(
            workload=workload,
            scheduler="sched/easy",
            priority="priority/basic",
            options=options,
            machine_procs=10,
            origin=origin,
            schedule=schedule,
            summary=summarise(schedule, 10, events=2 * len(schedule), passes=3, wall_s=0.5),
        )

    return build


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
