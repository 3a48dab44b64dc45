"""``rota jobstats lookup``: ask a scheduler about jobs, by the ids that a file system has recorded.

With ``--json``, it prints one object:

=========== ===============================================================================================
``plugin``  the plugin that was asked, ``auto`` where each id was judged by its form
``jobs``    metadata by id; its fields are described in docs/plugins/jobmeta.md
``unknown`` ids that their scheduler does not know
``refused`` ids that no plugin has, or not the one that was asked; nobody was asked about them
``failed``  ids whose lookup failed
``faults``  why lookups failed, a sentence each
=========== ===============================================================================================
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rota.cli.echo import echo

if TYPE_CHECKING:
    from rota.jobmeta import Answers

#: Fields of the table, in their order; those that nothing has are left out.
COLUMNS = ("plugin", "user", "account", "name", "partition", "state", "host")


@click.command()
@click.argument("plugin")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--plugin-dir",
    metavar="DIRS",
    default="",
    help="Directories of plugins, colon-separated, searched before the installed and the built-in ones.",
)
@click.option("--variable", default="", help="Lustre's jobid_var, a hint for PLUGIN auto.")
@click.option("--format", "jobid_name", default="", help="Lustre's jobid_name, such as %j@%u@%H.")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=10.0, show_default=True, help="Seconds per command.")
@click.option(
    "--from",
    "recorded",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Read what a command of the scheduler has printed from a file, and run none.",
)
@click.pass_context
def lookup(
    ctx: click.Context,
    *,
    plugin: str,
    ids: tuple[str, ...],
    as_json: bool,
    plugin_dir: str,
    variable: str,
    jobid_name: str,
    timeout: float,
    recorded: Path | None,
) -> None:
    """Look up jobs by their IDs with a PLUGIN, such as slurm_job_id.

    With PLUGIN auto each ID is judged by its form. `rota plugin list` names the plugins. Ids that begin with "-" go
    behind "--". The exit status is 1 if a lookup failed; that a scheduler does not know an id is no failure.
    """
    from rota.jobmeta import Lookups

    with Lookups(plugin_dir, variable=variable, jobid_name=jobid_name, timeout=timeout, report=_report) as lookups:
        if recorded is None:
            answers = lookups.lookup(ids, None if plugin == "auto" else plugin)
        elif plugin == "auto":
            raise click.UsageError("--from needs the name of the plugin whose text it is, not auto")
        else:
            answers = lookups.read(_text(recorded), ids, plugin)
    if as_json:
        found = {name: value for name, value in asdict(answers).items() if name != "pending"}
        echo(json.dumps({"plugin": plugin, **found}, indent=2))
    else:
        _print(answers)
    ctx.exit(1 if answers.failed else 0)


def _report(fault: str) -> None:
    echo(f"rota: {fault}", err=True)


def _text(path: Path) -> str:
    from rota.model import InputError

    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text(errors="replace")
    except OSError as exc:
        raise InputError(exc.strerror or str(exc), path=path) from exc


def _print(answers: Answers) -> None:
    """Print a table of what is known, and a line for each id of which nothing is."""
    columns = [name for name in COLUMNS if any(name in job for job in answers.jobs.values())]
    if answers.jobs:
        rows = [["id", *columns]]
        rows += [[job_id, *(str(job.get(name, "-")) for name in columns)] for job_id, job in answers.jobs.items()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            echo("  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip())
    for remark, ids in (
        ("not known to its scheduler", answers.unknown),
        ("not an id of this scheduler: nobody was asked", answers.refused),
        ("could not be looked up", answers.failed),
    ):
        for job_id in ids:
            echo(f"{json.dumps(job_id, ensure_ascii=False)}: {remark}")
