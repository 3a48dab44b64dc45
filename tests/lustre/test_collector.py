from __future__ import annotations

import time
from array import array
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from rota.lustre.collector import Collector, Reading
from rota.lustre.counters import Activity, Changes, EntryKey, Increase, Seen, Standing
from rota.lustre.labels import Labels
from rota.lustre.store import Reader, Span, Writer, tiers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from rota.lustre.collector import Feed
    from rota.lustre.deltas import Counted

NOTHING = Changes({}, {})


def wait_for(is_so: Callable[[], object]) -> None:
    """Wait, as long as a busy machine may need."""
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


class Busy:
    """A source on which a job opens one file between two readings."""

    name = "busy"

    def __init__(self) -> None:
        self.read_times: list[float] = []

    def read(self, at: float, counted: Counted) -> Reading:
        self.read_times.append(at)
        counted([Activity("fs-OST0000", "7", at - 1, at, {"open": Increase(1, 0)})], NOTHING)
        return Reading(jobs=1, counters=1)


class Broken:
    name = "broken"

    def read(self, at: float, counted: Counted) -> Reading:
        raise ValueError("it is broken")


class Odd(Busy):
    name = "odd"

    def read(self, at: float, counted: Counted) -> Reading:
        return super().read(at, counted)._replace(remarks=("another source has it too",))


class Partly(Busy):
    name = "partly"

    def read(self, at: float, counted: Counted) -> Reading:
        return (
            super().read(at, counted)._replace(bad_lines=2, faults=("one of its files is cut",), bad_line=f"line {at}")
        )


class Hanging:
    name = "hanging"

    def __init__(self) -> None:
        self.released = Event()

    def read(self, at: float, counted: Counted) -> Reading:
        self.released.wait()
        return Reading()


def total(folder: Path) -> int:
    with Reader(folder).look() as look:
        return sum(int(segment.samples.sum()) for _, segment in look.segments([Span(1, 0, 1 << 40)]))


def test_what_fails_or_hangs_disturbs_no_other_source(tmp_path: Path) -> None:
    busy, partly, odd, hanging = Busy(), Partly(), Odd(), Hanging()
    lines: list[str] = []
    feeds: list[Feed] = [busy, Broken(), partly, odd, hanging]
    writer = Writer(tmp_path, tiers_of(1))
    told: list[int] = []
    collector = Collector(
        feeds, writer, 1, clock=time.time, written=lambda _, written: told.append(written.rows), report=lines.append
    )
    collector.start()
    wait_for(lambda: len(busy.read_times) >= 3 and collector.writing.times >= 2)
    collector.stop()
    hanging.released.set()
    states = {state.name: state for state in collector.feeds}
    assert (states["busy"].failures, states["busy"].error) == (0, "")
    assert states["busy"].readings == len(busy.read_times)
    assert (states["broken"].readings, states["broken"].error) == (0, "it is broken")
    assert states["broken"].failures >= 3
    assert states["partly"].error == "one of its files is cut"
    assert states["partly"].bad_lines == 2 * states["partly"].readings
    assert (states["odd"].failures, states["odd"].error) == (0, "")
    assert states["odd"].remark == "another source has it too"
    assert states["hanging"].readings == 0
    assert states["partly"].bad_line == f"line {partly.read_times[-1]}"
    # The same fault is told once, and of bad lines the first.
    assert sorted(lines) == [
        "another source has it too",
        "it is broken",
        f"line {partly.read_times[0]}",
        "one of its files is cut",
    ]
    assert total(tmp_path) == sum(len(one.read_times) for one in (busy, partly, odd))
    assert sum(told) == collector.writing.rows


def test_sources_are_read_at_whole_steps(tmp_path: Path) -> None:
    busy = Busy()
    collector = Collector(
        [busy], Writer(tmp_path, tiers_of(1)), 1, clock=time.time, written=lambda *_: None, report=lambda _: None
    )
    collector.start()
    wait_for(lambda: len(busy.read_times) >= 4)
    collector.stop()
    # The first reading is at once; a busy machine may be late, and is never early.
    seconds = [int(at) for at in busy.read_times[1:]]
    assert sorted(set(seconds)) == seconds


@pytest.mark.parametrize("room", [2_000_000, 3])
def test_what_cannot_be_written_waits(tmp_path: Path, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's own limit of a file stands for a full disk: the error is the same."""
    monkeypatch.setattr("rota.lustre.collector._WAITING", room)
    busy, lines = Busy(), list[str]()
    writer = Writer(tmp_path, tiers_of(1))
    ((pages,),) = writer._connection.execute("PRAGMA page_count")
    # The longest blobs do not fit.
    writer._connection.execute(f"PRAGMA max_page_count = {pages}")

    def read(at: float, counted: Counted) -> Reading:
        some = [Activity("fs-OST0000", f"{at}-{n}", at - 1, at, {"open": Increase(1, 0)}) for n in range(400)]
        standing = Standing(("open",), array("q", (1, 0)), None, None, unsure=False)
        jobs = {EntryKey("fs-OST0000", one.job_id): standing for one in some}
        changes = Changes({"fs-OST0000": Seen(at, at, at)}, jobs)
        counted(some, changes)
        return Reading()

    busy.read = read  # type: ignore[method-assign]
    collector = Collector([busy], writer, 1, clock=time.time, written=lambda *_: None, report=lines.append)
    collector.start()
    wait_for(lambda: collector.writing.failures >= 2)
    assert "full" in collector.writing.error
    assert collector.writing.waiting >= min(room, 400)
    writer._connection.execute("PRAGMA max_page_count = 100000")
    wait_for(lambda: collector.writing.times >= 1)
    collector.stop()
    assert collector.writing.error == ""
    assert total(tmp_path) == 400 * collector.feeds[0].readings - collector.writing.lost
    assert (collector.writing.lost > 0) == (room == 3)
    # What is lost was counted, and so it is told, and is not counted again after a restart.
    assert len(writer.remembered().jobs) == 400 * collector.feeds[0].readings
    assert len(lines) == 2
    assert lines[0].startswith("error: the store cannot be written")
    assert lines[1] == "the store is written again"


class Known:
    """What is known of jobs, which can grow."""

    def __init__(self) -> None:
        self.jobs: dict[str, Mapping[str, Any]] = {}
        self.asked: list[set[str]] = []

    def known(self, ids: Iterable[str]) -> Known:
        self.asked.append(set(ids))
        return self

    def fields(self) -> tuple[str, ...]:
        return ("user",)

    def status(self) -> Mapping[str, Any]:
        return {}


def test_jobs_are_asked_about_until_they_are_known() -> None:
    names = Known()
    kept: list[Mapping[str, Mapping[str, Any]]] = []
    labels = Labels(names, kept.append)
    labels.update(["1", "2"], 0.0)
    names.jobs = {"1": {"user": "ann"}}
    labels.update([], 10.0)
    labels.update(["3"], 20.0)
    names.jobs = {"2": {"user": "bob"}}
    labels.update(["1"], 30.0)
    names.jobs = {"1": {"user": "ann", "state": "RUNNING"}}
    labels.update(["1"], 40.0)  # a job that is known may change
    labels.update([], 40.0 + 3600)  # an hour later nobody is asked about the others any more
    labels.update([], 41.0 + 3600)
    assert names.asked == [{"1", "2"}, {"1", "2"}, {"2", "3"}, {"1", "2", "3"}, {"1", "3"}, {"3"}, set()]
    assert kept == [{"1": {"user": "ann"}}, {"2": {"user": "bob"}}, {"1": {"user": "ann", "state": "RUNNING"}}]
