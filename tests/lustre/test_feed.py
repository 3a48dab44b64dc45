"""Sources that are read again and again: what is in two of them is counted once, whichever of them goes away."""

from __future__ import annotations

import time
from collections import Counter as Sums
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from rota.lustre.deltas import Deltas
from rota.lustre.feed import SourceFeed
from rota.lustre.output import SourceError
from rota.lustre.sources import parse_source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rota.lustre.counters import Activity, Changes


#: Unix seconds of the first reading.
BEGIN = 1_700_000_000


class Server:
    """A file, and the feed that reads it.

    Args:
        path: The file.
        deltas: What sources that are read together share.
    """

    def __init__(self, path: Path, deltas: Deltas) -> None:
        self.path = path
        self.deltas = deltas
        self.feed = SourceFeed(parse_source(str(path)), 1.0, deltas)

    def holds(
        self, samples: int | None, target: str = "fs-OST0000", *, job: int = 7, active: float = 1, start: float = 0
    ) -> None:
        """Have a target with one job, which has done so much; ``None``: no target.

        Args:
            samples: How often.
            target: The target.
            job: The job.
            active: When it was active last, and when its entry was made, seconds after the first reading; else 1 is
                since a boot, and 0 is not told.
            start: When its entry was made.
        """
        entry = b"job_stats:\n- job_id: %d\n  snapshot_time: %d\n" % (job, active if active == 1 else BEGIN + active)
        entry += b"  start_time: %d\n" % (BEGIN + start) if start else b""
        entry += b"  sync: { samples: %d, unit: reqs }\n" % (samples or 0)
        text = b"" if samples is None else b"obdfilter.%b.job_stats=\n" % target.encode() + entry
        self.path.write_bytes(text + b"obdfilter.%b-OST0009.job_stats=job_stats:\n" % self.path.name.encode())

    def read(self, at: float) -> tuple[list[int], list[str]]:
        """Read it: samples of all that was done, and what is told of it."""
        found: list[int] = []
        reading = self.feed.read(
            BEGIN + at,
            lambda some, _: found.extend(one.increases["sync"].samples for one in some if "sync" in one.increases),
        )
        return found, [*reading.faults, *reading.remarks]

    def counts(self, at: float) -> int:
        """Read it: how much was done."""
        return sum(self.read(at)[0])


@pytest.fixture
def servers(tmp_path: Path) -> tuple[Server, Server]:
    deltas = Deltas()
    return Server(tmp_path / "oss1", deltas), Server(tmp_path / "oss2", deltas)


def test_a_target_that_two_sources_have_is_counted_once_and_told(servers: tuple[Server, Server]) -> None:
    one, other = servers
    told = [f"target fs-OST0000 is in {one.path} too: it is counted once"]
    for step, samples in enumerate([5, 9, 16]):
        one.holds(samples)
        other.holds(samples)
        assert one.read(10 * step) == ([samples - before for before in [5, 5, 9][step : step + 1] if step], [])
        assert other.read(10 * step) == ([], told)


def test_a_target_that_moves_is_counted_where_it_is_now(servers: tuple[Server, Server]) -> None:
    one, other = servers
    one.holds(5)
    other.holds(None)
    assert one.read(0) == other.read(0) == ([], [])
    one.holds(None)
    other.holds(2)  # it counts anew there
    assert (one.read(10), other.read(10)) == (([], []), ([2], []))
    other.holds(6)
    assert (one.read(20), other.read(20)) == (([], []), ([4], []))


@pytest.mark.parametrize("after", [3, 5, 8])
def test_a_planned_failover_is_counted_in_its_first_reading(servers: tuple[Server, Server], after: int) -> None:
    """The one that has the target now is read before the one that had it."""
    one, other = servers
    one.holds(5, active=-5, start=-100)
    other.holds(None)
    assert one.counts(0) == other.counts(0) == 0
    other.holds(after, active=9, start=8)
    one.holds(None)
    assert (other.counts(10), one.counts(10)) == (after, 0)
    other.holds(after + 1, active=19, start=8)
    assert (other.counts(20), one.counts(20)) == (1, 0)


def test_what_one_source_reads_while_another_fails_is_counted_at_once(servers: tuple[Server, Server]) -> None:
    one, other = servers
    for server in servers:
        server.holds(5)
        server.read(0)
    one.path.unlink()
    for at, samples, done in ((30, 7, 2), (40, 10, 3), (50, 1, 1)):
        with pytest.raises(SourceError):
            one.read(at)
        other.holds(samples)
        assert other.counts(at) == done
    for server in servers:
        server.holds(4)
    assert one.counts(60) + other.counts(60) == 3


def test_what_one_source_reads_while_another_hangs_is_counted_at_once(servers: tuple[Server, Server]) -> None:
    _, other = servers
    for server in servers:
        server.holds(5, active=-1)
        server.read(0)
    other.holds(7, active=8)
    assert other.counts(10) == 2
    other.holds(3, active=18)  # made anew
    assert other.counts(20) == 3
    other.holds(2, job=8, active=29)  # a new job
    assert other.counts(30) == 2


def test_a_source_that_is_behind_another_counts_nothing(servers: tuple[Server, Server]) -> None:
    """The second one is a copy, half a minute old, without `start_time`: what is less there was not made anew."""
    history = [(0, 5), (10, 9), (20, 9), (30, 12), (40, 2), (50, 6), (60, 6), (70, 8)]
    one, other = servers
    counted = 0
    for at, samples in history:
        one.holds(samples, active=at)
        then = max(at - 30, 0)
        other.holds(dict(history)[then], active=then)
        counted += one.counts(at + 1) + other.counts(at + 2)
    assert counted == 7 + 8
    one.path.unlink()
    with pytest.raises(SourceError):
        one.read(81)
    other.holds(6, active=50)
    assert other.counts(82) == 0
    other.holds(9, active=75)
    assert other.counts(92) == 1


def test_a_job_that_began_while_another_source_was_read_is_counted(servers: tuple[Server, Server]) -> None:
    """Both are read in one moment. The one that began later has ended before the job began, which the other shows."""
    one, other = servers
    for server in servers:
        server.holds(5, active=-1, start=-9)
        server.read(0)
    one.holds(5, active=-1, start=-9)
    assert one.counts(10.002) == 0
    other.holds(3, job=8, active=9.5, start=9)
    assert other.counts(10.001) == 3


@pytest.mark.parametrize("start", [0, 9])
@pytest.mark.parametrize("first", [0, 1])
def test_a_source_far_behind_another_counts_nothing_that_has_gone_meanwhile(
    servers: tuple[Server, Server], first: int, start: float
) -> None:
    """A copy a minute old, which may own the target, has a job that was cleared on the server long ago."""
    live, copy = servers
    for server in (servers[first], servers[1 - first]):
        server.holds(5, active=-60)
        server.read(0)
    live.holds(3, job=8, active=9.5, start=start)
    assert (live.counts(10), copy.counts(10.5)) == (3, 0)
    for at in range(20, 70, 10):
        live.holds(1, job=9, active=15)
        copy.holds(5, active=-60)
        assert live.counts(at) + copy.counts(at + 0.5) == (at == 20)
    copy.holds(3, job=8, active=9.5, start=start)
    assert (live.counts(70), copy.counts(70.5)) == (0, 0)


def test_a_source_that_comes_back_behind_another_counts_nothing_again(servers: tuple[Server, Server]) -> None:
    live, copy = servers
    live.holds(5, active=-60)
    live.read(0)
    live.holds(3, job=8, active=9.5, start=9)
    assert live.counts(10) == 3
    for at in (20, 30, 40, 50):
        live.holds(1, job=9, active=15, start=12)
        assert live.counts(at) == (at == 20)
    copy.holds(3, job=8, active=9.5, start=9)
    assert copy.counts(51) == 0


def test_a_server_whose_clock_is_set_back_is_read_on(servers: tuple[Server, Server]) -> None:
    one, other = servers
    for at, samples, active in ((0, 5, 0), (10, 7, 8), (20, 9, -3000), (30, 12, -2990)):
        one.holds(samples, active=active)
        assert one.counts(at) == (samples - (5, 5, 7, 9)[at // 10])
        other.holds(samples, active=active)
        assert other.counts(at + 1) == 0


def test_times_since_the_same_boot_are_compared(servers: tuple[Server, Server]) -> None:
    """As in 2.15.0: the source that does not own the target is ahead, and then behind."""
    one, other = servers
    for server in servers:
        server.holds(5, active=100 - BEGIN, start=50 - BEGIN)
        server.read(0)
    other.holds(9, active=110 - BEGIN, start=50 - BEGIN)
    assert other.counts(10) == 4
    one.holds(8, active=109 - BEGIN, start=50 - BEGIN)
    assert one.counts(11) == 0
    one.holds(3, active=20 - BEGIN, start=15 - BEGIN)  # booted anew
    assert one.counts(20) == 3


def test_a_job_counts_from_zero_whatever_the_clocks_say(servers: tuple[Server, Server]) -> None:
    """That of the server is five minutes behind."""
    server, _ = servers
    server.holds(5, active=-301, start=-900)
    assert server.counts(0) == 0
    server.holds(4, job=8, active=-291, start=-295)
    assert server.counts(10) == 4


def test_a_target_that_disappears_and_returns_counts_what_it_did_meanwhile(servers: tuple[Server, Server]) -> None:
    server = servers[0]
    for at, samples, done in ((0, 5, []), (10, None, []), (20, None, []), (30, 9, [4]), (40, 3, [3])):
        server.holds(samples)
        assert server.read(at) == (done, []), at


def test_a_target_twice_in_one_source_is_counted_once_and_told(tmp_path: Path) -> None:
    (tmp_path / "dumps").mkdir()
    copies = [Server(tmp_path / "dumps" / name, Deltas()) for name in "ab"]
    feed = SourceFeed(parse_source(f"dir:{tmp_path / 'dumps'}"), 1.0, Deltas())
    for at, done in ((0, []), (10, [1])):
        for copy in copies:
            copy.holds(5 + at // 10)
        found: list[Activity] = []
        reading = feed.read(BEGIN + at, lambda some, _, found=found: found.extend(some))  # type: ignore[misc]
        assert [one.increases["sync"].samples for one in found] == done
        assert reading.faults == ["target fs-OST0000 was read for this moment already: it is there twice"]


def test_targets_without_a_name_are_told_apart_by_their_places(tmp_path: Path) -> None:
    """As `lctl get_param -n` and `cat */job_stats` give them; where their number changes, counting begins anew."""
    path = tmp_path / "dump"
    server = Server(path, Deltas())
    text = "job_stats:\n- job_id: 90\n  snapshot_time: 1\n  sync: {{ samples: {}, unit: reqs }}\n"
    readings: list[tuple[tuple[int, ...], list[list[int]]]] = [
        ((10, 30), [[]]),
        ((40, 50), [[30, 20]]),
        ((90,), [[]]),
        ((91,), [[1]]),
        ((41, 95), [[], [4]]),  # its end is not known yet when the first of them is counted
        ((42, 97), [[]]),
        ((42, 98), [[1]]),
    ]
    for step, (samples, done) in enumerate(readings):
        path.write_text("".join(text.format(number) for number in samples))
        found, told = server.read(10 * step)
        assert found in done, step
        assert [one.partition(":")[0] for one in told] == ["dump"] * (len(samples) > 1), step


def test_sources_that_are_read_at_the_same_time_count_together(tmp_path: Path) -> None:
    """One target that grows all the time, and is made anew now and then, is read by three threads."""
    deltas, path, found = Deltas(), tmp_path / "dump", Sums[str]()
    for name in "abc":
        (tmp_path / name).symlink_to(path)
    feeds = [SourceFeed(parse_source(str(tmp_path / name)), 1.0, deltas) for name in "abc"]

    def counted(some: Sequence[Activity], _: Changes) -> None:
        found.update({one.job_id: one.increases["sync"].samples for one in some})

    def write(now: int, start: int, samples: int) -> None:
        entry = "- job_id: {}\n  snapshot_time: {}\n  start_time: {}\n  sync: {{ samples: {}, unit: reqs }}\n"
        text = "".join(entry.format(job, BEGIN + now, BEGIN + start, samples + job) for job in range(300))
        (tmp_path / "new").write_text(f"obdfilter.fs-OST0000.job_stats=job_stats:\n{text}")
        (tmp_path / "new").replace(path)

    def read(feed: SourceFeed) -> None:
        while not is_over.is_set():
            feed.read(time.time(), counted)
            readings[feed.name] += 1

    is_over, readings = Event(), Sums[str]()
    write(0, -1, 0)
    feeds[0].read(time.time(), counted)
    threads = [Thread(target=read, args=(feed,)) for feed in feeds]
    for thread in threads:
        thread.start()
    expected = 0
    for start in range(0, 40, 10):
        for step in range(1, 10):
            write(start + step, start or -1, 1000 * step)
        before, end = Sums(readings), time.monotonic() + 60
        while min(readings[feed.name] - before[feed.name] for feed in feeds) < 2:  # until the last of it is read
            assert time.monotonic() < end
            time.sleep(0.01)
        expected += 9000
    is_over.set()
    for thread in threads:
        thread.join()
    feeds[0].read(time.time(), counted)
    # Of entries that were made anew all is counted, of those of the first reading the increase.
    assert found == {str(job): expected + 3 * job for job in range(300)}


def test_what_is_odd_and_costs_nothing_is_no_failure(servers: tuple[Server, Server]) -> None:
    for server in servers:
        server.holds(5)
    one, other = servers
    assert one.feed.read(BEGIN, lambda *_: None).remarks == []
    reading = other.feed.read(BEGIN, lambda *_: None)
    assert reading.faults == []
    assert reading.remarks == [f"target fs-OST0000 is in {one.path} too: it is counted once"]


def test_an_entry_without_its_counters_was_not_made_anew(servers: tuple[Server, Server]) -> None:
    """The text ends behind a line, which nobody can tell from one that is whole."""
    server, _ = servers
    server.holds(5, active=-1, start=-9)
    server.read(0)
    text = server.path.read_bytes()
    server.path.write_bytes(text[: text.index(b"  sync:")])
    assert server.counts(10) == 0
    server.holds(6, active=15, start=-9)
    assert server.counts(20) == 1
