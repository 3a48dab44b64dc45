"""``rota compare A B…``: the results of several replays side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import box
from rich.console import Console
from rich.table import Table

from rota.cli.echo import echo, shown
from rota.model import InputError
from rota.results.report import wording
from rota.results.report.metrics import say_difference
from rota.results.result import Result
from rota.results.side_by_side import compare as compare_runs

if TYPE_CHECKING:
    from rota.results.report.metrics import MetricRow
    from rota.results.side_by_side import Comparison

#: With more runs than this the table has a row for each run instead of a column.
_MAX_COLUMNS = 3
#: Classes of jobs for which waits can be shown.
_WAYS = ("partition", "qos", "account", "node-type", "size", "time")
#: Width of tables in a file: enough that nothing is cut off.
_FILE_WIDTH = 240


@click.command()
@click.argument("results", nargs=-1, required=True, metavar="A B…", type=click.Path(path_type=Path))
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Also write a self-contained HTML page.")
@click.option("--by", "by", multiple=True, type=click.Choice(_WAYS), help="Also mean waits by this; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def compare(results: tuple[Path, ...], out: Path | None, by: tuple[str, ...], as_json: bool) -> None:
    """Put the results of several replays side by side.

    A B… are folders that `rota replay --out` wrote, of one workload. The others are measured against the first. Runs
    are called by what differs between them. Figures are of the jobs that all runs have run to an end.
    """
    comparison = compare_runs(*(Result.read(folder) for folder in results))
    if out is not None:
        comparison.report(out)
    if as_json:
        echo(json.dumps(comparison.as_dict(), indent=2, allow_nan=False))
    else:
        _print_table(comparison, by)


def _print_table(comparison: Comparison, by: tuple[str, ...]) -> None:
    """Print the figures, with a column for each run while they fit, else with a row for each run."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_FILE_WIDTH)
    first = comparison.results[0]
    console.print(
        shown(
            f"{first.workload}: {len(first.schedule)} jobs, {first.machine_procs} processors, "
            f"figures of {len(comparison.common)} jobs"
        )
    )
    for doubt in comparison.doubts():
        console.print(shown(doubt, "bold"))
    console.print(_table(comparison))
    console.print(shown(_legend(comparison)))
    for way in by:
        console.print(_classes(comparison, way))


def _classes(comparison: Comparison, way: str) -> Table:
    """Make a table of mean waits, with a row for each class of jobs.

    Raises:
        InputError: the runs do not tell of such classes, or all jobs are in one.
    """
    found = {"size": comparison.by_size(), "time": comparison.by_requested_time()}
    found |= {group.key.replace("_", "-"): rows for group, rows in comparison.groups()}
    if way not in found:
        ways = ", ".join(found)
        raise InputError(f"all jobs have the same, or the first run does not tell it: take one of {ways}", field="--by")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(shown(f"Mean wait by {way}"), overflow="fold")
    for name in ("Jobs", *comparison.names):
        table.add_column(shown(name), justify="right", overflow="fold")
    for row in found[way]:
        table.add_row(*map(shown, (row.label, f"{row.jobs:,}", *map(wording.duration, row.mean_wait))))
    return table


def _legend(comparison: Comparison) -> str:
    text = "Durations are days-hours:minutes:seconds; × is the ratio to the first run, Δ the difference to it"
    unit = comparison.figures.unit
    if not unit:
        return f"{text}. There are too few weeks and users for intervals, so nothing is marked."
    return f"{text}, with its 95 % interval over {unit}; * marks where that excludes none."


def _table(comparison: Comparison) -> Table:
    runs, rows = comparison.runs(), comparison.figures.rows()
    is_wide = len(runs) > _MAX_COLUMNS
    labels = ["", "Jobs run", "refused", "not run to an end", "plugin faults", "drain after the last submission"]
    columns = [[*labels, *(label for row in rows for label in _labels(row, is_wide=is_wide))]]
    for i, run in enumerate(runs):
        counts = [f"{one:,}" for one in (run.ran, run.refused, run.unfinished, run.faults)]
        cells = [cell for row in rows for cell in _cells(row, i, is_wide=is_wide)]
        columns.append([run.name, *(f"{one}  " for one in (*counts, wording.duration(run.drain))), *cells])
    if is_wide:
        columns = [list(column) for column in zip(*columns, strict=True)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    # On a terminal that is too narrow, cells are folded: nothing is cut off.
    for i, column in enumerate(columns):
        # Aligned here: rich would strip the blanks that stand for a missing ratio or mark.
        width = max(map(len, column)) if i else 0
        columns[i] = [cell.rjust(width) for cell in column]
        table.add_column(shown(columns[i][0]), overflow="fold")
    for line in list(zip(*columns, strict=True))[1:]:
        table.add_row(*(shown(cell, style="bold" if cell.endswith("*") else "") for cell in line))
    return table


def _labels(row: MetricRow, *, is_wide: bool) -> list[str]:
    return [row.metric.label] if is_wide else [row.metric.label, "  Δ"]


def _cells(row: MetricRow, run: int, *, is_wide: bool) -> list[str]:
    """Format a value, ``01:53:56 ×0.98 *``, and below it the difference. What is missing is blank, to align columns."""
    ratio, difference = row.ratios[run], row.differences[run]
    versus = "" if difference is None or ratio is None else f"×{ratio:.2f}"
    mark = "*" if difference is not None and difference.is_marked else " "
    value = f"{row.metric.say(row.values[run])} {versus:>6} {mark}"
    return [value] if is_wide else [value, "" if difference is None else f"{say_difference(row.metric, difference)}  "]
