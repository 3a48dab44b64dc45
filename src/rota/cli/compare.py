"""``rota compare A B…``: the results of several replays side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from rota.cli import compare_tables as tables
from rota.cli.echo import echo, shown
from rota.model import InputError
from rota.results.result import Result
from rota.results.side_by_side import compare as compare_runs

if TYPE_CHECKING:
    from rota.results.report.comparison import ClassRow
    from rota.results.side_by_side import Comparison

#: Classes of jobs for which waits can be shown.
_WAYS = ("partition", "qos", "account", "node-type", "size", "time")
#: Width of tables in a file: enough that nothing is cut off.
_FILE_WIDTH = 240


@click.command()
@click.argument("results", nargs=-1, required=True, metavar="A B…", type=click.Path(path_type=Path))
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Also write a self-contained HTML page.")
@click.option("--by", "by", multiple=True, type=click.Choice(_WAYS), help="Also mean waits by this; may be repeated.")
@click.option(
    "--label", "labels", multiple=True, metavar="TEXT", help="What a result is called: one for each, in their order."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def compare(
    results: tuple[Path, ...], out: Path | None, by: tuple[str, ...], labels: tuple[str, ...], as_json: bool
) -> None:
    """Put the results of several replays side by side.

    A B… are folders that `rota replay --out` wrote, of one workload. The others are measured against the first. Runs
    are called by what differs between them. Figures are of the jobs that all runs have run to an end. Where runs differ
    in more than their policies, this is said first, and nothing is marked.
    """
    read = [Result.read(folder) for folder in results]
    comparison = compare_runs(*read, names=labels or None, folders=[folder.resolve().name for folder in results])
    if out is not None:
        comparison.report(out)
    if as_json:
        echo(json.dumps(comparison.as_dict(), indent=2, allow_nan=False))
    else:
        _print(comparison, by)


def _print(comparison: Comparison, by: tuple[str, ...]) -> None:
    """Print what differs, the figures, and mean waits by class of job."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_FILE_WIDTH)
    first, names, machines = comparison.results[0], comparison.names, comparison.machines()
    procs = "" if machines else f"{first.machine_procs} processors, "
    console.print(
        shown(f"{first.workload}: {len(first.schedule)} jobs, {procs}figures of {len(comparison.common)} jobs")
    )
    for doubt in comparison.doubts():
        console.print(shown(doubt, "bold"))
    rows_of = {"Machine": machines, "Policy": comparison.policies(), "Setting": comparison.settings()}
    for title, rows in rows_of.items():
        if rows:
            console.print(tables.texts(title, names, rows))
    for table in tables.figures(names, comparison.runs(), comparison.figures.rows(), console.width):
        console.print(table)
    console.print(shown(_legend(comparison)))
    for way in by:
        for table in tables.classes(way, names, _classes(comparison, way), console.width):
            console.print(table)


def _classes(comparison: Comparison, way: str) -> list[ClassRow]:
    """Give the classes of jobs of a kind.

    Raises:
        InputError: the runs do not tell of such classes, or all jobs are in one.
    """
    found = {"size": comparison.by_size(), "time": comparison.by_requested_time()}
    found |= {group.key.replace("_", "-"): rows for group, rows in comparison.groups()}
    if way not in found:
        ways = ", ".join(found)
        raise InputError(f"all jobs have the same, or the first run does not tell it: take one of {ways}", field="--by")
    return found[way]


def _legend(comparison: Comparison) -> str:
    text = "Durations are days-hours:minutes:seconds; × is the ratio to the first run, Δ the difference to it"
    unit = comparison.figures.unit
    if not unit:
        return f"{text}. There are too few weeks and users for intervals, so nothing is marked."
    model = ""
    if comparison.figures.is_modelled:
        model = (
            " and the difference is larger than the error of the model; “off by” is that error: how far the first run "
            "is from what was recorded"
        )
    return f"{text}, with its 95 % interval over {unit}; * marks where that excludes none{model}."
