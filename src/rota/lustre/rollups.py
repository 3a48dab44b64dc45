"""Sums since the service began, by target, and by user and by account on each file system, which only grow.

What a job did counts for its owner as soon as this is known or, after some time, for nobody: a sum that went back, as
it would if a job changed its owner, would be taken for a counter that began anew.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rota.lustre.grouping import place_of
from rota.lustre.measures import METRICS, measure_of
from rota.lustre.store import add, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rota.lustre.store import Look, Segment, Written

    Numbers = NDArray[np.int64]

#: Fields of jobs by which there are sums.
OWNERS = ("user", "account")
#: Seconds to wait for the owner of a job, and how many owners are told apart; the rest is together as ``other``.
_PATIENCE, _MOST = 120.0, 2000
_OTHER = "other"
_Name = TypeVar("_Name")


class Rollups:
    """The sums."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._targets: dict[str, Numbers] = {}
        #: By field: the sums by owner and file system.
        self._owners: dict[str, dict[tuple[str, str], Numbers]] = {field: {} for field in OWNERS}
        #: What jobs did whose owner is not known, by file system, and since when it waits.
        self._waiting: dict[int, tuple[float, dict[str, Numbers]]] = {}

    def update(self, written: Written, look: Look, now: float) -> None:
        """Count what was written.

        Args:
            written: What was written.
            look: At the store, afterwards.
            now: Seconds of a clock that goes on.
        """
        whole = add(written.steps.values())
        operations, targets = look.operations(), look.targets()
        by_target = _sums(whole, whole.targets, operations)
        systems = [place_of(target, "filesystem") for target in targets]
        names = sorted(set(systems))
        system_of = np.array([names.index(system) for system in systems], dtype=np.int64)
        by_job = _sums(whole, whole.jobs * len(names) + system_of[whole.targets], operations)
        with self._lock:
            for code, numbers in by_target.items():
                _count(self._targets, targets[code], numbers)
            for code, numbers in by_job.items():
                job, system = divmod(code, len(names))
                _count(self._waiting.setdefault(job, (now, {}))[1], names[system], numbers)
            self._settle(look, now)

    def _settle(self, look: Look, now: float) -> None:
        jobs = list(self._waiting)
        for job, fields in zip(jobs, look.fields(jobs), strict=True):
            since, done = self._waiting[job]
            if fields or now - since > _PATIENCE:
                del self._waiting[job]
                for field, sums in self._owners.items():
                    owner = shown(fields.get(field))
                    for system, numbers in done.items():
                        is_there = (owner, system) in sums or len(sums) < _MOST
                        _count(sums, (owner if is_there else _OTHER, system), numbers)

    def targets(self) -> Mapping[str, Sequence[int]]:
        """Give the five metrics of each target."""
        with self._lock:
            return {target: numbers.tolist() for target, numbers in self._targets.items()}

    def owners(self, field: str) -> Mapping[tuple[str, str], Sequence[int]]:
        """Give the five metrics of each user or account on each file system; the empty text: it is not known."""
        with self._lock:
            return {owner: numbers.tolist() for owner, numbers in self._owners[field].items()}


def _count(sums: dict[_Name, Numbers], name: _Name, numbers: Numbers) -> None:
    sums[name] = sums[name] + numbers if name in sums else numbers


def _sums(segment: Segment, codes: Numbers, operations: Sequence[str]) -> dict[int, Numbers]:
    """Add up the five metrics by code."""
    there, places = np.unique(codes, return_inverse=True)
    found = np.zeros((len(there), len(METRICS)), dtype=np.int64)
    for column, name in enumerate(METRICS):
        wanted = measure_of(name, operations).sum
        rows = np.isin(segment.operations, wanted.operations)
        np.add.at(found[:, column], places[rows], getattr(segment, wanted.column)[rows])
    return dict(zip(there.tolist(), found, strict=True))
