"""``rota whatif``: a live cluster's queue under another policy, other weights or another machine."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rota.cli.echo import echo
from rota.cli.forecast import print_table, say_faults, told_learned
from rota.cli.live import ask, state_option
from rota.cli.scenario import nodes_option, say, setting_options
from rota.config import with_settings
from rota.config.doubts import idle, idle_limits
from rota.config.local_time import system_utc_offset
from rota.config.more_nodes import with_nodes
from rota.config.plugins import plugin_types
from rota.controller.accounting.difference import difference
from rota.core.events import UpdateNode, UpdatePartition
from rota.forecast.comparison import COMPARED, WITHIN, compare
from rota.forecast.futures import deadline, run_futures
from rota.forecast.present import Present
from rota.listings.clock import Clock, duration
from rota.model import InputError
from rota.model.counts import counted
from rota.replays.files import changed_associations
from rota.runtime.boot import LIVE_PLUGINS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rota.core import Engine
    from rota.core.job import Job
    from rota.forecast.comparison import Change, Comparison
    from rota.forecast.run_times import Learned
    from rota.model import ClusterConfig

#: By what jobs can be grouped.
_GROUPS: dict[str, Callable[[Job], str]] = {
    "user": attrgetter("user_name"),
    "account": attrgetter("spec.account"),
    "partition": attrgetter("partition.name"),
}
#: Number of jobs that are listed.
_LISTED = 10
_LEGEND = (
    "\nWaits are of the jobs that start under both. 95 %: the interval of the change over the futures; * marks where "
    "it excludes none. More --seconds make it narrower."
)
_ONE_FUTURE = "\nThere was time for one future: what differs may be chance. More --seconds look at others."


@click.command()
@state_option
@click.option("--scheduler", help="Another scheduler plugin.")
@click.option("--priority", help="Another priority plugin.")
@click.option("--plugin-dir", multiple=True, help="Directory with plugins; may be repeated.")
@setting_options
@nodes_option
@click.option("--by", type=click.Choice(sorted(_GROUPS)), help="Show the waits by user, account or partition too.")
@click.option("--seconds", type=click.FloatRange(0.1), default=2.0, show_default=True, help="How long it may take.")
@click.option("--futures", type=click.IntRange(1), help="Look at so many futures, however long it takes.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON; times are seconds.")
def whatif(
    *,
    state: Path | None,
    scheduler: str | None,
    priority: str | None,
    plugin_dir: tuple[str, ...],
    settings: tuple[str, ...],
    qos_settings: tuple[tuple[str, str], ...],
    assoc_settings: tuple[tuple[str, str], ...],
    nodes: str | None,
    by: str | None,
    seconds: float,
    futures: int | None,
    as_json: bool,
) -> None:
    """Compare what becomes of the live cluster's queue under its policy, and under another one.

    Both are run ahead from now, with the same run times and the same new jobs, drawn from those of the past. Nothing
    changes for the cluster. New nodes are like the last one of the largest partition, or like NODE; the last ones are
    those that are taken away.
    """
    until = deadline(seconds)
    present = Present.read(ask("present", state=state))
    other = _changed(
        present.config,
        scheduler=scheduler,
        priority=priority,
        plugin_dir=plugin_dir,
        settings=settings,
        nodes=nodes,
    )
    if other == present.config and not (qos_settings or assoc_settings):
        raise InputError("nothing is to change: name --scheduler, --priority, --set or --nodes", field="whatif")
    with ExitStack() as stack:
        faults: list[str] = []
        engines = [present.engine(stack, config, faults.append) for config in (present.config, other)]
        _change_associations(engines[1], qos_settings, assoc_settings)
        _change_states(engines[1], present.config, other)
        if (other.parameters, other.partitions) != (present.config.parameters, present.config.partitions):
            engines[1].ask_priorities()
        run_times, arrivals = present.run_times(engines[0]), present.arrivals(engines[0])
        outcomes = run_futures(engines, run_times, present.now, arrivals=arrivals, count=futures, until=until)
        pairs = [(one, two) for one, two in outcomes]
        found = compare(engines[0], pairs, present.now, _GROUPS[by] if by else None)
    say_faults(faults, [one for pair in pairs for one in pair])
    if as_json:
        record = {"now": present.now, "futures": len(pairs), "learned_from": run_times.learned._asdict()}
        echo(json.dumps({**record, "within": WITHIN, **asdict(found)}))
    else:
        _print(found, len(pairs), by, present.now, run_times.learned)


def _changed(
    config: ClusterConfig,
    *,
    scheduler: str | None,
    priority: str | None,
    plugin_dir: tuple[str, ...],
    settings: tuple[str, ...],
    nodes: str | None,
) -> ClusterConfig:
    """Make the other configuration.

    Raises:
        InputError: a setting cannot be used.
    """
    changed = _with_settings(config, settings, [one for one in (scheduler, priority) if one])
    parameters = dict(changed.parameters)
    if plugin_dir:
        if missing := next((one for one in plugin_dir if not Path(one).is_dir()), None):
            raise InputError("no such directory", path=missing, field="--plugin-dir")
        absolute = [str(Path(one).absolute()) for one in plugin_dir]
        parameters["plugindir"] = ":".join([*absolute, *filter(None, [changed.get("PluginDir")])])
    parameters |= {"schedulertype": scheduler} if scheduler else {}
    parameters |= {"prioritytype": priority} if priority else {}
    if nodes:
        changed = with_nodes(changed, nodes)
    changed = replace(changed, parameters=parameters)
    for warning in idle(settings, plugin_types(changed, LIVE_PLUGINS)):
        say(f"warning: {warning}")
    return changed


def _with_settings(config: ClusterConfig, settings: Sequence[str], plugins: Sequence[str]) -> ClusterConfig:
    if not settings:
        return config
    loaded = with_settings(config, settings, plugins)
    for warning in loaded.warnings:
        say(f"warning: {warning}")
    return loaded.config


def _change_associations(
    engine: Engine, qos_settings: Sequence[tuple[str, str]], assoc_settings: Sequence[tuple[str, str]]
) -> None:
    tree = engine.view.tree
    other = changed_associations(tree, qos_settings, assoc_settings)
    if other is None or other is tree:
        return
    engine.handle(difference(tree, other, uid=0, user="root"), engine.view.now)
    for warning in idle_limits(qos_settings, assoc_settings, engine.view.config):
        say(f"warning: {warning}")


def _change_states(engine: Engine, before: ClusterConfig, after: ClusterConfig) -> None:
    """Set the states of nodes and partitions that were changed: the engine has kept those of the live cluster."""
    nodes = {node.name: node.state for node in before.nodes}
    partitions = {one.name: one.state for one in before.partitions}
    for node in after.nodes:
        if node.state is not nodes.get(node.name, node.state):
            engine.handle(UpdateNode(name=node.name, state=node.state), engine.view.now)
    for one in after.partitions:
        if one.state is not partitions.get(one.name, one.state):
            engine.handle(UpdatePartition(name=one.name, state=one.state), engine.view.now)


def _print(found: Comparison, futures: int, by: str | None, now: int, learned: Learned) -> None:
    if not found.jobs:
        echo("No job waits.")
        return
    many = "" if futures == 1 else "s"
    echo(f"{counted(found.jobs, 'One job waits', '{} jobs wait')}. On average over {futures:,} future{many}:\n")
    if found.reached is not None:
        ahead = duration(found.reached - now)
        echo(f"There was time to look {ahead} ahead; more --seconds look further.\n")
    if found.lost:
        echo(f"{found.lost:,} of them start under the present policy, and never under the other one.\n")
    if found.gained:
        echo(f"{found.gained:,} of them start under the other policy, and never under the present one.\n")
    print_table([("", "now", "what if", "change", "95 %"), *_lines(found)], frozenset({1, 2, 3, 4}))
    echo(_LEGEND if futures > 1 else _ONE_FUTURE)
    echo(told_learned(learned, Clock(now, system_utc_offset).moment))
    if by and found.groups:
        rows = [
            (name, f"{count:,}", _time(one), _time(two), _change(change.mean), _interval(change))
            for name, (count, one, two, change) in found.groups.items()
        ]
        echo()
        print_table([(by, "jobs", "mean wait", "what if", "change", "95 %"), *rows], frozenset({1, 2, 3, 4, 5}))
    changed = [one for one in found.differences if one.other != one.present][:_LISTED]
    if changed:
        jobs = [(one.job, one.name, one.user, _change(one.change.mean), _interval(one.change)) for one in changed]
        echo()
        print_table([("job", "name", "user", "starts", "95 %"), *jobs], frozenset({0, 3, 4}))


def _lines(found: Comparison) -> Iterator[tuple[str, str, str, str, str]]:
    present, other = found.present, found.other
    for name in COMPARED:
        if (change := found.changes.get(name)) is not None:
            label = name.replace("_", " ").replace("max", "longest")
            one, two = getattr(present, name), getattr(other, name)
            yield label, _time(one), _time(two), _change(change.mean), _interval(change)
    for within, one, two in zip(WITHIN, present.started_within, other.started_within, strict=True):
        if one is not None or two is not None:
            more = "" if one is None or two is None else f"{two - one:+,.1f}"
            yield f"started within {duration(within)}", _jobs(one), _jobs(two), more, ""
    if present.not_started or other.not_started:
        one, two = present.not_started, other.not_started
        label = "not started" if found.reached is None else "not started by then"
        yield label, _jobs(one), _jobs(two), f"{two - one:+,.1f}", ""


def _interval(change: Change) -> str:
    """Format an interval, with a star where it excludes no change."""
    if change.low is None or change.high is None:
        return ""
    return f"{_change(change.low)} to {_change(change.high)}{' *' if change.is_marked else '  '}"


def _jobs(count: float | None) -> str:
    return "not known" if count is None else f"{count:,.1f}"


def _time(seconds: float) -> str:
    return duration(round(seconds))


def _change(seconds: float) -> str:
    rounded = round(seconds)
    return f"{'-' if rounded < 0 else '+'}{duration(abs(rounded))}" if rounded else "0"
