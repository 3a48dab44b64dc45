"""What a command answers."""

from __future__ import annotations

from typing import NamedTuple

#: The release of Slurm whose behaviour rota has, and what ``--version`` prints.
RELEASE = "22.05.8"
VERSION = f"slurm {RELEASE}"


class Answer(NamedTuple):
    """The output of a command."""

    #: Text for standard output, and for standard error.
    out: str = ""
    err: str = ""
    #: The exit code.
    code: int = 0
