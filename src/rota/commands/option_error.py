"""The error about one option of a command."""

from __future__ import annotations

from enum import Enum


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


class OptionError(ValueError):
    """An option that cannot be used.

    Args:
        option: The option, as it is written: ``--nodes``, ``StartTime``.
        problem: What is wrong with it.
        kind: The kind of problem.
        name: Its long name, if that is not the option without dashes.
        value: Its value, as far as it is known.
    """

    def __init__(
        self, option: str, problem: str, kind: Problem = Problem.VALUE, *, name: str = "", value: str = ""
    ) -> None:
        super().__init__(problem)
        self.option = option
        self.kind = kind
        self.name = name or option.lstrip("-")
        self.value = value
