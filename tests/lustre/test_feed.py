"""Sources that are read again and again: what is in two of them is counted once, whichever of them goes away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.lustre.feed import Owners, SourceFeed
from rota.lustre.output import SourceError
from rota.lustre.sources import parse_source

if TYPE_CHECKING:
    from pathlib import Path


#: Unix seconds of the first reading.
BEGIN = 1_700_000_000


class Server:
    """A file, and the feed that reads it."""

    def __init__(self, path: Path, owners: Owners) -> None:
        self.path = path
        self.feed = SourceFeed(parse_source(str(path)), 1.0, owners)

    def holds(self, samples: int | None, target: str = "fs-OST0000") -> None:
        """Have a target with one job, which has done so much; ``None``: no target."""
        entry = b"job_stats:\n- job_id: 7\n  snapshot_time: 1\n  sync: { samples: %d, unit: reqs }\n"
        text = b"" if samples is None else b"obdfilter.%b.job_stats=\n" % target.encode() + entry % samples
        self.path.write_bytes(text + b"obdfilter.%b-OST0009.job_stats=job_stats:\n" % self.path.name.encode())

    def read(self, at: float) -> tuple[list[int], list[str]]:
        """Read it: samples of all that was done, and faults."""
        reading = self.feed.read(BEGIN + at)
        return [one.increases["sync"].samples for one in reading.activities], list(reading.faults)


@pytest.fixture
def servers(tmp_path: Path) -> tuple[Server, Server]:
    owners = Owners()
    return Server(tmp_path / "oss1", owners), Server(tmp_path / "oss2", owners)


def test_a_target_that_two_sources_have_is_counted_once_and_told(servers: tuple[Server, Server]) -> None:
    one, other = servers
    told = [f"target fs-OST0000 is counted as {one.path} has it, not here"]
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
    assert one.read(10) == other.read(10) == ([], [])
    other.holds(6)
    assert (one.read(20), other.read(20)) == (([], []), ([4], []))


def test_a_source_that_fails_keeps_its_targets_for_a_minute(servers: tuple[Server, Server]) -> None:
    one, other = servers
    for server in servers:
        server.holds(5)
        server.read(0)
    one.path.unlink()
    for at, samples, done in ((30, 7, []), (61, 10, [3]), (70, 11, [1])):
        with pytest.raises(SourceError):
            one.read(at)
        other.holds(samples)
        assert other.read(at)[0] == done


def test_a_target_that_disappears_and_returns_counts_what_it_did_meanwhile(servers: tuple[Server, Server]) -> None:
    server = servers[0]
    for at, samples, done in ((0, 5, []), (10, None, []), (20, None, []), (30, 9, [4]), (40, 3, [3])):
        server.holds(samples)
        assert server.read(at) == (done, []), at


def test_a_target_twice_in_one_source_is_counted_once_and_told(tmp_path: Path) -> None:
    (tmp_path / "dumps").mkdir()
    copies = [Server(tmp_path / "dumps" / name, Owners()) for name in "ab"]
    feed = SourceFeed(parse_source(f"dir:{tmp_path / 'dumps'}"), 1.0, Owners())
    for at, done in ((0, []), (10, [1])):
        for copy in copies:
            copy.holds(5 + at // 10)
        reading = feed.read(BEGIN + at)
        assert [one.increases["sync"].samples for one in reading.activities] == done
        assert reading.faults == ["target fs-OST0000 was read for this moment already: it is there twice"]
