"""How commands print: no text that somebody else wrote does anything to the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rota.model.printable import printable_lines

if TYPE_CHECKING:
    from rich.text import Text


def echo(text: str = "", *, nl: bool = True, err: bool = False) -> None:
    r"""Print a text; what is not for printing is shown, as ``\x1b``.

    Args:
        text: One line, or several.
        nl: Whether a line feed follows.
        err: Whether it goes to standard error.
    """
    click.echo(printable_lines(text), nl=nl, err=err)


def shown(text: str, style: str = "") -> Text:
    """Make a text for a console of `rich`, as `echo` prints it."""
    from rich.text import Text

    return Text(printable_lines(text), style)
