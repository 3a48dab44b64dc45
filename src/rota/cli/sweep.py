"""``rota sweep WORKLOAD --vary …``, ``rota sweep SPEC.toml``: many replays, and what comes of them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rota.cli.echo import echo
from rota.cli.progress import progress
from rota.cli.scenario import command_line, say, scenario_options
from rota.cli.sweep_words import Words, check, fingerprint, read_run
from rota.model import InputError
from rota.model.counts import counted
from rota.sweep.axes import read_axis
from rota.sweep.figures import METRICS
from rota.sweep.folder import PAGE, TABLE, Folder, write_table
from rota.sweep.page import write_page
from rota.sweep.play import Sweep, play
from rota.sweep.runs import carry_out
from rota.sweep.search import SEARCHES
from rota.sweep.spec import read_spec
from rota.sweep.summary import say_difference, say_value, summarise
from rota.sweep.workers import Dask, Processes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.sweep.axes import Axis
    from rota.sweep.effects import Setting
    from rota.sweep.figures import Metric
    from rota.sweep.spec import Spec
    from rota.sweep.summary import Summary
    from rota.sweep.workers import Workers

#: Parameters that are not the runs' own.
_OWN = frozenset({"vary", "search", "samples", "draw", "by", "out", "jobs", "dask", "tolerate_failures", "as_json"})
#: Settings that are printed; the page has all.
_PRINTED = 10
#: Width of a table in a file.
_FILE_WIDTH = 240


@click.command()
@scenario_options
@click.option(
    "--vary",
    multiple=True,
    metavar="NAME=VALUES",
    help="Values of a setting, as in --set, or of an option: bf_max_job_test=50,100,500, "
    "PriorityWeightAge=0:10000:2000, scheduler=sched/easy,sched/backfill, seed=1:20; repeatable.",
)
@click.option("--search", type=click.Choice(SEARCHES), default="grid", show_default=True, help="Which settings to run.")
@click.option("--samples", type=click.IntRange(1), help="How many settings random and halving draw.  [default: 16]")
@click.option("--draw", type=int, default=0, help="Another draw of them.")
@click.option(
    "--by",
    type=click.Choice([one.key for one in METRICS]),
    default="mean_bounded_slowdown",
    show_default=True,
    help="What settings are ranked by, and halving keeps.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the results; needed.")
@click.option("--jobs", type=click.IntRange(1), help="Processes.  [default: as many as this process may use cores]")
@click.option("--dask", metavar="ADDRESS", help="Scheduler of a Dask cluster that makes the runs: tcp://host:8786.")
@click.option("--tolerate-failures", is_flag=True, help="Succeed although some runs have failed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def sweep(ctx: click.Context, /, **given: Any) -> None:
    """Replay a workload many times, with other parameters, plugins, workloads and seeds.

    WORKLOAD is what `rota replay` takes, or a file SPEC.toml that names it, its options without dashes, and in a table
    [vary] what is varied. A sweep that was ended goes on where it was when it is started again.
    """
    words, spec = Words(ctx.command), None
    vary = [read_axis(text) for text in given["vary"]]
    if given["workload"].endswith(".toml"):
        spec = read_spec(Path(given["workload"]))
        here = {key for key in given if ctx.get_parameter_source(key) is ParameterSource.COMMANDLINE} - {"workload"}
        given |= {key: value for key, value in words.of_file(spec).items() if key not in here}
        vary = [*(one for one in spec.axes if one.name not in {axis.name for axis in vary}), *vary]
    _check_given(given, vary, spec)
    base = {key: value for key, value in given.items() if key not in _OWN}
    read = partial(read_run, words=words, base=base)
    workers: Workers = Dask(given["dask"]) if given["dask"] else Processes(given["jobs"] or _cores())
    told: dict[str, None] = {}
    scenarios = check(vary, lambda run: read(run, told.setdefault), partial(_blame, spec))
    for message in told:
        say(message)
    plan = Sweep(
        axes=tuple(vary),
        search=given["search"],
        samples=given["samples"],
        draw=given["draw"],
        by=given["by"],
        fingerprint=fingerprint(base, scenarios),
    )
    folder = Folder(given["out"])
    with progress("runs", show=sys.stderr.isatty()) as bar:
        rows = play(plan, folder, workers, partial(carry_out, read=read), bar)
    provenance = replace(scenarios[0].options.provenance, command=command_line())
    summary = summarise(plan, rows)
    folder.write(TABLE, partial(write_table, rows, plan.axes))
    page = folder.write(PAGE, partial(write_page, summary, provenance))
    for message in dict.fromkeys(message for row in rows for message in row.messages if message not in told):
        say(message)
    if given["as_json"]:
        echo(json.dumps(summary.as_dict(), indent=2, allow_nan=False))
    else:
        _print(summary, page)
    if summary.failed and not given["tolerate_failures"]:
        raise _failure(summary)


def _check_given(given: dict[str, Any], vary: list[Axis], spec: Spec | None) -> None:
    """Check what no other reader checks.

    Raises:
        InputError: nothing is varied, no folder is named, or no workload is.
    """
    if not vary:
        raise InputError("nothing is varied: write --vary NAME=VALUES, or a table [vary] in a file", field="--vary")
    if given["out"] is None:
        raise InputError("name the folder of the results", field="--out")
    if spec is not None and given["workload"].endswith(".toml"):
        if all(axis.name != "workload" for axis in vary):
            raise spec.error("is missing: name the log to be replayed", "workload")
        given["workload"] = next(axis.values[0] for axis in vary if axis.name == "workload")


def _blame(spec: Spec | None, error: InputError, axis: Axis) -> InputError:
    """Name the axis that an error is about, and its line in the file."""
    if spec is None or axis not in spec.axes:
        return InputError(str(error), field=f"--vary {axis.name}")
    return spec.error(str(error), axis.name)


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _failure(summary: Summary) -> InputError:
    """Say how many runs have failed, and why the first did."""
    first = summary.failed[0]
    point = ", ".join(f"{key}={value}" for key, value in first.point.items())
    have = counted(len(summary.failed), "has", "have")
    return InputError(
        f"{len(summary.failed)} of {len(summary.rows)} runs {have} failed; the first, {point}: {first.error}"
    )


def _print(summary: Summary, page: Path) -> None:
    """Print the best settings, each with its differences to the first one."""
    for doubt in summary.doubts():
        echo(doubt)
    shown = [one for one in summary.ranked[:_PRINTED] if not one.failed]
    lines = [["", *(metric.label for metric in METRICS), ""], *(line for one in shown for line in _lines(summary, one))]
    widths = [max(len(line[i]) for line in lines) for i in range(len(METRICS) + 1)]
    if sum(widths) + 2 * len(widths) <= shutil.get_terminal_size((_FILE_WIDTH, 24)).columns:
        for first, *cells, note in lines:
            aligned = [first.ljust(widths[0]), *(one.rjust(w) for one, w in zip(cells, widths[1:], strict=True))]
            echo("  ".join((*aligned, note)).rstrip())
    else:
        for one in shown:
            for line in _block(summary, one):
                echo(line)
    if len(summary.ranked) > _PRINTED:
        echo(f"and {len(summary.ranked) - _PRINTED} others")
    echo(f"page  {page}")


def _lines(summary: Summary, one: Setting) -> list[list[str]]:
    """Format a setting: its figures, and its differences with their intervals."""
    values = [f"{say_value(metric, one.mean(metric.key))}{_mark(summary, one, metric)}" for metric in METRICS]
    differences = [_difference(summary, one, metric) for metric in METRICS]
    below = [["  Δ", *(f"{text}  " for text in differences), ""]] if any(differences) else []
    return [[one.name, *values, summary.note(one)], *below]


def _block(summary: Summary, one: Setting) -> Iterator[str]:
    """Format a setting with a line for each figure, where there is no room for a table."""
    note = summary.note(one)
    yield f"{one.name}{f': {note}' if note else ''}"
    for metric in METRICS:
        value = f"{say_value(metric, one.mean(metric.key))}{_mark(summary, one, metric)}"
        yield f"  {metric.short:<21} {value:>14}  {_difference(summary, one, metric)}".rstrip()


def _mark(summary: Summary, one: Setting, metric: Metric) -> str:
    return " *" if summary.is_marked(one, metric) else "  "


def _difference(summary: Summary, one: Setting, metric: Metric) -> str:
    found = summary.difference(one, metric)
    if found is None:
        return ""
    value, *interval = say_difference(metric, found)
    return f"{value} ({interval[0]})" if interval else value
