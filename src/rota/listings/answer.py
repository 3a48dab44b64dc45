"""What a command answers."""

from __future__ import annotations

from typing import NamedTuple

#: What ``--version`` prints: the release whose behaviour rota has.
VERSION = "slurm-wlm 22.05.8"


class Answer(NamedTuple):
    """The output of a command."""

    #: Text for standard output, and for standard error.
    out: str = ""
    err: str = ""
    #: The exit code.
    code: int = 0
