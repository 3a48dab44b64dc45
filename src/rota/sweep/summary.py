"""What a sweep has found: its settings by rank, each beside the first one, and what cannot be compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rota.model.counts import counted
from rota.results.report import wording
from rota.sweep.effects import alike, front, ranked, settings_in
from rota.sweep.figures import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.results.report.intervals import Interval
    from rota.sweep.effects import Cell, Setting
    from rota.sweep.figures import Metric
    from rota.sweep.play import Sweep
    from rota.sweep.runs import Row


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a sweep has found."""

    sweep: Sweep
    rows: tuple[Row, ...]
    #: The settings that were run with the whole log, in the order of the grid. The first that can be compared is what
    #: the others are measured against.
    settings: tuple[Setting, ...]

    @cached_property
    def ranked(self) -> list[Setting]:
        """The settings, the best first."""
        return ranked(self.settings, self.sweep.by)

    @cached_property
    def alike(self) -> list[Setting]:
        """Those that can be compared."""
        return alike(self.settings)

    @cached_property
    def front(self) -> list[Setting]:
        """Those that no other one beats in all metrics."""
        return front(self.alike)

    @property
    def failed(self) -> list[Row]:
        """The runs that have failed."""
        return [row for row in self.rows if row.error]

    def difference(self, setting: Setting, metric: Metric) -> Cell | None:
        """Give a setting's difference to the first one; ``None`` for that itself, and where they cannot be compared."""
        if setting not in self.alike or setting is self.alike[0]:
            return None
        return setting.cell(metric.key).minus(self.alike[0].cell(metric.key))

    def is_other(self, setting: Setting) -> bool:
        """Whether a setting changes the jobs or the machine, and not the policy alone."""
        return setting in self.alike and setting.inputs != self.alike[0].inputs

    def is_marked(self, setting: Setting, metric: Metric) -> bool:
        """Whether a difference to the first setting is more than chance, of policies, and above the model's error."""
        found = self.difference(setting, metric)
        if found is None or found.interval is None or not found.interval.excludes_none or self.is_other(setting):
            return False
        return abs(found.value) > self.alike[0].error(metric.key)

    def doubts(self) -> list[str]:
        """Say what cannot be compared: a sentence for each reason."""
        told = []
        if self.failed:
            have = counted(len(self.failed), "has", "have")
            told.append(f"{len(self.failed)} of {len(self.rows)} runs {have} failed: see below.")
        unlike = [one for one in self.settings if not one.failed and one not in self.alike]
        if unlike:
            told.append(
                f"{len(unlike)} of {len(self.settings)} settings "
                + counted(
                    len(unlike),
                    "has left more jobs that did not run than others: its figures are of other jobs, it is ranked "
                    "last, and nothing of it is marked.",
                    "have left more jobs that did not run than others: their figures are of other jobs, they are "
                    "ranked last, and nothing of them is marked.",
                )
            )
        if others := sum(map(self.is_other, self.settings)):
            told.append(
                f"{others} of {len(self.settings)} settings "
                + counted(
                    others,
                    "changes the jobs or the machine, not the policy alone: nothing of it is marked.",
                    "change the jobs or the machine, not the policy alone: nothing of them is marked.",
                )
            )
        return told

    def note(self, setting: Setting) -> str:
        """Say in a word or two how a setting stands."""
        if setting.failed:
            return "failed"
        if setting not in self.alike:
            return f"jobs not run: {wording.count(setting.not_run)}"
        told = [
            "best in some way" if setting in self.front else "",
            "other jobs or machine" if self.is_other(setting) else "",
        ]
        return ", ".join(filter(None, told))

    def as_dict(self) -> dict[str, Any]:
        """Convert it to JSON data: times in seconds, shares from 0 to 1, differences to the first setting."""
        return {
            "search": self.sweep.search,
            "by": self.sweep.by,
            "axes": {axis.name: list(axis.values) for axis in self.sweep.axes},
            "runs": len(self.rows),
            "failed": [{"point": row.point, "part": row.part, "error": row.error} for row in self.failed],
            "doubts": self.doubts(),
            "settings": [self._setting(one) for one in self.ranked],
        }

    def _setting(self, one: Setting) -> dict[str, Any]:
        found: dict[str, Any] = {"point": one.point, "runs": len(one.rows), "failed": one.failed}
        if one.failed:
            return found
        found |= {"not_run": one.not_run, "is_alike": one in self.alike, "on_front": one in self.front, "figures": {}}
        for metric in METRICS:
            cell, difference = one.cell(metric.key), self.difference(one, metric)
            found["figures"][metric.key] = {
                "value": cell.value,
                "interval": _bounds(cell.interval),
                "difference": None if difference is None else difference.value,
                "difference_interval": None if difference is None else _bounds(difference.interval),
                "is_marked": self.is_marked(one, metric),
            }
        return found


def summarise(sweep: Sweep, rows: Sequence[Row]) -> Summary:
    """Sum up the rows of a sweep."""
    whole = [row for row in rows if row.part == 1]
    return Summary(sweep=sweep, rows=tuple(rows), settings=tuple(settings_in(whole)))


def say_value(metric: Metric, value: float) -> str:
    """Format a value of a metric."""
    if metric.key == "fairness":
        return f"{value:.3f}"
    if metric.key == "mean_wait_s":
        return wording.duration(value)
    return wording.percent(value) if metric.key == "utilisation" else wording.decimal(value)


def say_difference(metric: Metric, cell: Cell) -> list[str]:
    """Format a difference to the first setting and its interval: ``−00:05:00``, ``−00:09:00 to −00:02:00``."""
    interval = cell.interval
    bounds = [] if interval is None else [" to ".join(_signed(metric, one) for one in (interval.low, interval.high))]
    return [_signed(metric, cell.value), *bounds]


def _signed(metric: Metric, value: float) -> str:
    text = say_value(metric, abs(value))
    return text if text == say_value(metric, 0) else f"{'−' if value < 0 else '+'}{text}"


def _bounds(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]
