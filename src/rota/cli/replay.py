"""``rota replay WORKLOAD``: schedule a recorded workload in virtual time."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rota.cli.echo import echo
from rota.cli.progress import progress
from rota.cli.scenario import read_scenario, scenario_options
from rota.model import InputError
from rota.replays.run import Replay
from rota.results.usage_file import write_usage

if TYPE_CHECKING:
    from rota.results.result import Result


@click.command()
@scenario_options
@click.option("--out", type=click.Path(path_type=Path), help="Folder for schedule.swf.gz, jobs.parquet, report.html.")
@click.option("--check", is_flag=True, help="Check the engine's invariants at the end.")
@click.option(
    "--until", metavar="TIME", help="Stop there and show the queue: 2022-01-01T12:00:00, or D-HH:MM:SS after the start."
)
@click.option(
    "--show",
    metavar="COMMANDS",
    help='At --until: squeue, sprio, sshare with their options, such as "squeue,sprio -l".  [default: squeue]',
)
@click.option("--save-usage", type=click.Path(path_type=Path), help="Write what associations have used, for --usage.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures, or what --show shows, as JSON.")
def replay(
    *,
    out: Path | None,
    check: bool,
    until: str | None,
    show: str | None,
    save_usage: Path | None,
    as_json: bool,
    **words: Any,
) -> None:
    """Schedule a recorded workload in virtual time.

    WORKLOAD is what sacct wrote (a file, or a folder of such files), a file in the Standard Workload Format, or an
    event file of sbatch lines, gzipped or not; or the name of a log that comes with rota: KTH-SP2.
    """
    if out is not None and until is not None:
        raise InputError("a result is of a whole replay: leave out one of the two", field="--out and --until")
    if show is not None and until is None:
        raise InputError("shows a moment: say which with --until", field="--show")
    commands = _commands(show or "squeue")
    if out is not None:
        from rota.results.store import check_out

        check_out(out)
    scenario = read_scenario(**words)
    scenario = scenario.using(check=check, history=out is not None)
    with progress("jobs submitted", show=sys.stderr.isatty()) as bar, Replay(scenario.using(progress=bar)) as run:
        if save_usage is not None and run.usage is None:
            raise InputError("no usage is kept: only priority plugins with fair-share do", field="--save-usage")
        run.run(None if until is None else run.moment(until))
        if until is not None:
            _show(commands, run, as_json=as_json)
        result = run.result() if until is None else None
        if save_usage is not None and run.usage is not None:
            write_usage(save_usage, run.usage)
    if result is None:
        return
    if out is not None:
        result.save(out, scenario.workload)
    if as_json:
        echo(json.dumps(result.summary.as_dict()))
    else:
        _print_summary(result, out)
    if (problem := run.shortfall(result)) is not None:
        raise problem


def _commands(show: str) -> list[str]:
    """Split and check ``--show`` before the replay, which may take long."""
    from rota.listings import check, split_commands

    commands = split_commands(show)
    for command in commands:
        check(command)
    return commands


def _show(names: list[str], run: Replay, *, as_json: bool) -> None:
    """Print listings, each after its command line if there are several."""
    from rota.inspect.view import EngineView
    from rota.listings import check, render, to_json

    if run.usage is None and "sshare" in map(check, names):
        raise InputError(
            "no usage is kept: use a plugin with fair-share, --priority priority/multifactor", field="sshare"
        )
    view = EngineView(run.engine.view)
    if as_json:
        echo(json.dumps({name: [_strict(one) for one in to_json(name, view)] for name in names}, default=str))
        return
    listings = [render(name, view) for name in names]  # all are made before the first is printed, as one may fail
    for number, (name, text) in enumerate(zip(names, listings, strict=True)):
        if len(names) > 1:
            echo(f"{chr(10) if number else ''}$ {name}")
        echo(text, nl=False)


def _strict(record: dict[str, Any]) -> dict[str, Any]:
    """Replace an infinite LevelFS by text, as sshare shows it: JSON has no such number."""
    return {key: str(value) if value == math.inf else value for key, value in record.items()}


def _print_summary(result: Result, out: Path | None) -> None:
    """Print the summary as text."""
    rows = result.figures()
    if out is not None:
        rows.append(("report", str(out / "report.html")))
        if result.schedule.compared.any():
            rows.append(("calibration", str(out / "calibration.html")))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        echo(f"{name:<{width}}  {value}")
