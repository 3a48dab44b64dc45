"""``rota compare A B…``: the results of several replays side by side."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rota.model import InputError
from rota.results.report import compare_results, write_comparison
from rota.results.report.comparison import distinct
from rota.results.store import read_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.results.report import Comparison
    from rota.results.report.comparison import MetricRow

#: With more runs than this the table has a row for each run instead of a column.
_MAX_COLUMNS = 4
#: Width of tables in a file: enough that nothing is cut off.
_FILE_WIDTH = 240


@click.command()
@click.argument("results", nargs=-1, required=True, metavar="A B…", type=click.Path(path_type=Path))
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Also write a self-contained HTML page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def compare(results: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Put the results of several replays side by side.

    A B… are folders that `rota replay --out` wrote, of one workload. The others are measured against the first.
    """
    comparison = compare_results([read_result(folder) for folder in results], _names(results))
    if out is not None:
        _write_page(comparison, out)
    if as_json:
        click.echo(json.dumps(comparison_json(comparison), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _print_table(comparison)


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Give the comparison as JSON data: times in seconds, shares from 0 to 1, and ratios to the first run."""
    rows = comparison.metrics()
    runs = [
        {
            "name": name,
            **{key: getattr(result, key) for key in ("workload", "scheduler", "priority", "options", "machine_procs")},
            "jobs": result.summary.jobs,
            "metrics": {row.metric.key: row.values[i] for row in rows},
            "ratios": {row.metric.key: row.ratios[i] for row in rows},
            "starts": asdict(change),
        }
        for i, (name, result, change) in enumerate(
            zip(comparison.names, comparison.results, comparison.start_changes(), strict=True)
        )
    ]
    return {
        "runs": runs,
        "best": {row.metric.key: [comparison.names[i] for i in sorted(row.best)] for row in rows},
        "by_size": [asdict(row) for row in comparison.by_size()],
        "by_requested_time": [asdict(row) for row in comparison.by_requested_time()],
        "users": [asdict(user) for user in comparison.user_changes()],
    }


def _names(folders: Sequence[Path]) -> tuple[str, ...]:
    """Name the runs by their folders or, if two folders have the same name, by their paths."""
    short = [folder.resolve().name for folder in folders]
    return tuple(short) if len(set(short)) == len(short) else distinct([str(folder) for folder in folders])


def _write_page(comparison: Comparison, out: Path) -> None:
    """Write the page to a temporary file beside its destination and rename that: there is never half a page.

    Raises:
        InputError: it cannot be written.
    """
    draft = out.with_name(f".{out.name}.new")
    try:
        write_comparison(comparison, draft)
        draft.replace(out)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise InputError(f"cannot be written: {error.strerror or error}", path=out) from error


def _print_table(comparison: Comparison) -> None:
    """Print the metrics, with a column for each run while they fit, else with a row for each run."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_FILE_WIDTH)
    first = comparison.results[0]
    console.print(f"{first.workload}: {len(first.schedule)} jobs, {first.machine_procs} processors", markup=False)
    console.print(_table(comparison))
    console.print(
        "Durations are days-hours:minutes:seconds; × is the ratio to the first run; * marks the best.", markup=False
    )


def _table(comparison: Comparison) -> Table:
    rows = comparison.metrics()
    labels = ["", *(row.metric.label for row in rows)]
    columns = [labels] + [[name, *(_cell(row, i) for row in rows)] for i, name in enumerate(comparison.names)]
    if len(comparison.names) > _MAX_COLUMNS:
        columns = [list(column) for column in zip(*columns, strict=True)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        # Aligned here: rich would strip the blanks that stand for a missing ratio or mark.
        width = max(map(len, column)) if i else 0
        columns[i] = [cell.rjust(width) for cell in column]
        table.add_column(Text(columns[i][0]), no_wrap=True)
    for line in list(zip(*columns, strict=True))[1:]:
        table.add_row(*(Text(cell, style="bold" if cell.endswith("*") else "") for cell in line))
    return table


def _cell(row: MetricRow, run: int) -> str:
    """Format a value: ``01:53:56 ×0.98 *``. Missing ratios and marks are blank, so that columns align."""
    ratio = row.ratios[run]
    versus = "" if run == 0 or ratio is None else f"×{ratio:.2f}"
    mark = "*" if run in row.best else " "
    return f"{row.metric.say(row.values[run])} {versus:>6} {mark}"
