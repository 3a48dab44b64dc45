"""Distributions of waits and slowdowns, and the classes of jobs for which they are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64] | NDArray[np.float64]

#: Number of points of a curve.
ECDF_POINTS = 400
#: Largest number of size classes: as many lines as can be distinguished in a chart.
MAX_SIZE_CLASSES = 5
#: Upper limits of the classes by requested time in seconds, with labels; one more class is above.
TIME_CLASSES = (
    (300, "≤ 5 min"),
    (3600, "5 min – 1 h"),
    (4 * 3600, "1 – 4 h"),
    (12 * 3600, "4 – 12 h"),
    (24 * 3600, "12 – 24 h"),
)
_ABOVE = "> 24 h"


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """A partition of the jobs into classes: ``place[i]`` is the index of job ``i``'s label. No class is empty."""

    labels: tuple[str, ...]
    place: NDArray[np.int64]

    def members(self) -> list[NDArray[np.bool_]]:
        """Give a mask over the jobs for each class."""
        return [self.place == i for i in range(len(self.labels))]


def ecdf(values: Numbers, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the empirical distribution function at some points; all zero without values."""
    if not len(values):
        return np.zeros(len(at))
    return np.searchsorted(np.sort(values), at, side="right") / len(values)


def log_grid(greatest: float, least: float = 1.0) -> NDArray[np.float64]:
    """Give points at equal logarithmic distances from 1 to ``greatest``, or to 10 if that is larger.

    If ``least`` is 0, as it is of waits, this comes before them.
    """
    grid = np.geomspace(1.0, max(float(greatest), 10.0), ECDF_POINTS)
    return np.insert(grid, 0, 0.0) if least == 0 else grid


def size_classes(procs: NDArray[np.int64]) -> Classes:
    """Classify jobs by processors: 1, 2 - 4, 5 - 16, 17 - 64, …; rare classes are merged until few are left."""
    top = int(procs.max(initial=1))
    limits = [4**k for k in range(top.bit_length() // 2 + 2) if 4**k < top] + [top]
    place = np.searchsorted(np.array(limits), procs)
    counts = np.bincount(place, minlength=len(limits)).tolist()
    _merge_empty_and_rare(limits, counts)
    lowest = int(procs.min(initial=1))
    bounds = zip([lowest, *(limit + 1 for limit in limits[:-1])], limits, strict=True)
    labels = [str(hi) if lo >= hi else f"{lo} – {hi}" for lo, hi in bounds]
    return Classes(
        labels=tuple(f"{label} proc{'' if label == '1' else 's'}" for label in labels),
        place=np.searchsorted(np.array(limits), procs),
    )


def _merge_empty_and_rare(limits: list[int], counts: list[int]) -> None:
    """Merge the class with the fewest jobs with its smaller neighbour, until none is empty and there are few enough."""
    while len(limits) > 1 and (min(counts) == 0 or len(limits) > MAX_SIZE_CLASSES):
        rarest = counts.index(min(counts))
        upwards = rarest == 0 or (rarest + 1 < len(counts) and counts[rarest + 1] < counts[rarest - 1])
        lower = rarest if upwards else rarest - 1
        counts[lower : lower + 2] = [counts[lower] + counts[lower + 1]]
        del limits[lower]


def time_classes(time_limit: NDArray[np.int64]) -> Classes:
    """Classify jobs by requested time in seconds."""
    limits = np.array([limit for limit, _ in TIME_CLASSES])
    return _without_empty([*(label for _, label in TIME_CLASSES), _ABOVE], np.searchsorted(limits, time_limit))


def _without_empty(labels: Sequence[str], place: NDArray[np.int64]) -> Classes:
    """Renumber the classes without the empty ones."""
    used, dense = np.unique(place, return_inverse=True)
    return Classes(labels=tuple(labels[i] for i in used), place=dense.astype(np.int64))
