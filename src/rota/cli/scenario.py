"""The arguments that several commands share: workload, machine, plugins, associations."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace as with_changes
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rota.config.keys import KNOWN_KEYS
from rota.config.plugins import PluginTypes, plugin_dirs, plugin_types
from rota.model import InputError
from rota.replay.driver import PASS_PER
from rota.replay.failures import read_failures
from rota.replay.reservation_file import read_reservations
from rota.replay.run import ReplayOptions
from rota.replay.trace import ESTIMATES
from rota.results.usage_file import read_usage
from rota.store.history import read_history
from rota.store.location import is_state
from rota.workload import FILTERS, bundled, bundled_names, read_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rota.accounting import AssociationTree
    from rota.model import ClusterConfig
    from rota.workload import Workload

F = TypeVar("F", bound="Callable[..., object]")

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--config", "config_file", type=click.Path(path_type=Path), help="slurm.conf of the machine."),
    click.option("--scheduler", help="Scheduler plugin.  [default: SchedulerType of --config, else sched/easy]"),
    click.option("--priority", help="Priority plugin.  [default: PriorityType of --config, else priority/basic]"),
    click.option("--plugin-dir", multiple=True, help="Directory with plugins; may be repeated."),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set a key of slurm.conf; repeatable."),
    click.option(
        "--associations",
        "association_files",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Accounts, users and QOS: a sacctmgr dump or a script of sacctmgr commands; may be repeated.",
    ),
    click.option(
        "--usage",
        "usage_file",
        type=click.Path(path_type=Path),
        help="Their usage before the log begins, from --save-usage.",
    ),
    click.option("--node-failures", "failure_file", type=click.Path(path_type=Path), help="File of node failures."),
    click.option(
        "--reservations", "reservation_file", type=click.Path(path_type=Path), help="File of advance reservations."
    ),
    click.option("--filter", "filter_name", type=click.Choice(sorted(FILTERS)), help="Clean the workload first."),
    click.option(
        "--estimate",
        type=click.Choice(ESTIMATES),
        default="requested",
        show_default=True,
        help="Time limits: as requested, or the actual run times, as if users knew.",
    ),
    click.option(
        "--pass-per",
        type=click.Choice(PASS_PER),
        default="instant",
        show_default=True,
        help="A scheduling pass after each event, or after all events of a second.",
    ),
    click.option("--time-zone", default="", help="Local time, such as Europe/Paris.  [default: the log's, else UTC]"),
)


def scenario_options(command: F) -> F:
    """Add the argument WORKLOAD and the options of a replay to a command; `read_scenario` takes their values."""
    return click.argument("workload")(_with_options(command))


def scenario_or_cluster(command: F) -> F:
    """Add the same to a command that is about the live cluster if no WORKLOAD is given: ``None``."""
    return click.argument("workload", required=False)(_with_options(command))


def _with_options(command: F) -> F:
    return reduce(lambda fn, option: option(fn), reversed(_OPTIONS), command)


@dataclass(slots=True)
class Scenario:
    """A workload, the machine on which it is replayed, and the options of the replay."""

    log: Workload
    config: ClusterConfig
    options: ReplayOptions


def read_scenario(
    *,
    workload: str,
    config_file: Path | None,
    scheduler: str | None,
    priority: str | None,
    plugin_dir: tuple[str, ...],
    settings: tuple[str, ...],
    association_files: tuple[Path, ...],
    usage_file: Path | None,
    failure_file: Path | None,
    reservation_file: Path | None,
    filter_name: str | None,
    estimate: str,
    pass_per: str,
    time_zone: str,
) -> Scenario:
    """Read the files that the options name, and make a scenario.

    Raises:
        InputError: a file or an option cannot be used.
    """
    recorded, default = None, PluginTypes(ReplayOptions.scheduler, ReplayOptions.priority, ReplayOptions.select)
    if is_state(Path(workload)):
        log, recorded = read_history(Path(workload))
        default = default._replace(sched="sched/backfill")  # as live
    else:
        log = _read_workload(workload)
    config = _configure(log, config_file, settings, recorded)
    if filter_name is not None:
        log = FILTERS[filter_name](log, sum(node.cpus for node in config.nodes))
        if not len(log):
            raise InputError(f"--filter {filter_name} leaves no job", path=workload)
    configured = plugin_types(config, default)
    options = ReplayOptions(
        scheduler=scheduler or configured.sched,
        priority=priority or configured.priority,
        select=configured.select,
        plugin_dir=[*plugin_dir, *_configured_dirs(config)],
        estimate=estimate,
        pass_per=pass_per,
        associations=_read_associations(association_files, config, named=config_file is not None),
        usage=None if usage_file is None else read_usage(usage_file),
        reservations=() if reservation_file is None else read_reservations(reservation_file, config),
        failures=() if failure_file is None else read_failures(failure_file, [node.name for node in config.nodes]),
        time_zone=time_zone,
        label=_label(
            settings,
            node_failures=None if failure_file is None else failure_file.name,
            reservations=None if reservation_file is None else reservation_file.name,
            filter=filter_name,
            estimate=None if estimate == "requested" else estimate,
            pass_per=None if pass_per == "instant" else pass_per,
        ),
        report=say,
    )
    return Scenario(log, config, options)


def say(message: str) -> None:
    """Print a message for the user to standard error."""
    click.echo(f"rota: {message}", err=True)


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        say(f"warning: {warning}")


def _read_workload(name: str) -> Workload:
    """Read a file or, if there is none of this name, a bundled log."""
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


def _configure(
    log: Workload, config_file: Path | None, settings: tuple[str, ...], recorded: ClusterConfig | None
) -> ClusterConfig:
    """Make the configuration: slurm.conf, else the live cluster's, else the processors in the log's header."""
    if config_file is not None:
        from rota.config import read_slurm_conf

        loaded = read_slurm_conf(config_file)
        _warn(loaded.warnings)
        config = loaded.config
    elif recorded is not None:
        config = recorded
    else:
        from rota.config import interchangeable

        if log.procs is None:
            raise InputError(
                "the header names neither MaxProcs nor MaxNodes: describe the machine with --config", path=log.source
            )
        config = interchangeable(log.procs)
    return with_settings(config, settings, _warn_of_key)


def _warn_of_key(key: str) -> None:
    say(f"warning: --set {key}: no key of slurm.conf; nothing reads it")


def with_settings(config: ClusterConfig, settings: tuple[str, ...], unknown: Callable[[str], object]) -> ClusterConfig:
    """Set keys of slurm.conf.

    Args:
        config: The configuration.
        settings: The values of ``--set``.
        unknown: Is called with each key that slurm.conf does not have.

    Raises:
        InputError: a setting is not KEY=VALUE.
    """
    parsed = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise InputError(f"{setting!r} is not KEY=VALUE", field="--set")
        if key.strip().lower() not in KNOWN_KEYS:
            unknown(key.strip())
        parsed[key.strip().lower()] = value.strip()
    places = {key: place for key, place in config.places.items() if key not in parsed}
    return with_changes(config, parameters={**config.parameters, **parsed}, places=places)


def _configured_dirs(config: ClusterConfig) -> list[str]:
    """Give the directories of ``PluginDir`` that exist."""
    warnings: list[str] = []
    found = plugin_dirs(config, warnings)
    _warn(warnings)
    return found


def _read_associations(paths: tuple[Path, ...], config: ClusterConfig, *, named: bool) -> AssociationTree | None:
    if not paths:
        return None
    from rota.sacctmgr import read_associations

    loaded = read_associations(paths, config.cluster_name if named else None)
    _warn(loaded.warnings)
    return loaded.tree


def _label(settings: tuple[str, ...], **others: str | None) -> str:
    """Describe the options that are not at their defaults."""
    return " ".join([*settings, *(f"{name}={value}" for name, value in others.items() if value)])
