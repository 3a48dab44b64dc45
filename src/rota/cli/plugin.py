"""`rota plugin`: list, show and check plugins.

``list`` and ``show`` read files without running them. ``check`` runs the plugin's module, as loading it would, but not
its ``init``. With ``--json``, candidates are described by the keys of `rota.loader.describe`:

========= ===============================================================================================
command   keys of its object
========= ===============================================================================================
``list``  ``plugin_dir`` (list of directories), ``plugins`` (candidates, by type, then in search order)
``show``  ``type``, ``chosen`` (``where`` of the one used, or null), ``functions`` (of the one used: ``name``,
          ``signature``, ``optional``, ``in_source``; null when none is), ``candidates``
``check`` ``type``, ``where``, ``file``, ``ok``, ``executed`` (whether its module was run), ``spoken``,
          ``problems``, ``warnings``, ``functions`` (names of those it has, without ``init`` and ``fini``)
========= ===============================================================================================
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from rota.cli.echo import echo, shown
from rota.interfaces import APIS
from rota.loader import PluginHost, PluginRefusedError, SearchPath, Source, State, candidate_from_file, load
from rota.loader.describe import describe, describe_functions
from rota.loader.negotiate import format_range, version_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.text import Text

    from rota.loader import Selection, Verdict

#: Style of each state on a terminal.
STYLES = {State.CHOSEN: "green", State.LOST: "dim", State.REJECTED: "red"}
#: Width of tables where the output is no terminal.
PIPED_WIDTH = 100


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    directories = click.option(
        "--plugin-dir",
        metavar="DIRS",
        default="",
        help="Directories of plugins, colon-separated, searched before the installed and the built-in ones.",
    )
    return directories(click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command))


@click.group()
def plugin() -> None:
    """List, show and check plugins."""


@plugin.command("list")
@_options
def list_plugins(plugin_dir: str, as_json: bool) -> None:
    """List every plugin that can be found, without running any.

    Of several plugins of one type, the one with the highest common API version is chosen, then the highest minor
    revision, then the first in search order.
    """
    selections = PluginHost(plugin_dir).survey()
    if as_json:
        found = [describe(verdict, APIS) for selection in selections for verdict in selection.verdicts]
        directories = [str(directory) for directory in SearchPath.of(plugin_dir).directories]
        _print_json({"plugin_dir": directories, "plugins": found})
        return
    console = _console()
    console.print(_table(selections))
    for api in APIS.values():
        for other, used in api.instead.items():
            console.print(f"{other} of Slurm: {used} is used for it")


@plugin.command("show")
@click.argument("plugin_type", metavar="TYPE")
@_options
def show_plugin(plugin_type: str, plugin_dir: str, as_json: bool) -> None:
    """Show all plugins of one TYPE, such as sched/easy, without running any."""
    selection = PluginHost(plugin_dir).select(plugin_type)
    chosen = selection.chosen
    functions = describe_functions(chosen.candidate, APIS[plugin_type.partition("/")[0]]) if chosen else None
    if as_json:
        candidates = [describe(verdict, APIS) for verdict in selection.verdicts]
        where = chosen.candidate.where if chosen else None
        _print_json({"type": plugin_type, "chosen": where, "functions": functions, "candidates": candidates})
        return
    console = _console()
    for verdict in selection.verdicts:
        console.print(_card(verdict))
        if verdict is chosen:
            for one in functions or ():
                console.print(shown(f"  {one['signature']}{_remark(one)}"))
        console.print()


def _remark(function: dict[str, Any]) -> str:
    if function["in_source"]:
        return ""
    return "  (optional, and not there)" if function["optional"] else "  (imported, or missing)"


@plugin.command("check")
@click.argument("target", metavar="TYPE_OR_FILE")
@_options
@click.pass_context
def check_plugin(ctx: click.Context, target: str, plugin_dir: str, as_json: bool) -> None:
    """Load a plugin and check that it has every function that its API requires.

    This runs the plugin's module, but not its init(). A plugin that is rejected without being run is not run.
    TYPE_OR_FILE is a file if it ends in ".py". The exit status is 0 if the plugin can be used and 1 if it cannot.
    """
    verdict = _verdict_on(target, plugin_dir)
    result = _check(verdict)
    if as_json:
        _print_json(result)
    else:
        _print_check(result)
    ctx.exit(0 if result["ok"] else 1)


def _verdict_on(target: str, plugin_dir: str) -> Verdict:
    """Find the plugin to check: the one chosen for its type or, if there is none, the first in search order."""
    host = PluginHost(plugin_dir)
    if target.endswith(".py"):
        candidate = candidate_from_file(Path(target))
        return host.judge(candidate.plugin_type, [candidate]).verdicts[0]
    selection = host.select(target)
    return selection.chosen or selection.verdicts[0]


def _check(verdict: Verdict) -> dict[str, Any]:
    candidate, problems, functions = verdict.candidate, verdict.problems, []
    executed = verdict.state is not State.REJECTED
    if executed:
        try:
            loaded = load(candidate, verdict.spoken or 0)
        except PluginRefusedError as exc:
            problems = exc.problems
        else:
            functions = sorted(loaded.functions)
            loaded.close(echo)
    return {
        "type": candidate.plugin_type,
        "where": candidate.where,
        "file": None if candidate.path is None else str(candidate.path),
        "ok": not problems,
        "executed": executed,
        "spoken": verdict.spoken,
        "problems": list(problems),
        "warnings": list(verdict.warnings),
        "functions": functions,
    }


def _print_check(result: dict[str, Any]) -> None:
    """Print the result: a line with the verdict, then one for each problem and warning."""
    echo(f"{result['type']} ({result['where']})")
    for problem in result["problems"]:
        echo(f"  problem: {problem}")
    for warning in result["warnings"]:
        echo(f"  warning: {warning}")
    if result["ok"]:
        echo(f"  good: every function can be called as documented; API {result['spoken']}; init() was not called")
    elif not result["executed"]:
        echo("  not run: mend this first, its functions were not looked at")


def _console() -> Console:
    """Make a console that writes plain text of a fixed width unless it is a terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    return console


def _print_json(data: dict[str, Any]) -> None:
    echo(json.dumps(data, indent=2))


def _table(selections: Iterable[Selection]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("TYPE", "VERSION", "API", "SPOKEN", "STATE"):
        table.add_column(heading, no_wrap=True)
    table.add_column("NAME, WHERE AND WHY", overflow="fold")
    for selection in selections:
        for verdict in selection.verdicts:
            table.add_row(*_row(verdict))
    return table


def _row(verdict: Verdict) -> tuple[Text, ...]:
    candidate, identity = verdict.candidate, verdict.candidate.identity
    lines = [identity.plugin_name] if identity else []
    lines.append("built-in" if candidate.source is Source.BUILT_IN else candidate.where)
    lines += [] if verdict.state is State.CHOSEN else [verdict.why]
    lines += verdict.warnings
    return (
        shown(candidate.plugin_type),
        shown(_version(verdict)),
        shown(_api_range(verdict)),
        shown("-" if verdict.spoken is None else str(verdict.spoken)),
        shown(verdict.state.value, STYLES[verdict.state]),
        shown("\n".join(lines)),
    )


def _card(verdict: Verdict) -> Table:
    """Lay out all that is known of one candidate."""
    candidate, identity = verdict.candidate, verdict.candidate.identity
    rows = {
        "type": candidate.plugin_type,
        "name": identity.plugin_name if identity else "-",
        "about": candidate.summary or "-",
        "where": f"{candidate.where} ({candidate.source})",
        "version": _version(verdict),
        "built for": identity.plugin_release if identity and identity.plugin_release else "any release",
        "speaks API": f"{_api_range(verdict)}; spoken: {'-' if verdict.spoken is None else verdict.spoken}",
        "state": f"{verdict.state}: {verdict.why}",
        "warnings": "\n".join(verdict.warnings),
    }
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in rows.items():
        if value:
            table.add_row(shown(label, "dim"), shown(value, STYLES[verdict.state] if label == "state" else ""))
    return table


def _version(verdict: Verdict) -> str:
    identity = verdict.candidate.identity
    return "-" if identity is None or identity.plugin_version is None else str(identity.plugin_version)


def _api_range(verdict: Verdict) -> str:
    identity = verdict.candidate.identity
    return "-" if identity is None else format_range(*version_range(identity))
