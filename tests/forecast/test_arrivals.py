"""The jobs that are still to come are like those that came."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.forecast.arrivals import Arrival, Arrivals
from rota.model import JobSpec

_NOW, _DAY = 1_700_000_000, 86_400


def _arrivals(times: list[int], known: int) -> Arrivals:
    """Jobs that came at some seconds after all became known, each with another name."""
    since = _NOW - known
    return Arrivals([Arrival(since + time, JobSpec(name=str(time))) for time in sorted(times)], since, _NOW)


@given(times=st.lists(st.integers(0, 7199), min_size=1, max_size=30), seed=st.integers(0, 99))
def test_of_less_than_two_days_eighths_come_again_around_the_end(times: list[int], seed: int) -> None:
    arrivals = _arrivals(times, 7200)
    drawn = list(arrivals.drawn(seed))
    assert drawn == list(arrivals.drawn(seed))
    assert [one.time for one in drawn] == sorted(one.time for one in drawn)
    assert all(one.time >= _NOW for one in drawn)
    for begin in range(_NOW, _NOW + 7200, 900):
        part = [one for one in drawn if begin <= one.time < begin + 900]
        assert len({(one.time - _NOW - int(one.spec.name)) % 7200 for one in part}) <= 1  # all moved by the same time
        came = Counter(one.spec.name for one in part)
        assert all(came[name] <= times.count(int(name)) for name in came)


def test_each_comes_as_often_as_it_came() -> None:
    """On average, give or take five standard deviations, in the futures in which they come for as long again."""
    arrivals = _arrivals([*range(0, 7200, 720)], 7200)
    futures = [list(arrivals.drawn(seed)) for seed in range(1000)]
    long = [drawn for drawn in futures if drawn and drawn[-1].time >= _NOW + 7200]
    came = Counter(one.spec.name for drawn in long for one in drawn if one.time < _NOW + 7200)
    assert len(came) == 10
    assert all(abs(count - len(long)) < 5 * len(long) ** 0.5 for count in came.values())


@pytest.mark.parametrize("known", [7200, 10 * _DAY])
def test_they_come_for_as_long_again_in_half_of_the_futures(known: int) -> None:
    arrivals = _arrivals(list(range(0, known, known // 100)), known)
    lasted = [max((one.time for one in arrivals.drawn(seed)), default=_NOW) - _NOW for seed in range(1000)]
    for times in (0.5, 1, 3):
        if times * known < 14 * _DAY:  # nothing is drawn for longer
            share = sum(lasts > times * known for lasts in lasted) / 1000
            assert share == pytest.approx(1 / (1 + times), abs=0.05)
    assert max(lasted) <= 14 * _DAY


def test_days_begin_at_their_time_of_the_day() -> None:
    arrivals = _arrivals(list(range(0, 5 * _DAY, 7_001)), 5 * _DAY)
    futures = [list(arrivals.drawn(seed)) for seed in range(50)]
    for drawn in futures:
        for one in drawn:
            assert (one.time - (_NOW - 5 * _DAY + int(one.spec.name))) % _DAY == 0
            assert one.time >= _NOW
    first = {tuple(one.spec.name for one in drawn[:5]) for drawn in futures if len(drawn) >= 5}
    assert len(first) == 5  # each day may be the next one


def test_what_is_said_of_times_moves_along() -> None:
    spec = JobSpec(begin_time=_NOW - 50, deadline=_NOW + 500, dependency="afterok:3", hold=True)
    one = next(Arrivals([Arrival(_NOW - 100, spec)], _NOW - 200, _NOW).drawn(1))
    assert (one.spec.begin_time - one.time, one.spec.deadline - one.time) == (50, 600)
    assert not one.spec.dependency
    assert not one.spec.hold


def test_without_a_past_nothing_comes() -> None:
    assert list(_arrivals([], 0).drawn(1)) == list(_arrivals([], 7200).drawn(1)) == []
