"""Exact step functions of time: busy processors, pending jobs, processors of pending jobs.

A step function is the sum of weighted intervals. It is computed exactly, in integers, by sorting the ends of intervals:
O(n log n). For drawing it is divided into bins, each with time-weighted mean and maximum, so that short peaks stay
visible in long logs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.results.schedule import Schedule

#: Largest number of bins: as many as a screen has pixels.
MAX_BINS = 2000
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
#: Widths of bins in seconds: divisors or multiples of a day.
_WIDTHS = (
    *(1, 5, 10, 15, 30),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 3, 4, 6, 8, 12)),
    *(n * _DAY for n in (1, 2, 4, 7, 14, 28)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFunction:
    """``values[i]`` holds from ``times[i]`` until ``times[i + 1]``, the last one for ever; before the first it is 0.

    Times are in seconds and strictly ascending.
    """

    times: NDArray[np.int64]
    values: NDArray[np.int64]

    def at(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the values at some times."""
        place = np.searchsorted(self.times, times, side="right")
        return np.concatenate(([0], self.values))[place]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bins:
    """A step function in bins: bin ``i`` is ``[edges[i], edges[i + 1])``, in seconds."""

    edges: NDArray[np.int64]
    mean: NDArray[np.float64]
    peak: NDArray[np.int64]


def step_function(
    begin: NDArray[np.int64], end: NDArray[np.int64], weight: NDArray[np.int64] | None = None
) -> StepFunction:
    """Sum up intervals ``[begin, end)``, in seconds, with weights (by default 1)."""
    amount = np.ones(len(begin), np.int64) if weight is None else weight
    times, place = np.unique(np.concatenate((begin, end)), return_inverse=True)
    # Sums in float64 are exact up to 2**53, which no number of processors reaches.
    change = np.bincount(place, np.concatenate((amount, -amount)), len(times)).astype(np.int64)
    return StepFunction(times=times, values=np.cumsum(change))


def bin_edges(first: int, last: int) -> NDArray[np.int64]:
    """Divide ``[first, last]``, in seconds, into at most ``MAX_BINS`` bins whose edges are multiples of their width."""
    span = max(last - first, 1)
    # Alignment may add a bin at either end.
    least = -(-span // (MAX_BINS - 2))
    width = next((w for w in _WIDTHS if w >= least), -(-least // _DAY) * _DAY)
    return np.arange(first // width, -(-max(last, first + 1) // width) + 1, dtype=np.int64) * width


def binned(steps: StepFunction, edges: NDArray[np.int64]) -> Bins:
    """Compute mean and maximum between each two edges (seconds, increasing, at least two of them)."""
    inside = steps.times[(steps.times > edges[0]) & (steps.times < edges[-1])]
    place = np.searchsorted(inside, edges)
    is_new = np.append(inside, edges[-1] + 1)[place] != edges
    times = np.insert(inside, place[is_new], edges[is_new])
    values = steps.at(times)
    integral = np.concatenate(([0], np.cumsum(values[:-1] * np.diff(times))))
    first = np.searchsorted(times, edges)
    return Bins(
        edges=edges,
        mean=np.diff(integral[first]) / np.diff(edges),
        peak=np.maximum.reduceat(values[:-1], first[:-1]),
    )


def horizon(schedule: Schedule) -> tuple[int, int]:
    """Give the first submission and the last end or start, Unix seconds; ``(0, 0)`` without jobs."""
    if not len(schedule):
        return 0, 0
    last = max(int(schedule.submit.max()), int(schedule.start.max()), int(schedule.end.max()))
    return int(schedule.submit.min()), last


def busy_processors(schedule: Schedule) -> StepFunction:
    """Count busy processors; a job that has not ended is counted until the horizon."""
    started = schedule.start >= 0
    end = np.where(schedule.end >= 0, schedule.end, horizon(schedule)[1])
    return step_function(schedule.start[started], end[started], schedule.procs[started])


def waiting_jobs(schedule: Schedule) -> StepFunction:
    """Count pending jobs: from submission to start, or to the end of jobs cancelled before."""
    return step_function(schedule.submit, _left_queue(schedule))


def waiting_processors(schedule: Schedule) -> StepFunction:
    """Count the processors that pending jobs ask for."""
    return step_function(schedule.submit, _left_queue(schedule), schedule.procs)


def busiest_week(queue: StepFunction, first: int, last: int) -> int:
    """Find the week with the longest mean queue; give its start in seconds, in whole days from ``first``."""
    days = np.arange(first // _DAY, max(last // _DAY + 1, first // _DAY + 8), dtype=np.int64) * _DAY
    daily = binned(queue, days).mean
    weekly = np.convolve(daily, np.ones(7), "valid")
    return int(days[int(np.argmax(weekly))])


def _left_queue(schedule: Schedule) -> NDArray[np.int64]:
    """Give when each job left the queue, Unix seconds; the horizon for pending jobs."""
    never = np.where(schedule.end >= 0, schedule.end, horizon(schedule)[1])
    return np.where(schedule.start >= 0, schedule.start, never)
