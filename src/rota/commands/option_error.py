"""The error about one option of a command."""

from __future__ import annotations


class OptionError(ValueError):
    """An option that cannot be used.

    Args:
        option: The option, as it is written: ``--nodes``, ``StartTime``.
        problem: What is wrong with it.
    """

    def __init__(self, option: str, problem: str) -> None:
        super().__init__(problem)
        self.option = option
