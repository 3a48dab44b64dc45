"""Results side by side, as people use them in Python and as ``rota compare`` prints them."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rota.results.notebook import html_table, load_pandas
from rota.results.report import comparison as figures
from rota.results.report.metrics import Metric, say_difference
from rota.workload.files import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from rota.results.report.comparison import ClassRow
    from rota.results.report.metrics import Difference
    from rota.results.schedule import ReplayResult


class Comparison(figures.Comparison):
    """Results of one workload; the others are measured against the first, and all are called by what differs."""

    def __repr__(self) -> str:
        """Name the runs."""
        first = self.results[0]
        return f"<Comparison of {len(self.common):,} jobs of {first.workload}: {'; '.join(self.names)}>"

    def _repr_html_(self) -> str:
        """Give figures and differences as a table, and what speaks against comparing them, for notebooks."""
        rows: list[list[str]] = [["Jobs run", *(f"{one.ran:,}" for one in self.runs())]]
        for row in self.figures.rows():
            rows.append([row.metric.label, *map(row.metric.say, row.values)])
            told = ["" if one is None else _say(row.metric, one) for one in row.differences]
            rows.append(["Δ", *told])
        doubts = "".join(f"<p><strong>{escape(doubt)}</strong></p>" for doubt in self.doubts())
        return doubts + html_table(["", *self.names], rows)

    def report(self, path: str | Path) -> Path:
        """Write the page, one file that needs no network; give its path.

        It is written to a temporary file beside its destination and then renamed: there is never half a page.

        Raises:
            InputError: it cannot be written.
        """
        from rota.results.report import write_comparison

        out = Path(path)
        write_file(out, partial(write_comparison, self))
        return out

    def to_pandas(self) -> pd.DataFrame:
        """Give a row for each run and figure: its value, and its difference to the first run with the interval.

        Times are in seconds, shares from 0 to 1. ``low`` and ``high`` are the ends of the 95 % interval; missing: none.

        Raises:
            InputError: pandas is not installed.
        """
        rows = [
            {
                "run": name,
                "figure": row.metric.key,
                "value": row.values[i],  # noqa: PD011 - of a figure, not of pandas
                "difference": None if one is None else one.value,
                "low": None if one is None or one.interval is None else one.interval.low,
                "high": None if one is None or one.interval is None else one.interval.high,
                "is_marked": one is not None and one.is_marked,
            }
            for row in self.figures.rows()
            for i, (name, one) in enumerate(zip(self.names, row.differences, strict=True))
        ]
        pandas = load_pandas()
        frame: pd.DataFrame = pandas.DataFrame(rows)
        return frame.astype(dict.fromkeys(("value", "difference", "low", "high"), "float64"))

    def as_dict(self) -> dict[str, Any]:
        """Give all of it as JSON data: times in seconds, shares from 0 to 1; differences are to the first run."""
        rows, changes, promises = self.figures.rows(), self.start_changes(), self.promises()
        header = ("workload", "scheduler", "priority", "options", "machine_procs")
        runs = [
            {
                "name": run.name,
                **{key: getattr(result, key) for key in header},
                "jobs": {"ran": run.ran, "refused": run.refused, "unfinished": run.unfinished},
                "faults": dict(result.summary.faults),
                "drain": run.drain,
                "metrics": {row.metric.key: row.values[i] for row in rows},  # noqa: PD011 - of a figure, not of pandas
                "differences": {row.metric.key: _as_dict(row.differences[i]) for row in rows},
                "starts": asdict(changes[i]),
                "promises": None if (kept := promises[i]) is None else asdict(kept),
                "provenance": result.provenance.as_dict(),
            }
            for i, (run, result) in enumerate(zip(self.runs(), self.results, strict=True))
        ]
        return {
            "runs": runs,
            "jobs_compared": len(self.common),
            "is_alike": self.is_alike,
            "doubts": self.doubts(),
            "machines": {label: list(texts) for label, texts in self.machines()},
            "policies": {label: list(texts) for label, texts in self.policies()},
            "settings": {key: list(texts) for key, texts in self.settings()},
            "intervals_over": self.figures.unit,
            "model_errors": {row.metric.key: row.error for row in rows},
            "by_size": [_class_as_dict(row) for row in self.by_size()],
            "by_requested_time": [_class_as_dict(row) for row in self.by_requested_time()],
            **{f"by_{group.key}": [_class_as_dict(row) for row in rows] for group, rows in self.groups()},
            "users": [asdict(user) for user in self.user_changes()],
        }


def compare(
    *results: ReplayResult, names: Sequence[str] | None = None, folders: Sequence[str] | None = None
) -> Comparison:
    """Put results of one workload side by side.

    Args:
        results: At least two; the first is the reference.
        names: What they are called; by default what differs between them.
        folders: Where they were read from: names runs where nothing else tells them apart.

    Raises:
        InputError: there are fewer than two, they are of different workloads, or two have the same name.
    """
    found = figures.compare_results(results, names, folders)
    return Comparison(names=found.names, results=found.results)


def _class_as_dict(row: ClassRow) -> dict[str, Any]:
    figures = ("mean_wait", row.wait), ("mean_bounded_slowdown", row.slowdown)
    return {
        "label": row.label,
        "jobs": row.jobs,
        **{name: one.values for name, one in figures},  # noqa: PD011 - of a figure, not of pandas
        **{f"{name}_differences": [_as_dict(found) for found in one.differences] for name, one in figures},
        **{f"{name}_model_error": one.error for name, one in figures},
    }


def _as_dict(one: Difference | None) -> dict[str, Any] | None:
    if one is None:
        return None
    interval = None if one.interval is None else [one.interval.low, one.interval.high]
    return {"value": one.value, "interval": interval, "is_marked": one.is_marked}


def _say(metric: Metric, one: Difference) -> str:
    return say_difference(metric, one) + (" *" if one.is_marked else "")
