"""Jobs that were withdrawn while they waited: status 5 with a wait and no run time, as in SWF."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.config import interchangeable
from rota.replays import ReplayOptions, Scenario
from rota.replays.run import Replay
from rota.workload import Workload
from rota.workload.window import window

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.results.schedule import ReplayResult

#: On four processors: job 2 waits for all of them from 10 s on and is withdrawn at 60 s; job 3 comes at 20 s.
LOG = Workload.build(
    "made",
    {
        "submit_time": [0, 10, 20],
        "wait_time": [0, 50, 40],
        "run_time": [100, -1, 30],
        "requested_procs": [2, 4, 2],
        "requested_time": [100, 50, 300],
        "status": [1, 5, 1],
    },
    header=["; UnixStartTime: 1000"],
)


def play(
    log: Workload,
    procs: int = 4,
    *,
    pass_per: str = "instant",
    estimate: str = "requested",
    report: Callable[[str], object] = lambda _: None,
) -> ReplayResult:
    how = ReplayOptions(check=True, pass_per=pass_per, estimate=estimate, report=report)
    with Replay(Scenario(log, interchangeable(procs), how)) as run:
        run.run()
        return run.result()


@pytest.mark.parametrize("pass_per", ["event", "instant"])
def test_it_is_in_the_queue_until_then_and_in_no_figure(pass_per: str) -> None:
    told: list[str] = []
    result = play(LOG, pass_per=pass_per, report=told.append)
    # Job 3 is too long to be started before job 2.
    assert result.schedule.job_id.tolist() == [1, 3]
    assert (result.schedule.start - 1000).tolist() == [0, 60]
    assert (result.summary.jobs, result.summary.refused, result.summary.unfinished) == (2, 0, 0)
    assert told == ["a job was withdrawn while it waited: it is in the queue until then, and in no figure"]
    without = play(LOG.take(LOG.status != 5), pass_per=pass_per)
    assert (without.schedule.start - 1000).tolist() == [0, 20]


def test_one_that_runs_by_then_ends_then() -> None:
    # On six processors it starts at once. Job 3 then gets its processors at 60 s, when job 2's limit is reached.
    assert (play(LOG, 6).schedule.start - 1000).tolist() == [0, 60]
    short = LOG.with_columns(wait_time=[0, 30, 40])
    assert (play(short, 6).schedule.start - 1000).tolist() == [0, 40]


def test_one_whose_actual_run_time_is_not_known_keeps_its_limit() -> None:
    # Job 1 ends at 100 s, job 2 is planned then, and job 3, of 30 s, does not delay it.
    assert (play(LOG, estimate="actual").schedule.start - 1000).tolist() == [0, 20]


def test_one_that_waited_when_a_stretch_begins() -> None:
    cut = window(LOG, 15, None)
    assert cut.job_number.tolist() == [1, 2, 3]
    assert cut.wait_time.tolist()[1:] == [45, 40]
    assert (play(cut).schedule.start - 1000).tolist() == [60]
