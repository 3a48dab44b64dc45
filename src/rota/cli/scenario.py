"""The arguments that several commands share: workload, machine, plugins, associations."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rota.cli.echo import echo
from rota.model import InputError
from rota.replays.driver import PASS_PER
from rota.replays.scenario import Scenario
from rota.replays.trace import ESTIMATES
from rota.workload import FILTERS
from rota.workload.transforms import RESAMPLED

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., object]")

_GIVEN = click.core.ParameterSource.COMMANDLINE
#: Options, with a value each, that do not change a result.
_ONLY_OUTPUT = frozenset({"--out", "--save-usage"})
_SETTINGS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set a key of slurm.conf or one option of it: bf_max_job_test=50, PriorityFlags-=FAIR_TREE, "
        '"PartitionName=long MaxTime=1-0", "NodeName=n[1-4] CPUs=8"; repeatable.',
    ),
    click.option(
        "--set-qos",
        "qos_settings",
        nargs=2,
        multiple=True,
        metavar="QOS KEY=VALUE",
        help="Set a limit or another key of a QOS: normal GrpTRES=cpu=500; repeatable.",
    ),
    click.option(
        "--set-assoc",
        "assoc_settings",
        nargs=2,
        multiple=True,
        metavar="WHO KEY=VALUE",
        help="The same of account=NAME or user=NAME,account=NAME: account=physics Fairshare=20; repeatable.",
    ),
)
_NODES: Callable[[Any], Any] = click.option(
    "--nodes", metavar="+N|-N[:like=NODE]", help="More or fewer nodes: in the largest partition, or like NODE."
)
_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--config", "config", type=click.Path(path_type=Path), help="slurm.conf of the machine."),
    click.option(
        "--procs", type=click.IntRange(1), help="Processors of the machine, in place of those in the log's header."
    ),
    click.option("--scheduler", help="Scheduler plugin.  [default: SchedulerType of --config, else sched/easy]"),
    click.option("--priority", help="Priority plugin.  [default: PriorityType of --config, else priority/basic]"),
    click.option("--plugin-dir", multiple=True, help="Directory with plugins; may be repeated."),
    *_SETTINGS,
    _NODES,
    click.option(
        "--strict",
        is_flag=True,
        help="Refuse a slurm.conf that asks for what rota does not model, and jobs that can never run.",
    ),
    click.option(
        "--associations",
        "associations",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Accounts, users and QOS: a sacctmgr dump or a script of sacctmgr commands; may be repeated.",
    ),
    click.option(
        "--usage",
        "usage",
        type=click.Path(path_type=Path),
        help="Their usage before the log begins, from --save-usage.",
    ),
    click.option("--node-failures", "node_failures", type=click.Path(path_type=Path), help="File of node failures."),
    click.option(
        "--reservations", "reservations", type=click.Path(path_type=Path), help="File of advance reservations."
    ),
    click.option("--filter", "filter", type=click.Choice(sorted(FILTERS)), help="Clean the workload first."),
    click.option("--from", "begin", metavar="TIME", help="Only jobs submitted from then on, with what ran and waited."),
    click.option(
        "--to", "end", metavar="TIME", help="Only jobs submitted before: a date, or D-HH:MM:SS after the start."
    ),
    click.option("--part", type=float, default=1.0, help="Only the first share of the log's time, such as 0.25."),
    click.option("--resample", type=click.Choice(RESAMPLED), help="Draw as many weeks of the log, with replacement."),
    click.option("--thin", type=float, default=1.0, help="Keep a share of the jobs, drawn by chance."),
    click.option("--load", type=float, default=1.0, help="Divide the times between submissions by this."),
    click.option(
        "--shorter", type=float, default=0.0, help="Share of the jobs that ask for little more time than they need."
    ),
    click.option("--seed", type=int, default=0, help="Another draw of --resample, --thin and --shorter."),
    click.option(
        "--think-time", is_flag=True, help="Submit jobs after the end of the one that they follow: SWF fields 17, 18."
    ),
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
    click.option(
        "--tolerate-faults",
        is_flag=True,
        help="Go on when a plugin misbehaves, and count; else the first fault ends it.",
    ),
    click.option("--time-zone", default="", help="Local time, such as Europe/Paris.  [default: the log's, else UTC]"),
)


def scenario_options(command: F) -> F:
    """Add the argument WORKLOAD and the options of a replay to a command; `read_scenario` takes their values."""
    return click.argument("workload")(_with_options(command))


def scenario_or_cluster(command: F) -> F:
    """Add the same, and ``--state``, to a command that is about a live cluster if no WORKLOAD is given: ``None``."""
    from rota.cli.live import state_option  # which `rota replay` need not load

    return click.argument("workload", required=False)(state_option(_with_options(command)))


def is_about_cluster(workload: str | None) -> bool:
    """Whether a command is about a live cluster.

    Raises:
        InputError: an option was given that is for the other kind.
    """
    context = click.get_current_context()
    for one in context.command.params:
        if one.name in {"workload", "job", "as_json"} or context.get_parameter_source(one.name or "") is not _GIVEN:
            continue
        if workload is None and one.name != "state":
            raise InputError("a live cluster is as it is: leave it out, or name a WORKLOAD", field=one.opts[0])
        if workload is not None and one.name == "state":
            raise InputError("names a live cluster: leave it out, or WORKLOAD", field=one.opts[0])
    return workload is None


def keep_option(command: F) -> F:
    """Add ``--keep`` to a command about a moment; see `rota.replays.moment`."""
    option = click.option(
        "--keep",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="File of the moment --at: made if there is none, else the answer comes from it, without a replay.",
    )
    return option(command)


def required(at: str | None) -> str:
    """Give the value of ``--at``, which ``--keep`` needs."""
    if at is None:
        raise InputError("keeps a moment: say which with --at", field="--keep")
    return at


def nodes_option(command: F) -> F:
    """Add only ``--nodes``."""
    return _with_options(command, (_NODES,))


def setting_options(command: F) -> F:
    """Add only the options that change a configuration and associations."""
    return _with_options(command, _SETTINGS)


def _with_options(command: F, options: tuple[Callable[[Any], Any], ...] = _OPTIONS) -> F:
    return reduce(lambda fn, option: option(fn), reversed(options), command)


def read_scenario(**words: Any) -> Scenario:
    """Read the files that the options name, and make a scenario.

    Raises:
        InputError: a file or an option cannot be used.
    """
    scenario = Scenario.from_files(**words, report=say)
    return scenario.using(provenance=replace(scenario.options.provenance, command=command_line()))


def say(message: str) -> None:
    """Print a message for the user to standard error."""
    echo(f"rota: {message}", err=True)


def command_line() -> str:
    """Give the command line, without options that only say where and how the result is told."""
    context = click.get_current_context(silent=True)
    words = iter([] if context is None else context.find_root().obj or [])
    kept = []
    for word in words:
        if word in _ONLY_OUTPUT:
            next(words, None)
        elif word != "--json" and word.partition("=")[0] not in _ONLY_OUTPUT:
            kept.append(word)
    return shlex.join(["rota", *kept]) if kept else ""
