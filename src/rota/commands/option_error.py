"""The error about one option of a command."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from rota.commands.slurm_messages import MESSAGES

if TYPE_CHECKING:
    from rota.model import Errno

#: Exit status for options that cannot be used, and for those that Slurm notices while it reads a number.
USAGE, FAILURE = 255, 1


class Problem(Enum):
    """What is wrong with an option."""

    #: There is no such option.
    UNKNOWN = "unknown"
    #: It is an abbreviation of several; the text names them.
    AMBIGUOUS = "ambiguous"
    #: It needs a value, and has none.
    NO_VALUE = "no value"
    #: It has a value, and takes none.
    UNWANTED_VALUE = "unwanted value"
    #: Its value cannot be used, or contradicts another option.
    VALUE = "value"


class WordedError(ValueError):
    """A value that Slurm's commands refuse in words of their own.

    Args:
        lines: What they print, without the command's name and ``error:``.
        status: Their exit status.
        errno: What the controller answers, if it is the controller that refuses the value.
        own: What rota has to say besides.
        heading: What they print before, as it is.
        listed: What they print on standard output instead: the values that there are.
    """

    def __init__(
        self,
        *lines: str,
        status: int = USAGE,
        errno: Errno | None = None,
        own: str = "",
        heading: str = "",
        listed: str = "",
    ) -> None:
        super().__init__(own or "; ".join(lines) or (MESSAGES[errno] if errno else (heading or listed).strip()))
        self.lines = lines
        self.status = status
        self.errno = errno
        self.own = own
        self.heading = heading
        self.listed = listed


class OptionError(ValueError):
    """An option that cannot be used.

    Args:
        option: The option, as it is written: ``--nodes``, ``StartTime``.
        problem: What is wrong with it.
        kind: The kind of problem.
        name: Its long name, if that is not the option without dashes.
        worded: Slurm's words about it, unless they are those about most options.
    """

    def __init__(
        self,
        option: str,
        problem: str,
        kind: Problem = Problem.VALUE,
        *,
        name: str = "",
        worded: WordedError | None = None,
    ) -> None:
        super().__init__(problem)
        self.option = option
        self.kind = kind
        self.name = name or option.lstrip("-")
        self.worded = worded
