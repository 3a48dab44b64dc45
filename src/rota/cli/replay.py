"""``rota replay WORKLOAD``: schedule a recorded workload in virtual time."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import replace as with_changes
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rota.config.keys import KNOWN_KEYS
from rota.model import InputError
from rota.replay.driver import PASS_PER
from rota.replay.run import ReplayOptions
from rota.replay.run import replay as run_replay
from rota.replay.tape import ESTIMATES
from rota.workload import FILTERS, bundled, bundled_names, read_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rota.model import ClusterConfig
    from rota.replay.result import ReplayResult
    from rota.workload import Workload


@click.command()
@click.argument("workload")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="slurm.conf of the machine.")
@click.option("--scheduler", help="Scheduler plugin.  [default: SchedulerType of --config, else sched/easy]")
@click.option("--priority", help="Priority plugin.  [default: PriorityType of --config, else priority/basic]")
@click.option("--plugin-dir", multiple=True, help="Directory with plugins; may be repeated.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set a slurm.conf key; may be repeated.")
@click.option("--filter", "filter_name", type=click.Choice(sorted(FILTERS)), help="Clean the workload first.")
@click.option(
    "--estimate",
    type=click.Choice(ESTIMATES),
    default="requested",
    show_default=True,
    help="Time limits: as requested, or the actual run times, as if users knew.",
)
@click.option(
    "--pass-per",
    type=click.Choice(PASS_PER),
    default="instant",
    show_default=True,
    help="A scheduling pass after each event, or after all events of a second.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for schedule.swf.gz, jobs.parquet, report.html.")
@click.option("--check", is_flag=True, help="Check the engine's invariants at the end.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def replay(  # noqa: PLR0917 - an option each
    workload: str,
    config_file: Path | None,
    scheduler: str | None,
    priority: str | None,
    plugin_dir: tuple[str, ...],
    settings: tuple[str, ...],
    filter_name: str | None,
    estimate: str,
    pass_per: str,
    out: Path | None,
    check: bool,
    as_json: bool,
) -> None:
    """Schedule a recorded workload in virtual time.

    WORKLOAD is a file in the Standard Workload Format, gzipped or not, or the name of one that comes with rota:
    KTH-SP2.
    """
    if out is not None:
        from rota.replay.store import check_out

        check_out(out)
    log = _read_workload(workload)
    config = _configure(log, config_file, settings)
    if filter_name is not None:
        log = FILTERS[filter_name](log, sum(node.cpus for node in config.nodes))
        if not len(log):
            raise InputError(f"--filter {filter_name} leaves no job", path=workload)
    options = ReplayOptions(
        scheduler=scheduler or config.get("SchedulerType", ReplayOptions.scheduler),
        priority=priority or config.get("PriorityType", ReplayOptions.priority),
        plugin_dir=[*plugin_dir, *(part for part in config.get("PluginDir").split(":") if part)],
        estimate=estimate,
        pass_per=pass_per,
        check=check,
        label=_label(settings, filter_name, estimate, pass_per),
        report=_say,
    )
    with _progress(show=sys.stderr.isatty()) as options.progress:
        result = run_replay(log, config, options)
    if out is not None:
        _write(result, log, out)
    if as_json:
        click.echo(json.dumps(result.summary.as_dict()))
    else:
        _print_summary(result, out)


def _say(message: str) -> None:
    """Tell the user something that is no result."""
    click.echo(f"rota: {message}", err=True)


def _read_workload(name: str) -> Workload:
    """Read a file or, when there is none of that name, a bundled log."""
    path = Path(name)
    if not path.exists():
        path = bundled(name) or path
    try:
        return read_workload(path)
    except InputError as error:
        if path.exists():
            raise
        names = ", ".join(bundled_names())
        raise InputError(f"{error.problem} (logs that come with rota: {names})", path=path) from None


def _configure(log: Workload, config_file: Path | None, settings: tuple[str, ...]) -> ClusterConfig:
    """Find out what the machine is: slurm.conf's nodes, or the processors that the log's header names."""
    if config_file is not None:
        from rota.config import read_slurm_conf

        loaded = read_slurm_conf(config_file)
        for warning in loaded.warnings:
            _say(f"warning: {warning}")
        config = loaded.config
    else:
        from rota.config import interchangeable

        if log.procs is None:
            raise InputError(
                "the header names neither MaxProcs nor MaxNodes: describe the machine with --config", path=log.source
            )
        config = interchangeable(log.procs)
    return with_changes(config, parameters={**config.parameters, **_parse_settings(settings)})


def _parse_settings(settings: tuple[str, ...]) -> dict[str, str]:
    parsed = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise InputError(f"{setting!r} is not KEY=VALUE", field="--set")
        if key.strip().lower() not in KNOWN_KEYS:
            _say(f"warning: --set {key.strip()}: no key of slurm.conf; nothing reads it")
        parsed[key.strip().lower()] = value.strip()
    return parsed


def _label(settings: tuple[str, ...], filter_name: str | None, estimate: str, pass_per: str) -> str:
    """Say what is not the default."""
    parts = [*settings]
    if filter_name:
        parts.append(f"filter={filter_name}")
    if estimate != "requested":
        parts.append(f"estimate={estimate}")
    if pass_per != "instant":
        parts.append(f"pass_per={pass_per}")
    return " ".join(parts)


@contextmanager
def _progress(*, show: bool) -> Iterator[Callable[[int, int], object] | None]:
    """Show a progress bar on a terminal."""
    if not show:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("jobs submitted", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _write(result: ReplayResult, log: Workload, out: Path) -> None:
    from rota.replay.export import scheduled_workload
    from rota.replay.store import write_result
    from rota.workload import write_swf

    write_result(result, out, swf=partial(write_swf, scheduled_workload(log, result)))


def _print_summary(result: ReplayResult, out: Path | None) -> None:
    """Print the figures for people."""
    summary = result.summary
    submitted = len(result.schedule)
    rows = [
        ("workload", f"{result.workload}, {result.machine_procs:,} processors"),
        ("policy", " ".join(part for part in (result.scheduler, result.priority, result.options) if part)),
        ("jobs", f"{summary.jobs:,}" + (f" of {submitted:,}" if summary.jobs != submitted else "")),
        ("mean wait", f"{summary.mean_wait_s:,.0f} s"),
        ("longest wait", f"{summary.max_wait_s:,} s"),
        ("mean bounded slowdown", f"{summary.mean_bounded_slowdown:,.2f}"),
        ("makespan", f"{summary.makespan_s:,} s ({summary.makespan_s / 86400:,.1f} days)"),
        ("utilisation", f"{summary.utilisation:.2%}"),
        ("events, passes", f"{summary.events:,}, {summary.passes:,}"),
        ("took", f"{summary.wall_s:.2f} s, {summary.us_per_job:.1f} µs a job"),
    ]
    if out is not None:
        rows.append(("report", str(out / "report.html")))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {value}")
