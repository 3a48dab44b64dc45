from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.lustre.counters import Activity, Increase
from rota.lustre.grouping import place_of
from rota.lustre.rollups import Rollups
from rota.lustre.store import Reader, Writer, tiers_of

if TYPE_CHECKING:
    from pathlib import Path

_DAY = 1_700_006_400


class Summed:
    """A store and sums of it, to which jobs are added."""

    def __init__(self, folder: Path) -> None:
        self.writer = Writer(folder, tiers_of(10))
        self._reader = Reader(folder)
        self.rollups = Rollups()

    def write(self, step: int, **jobs: int) -> None:
        """Let jobs read so many bytes each on two targets, and once open a file."""
        end = _DAY + 10 * step
        activities = [
            Activity(target, job, end - 10, end, {"read_bytes": Increase(1, total), "read": Increase(1, 99)})
            for job, total in jobs.items()
            for target in ("fs-OST0000", "fs-OST0001")
        ]
        activities += [Activity("fs-MDT0000", job, end - 10, end, {"open": Increase(1, 7)}) for job in jobs]
        written = self.writer.write(activities, end)
        with self._reader.look() as look:
            self.rollups.update(written, look, 10.0 * step)

    def read_bytes(self, field: str) -> dict[str, int]:
        found = self.rollups.owners(field)
        assert {system for _, system in found} <= {"fs"}
        return {owner: numbers[0] for (owner, _), numbers in found.items()}


@pytest.fixture
def summed(tmp_path: Path) -> Summed:
    return Summed(tmp_path)


def test_targets_count_at_once(summed: Summed) -> None:
    summed.write(1, a=5, b=6)
    summed.write(2, a=1)
    ost = [12, 0, 3, 0, 0]
    assert summed.rollups.targets() == {"fs-OST0000": ost, "fs-OST0001": ost, "fs-MDT0000": [0, 0, 0, 0, 3]}


def test_owners_count_when_they_are_known_and_sums_never_go_back(summed: Summed) -> None:
    summed.write(1, a=5, b=6)
    assert summed.read_bytes("user") == {}
    summed.writer.label({"a": {"user": "ann", "account": "physics"}})
    summed.write(2, a=1)
    assert summed.read_bytes("user") == {"ann": 12}
    assert summed.read_bytes("account") == {"physics": 12}
    summed.write(13)  # two minutes after it was written
    assert summed.read_bytes("user") == {"ann": 12}
    summed.write(14)
    assert summed.read_bytes("user") == {"ann": 12, "": 12}
    summed.writer.label({"b": {"user": "bob"}})  # too late for what is counted already
    summed.write(15, b=1)
    assert summed.read_bytes("user") == {"ann": 12, "": 12, "bob": 2}


def test_owners_beyond_all_bounds_are_together(summed: Summed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.lustre.rollups._MOST", 3)
    jobs = [f"j{number}" for number in range(9)]
    summed.writer.write([Activity("fs-OST0000", job, 0, _DAY, {}) for job in jobs], _DAY)
    summed.writer.label({job: {"user": job.replace("j", "u")} for job in jobs})
    summed.write(1, **dict.fromkeys(jobs, 1))
    assert summed.read_bytes("user") == {"u0": 2, "u1": 2, "u2": 2, "other": 12}


def test_owners_count_on_each_file_system(tmp_path: Path) -> None:
    writer, reader, rollups = Writer(tmp_path, tiers_of(10)), Reader(tmp_path), Rollups()
    done = {"read_bytes": Increase(1, 5)}
    some = [Activity(target, "a", _DAY, _DAY + 10, done) for target in ("x-OST0000", "y-OST0000", "y-OST0001", "odd")]
    written = writer.write(some, _DAY + 10)
    writer.label({"a": {"user": "ann"}})
    with reader.look() as look:
        rollups.update(written, look, 10.0)
    found = {name: numbers[0] for name, numbers in rollups.owners("user").items()}
    assert found == {("ann", "x"): 5, ("ann", "y"): 10, ("ann", place_of("odd", "filesystem")): 5}
    writer.close()
