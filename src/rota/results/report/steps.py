"""Exact step functions over time: busy processors, waiting jobs, waiting processors.

A step function is the sum of intervals, each adding its weight while it lasts. It is computed exactly and in integers,
by sorting the intervals' ends: O(n log n). For drawing it is cut into bins, each with its time-weighted mean and its
maximum, so that a short peak stays visible however long the log is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.results.schedule import Schedule

#: The most bins of one curve: more than a screen has pixels to show.
MAX_BINS = 2000
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
#: Bin widths in seconds, all of them a whole part or a multiple of a day.
_WIDTHS = (
    *(1, 5, 10, 15, 30),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 3, 4, 6, 8, 12)),
    *(n * _DAY for n in (1, 2, 4, 7, 14, 28)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFunction:
    """``values[i]`` holds from ``times[i]`` until ``times[i + 1]``, the last one for ever; 0 before the first.

    Times are seconds, strictly increasing.
    """

    times: NDArray[np.int64]
    values: NDArray[np.int64]

    def at(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the values at these seconds."""
        place = np.searchsorted(self.times, times, side="right")
        return np.concatenate(([0], self.values))[place]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bins:
    """A step function cut into bins: bin ``i`` is ``[edges[i], edges[i + 1])``, in seconds."""

    edges: NDArray[np.int64]
    mean: NDArray[np.float64]
    peak: NDArray[np.int64]


def step_function(
    begin: NDArray[np.int64], end: NDArray[np.int64], weight: NDArray[np.int64] | None = None
) -> StepFunction:
    """Sum up intervals ``[begin, end)``, in seconds, each with its weight (1 when not given)."""
    amount = np.ones(len(begin), np.int64) if weight is None else weight
    times, place = np.unique(np.concatenate((begin, end)), return_inverse=True)
    # Sums of float64 are exact up to 2**53, far beyond any number of processors.
    change = np.bincount(place, np.concatenate((amount, -amount)), len(times)).astype(np.int64)
    return StepFunction(times=times, values=np.cumsum(change))


def bin_edges(first: int, last: int) -> NDArray[np.int64]:
    """Cut ``[first, last]``, in seconds, into at most ``MAX_BINS`` bins of one round width, aligned to it."""
    span = max(last - first, 1)
    # Aligning may cost one bin at either end.
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
    """Give the first submission and the last thing that happened, Unix seconds; ``(0, 0)`` without jobs."""
    if not len(schedule):
        return 0, 0
    last = max(int(schedule.submit.max()), int(schedule.start.max()), int(schedule.end.max()))
    return int(schedule.submit.min()), last


def busy_processors(schedule: Schedule) -> StepFunction:
    """Count the processors in use; a job that has not ended holds its own until the horizon."""
    started = schedule.start >= 0
    end = np.where(schedule.end >= 0, schedule.end, horizon(schedule)[1])
    return step_function(schedule.start[started], end[started], schedule.procs[started])


def waiting_jobs(schedule: Schedule) -> StepFunction:
    """Count the jobs in the queue: from submission to start, or to the end of those cancelled before it."""
    return step_function(schedule.submit, _left_queue(schedule))


def waiting_processors(schedule: Schedule) -> StepFunction:
    """Count the processors that the jobs in the queue ask for."""
    return step_function(schedule.submit, _left_queue(schedule), schedule.procs)


def busiest_week(queue: StepFunction, first: int, last: int) -> int:
    """Find the start, in seconds, of the week with the longest queue on average, by whole days from ``first``."""
    days = np.arange(first // _DAY, max(last // _DAY + 1, first // _DAY + 8), dtype=np.int64) * _DAY
    daily = binned(queue, days).mean
    weekly = np.convolve(daily, np.ones(7), "valid")
    return int(days[int(np.argmax(weekly))])


def _left_queue(schedule: Schedule) -> NDArray[np.int64]:
    """When each job left the queue, Unix seconds; the horizon for one that is still in it."""
    never = np.where(schedule.end >= 0, schedule.end, horizon(schedule)[1])
    return np.where(schedule.start >= 0, schedule.start, never)
