"""Evaluates the command lines of Slurm's commands that only read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError
from rota.listings.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rota.listings.view import View

    #: Takes the words after the command's name, the environment and the view.
    Command = Callable[[Sequence[str], Mapping[str, str], View], Answer]


def _command(name: str) -> Command | None:
    """Import the function that evaluates a command."""
    if name == "squeue":
        from rota.listings.squeue import squeue as found
    elif name == "sinfo":
        from rota.listings.sinfo import sinfo as found
    elif name == "scontrol":
        from rota.listings.scontrol import scontrol as found
    elif name == "sacct":
        from rota.listings.sacct import sacct as found
    elif name == "sprio":
        from rota.listings.sprio import sprio as found
    elif name == "sshare":
        from rota.listings.sshare import sshare as found
    elif name == "sacctmgr":
        from rota.listings.sacctmgr import sacctmgr as found
    elif name == "sreport":
        from rota.listings.sreport import sreport as found
    elif name == "sdiag":
        from rota.listings.sdiag import sdiag as found
    elif name == "sstat":
        from rota.listings.sstat import sstat as found
    else:
        return None
    return found


def every(argv: Sequence[str]) -> int:
    """Give the seconds after which a command line is to be answered again and again; 0: once is enough.

    Raises:
        UsageError: the command line is refused.
    """
    if argv[0] == "squeue":
        from rota.listings.squeue import every as found
    elif argv[0] == "sinfo":
        from rota.listings.sinfo import every as found
    else:
        return 0
    return found(argv[1:])


def run(argv: Sequence[str], environ: Mapping[str, str], view: View) -> Answer:
    """Evaluate a command line.

    Args:
        argv: The words of the command line; the first is the command's name.
        environ: The environment of the user who asks.
        view: The cluster, as of now.
    """
    name = argv[0].rpartition("/")[2] if argv else ""
    command = _command(name)
    if command is None:
        return Answer(err=f"{name}: error: rota has no such command\n", code=1)
    try:
        return command(argv[1:], environ, view)
    except UsageError as error:
        return Answer(error.out, error.err, error.code)
