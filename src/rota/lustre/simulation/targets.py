"""The entries of each target at a given time, as Lustre keeps them.

An entry is made when a job does something. It goes when the job did nothing for the cleanup interval, and when its
target starts anew, which targets do now and then; if the job then does more, it is made again and counts from zero.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from math import inf
from random import Random
from typing import TYPE_CHECKING, Protocol

from rota.lustre.counters import Counter, JobStats
from rota.lustre.job_ids import to_text
from rota.lustre.metrics import READ, WRITE
from rota.lustre.simulation.behaviour import Burst, bursts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rota.lustre.simulation.behaviour import Operation
    from rota.lustre.simulation.jobs import Job

_DAY = 86400.0
_LATENCY = {READ: "read", WRITE: "write"}
_LABELS = ("", "K", "M", "G")


class Jobs(Protocol):
    """Where jobs come from."""

    def between(self, begin: float, end: float) -> Iterable[Job]:
        """Give those that run at any time between these."""


class FileSystem:
    """Targets, and the jobs that use them."""

    def __init__(
        self,
        jobs: Sequence[Jobs],
        *,
        name: str = "lustre",
        osts: int = 4,
        mdts: int = 1,
        seed: int = 0,
        begin: float = 0.0,
        cleanup_interval: float = 600.0,
        restarts: float = 0.1,
    ) -> None:
        """Make one.

        Args:
            jobs: Where its jobs come from.
            name: Of the file system; of its targets the first part.
            osts: How many hold data.
            mdts: How many hold names.
            seed: Of everything that is drawn.
            begin: When it was made: Unix seconds. Jobs that had ended by then left nothing.
            cleanup_interval: Seconds without activity after which an entry goes; 0: it stays.
            restarts: Of a day, how probable it is that a target starts anew in it.
        """
        self._jobs = jobs
        self._osts = [f"{name}-OST{number:04x}" for number in range(osts)]
        self._mdts = [f"{name}-MDT{number:04x}" for number in range(mdts)]
        self._seed = seed
        self._begin = begin
        self._cleanup_interval = cleanup_interval or inf
        self._restarts_daily = restarts
        self._restart_on = lru_cache(1 << 16)(self._restart_on_day)

    def entries(self, now: float) -> dict[str, list[JobStats]]:
        """Tell what each target would print at a time, those without jobs included."""
        found: dict[str, list[JobStats]] = {target: [] for target in (*self._osts, *self._mdts)}
        for (target, job_id), done in self._done(now).items():
            entry = self._entry(target, job_id, done, now)
            if entry is not None:
                found[target].append(entry)
        return found

    def _done(self, now: float) -> dict[tuple[str, bytes], list[Burst]]:
        """Tell what has begun, by target and id, in the order of beginnings."""
        since = max(self._begin, now - self._cleanup_interval)
        found: dict[tuple[str, bytes], list[Burst]] = defaultdict(list)
        for source in self._jobs:
            for job in source.between(since, now):
                for burst in bursts(job, self._osts, self._mdts, self._seed):
                    if burst.begin < min(now, job.stopped):
                        found[burst.target, job.job_id].append(_stopped(burst, job.stopped))
        for done in found.values():
            done.sort(key=lambda burst: burst.begin)
        return found

    def _entry(self, target: str, job_id: bytes, done: list[Burst], now: float) -> JobStats | None:
        made = self._made(target, done, now)
        after = [burst for burst in done if burst.end > made]
        if not after:
            return None
        active = min(now, max(burst.end for burst in after))
        if now - active > self._cleanup_interval:
            return None
        counters = _counters(after, made, now)
        start = max(made, min(burst.begin for burst in after))
        return JobStats(target, job_id, to_text(job_id), active, start, counters)

    def _made(self, target: str, done: list[Burst], now: float) -> float:
        """Tell since when an entry counts: its first burst, the last long pause, or the last restart."""
        made = active = done[0].begin
        for burst in done:
            if burst.begin - active > self._cleanup_interval:
                made = burst.begin
            active = max(active, burst.end)
        return max((made, *self._restarts(target, made, now)))

    def _restarts(self, target: str, begin: float, end: float) -> Iterator[float]:
        for day in range(int(begin // _DAY), int(end // _DAY) + 1):
            restart = self._restart_on(target, day)
            if restart is not None and begin <= restart <= end:
                yield restart

    def _restart_on_day(self, target: str, day: int) -> float | None:
        dice = Random(f"{self._seed}/{target}/{day}")  # noqa: S311 - no secrets
        return (day + dice.random()) * _DAY if dice.random() < self._restarts_daily else None


def _stopped(burst: Burst, stop: float) -> Burst:
    """Cut what a job did not come to do."""
    if burst.end <= stop:
        return burst
    share = (stop - burst.begin) / (burst.end - burst.begin)
    operations = tuple(one._replace(samples=int(one.samples * share)) for one in burst.operations)
    return burst._replace(end=stop, operations=operations)


def _counters(done: Iterable[Burst], since: float, now: float) -> dict[str, Counter]:
    """Sum up what was done between two times."""
    found: dict[str, Counter] = {}
    for burst in done:
        for operation in burst.operations:
            samples = _share(operation, burst, now) - _share(operation, burst, since)
            if samples:
                _add(found, operation, samples)
    return found


def _share(operation: Operation, burst: Burst, time: float) -> int:
    return int(operation.samples * min(1.0, max(0.0, (time - burst.begin) / (burst.end - burst.begin))))


def _add(counters: dict[str, Counter], operation: Operation, samples: int) -> None:
    name, _, size, latency = operation
    if size:
        histogram = f"{_label(size)}: {samples}".encode()
        moved = Counter(samples, "bytes", size, size, samples * size, samples * size**2, histogram)
        counters[name] = _sum(counters.get(name), moved)
        name = _LATENCY[name]
    squares = samples * latency**2 * 5 // 4
    timed = Counter(samples, "usecs", latency // 4, latency * 9, samples * latency, squares)
    counters[name] = _sum(counters.get(name), timed)


def _sum(before: Counter | None, more: Counter) -> Counter:
    if before is None:
        return more
    sizes = {label: before.sizes.get(label, 0) + more.sizes.get(label, 0) for label in {**before.sizes, **more.sizes}}
    return Counter(
        before.samples + more.samples,
        more.unit,
        min(before.minimum or 0, more.minimum or 0),
        max(before.maximum or 0, more.maximum or 0),
        (before.total or 0) + (more.total or 0),
        (before.sum_of_squares or 0) + (more.sum_of_squares or 0),
        ", ".join(f"{label}: {count}" for label, count in sizes.items()).encode() or None,
    )


def _label(size: int) -> str:
    """Name the power of two that is not less than a size: 4096 is 4K."""
    exponent = max(0, size - 1).bit_length()
    return f"{1 << exponent % 10}{_LABELS[exponent // 10]}"
