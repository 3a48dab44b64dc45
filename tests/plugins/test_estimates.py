"""``profile(estimate=fn)``: predicted run times in place of time limits, corrected when a job outlives them.

The corrections are those of D. Tsafrir, Y. Etsion, D. Feitelson, IEEE TPDS 18(6), 2007: 1, 5, 15, 30 minutes, 1, 2, 5,
10, 20, 50, 100 hours are added to the first prediction, and the time limit bounds all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.core import events as ev
from rota.testing import Harness, cluster, scheduler

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.core.job_view import PluginJob

MINUTE, HOUR = 60, 3600


def ends(rota: Harness, estimate: Callable[[PluginJob], float] | None = None) -> list[int]:
    """Give the times at which resources become free, as of now."""
    rota.send(ev.Tick())
    return [time for time, _ in rota.engine.sched_controller.profile(estimate=estimate).steps()[1:]]


@pytest.fixture
def rota() -> Harness:
    return Harness(cluster(cpus=8), sched=scheduler())


def test_a_running_job_is_expected_to_end_by_its_estimate(rota: Harness) -> None:
    rota.submit(cpus=2, limit=10 * HOUR)
    rota.submit(cpus=2, limit=20 * HOUR)
    assert ends(rota) == [10 * HOUR, 20 * HOUR]
    assert ends(rota, lambda job: job.time_limit / 4) == [150 * MINUTE, 5 * HOUR]
    # By the estimates, not the time limits, which of them ends first.
    assert ends(rota, lambda job: HOUR if job.job_id == 2 else 2 * HOUR) == [HOUR, 2 * HOUR]
    assert ends(rota, lambda _job: 0.5) == [1]


def test_no_job_is_expected_to_run_longer_than_it_may(rota: Harness) -> None:
    rota.submit(cpus=2, limit=10 * MINUTE)
    for long in (HOUR, float("inf"), 1e300):
        assert ends(rota, lambda _job, long=long: long) == [10 * MINUTE]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("elapsed", "end"),
    [
        (9 * MINUTE, 10 * MINUTE),
        (10 * MINUTE, 11 * MINUTE),  # it runs still: this estimate was too short
        (11 * MINUTE, 15 * MINUTE),
        (15 * MINUTE, 25 * MINUTE),
        (25 * MINUTE, 40 * MINUTE),
        (40 * MINUTE, 70 * MINUTE),
        (70 * MINUTE, 130 * MINUTE),
        (130 * MINUTE, 310 * MINUTE),
        (310 * MINUTE, 610 * MINUTE),
        (610 * MINUTE, 1210 * MINUTE),
        (1210 * MINUTE, 3010 * MINUTE),
        (3010 * MINUTE, 6010 * MINUTE),
        (6010 * MINUTE, 200 * HOUR),
    ],
)
def test_an_estimate_that_a_job_has_outlived_is_corrected(rota: Harness, elapsed: int, end: int) -> None:
    rota.submit(cpus=2, limit=200 * HOUR)
    rota.wait(elapsed)
    assert ends(rota, lambda _job: 10 * MINUTE) == [end]


def test_the_time_limit_bounds_corrections_too(rota: Harness) -> None:
    rota.submit(cpus=2, limit=12 * MINUTE)
    rota.wait(11 * MINUTE)
    assert ends(rota, lambda _job: 10 * MINUTE) == [12 * MINUTE]


def test_time_in_which_a_job_was_suspended_does_not_count(rota: Harness) -> None:
    rota.submit(cpus=2, limit=HOUR)
    rota.wait(5 * MINUTE)
    rota.send(ev.Suspend(job_id=1))
    rota.wait(20 * MINUTE)
    rota.send(ev.Resume(job_id=1))
    assert ends(rota, lambda _job: 10 * MINUTE) == [30 * MINUTE]


def test_each_running_job_is_asked_about_once_and_no_other(rota: Harness) -> None:
    for cpus in (2, 4, 8):
        rota.submit(cpus=cpus, limit=HOUR)
    asked: list[int] = []

    def estimate(job: PluginJob) -> int:
        asked.append(job.job_id)
        return MINUTE

    ends(rota, estimate)
    assert sorted(asked) == [1, 2]  # the third waits


@pytest.mark.parametrize(
    ("answer", "error"),
    [("10", TypeError), (None, TypeError), (-1, ValueError), (float("nan"), ValueError)],
    ids=["text", "None", "negative", "NaN"],
)
def test_an_estimate_that_is_none_is_refused_at_once(rota: Harness, answer: object, error: type[Exception]) -> None:
    rota.submit(cpus=2)
    with pytest.raises(error, match="estimate "):
        ends(rota, lambda _job: answer)  # type: ignore[arg-type,return-value]


def test_what_is_no_function_is_refused(rota: Harness) -> None:
    with pytest.raises(TypeError, match="no function"):
        ends(rota, 10)  # type: ignore[arg-type]
