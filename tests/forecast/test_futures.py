"""Running a queue ahead. Each job's group has a past of one run time, so that it is known what comes."""

from __future__ import annotations

import json
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from rota.cli.whatif import _lines as whatif_lines
from rota.core.snapshot import save
from rota.forecast.arrivals import Arrival, Arrivals
from rota.forecast.comparison import compare
from rota.forecast.future import Outcome
from rota.forecast.futures import run_futures
from rota.forecast.ranges import forecasts, quantile
from rota.forecast.run_times import PastRun, RunTimes
from rota.model import JobSpec
from rota.testing import Harness, cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.forecast.ranges import Forecast

#: Jobs of this user and name took half of their time limits of an hour. Of a group with 50 runs five in six draws are
#: from these; they are those of the user, of the time limit and of all jobs too: of those left again five in six.
_HALF = [PastRun("ann", "", "a", 3600, 1800)] * 200
_ANN: dict[str, Any] = {"user": "ann", "name": "a"}


def _forecasts(rota: Harness, past: list[PastRun] = _HALF, count: int = 9) -> dict[str, Forecast]:
    outcomes = [one for (one,) in run_futures([rota.engine], RunTimes(past), rota.now, count=count)]
    return {f"{one.job} {one.task}".rstrip(): one for one in forecasts(rota.engine, outcomes)}


def test_jobs_behind_others_start_when_these_end() -> None:
    with Harness(cluster(cpus=4), sched="sched/backfill") as rota:
        for _ in range(3):
            rota.submit(cpus=4, **_ANN)
        rota.wait(600)
        found = _forecasts(rota)
        assert list(found) == ["2", "3"]
        # The first one has run 600 s of 1,800. The clock's grain, 1/8 of the time ahead or less, is the error.
        for job, start in (("2", 1800), ("3", 3600)):
            expected = found[job].expected
            assert expected is not None
            assert abs(expected - start) <= (start - 600) / 8 + 60  # backfill or the main pass: within a minute


def test_ends_of_the_next_minutes_are_exact() -> None:
    with Harness(cluster(cpus=4), sched="sched/easy") as rota:
        rota.submit(cpus=4, **_ANN)
        rota.submit(cpus=4, **_ANN)
        rota.wait(1700)
        assert _forecasts(rota)["2"].expected == 1800


def test_nothing_changes_and_the_same_comes_again() -> None:
    with Harness(cluster(cpus=4), sched="sched/backfill") as rota:
        for number in range(8):
            rota.submit(cpus=1 + number % 4, user=f"u{number}")
        rota.submit(cpus=1, array="1-3")
        before = json.dumps(save(rota.engine))
        first = _forecasts(rota, [])
        assert json.dumps(save(rota.engine)) == before
        assert _forecasts(rota, []) == first
        assert any(one.early != one.late for one in first.values())


def test_an_array_has_a_first_and_a_last_task() -> None:
    with Harness(cluster(cpus=4), sched="sched/easy") as rota:
        rota.submit(cpus=4, **_ANN)
        rota.submit(cpus=4, array="3-5", **_ANN)
        found = _forecasts(rota)
        first, last = found["2_[3-5] first"].expected, found["2_[3-5] last"].expected
        assert first is not None
        assert last is not None
        assert 1500 <= first <= 2100
        assert last >= first + 2 * 1500
        outcomes = [one for (one,) in run_futures([rota.engine], RunTimes(_HALF), 0, only=frozenset({"2_4"}), count=3)]
        assert [set(one.starts) for one in outcomes] == [{"2_4"}] * 3
        assert [one.job for one in forecasts(rota.engine, outcomes, frozenset({"2_4"}))] == ["2_4"]


def test_jobs_that_never_start_say_why() -> None:
    with Harness(cluster(cpus=4), sched="sched/easy") as rota:
        rota.submit(cpus=4, **_ANN)
        held = rota.submit(cpus=1, hold=True, **_ANN)
        rota.submit(cpus=1, dependency=f"afterok:{held.job_id}", **_ANN)
        rota.submit(cpus=1, begin=86_400, **_ANN)
        found = _forecasts(rota)
        assert [found[job].never for job in "234"] == ["JobHeldUser", "Dependency", ""]
        assert found["4"].expected == 86_400
        assert found["2"].expected is found["2"].late is None


def test_jobs_to_come_go_first_where_they_have_priority() -> None:
    with Harness(cluster(cpus=4), sched="sched/backfill") as rota:
        first = rota.submit(cpus=4, **_ANN)
        rota.submit(cpus=4, **_ANN)
        rota.wait(600)
        urgent = first.spec._replace(priority=first.priority + 1)
        arrivals = Arrivals([Arrival(time, urgent) for time in range(0, 600, 100)], 0, 600)
        alone, among = (
            [one.starts for (one,) in run_futures([rota.engine], RunTimes(_HALF), rota.now, arrivals=found, count=9)]
            for found in (None, arrivals)
        )
        assert [set(starts) for starts in among] == [{"2"}] * 9  # what comes is not what is asked for
        later = [then["2"] - now["2"] for now, then in zip(alone, among, strict=True)]
        assert min(later) >= 0
        assert sum(seconds > 1500 for seconds in later) > 5


class _Endless:
    """Jobs that come each minute; nobody takes more than a hundred."""

    def drawn(self, _seed: int) -> Iterator[Arrival]:
        for number in range(100):
            yield Arrival(60 * number, JobSpec())
        raise AssertionError("the future goes on")


def test_what_comes_does_not_matter_to_jobs_that_cannot_start(capfd: pytest.CaptureFixture[str]) -> None:
    with Harness(cluster(cpus=4), sched="sched/backfill") as rota:
        rota.submit(cpus=1, array="1-3", hold=True, **_ANN)
        outcomes = run_futures([rota.engine], RunTimes(_HALF), 0, arrivals=_Endless(), count=2)  # type: ignore[arg-type]
        assert [set(one.never.values()) for (one,) in outcomes] == [{"JobHeldUser"}] * 2
        rota.submit(cpus=1, begin=86_400, **_ANN)
        with pytest.raises(ChildProcessError):
            run_futures([rota.engine], RunTimes(_HALF), 0, arrivals=_Endless(), count=2)  # type: ignore[arg-type]
        assert "the future goes on" in capfd.readouterr().err


def test_without_time_only_what_is_near_is_known() -> None:
    with Harness(cluster(cpus=4), sched="sched/easy") as rota:
        for _ in range(3):
            rota.submit(cpus=4, **_ANN)
        outcomes = [one for (one,) in run_futures([rota.engine], RunTimes(_HALF), rota.now, until=monotonic())]
        assert outcomes  # at least one for each processor
        found = forecasts(rota.engine, outcomes)
        assert [one.expected for one in found] == [None, None]
        assert {one.after for one in found} == {0}
        assert {one.never for one in found} == {""}


@pytest.mark.parametrize(
    ("count", "part", "expected"),
    [(1, 0.1, 1), (1, 0.9, 1), (4, 0.1, 1), (4, 0.9, 4), (9, 0.1, 1), (9, 0.5, 5), (9, 0.9, 9), (99, 0.1, 10)],
)
def test_ranges_leave_room_for_what_comes(count: int, part: float, expected: int) -> None:
    """A tenth of what comes is below the first of nine futures: of ten in a random order each is as often the least."""
    assert quantile(range(1, count + 1), part) == expected


def test_the_same_policy_gives_the_same() -> None:
    with Harness(cluster(cpus=4)) as one, Harness(cluster(cpus=4)) as other:
        for rota in (one, other):
            rota.submit(cpus=4, **_ANN)
            rota.submit(cpus=4, **_ANN)
            rota.submit(cpus=4, user="bob", name="b", hold=True)
            for _ in range(2):
                rota.submit(cpus=4, user="bob", name="b")
        futures = run_futures([one.engine, other.engine], RunTimes(_HALF), 0, count=3)
        found = compare(one.engine, [(first, second) for first, second in futures], 0, lambda job: job.user_name)
        assert found.jobs == 4
        assert found.present == found.other
        assert found.present.not_started == 1
        makespan, longest, mean = (getattr(found.present, name) for name in ("makespan", "max_wait", "mean_wait"))
        assert makespan > longest > mean > 0
        assert {(one.mean, one.low, one.high) for one in found.changes.values()} == {(0, 0, 0)}
        assert (found.lost, found.gained) == (0, 0)
        assert {name: count for name, (count, *_) in found.groups.items()} == {"ann": 1, "bob": 2}
        assert {(one.low, one.high) for *_, one in found.groups.values()} == {(0, 0)}
        assert [one.present for one in found.differences] == [one.other for one in found.differences]


def test_a_policy_that_starts_nothing_is_not_better() -> None:
    """Its last end is earlier, and nobody waits in it: of jobs that start under one policy only nothing is compared."""
    jobs = {}
    with Harness(cluster(cpus=4)) as rota:
        rota.submit(cpus=4, **_ANN)
        jobs = {key: rota.submit(cpus=4, **_ANN).job_id for key in "ab"}
        starts = {str(number): 100 * place for place, number in enumerate(jobs.values(), 1)}
        present = Outcome(starts=starts, ends={key: start + 50 for key, start in starts.items()})
        nothing = Outcome(never=dict.fromkeys(starts, "Resources"))
        found = compare(rota.engine, [(present, nothing)] * 3, 0)
        assert (found.lost, found.gained) == (2, 0)
        assert found.changes == {}
        assert (found.other.mean_wait, found.other.makespan, found.present.makespan) == (None, None, None)
        back = compare(rota.engine, [(nothing, present)] * 3, 0)
        assert (back.lost, back.gained) == (0, 2)
        one = compare(rota.engine, [(present, Outcome(starts={"2": 100}, ends={"2": 150}))] * 3, 0)
        assert "makespan" not in one.changes
        assert one.changes["mean_wait"].mean == 0


def test_changes_have_students_interval() -> None:
    """Of 1, 2, 3, 4: mean 2.5, standard error 0.6455, and 3.182 of these on either side (Student, 3 degrees)."""
    with Harness(cluster(cpus=4)) as rota:
        rota.submit(cpus=4, **_ANN)
        key = str(rota.submit(cpus=4, **_ANN).job_id)
        pairs = [
            (Outcome(starts={key: 100}, ends={key: 200}), Outcome(starts={key: 100 + more}, ends={key: 200 + more}))
            for more in (1, 2, 3, 4)
        ]
        found = compare(rota.engine, pairs, 0)
        for change in (found.changes["mean_wait"], found.changes["makespan"]):
            assert (change.mean, change.low, change.high) == pytest.approx((2.5, 0.446, 4.554), abs=0.001)
            assert change.is_marked
        assert found.differences[0].change.low is None, "four futures are few for one job"
        assert compare(rota.engine, pairs * 2, 0).differences[0].change.is_marked
        alone = compare(rota.engine, pairs[:1], 0).changes["mean_wait"]
        assert (alone.mean, alone.low, alone.high, alone.is_marked) == (1, None, None, False)


def test_nothing_is_said_of_times_that_were_not_looked_at() -> None:
    """Two of three jobs start, and nobody has looked further than two hours: how many start within six is not known."""
    with Harness(cluster(cpus=4), sched="sched/easy") as rota:
        for _ in range(4):
            rota.submit(cpus=4, **_ANN)
        some = Outcome(starts={"2": 100, "3": 5000}, ends={"2": 150}, reached=7200)
        every = Outcome(starts={"2": 100, "3": 5000, "4": 7000}, ends={"2": 150}, reached=7200)
        found = compare(rota.engine, [(some, every)] * 3, 0)
        assert [*found.present.started_within] == [1, None, None, None]
        assert [*found.other.started_within] == [1, 3, 3, 3]
        to_the_end = Outcome(starts=some.starts, ends=some.ends)
        assert compare(rota.engine, [(to_the_end, to_the_end)] * 3, 0).present.started_within == (1, 2, 2, 2)
        assert [line[:4] for line in whatif_lines(found) if "tart" in line[0]] == [
            ("started within 1:00:00", "1.0", "1.0", "+0.0"),
            ("started within 6:00:00", "not known", "3.0", ""),
            ("started within 1-00:00:00", "not known", "3.0", ""),
            ("started within 7-00:00:00", "not known", "3.0", ""),
            ("not started by then", "1.0", "0.0", "-1.0"),
        ]
        neither = compare(rota.engine, [(some, some)] * 3, 0)
        assert [line[0] for line in whatif_lines(neither) if "tart" in line[0]] == [
            "started within 1:00:00",
            "not started by then",
        ]
