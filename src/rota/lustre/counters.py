"""What is passed on from reading ``job_stats`` to keeping what was read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping

_BUCKET = re.compile(rb"(\w{1,16})\s*:\s*(\d{1,18})\b").findall


class Counter(NamedTuple):
    """One operation of one job on one target, since its entry was made. What a dump does not say is ``None``."""

    #: How often it was done.
    samples: int
    #: Of the figures that follow: ``bytes``, ``usecs``, or ``reqs`` where there are none.
    unit: str
    minimum: int | None = None
    maximum: int | None = None
    total: int | None = None
    sum_of_squares: int | None = None
    #: Samples by size, as they are written: ``4K: 35, 8K: 49``. See `sizes`.
    histogram: bytes | None = None

    @property
    def sizes(self) -> dict[str, int]:
        """Samples by the label of their size: at most that many bytes, and more than half of it."""
        return {label.decode(): int(count) for label, count in _BUCKET(self.histogram or b"")}


@dataclass(slots=True)
class JobStats:
    """What a dump says of one job on one target. All counters are cumulative."""

    #: The target's name, such as ``lustre-OST0001``.
    target: str
    #: The id as it is written, quotes and escapes included.
    raw_id: bytes
    #: The id that is meant, as text: see `rota.lustre.job_ids`.
    job_id: str
    #: When the target last counted something for the job: Unix seconds or, in 2.15.0 and 2.15.1, since it was booted.
    snapshot_time: float | None
    #: When the entry was made, on the same clock; 2.15 and later.
    start_time: float | None
    #: By operation, as the dump names it. Those that never happened are missing.
    counters: dict[str, Counter]
    #: Lines of it could not be read, or the dump ends within it: an operation that is missing may have happened.
    damaged: bool = False


class Increase(NamedTuple):
    """How much one operation was done."""

    samples: int
    #: Bytes or microseconds; 0 where the target does not time the operation.
    total: int


class Activity(NamedTuple):
    """What one job did on one target between two readings, by the clock of the reader."""

    target: str
    job_id: str
    #: Unix seconds; ``end`` is later than ``begin``.
    begin: float
    end: float
    #: By operation, as `rota.lustre.metrics` names it in every generation; only those that happened.
    increases: dict[str, Increase]


class Standing(NamedTuple):
    """What was last counted of one job on one target, so that counting goes on from there."""

    #: Operations; and of each, in turn, samples and total.
    names: tuple[str, ...]
    numbers: array[int]
    start_time: float | None
    snapshot_time: float | None
    #: Whether there may be other operations, which could not be read.
    unsure: bool


class Seen(NamedTuple):
    """When a target was read first and last with all of its entries, and last at all: Unix seconds of the reader."""

    first: float | None
    whole: float | None
    last: float


class EntryKey(NamedTuple):
    """Which entry of a job on a target."""

    target: str
    job_id: str
    #: Of one after which another was made, when it was made itself; ``None``: the latest.
    replaced: float | None = None


class Changes(NamedTuple):
    """What is to be remembered together with some activities: without it they would be counted again."""

    targets: Mapping[str, Seen]
    #: ``None``: it is to be forgotten.
    jobs: Mapping[EntryKey, Standing | None]
