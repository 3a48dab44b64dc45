"""What happened between readings is counted once, by the reader's clock, whatever became of the entries."""

from __future__ import annotations

from collections import Counter as Sums
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.lustre.counters import Activity, Counter, Increase, JobStats
from rota.lustre.deltas import Deltas
from rota.lustre.entries import MISSED_READINGS
from rota.lustre.job_stats import Findings, JobStatsParser
from rota.lustre.metrics import UNREAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

T = "fs-OST0000"


def entry(
    job_id: str = "a", start: float | None = None, snapshot: float = 0.0, damaged: bool = False, **done: int
) -> JobStats:
    """An entry: of each operation its samples."""
    return JobStats(T, job_id.encode(), job_id, snapshot, start, counters(done), damaged)


def counters(done: Mapping[str, int]) -> dict[str, Counter]:
    """Each sample is ten bytes or microseconds."""
    return {
        name: Counter(samples, "bytes" if "bytes" in name else "usecs", 10, 10, 10 * samples)
        for name, samples in done.items()
        if samples
    }


class Reader:
    """Readings ten seconds apart."""

    def __init__(self, limit: int = 100) -> None:
        self.deltas = Deltas(limit)
        self.untracked = 0
        #: Jobs of which something was not read, and is not known.
        self.unread: list[str] = []
        self.now = 1.7e9

    def read(self, *entries: JobStats, whole: bool = True) -> list[tuple[str, dict[str, int]]]:
        """What each job has done, by operation: samples. That the totals fit is checked."""
        return [(activity.job_id, samples(activity)) for activity in self.activities(*entries, whole=whole)]

    def activities(self, *entries: JobStats, whole: bool = True) -> list[Activity]:
        self.now += 10
        found: list[Activity] = []
        turn = self.deltas.turn("", self.now, lambda some, _: found.extend(some))
        turn.read(entries, Findings(targets={T: whole}))
        self.untracked = turn.untracked
        self.unread = [one.job_id for one in found if one.increases.pop(UNREAD, None)]
        assert turn.unread == len(self.unread)
        assert turn.end() == {}
        return [one for one in found if one.increases]


def samples(activity: Activity) -> dict[str, int]:
    assert all(total == 10 * number for number, total in activity.increases.values())
    return {name: number for name, (number, _) in activity.increases.items()}


def test_the_first_reading_is_where_counting_begins() -> None:
    reader = Reader()
    assert reader.read(entry(open=5, write_bytes=3)) == []
    assert reader.activities(entry(open=7, write_bytes=3)) == [
        Activity(T, "a", reader.now - 10, reader.now, {"open": Increase(2, 20)})
    ]
    assert reader.read(entry(open=7, write_bytes=3)) == []


def test_what_is_new_on_a_target_that_was_read_counts_from_zero() -> None:
    reader = Reader()
    reader.read()
    assert reader.activities(entry(open=5)) == [
        Activity(T, "a", reader.now - 10, reader.now, {"open": Increase(5, 50)})
    ]
    # And an operation that is new.
    assert reader.read(entry(open=5, close=4)) == [("a", {"close": 4})]


def test_an_entry_older_than_the_first_reading_that_was_missed_then_is_where_counting_begins() -> None:
    reader = Reader()
    reader.read()
    first = reader.now
    assert reader.read(entry("old", start=first - 100, open=5), entry("new", start=first + 1, open=5)) == [
        ("new", {"open": 5})
    ]
    assert reader.unread == ["old"]
    # 2.15.0 counts from the server's boot, which says nothing.
    assert reader.read(entry("up", start=1000, open=5)) == [("up", {"open": 5})]


@pytest.mark.parametrize(
    ("before", "after", "done"),
    [
        (entry(open=5, close=5), entry(open=9, close=4), {"open": 9, "close": 4}),  # less than before
        (entry(open=5, close=5), entry(open=9), {"open": 9}),  # none at all
        (entry(start=1.0, open=5), entry(start=2.0, open=9), {"open": 9}),  # another entry
        (entry(start=None, open=5), entry(start=2.0, open=9), {"open": 4}),  # `enable_stats_header` was set
    ],
)
def test_an_entry_that_was_made_anew_counts_from_zero(before: JobStats, after: JobStats, done: dict[str, int]) -> None:
    reader = Reader()
    reader.read(before)
    assert reader.read(after) == [("a", done)]
    assert reader.unread == ["a"] * (done != {"open": 4})


def test_an_entry_that_goes_while_it_is_at_work_is_named() -> None:
    """An idle one may have expired."""
    reader = Reader()
    reader.read(entry("idle", open=5), entry("busy", open=5))
    for samples in range(6, 80):
        reader.read(entry("idle", open=5), entry("busy", open=samples))
        assert reader.unread == []
    for _ in range(MISSED_READINGS):
        assert reader.read() == []
    assert reader.unread == ["busy"]


def test_a_clock_that_is_set_forward_makes_no_entry_idle() -> None:
    reader = Reader()
    reader.read(entry(start=1.0, open=5))
    reader.now += 3600
    assert reader.read(entry(start=1.0, open=5)) == []
    assert reader.read(entry(start=2.0, open=7)) == [("a", {"open": 7})]
    assert reader.unread == ["a"]


def test_an_entry_that_was_made_at_another_time_is_another_whatever_the_clocks_say() -> None:
    """That of a server that takes a target over is behind; and the one before is shown once more."""
    reader = Reader()
    reader.read(entry(start=50.0, snapshot=60, open=5))
    assert reader.read(entry(start=20.0, snapshot=30, open=9)) == [("a", {"open": 9})]
    assert reader.read(entry(start=50.0, snapshot=62, open=7)) == [("a", {"open": 2})]
    assert reader.read(entry(start=20.0, snapshot=30, open=9)) == []
    assert reader.read(entry(start=20.0, snapshot=31, open=10)) == [("a", {"open": 1})]


def test_a_server_whose_clock_is_behind_that_of_the_reader_is_counted() -> None:
    """A dump misses an entry once, and not always."""
    reader = Reader()
    for _ in range(MISSED_READINGS):
        reader.read()
    assert reader.read(entry(start=reader.now - 3600, open=5)) == [("a", {"open": 5})]


def test_a_total_that_is_less_is_a_reset_even_if_the_samples_are_more() -> None:
    reader = Reader()
    reader.read(entry(write_bytes=5))
    after = entry()
    after.counters["write_bytes"] = Counter(6, "bytes", 1, 1, 6)
    [activity] = reader.activities(after)
    assert activity.increases == {"write_bytes": Increase(6, 6)}


def test_an_entry_that_one_dump_has_missed_goes_on() -> None:
    reader = Reader()
    reader.read(entry(open=5))
    for _ in range(MISSED_READINGS - 1):
        assert reader.read() == []
    [activity] = reader.activities(entry(open=7))
    assert samples(activity) == {"open": 2}
    assert activity.end - activity.begin == 10 * MISSED_READINGS  # since it was last seen


def test_an_entry_that_has_expired_counts_from_zero_when_it_is_back() -> None:
    reader = Reader()
    reader.read(entry(open=5))
    for _ in range(MISSED_READINGS):
        reader.read()
    assert reader.read(entry(open=7)) == [("a", {"open": 7})]


def test_of_two_entries_of_one_reading_the_older_does_not_count() -> None:
    reader = Reader()
    reader.read(entry(open=5))
    assert reader.read(entry(open=7), entry(open=8)) == [("a", {"open": 2}), ("a", {"open": 1})]
    assert reader.read(entry(open=10), entry(open=9)) == [("a", {"open": 2})]
    assert reader.read(entry(start=2.0, open=11), entry(start=3.0, open=1), entry(start=2.0, open=11)) == [
        ("a", {"open": 1}),
        ("a", {"open": 1}),
    ]


def test_twice_in_the_first_reading_is_still_the_first_reading() -> None:
    reader = Reader()
    assert reader.read(entry(open=7), entry(open=8)) == []
    assert reader.read(entry(open=9)) == [("a", {"open": 1})]


def test_a_reading_that_fails_leaves_what_it_did_not_reach() -> None:
    def failing() -> Iterator[JobStats]:
        yield entry("a", open=6)
        raise TimeoutError

    reader = Reader()
    reader.read(entry("a", open=5), entry("b", open=5))
    for _ in range(2 * MISSED_READINGS):
        reader.now += 10
        with pytest.raises(TimeoutError):
            reader.deltas.activities(failing(), Findings(targets={T: True}), reader.now)
    assert reader.read(entry("a", open=6), entry("b", open=7), entry("c", open=1)) == [
        ("b", {"open": 2}),
        ("c", {"open": 1}),
    ]


def test_a_dump_that_was_cut_says_nothing_of_who_is_missing() -> None:
    reader = Reader()
    reader.read(entry("a", open=5), whole=False)
    # It may have been there before.
    assert reader.read(entry("a", open=5), entry("b", open=5)) == []
    for _ in range(2 * MISSED_READINGS):
        reader.read(entry("a", open=5), whole=False)
    assert reader.read(entry("a", open=5), entry("b", open=6)) == [("b", {"open": 1})]


def test_a_counter_that_could_not_be_read_is_counted_when_it_can() -> None:
    reader = Reader()
    reader.read(entry(open=5, close=5))
    assert reader.read(entry(open=6, damaged=True)) == [("a", {"open": 1})]
    assert reader.read(entry(open=7, close=8)) == [("a", {"open": 1, "close": 3})]


def test_a_counter_that_could_not_be_read_at_first_sight_begins_later() -> None:
    reader = Reader()
    reader.read(entry(open=5, damaged=True))
    assert reader.read(entry(open=6, close=500)) == [("a", {"open": 1})]
    assert reader.read(entry(open=6, close=501)) == [("a", {"close": 1})]


def test_no_more_entries_than_allowed_are_kept_and_what_was_left_out_begins_later() -> None:
    reader = Reader(limit=2)
    reader.read()
    many = [entry(name, open=1) for name in "abc"]
    assert [name for name, _ in reader.read(*many)] == ["a", "b"]
    assert reader.untracked == 1
    for _ in range(MISSED_READINGS):
        assert reader.read(entry("c", open=5)) == []
    assert reader.untracked == 1
    assert reader.read(entry("c", open=6)) == []
    assert reader.untracked == 0
    assert reader.read(entry("c", open=8)) == [("c", {"open": 2})]


def test_a_target_is_read_later_each_time() -> None:
    reader = Reader()
    reader.read(entry(open=1))
    with pytest.raises(ValueError, match="fs-OST0000"):
        reader.deltas.activities([entry(open=2)], Findings(), reader.now)


def test_bytes_and_latencies_have_the_names_of_today(samples: dict[str, bytes]) -> None:
    parser = JobStatsParser(T)
    entries = list(parser.read_pieces([samples["iml-lustre-2.3-ost.job_stats"]]))
    deltas = Deltas()
    deltas.activities([], Findings(targets={T: True}), 1.0)
    [copy, _] = deltas.activities(entries, parser.findings, 2.0)
    # `write: { samples: 3060, unit: bytes, …, sum: 220986046 }`
    assert copy.increases == {"write_bytes": Increase(3060, 220986046), "setattr": Increase(3478, 0)}


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from("abc"),
            st.dictionaries(st.sampled_from(["open", "close", "read_bytes"]), st.integers(0, 5)),
        ),
        min_size=2,
        max_size=12,
    )
)
def test_sums_of_deltas_are_last_minus_first_where_nothing_was_reset(
    readings: list[dict[str, dict[str, int]]],
) -> None:
    """Each reading says how much the jobs in it have done since; a job may be missing, yet never for too long."""
    reader = Reader()
    state: dict[str, Sums[str]] = {}
    first: dict[str, Sums[str]] = {}
    counted: dict[str, Sums[str]] = {}
    missed: Sums[str] = Sums()
    for number, reading in enumerate(readings):
        for job_id, done in reading.items():
            state.setdefault(job_id, Sums()).update(done)
        missed = Sums({job_id: missed[job_id] + 1 for job_id in state if job_id not in reading})
        shown = [job_id for job_id in state if job_id in reading or missed[job_id] >= MISSED_READINGS]
        for job_id in shown:
            missed.pop(job_id, None)
            first.setdefault(job_id, Sums(state[job_id]) if number == 0 else Sums())
        for job_id, increase in reader.read(*(plain(job_id, state[job_id]) for job_id in shown)):
            counted.setdefault(job_id, Sums()).update(increase)
    for job_id, increase in reader.read(*(plain(job_id, done) for job_id, done in state.items())):
        counted.setdefault(job_id, Sums()).update(increase)
    for job_id, done in state.items():
        assert +counted.get(job_id, Sums()) == done - first.get(job_id, Sums())


def plain(job_id: str, done: Mapping[str, int]) -> JobStats:
    return JobStats(T, job_id.encode(), job_id, 0.0, None, counters(done))
