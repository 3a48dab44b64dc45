"""A simulated day of a file system that is read by two sources each, with all that goes wrong in years.

What is in the store at the end, and what nobody can know, are together what the simulated jobs did, to the byte. Nobody
can know what an entry counted after it was last read, if it is then made anew. That is told by the simulation, which
knows the entries at any time, and not by the code that is tested.

Over 400 lines: a day, and all that happens in it.
"""

from __future__ import annotations

from collections import Counter as Sums
from dataclasses import replace
from itertools import chain
from math import inf
from random import Random
from typing import TYPE_CHECKING

import pytest

from rota.lustre.counters import Changes
from rota.lustre.deltas import Deltas
from rota.lustre.feed import SourceFeed
from rota.lustre.job_ids import to_text
from rota.lustre.measures import NOT_KNOWN
from rota.lustre.metrics import operation
from rota.lustre.output import SourceError
from rota.lustre.query import Question, ask
from rota.lustre.simulation.jobs import LoginNodes, RecordedJobs
from rota.lustre.simulation.targets import FileSystem, _share
from rota.lustre.simulation.texts import GENERATIONS
from rota.lustre.sources import parse_source
from rota.lustre.store import Reader, Writer, tiers_of
from rota.workload import bundled, read_workload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rota.lustre.counters import Activity, JobStats
    from rota.lustre.simulation.behaviour import Burst

#: Seconds between two readings.
STEP = 60
#: Steps without events after the day, in which entries that are gone are forgotten: ten minutes, and three readings.
QUIET = 16
#: Seconds that the simulated log is younger than it was: in 1996 there was no Lustre.
YOUNGER = 950_000_000
#: What is compared: bytes, and how often.
METRICS = ("read_bytes.total", "write_bytes.total", "write_bytes.samples", "open.samples")
#: Of an entry: target, job, and when it was made; and its counters, samples and total by operation.
_Made = tuple[str, str, float]
_Counted = dict[str, tuple[int, int]]


class Targets(FileSystem):
    """Targets that make all entries anew when they are told to."""

    resets: dict[str, list[float]]

    def _restarts(self, target: str, begin: float, end: float) -> Iterator[float]:
        return (time for time in self.resets.get(target, ()) if begin <= time <= end)

    def bursts(self, end: float) -> dict[tuple[str, bytes], list[Burst]]:
        """Give all that has begun, by target and job."""
        kept, self._cleanup_interval = self._cleanup_interval, inf
        found = self._done(end)
        self._cleanup_interval = kept
        return found


class Day:
    """The file system, its servers, and the service that reads them.

    Args:
        folder: For all files.
        seed: Of all that happens.
        steps: How many readings.
        form: That of the texts.
        apart: Seconds by which the clock of the second server is ahead of that of the first.
        has_copy: Whether there is a second reader of all targets, a step behind.
    """

    def __init__(
        self, folder: Path, seed: int, steps: int, form: str = "2.16", apart: float = 0.0, *, has_copy: bool = True
    ) -> None:
        path = bundled("KTH-SP2")
        assert path is not None
        recorded = RecordedJobs(read_workload(path))
        self.folder, self.steps, self.dice = folder, steps, Random(seed)  # noqa: S311 - no secrets
        begin = (recorded.begin // STEP + 2 * 1440) * STEP  # it is read at whole steps
        self.begin = begin + YOUNGER
        self.form = GENERATIONS[form]
        #: Of servers: how far their clocks are ahead, and when they were booted.
        self.clocks = {"oss0": -apart / 2, "oss1": apart / 2}
        self.booted = {"oss0": self.begin - 90_000.0, "oss1": self.begin - 5_000.0}
        self.targets = Targets([recorded, LoginNodes(8, seed)], osts=3, seed=seed, begin=begin - 3600)
        self.targets.resets = {}
        targets = list(self.targets.entries(begin))
        #: By target, its server: none while it moves.
        self.server: dict[str, str] = {name: f"oss{number % 2}" for number, name in enumerate(targets)}
        #: Until when servers are down, and sources are, by step.
        self.down: dict[str, int] = {}
        #: By source, what it has at the moment.
        names = ["oss0", "oss1", "copy"] if has_copy else ["oss0", "oss1"]
        self.shown: dict[str, dict[str, list[JobStats]]] = {name: {} for name in names}
        #: What was read; and what was also written by the service.
        self.read: dict[_Made, _Counted] = {}
        self.kept: dict[_Made, _Counted] = {}
        #: What there was when a target was first read.
        self.before: dict[_Made, _Counted] = {}
        self.first: set[str] = set()
        #: What there was when an entry was made anew, and until now of the others.
        self.final: dict[_Made, _Counted] = {}
        #: In which step that was.
        self.noted: dict[_Made, int] = {}
        #: The reader's clock less the servers'.
        self.ahead = 0.0
        self.start()

    def start(self) -> None:
        """Start the service."""
        self.writer = Writer(self.folder / "store", tiers_of(STEP, "1m=3d,5m=7d,1h=ever"))
        self.deltas = Deltas()
        self.deltas.restore(self.writer.remembered(), self.now(0))
        self.feeds = [SourceFeed(parse_source(f"dir:{self.folder / name}"), 1.0, self.deltas) for name in self.shown]
        self.waiting: list[Activity] = []
        self.changes = Changes({}, {})
        self.read = dict(self.kept)

    step = 0

    def now(self, after: float) -> float:
        """Tell the reader's time."""
        return self.begin + STEP * self.step + after + self.ahead

    def run(self, events: Sequence[str]) -> None:
        """Let the day pass, with these events at any time in it."""
        dice = self.dice
        at = sorted(dice.sample(range(3, self.steps - 3), len(events)))
        shuffled = dice.sample(events, len(events))
        due = dict(zip(at, shuffled, strict=True))
        while self.step < self.steps + QUIET:
            self.step += 1
            self.end_outages()
            if self.step in due:
                getattr(self, due[self.step])()
            self.show()
            for after, feed in enumerate(dice.sample(self.feeds, len(self.feeds))):
                self.read_one(feed, self.now(after / 4 + dice.random() / 4))
            self.write()

    def read_one(self, feed: SourceFeed, at: float) -> None:
        """Read a source, and note what could be read of it."""
        name = feed.name.rpartition("/")[2]
        try:
            feed.read(at, self.count)
        except SourceError:
            assert name in self.down
            return
        for target, entries in self.shown[name].items():
            for entry in entries:
                assert entry.start_time is not None
                made, counted = (target, entry.job_id, entry.start_time), counters(entry)
                self.read[made] = max(self.read.get(made, {}), counted, key=size)
                if target not in self.first:
                    self.before[made] = counted
            self.first.add(target)

    def count(self, activities: list[Activity], changes: Changes) -> None:
        """Have it wait, as the collector does."""
        self.waiting += activities
        self.changes = Changes({**self.changes.targets, **changes.targets}, {**self.changes.jobs, **changes.jobs})

    def write(self) -> None:
        """Write what waits."""
        self.writer.write(self.waiting, self.now(1), self.changes)
        self.waiting, self.changes = [], Changes({}, {})
        self.kept = dict(self.read)

    def show(self) -> None:
        """Write the files that sources read. The copy is of the step before, and of all that can be read."""
        entries = self.targets.entries(self.begin + STEP * self.step - YOUNGER)
        for entry in chain.from_iterable(entries.values()):
            assert entry.start_time is not None
            assert entry.snapshot_time is not None
            entry.start_time += YOUNGER
            entry.snapshot_time += YOUNGER
        for target, of in entries.items():
            self.note(target, of)
        copied = {target: of for name in ("oss0", "oss1") for target, of in self.shown[name].items()}
        copied_of = {target: name for name in ("oss0", "oss1") for target in self.shown[name]}
        shown = {
            server: {target: of for target, of in entries.items() if self.server[target] == server}
            for server in ("oss0", "oss1")
        }
        self.shown = {**shown, "copy": copied} if "copy" in self.shown else shown
        for name, targets in self.shown.items():
            folder = self.folder / name
            for old in folder.glob("*") if folder.is_dir() else ():
                old.unlink()
            if name in self.down:
                if folder.is_dir():
                    folder.rmdir()
                continue
            folder.mkdir(exist_ok=True)
            for target, of in targets.items():
                server = copied_of[target] if name == "copy" else name
                (folder / f"{target}.lctl").write_bytes(self.text(target, of, server))

    def text(self, target: str, entries: Sequence[JobStats], server: str) -> bytes:
        """Give a target's text, with times by the clock of a server."""
        ahead = self.clocks[server]
        by_clock = [
            replace(one, start_time=(one.start_time or 0) + ahead, snapshot_time=(one.snapshot_time or 0) + ahead)
            for one in entries
        ]
        return self.form.text(target, by_clock, self.booted[server] + ahead)

    def reset(self, target: str) -> None:
        """Have a target make its entries anew, somewhen since the last step."""
        resets = self.targets.resets.setdefault(target, [])
        time = self.begin - YOUNGER + STEP * (self.step - self.dice.random())
        time = max([time, *(one + 0.5 for one in resets)])
        self.note(target, self.targets.entries(time)[target], YOUNGER)
        resets.append(time)

    def note(self, target: str, entries: Sequence[JobStats], younger: float = 0.0) -> None:
        """Note what entries have at some time."""
        for entry in entries:
            assert entry.start_time is not None
            made = (target, entry.job_id, entry.start_time + younger)
            self.final[made], self.noted[made] = counters(entry), self.step

    def end_outages(self) -> None:
        self.down = {name: until for name, until in self.down.items() if until > self.step}
        for target, server in self.server.items():
            if not server:
                self.server[target] = self.dice.choice(["oss0", "oss1"])
                self.reset(target)

    def any_target(self) -> str:
        return self.dice.choice([target for target, server in self.server.items() if server])

    def clear(self) -> None:
        self.reset(self.any_target())

    def planned_failover(self) -> None:
        target = self.any_target()
        self.server[target] = "oss1" if self.server[target] == "oss0" else "oss0"
        self.reset(target)

    def unplanned_failover(self) -> None:
        """A server is gone; its targets are for a step with nobody."""
        server = self.dice.choice(["oss0", "oss1"])
        self.down[server] = self.step + self.dice.randrange(2, 6)
        for target, of in self.server.items():
            if of == server:
                self.server[target] = ""

    def unreadable(self) -> None:
        """A source cannot be read for some time, though its server is well."""
        self.down[self.dice.choice(list(self.shown))] = self.step + self.dice.randrange(1, 10)

    def restart(self) -> None:
        """The service is ended, and started again some time later."""
        self.writer.close()
        self.step += self.dice.randrange(5)
        self.start()

    def kill(self) -> None:
        """It has read something, and not written it."""
        self.show()
        self.read_one(self.feeds[self.dice.randrange(len(self.feeds))], self.now(0))
        self.step += 1
        self.restart()

    def clock_ahead(self) -> None:
        self.ahead += 3600

    def clock_back(self) -> None:
        """While the service is not running; else it goes on evenly, see `SteadyClock`."""
        self.ahead -= 1800
        self.restart()

    def unknown(self) -> dict[str, Sums[str]]:
        """Give by job what entries counted after they were last read."""
        return _by_job((made, of, self.kept.get(made, {})) for made, of in self.final.items())

    def to_be_named(self) -> set[str]:
        """Give the jobs with an entry that was read, then counted more, and was gone when the day was over."""
        return {
            made[1]
            for made, of in self.final.items()
            if made in self.kept and of != self.kept[made] and self.noted[made] < self.steps
        }

    def named(self) -> set[str]:
        """Give the jobs of which the store says that something is not known."""
        with Reader(self.folder / "store").look() as look:
            return set(ask(look, Question(0, self.now(86400), (NOT_KNOWN,), "job")).labels)

    def expected(self) -> dict[str, Sums[str]]:
        """Give by job what was read: the last counters that were kept of each entry, less those at the beginning."""
        return _by_job((made, of, self.before.get(made, {})) for made, of in self.kept.items())

    def done(self) -> dict[str, Sums[str]]:
        """Give by job what was done since the first reading, whoever counted it."""
        found: dict[str, Sums[str]] = {}
        begin, end = (self.begin - YOUNGER + STEP * step for step in (1, self.step))
        for (_, job), bursts in self.targets.bursts(end).items():
            done = found.setdefault(to_text(job), Sums())
            for burst in bursts:
                for one in burst.operations:
                    samples = _share(one, burst, end) - _share(one, burst, begin)
                    done[f"{one.name}.samples"] += samples
                    done[f"{one.name}.total"] += samples * one.size
        return found

    def found(self) -> dict[str, Sums[str]]:
        """Give by job what the store has."""
        with Reader(self.folder / "store").look() as look:
            answer = ask(look, Question(0, self.now(86400), METRICS, "job"))
        return {
            job: Sums({name: int(answer.values[name][row, 0]) for name in METRICS})
            for row, job in enumerate(answer.labels)
        }


def _by_job(entries: Iterable[tuple[_Made, _Counted, _Counted]]) -> dict[str, Sums[str]]:
    """Add up by job by how much entries have more than before."""
    found: dict[str, Sums[str]] = {}
    for (_, job, _), after, before in entries:
        done = found.setdefault(job, Sums())
        for name, (samples, total) in after.items():
            first = before.get(name, (0, 0))
            done[f"{name}.samples"] += samples - first[0]
            done[f"{name}.total"] += total - first[1]
    return found


def counters(entry: JobStats) -> _Counted:
    return {
        operation(name, counter.unit): (counter.samples, counter.total or 0) for name, counter in entry.counters.items()
    }


def size(counted: _Counted) -> int:
    return sum(map(sum, counted.values()))


EVENTS = {
    "restart": 6, "kill": 4, "planned_failover": 6, "unplanned_failover": 4, "clear": 8, "unreadable": 8,
    "clock_ahead": 2, "clock_back": 2,
}  # fmt: skip


#: Form, how far clocks are apart, and whether there is a copy.
KINDS = (
    ("2.16", 0.0, True),
    ("2.16", 40.0, True),
    ("2.16", -290.0, True),
    ("2.15.0", 0.0, True),
    ("2.15.0", 40.0, True),
    ("2.15.0", 0.0, False),
)


@pytest.mark.parametrize(
    ("seed", "steps", "kind"),
    [
        *((1, 120, kind) for kind in KINDS),
        (2, 120, KINDS[0]),
        # Of these something was lost or counted twice when clocks, or who was read first, told which entry is older.
        (6, 120, KINDS[1]),
        (16, 120, KINDS[3]),
        (13, 120, KINDS[5]),
        pytest.param(3, 1440, KINDS[0], marks=pytest.mark.slow),
        *(pytest.param(seed, 120, kind, marks=pytest.mark.slow) for kind in KINDS for seed in range(104, 107)),
        *(
            pytest.param(seed, 120, kind, marks=[pytest.mark.slow, pytest.mark.longest])
            for kind in KINDS
            for seed in range(107, 120)
        ),
    ],
)
def test_what_is_kept_is_what_was_done(tmp_path: Path, seed: int, steps: int, kind: tuple[str, float, bool]) -> None:
    form, apart, has_copy = kind
    day = Day(tmp_path, seed, steps, form, apart, has_copy=has_copy)
    day.run([name for name, times in EVENTS.items() for _ in range(times)])
    found, expected, unknown, done = (
        {job: {name: of[name] for name in METRICS if of[name]} for job, of in some.items()}
        for some in (day.found(), day.expected(), day.unknown(), day.done())
    )
    # By a server's clock that is behind they were there before the first reading, which counts nothing, and is named.
    missed = {job for job, of in expected.items() if found.get(job, {}) != of} if apart else set()
    assert missed <= day.named()
    found, expected, unknown, done = (
        {job: of for job, of in some.items() if job not in missed} for some in (found, expected, unknown, done)
    )
    assert _some(found) == _some(expected)
    together = {job: Sums(found.get(job, {})) + Sums(unknown.get(job, {})) for job in found.keys() | unknown.keys()}
    assert _some(together) == _some(done)
    assert day.to_be_named() <= day.named()
    written, lost = (sum(of.get("write_bytes.total", 0) for of in some.values()) for some in (found, unknown))
    assert written > 1 << 30
    assert lost < written
    day.writer.close()


def _some(jobs: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {job: dict(of) for job, of in jobs.items() if of}
