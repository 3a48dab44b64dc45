"""The command line: finding and running a command, and reporting its failure.

Exit status, for every command:

=== =============================================================================================================
0   done
1   a defect of rota, with a traceback; or the reader of the output has closed it
2   the user's input cannot be used: one line says what is wrong, where and why; or a plugin misbehaves in a replay
130 interrupted (Ctrl-C)
=== =============================================================================================================

Commands are used in shell loops and completions, so start-up must be fast: this module imports nothing but click.
"""

from __future__ import annotations

import os
import platform
import sys
import traceback
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import click

from rota import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence


class Command(NamedTuple):
    """A command: the module and name of its function, and its line of ``rota --help``, for which it is not imported."""

    module: str
    attribute: str
    help: str


#: Every command, in the order of the help text.
COMMANDS: dict[str, Command] = {
    "replay": Command("rota.cli.replay", "replay", "Schedule a recorded workload in virtual time."),
    "explain": Command("rota.cli.explain", "explain", "Say why a job is pending and what its priority is made of."),
    "plan": Command("rota.cli.plan", "plan", "Show the plan of one backfill cycle at a given time."),
    "forecast": Command("rota.cli.forecast", "forecast", "Say when the jobs that wait on a live cluster will start."),
    "whatif": Command("rota.cli.whatif", "whatif", "Compare a live cluster's queue under another policy or machine."),
    "compare": Command("rota.cli.compare", "compare", "Put the results of several replays side by side."),
    "sweep": Command("rota.cli.sweep", "sweep", "Replay a workload many times, and show what makes a difference."),
    "up": Command("rota.cli.live", "up", "Start a live cluster on this machine."),
    "status": Command("rota.cli.live", "status", "Show a live cluster."),
    "env": Command("rota.cli.live", "env", "Put Slurm's commands for a live cluster on the path."),
    "down": Command("rota.cli.live", "down", "Stop a live cluster."),
    "recover": Command("rota.cli.recover", "recover", "Save what can be saved of a live cluster that was damaged."),
    "http": Command("rota.cli.http", "http", "Serve a live cluster over HTTP."),
    "token": Command("rota.cli.http", "token", "Make a token for HTTP."),
    "unit": Command("rota.cli.live", "unit", "Print a systemd unit that keeps a live cluster up."),
    "iostat": Command("rota.cli.iostat", "iostat", "Show who loads a Lustre file system, as top does."),
    "jobstats": Command("rota.cli.jobstats", "jobstats", "Read what each job does to a Lustre file system."),
    "lustre-sim": Command("rota.cli.lustre_sim", "lustre_sim", "Simulate the statistics of a Lustre file system."),
    "plugin": Command("rota.cli.plugin", "plugin", "List, show and check plugins."),
}


class LazyGroup(click.Group):
    """A group of commands whose modules are imported when a command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command."""
        command = COMMANDS.get(cmd_name)
        if command is None:
            return None
        found = getattr(import_module(command.module), command.attribute)
        if not isinstance(found, click.Command):
            raise TypeError(f"{command.module}:{command.attribute} is not a click command")
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", message="rota %(version)s")
def cli() -> None:
    """Run a workload manager whose every policy is a Python plugin."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        args: The arguments after the program's name; ``None``: those of this process.

    Returns:
        The exit status: see the top of this module.
    """
    # Nothing here multiplies large matrices, for which numpy would start a thread on each processor.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        words = list(sys.argv[1:] if args is None else args)
        status = cli.main(words, prog_name="rota", standalone_mode=False, obj=words)
        sys.stdout.flush()  # here, where a closed pipe can still be handled
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("rota: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # As the Python documentation recommends: the interpreter flushes again when it exits, which must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001 - the one place where everything ends up
        return _report(error)
    return status if isinstance(status, int) else 0


def _report(error: Exception) -> int:
    """Report an error: in one line if it is the user's, with a traceback if it is a defect of rota."""
    from rota.model import InvariantError, PluginFaultError, RotaError

    if isinstance(error, PluginFaultError):
        if error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        print(f"rota: error: {' '.join(str(error).splitlines())}", file=sys.stderr)
        print("rota: the replay ends here; --tolerate-faults goes on with rota's default, FIFO", file=sys.stderr)
        return 2
    if isinstance(error, RotaError) and not isinstance(error, InvariantError):
        print(f"rota: error: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return 2
    traceback.print_exception(error)
    print(
        "rota: this is a defect of rota, not of your input. Please report it with the text above and the command.\n"
        f"rota: version {__version__}, Python {platform.python_version()}, {platform.platform()}",
        file=sys.stderr,
    )
    return 1
