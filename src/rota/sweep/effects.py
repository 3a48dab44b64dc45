"""What comes of a sweep: settings with their intervals, response curves, and those that no other one beats.

A setting is a point without its workload and seed; its figures are means over these. Where it was run once, its
interval is over the weeks of the log, and where it was run with `LEAST` seeds or more, over these; with fewer there is
none: logs drawn from the same weeks are not independent of each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rota.results.report.intervals import LEAST, Interval, interval_of
from rota.sweep.figures import METRICS
from rota.sweep.search import REPLICATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rota.sweep.axes import Axis
    from rota.sweep.runs import Row
    from rota.sweep.search import Point

#: Most combinations of the other axes that have a line of their own beside the mean.
MOST_LINES = 6


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure, with what it would be in logs that might have been."""

    value: float
    #: What the drawn logs are of; only cells of the same may be subtracted.
    source: str
    drawn: NDArray[np.float64] | None

    @property
    def interval(self) -> Interval | None:
        """Its 95 % interval."""
        return None if self.drawn is None else interval_of(self.drawn)

    def minus(self, other: Cell) -> Cell:
        """Give the difference to another figure; it has an interval if both are of the same drawn logs."""
        if self.drawn is None or other.drawn is None or self.source != other.source:
            return Cell(self.value - other.value, self.source, None)
        return Cell(self.value - other.value, self.source, self.drawn - other.drawn)


@dataclass(frozen=True, eq=False)
class Setting:
    """A setting and its runs. Each is equal to itself only."""

    #: Values by axis, without workload and seed.
    point: Point
    rows: tuple[Row, ...]

    @property
    def name(self) -> str:
        """What it is called: ``bf_max_job_test=50, load=1.1``."""
        return ", ".join(f"{name}={value}" for name, value in self.point.items()) or "as configured"

    @property
    def failed(self) -> bool:
        """Whether one of its runs has failed: then it has no figures."""
        return any(row.error for row in self.rows)

    @cached_property
    def not_run(self) -> int:
        """How many jobs were refused, or did not run to an end."""
        return sum(row.figures["refused"] + row.figures["unfinished"] for row in self.rows if row.figures)

    @property
    def inputs(self) -> set[str]:
        """Digests of what its runs depend on beside the policy."""
        return {row.figures.get("inputs", "") for row in self.rows}

    def error(self, key: str) -> float:
        """Give by how much its runs miss a figure as recorded, in the mean; 0: that is not known."""
        return float(np.mean([row.figures.get(f"{key}_error") or 0.0 for row in self.rows]))

    def mean(self, key: str) -> float:
        """Give the mean of a figure over its runs."""
        return float(np.mean([row.figures[key] for row in self.rows]))

    def cell(self, key: str) -> Cell:
        """Give a figure of `METRICS`."""
        values = np.array([row.figures[key] for row in self.rows], np.float64)
        if len(values) > 1:
            source = "; ".join(
                str({name: row.point[name] for name in REPLICATES & row.point.keys()}) for row in self.rows
            )
            return Cell(float(values.mean()), source, values if len(values) >= LEAST else None)
        (row,) = self.rows
        drawn = row.drawn.get(key)
        return Cell(float(values[0]), row.figures["drawn_from"], None if drawn is None else np.array(drawn))


def settings_in(rows: Iterable[Row]) -> list[Setting]:
    """Group the rows of one round by setting, in the order of their first rows."""
    groups: dict[tuple[tuple[str, str], ...], list[Row]] = {}
    for row in rows:
        point = tuple((name, value) for name, value in row.point.items() if name not in REPLICATES)
        groups.setdefault(point, []).append(row)
    return [Setting(dict(point), tuple(mine)) for point, mine in groups.items()]


def ranked(settings: Sequence[Setting], by: str) -> list[Setting]:
    """Sort settings, the best first: those that have run most jobs before others, and failed ones last.

    A setting that refuses jobs is not better for that.

    Args:
        settings: The settings.
        by: Key of a metric.
    """
    (metric,) = (one for one in METRICS if one.key == by)
    sign = -1 if metric.is_gain else 1
    return sorted(settings, key=lambda one: (one.failed, one.not_run, 0.0 if one.failed else sign * one.mean(by)))


def alike(settings: Sequence[Setting]) -> list[Setting]:
    """Give the settings that can be compared: those that have left the fewest jobs, none of them failed."""
    done = [one for one in settings if not one.failed]
    fewest = min((one.not_run for one in done), default=0)
    return [one for one in done if one.not_run == fewest]


def front(settings: Sequence[Setting]) -> list[Setting]:
    """Give the Pareto front: settings for which no other one is as good in all metrics and better in one."""
    signs = [-1.0 if metric.is_gain else 1.0 for metric in METRICS]
    costs = np.array([[one.mean(metric.key) for metric in METRICS] for one in settings]).reshape(-1, len(METRICS))
    costs *= signs
    return [
        one
        for one, mine in zip(settings, costs, strict=True)
        if not ((costs <= mine).all(axis=1) & (costs < mine).any(axis=1)).any()
    ]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a response curve: a cell for each value of the axis and each metric, ``None`` where there is none."""

    name: str
    cells: dict[str, list[Cell | None]]


def lines_along(axis: Axis, settings: Sequence[Setting]) -> list[Line]:
    """Give the response to an axis: the mean, and, if there are a few, a line for each combination of the others."""
    groups: dict[str, list[Setting]] = {}
    for one in settings:
        rest = ", ".join(f"{name}={value}" for name, value in one.point.items() if name != axis.name)
        groups.setdefault(rest, []).append(one)
    if len(groups) == 1:
        return [_line(name, axis, mine) for name, mine in groups.items()]
    shown = groups if len(groups) <= MOST_LINES else {}
    mean = _line(f"mean of the {len(groups)} combinations of the others", axis, settings)
    return [mean, *(_line(name, axis, mine) for name, mine in shown.items())]


def _line(name: str, axis: Axis, settings: Sequence[Setting]) -> Line:
    by_value: dict[str, list[Setting]] = {value: [] for value in axis.values}
    for one in settings:
        by_value[one.point[axis.name]].append(one)
    return Line(name, {metric.key: [_mean(mine, metric.key) for mine in by_value.values()] for metric in METRICS})


def _mean(settings: Sequence[Setting], key: str) -> Cell | None:
    """Give the mean over settings, which are of the same logs."""
    cells = [one.cell(key) for one in settings]
    if not cells:
        return None
    value = float(np.mean([one.value for one in cells]))
    drawn = [one.drawn for one in cells if one.drawn is not None]
    if len(drawn) < len(cells) or len({one.source for one in cells}) > 1:
        return Cell(value, "", None)
    return Cell(value, cells[0].source, np.mean(drawn, axis=0))
