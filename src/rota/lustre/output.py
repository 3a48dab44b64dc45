"""What a command prints, as it prints it, within a time limit. No shell is asked."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rota.model import RotaError
from rota.programs import kill, pieces, start

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

#: Bytes of complaints that are kept.
_COMPLAINTS = 4096


class SourceError(RotaError):
    """A source of statistics cannot be read, or not to its end. The text is one line, with the source's name."""


def output(
    name: str, argv: Sequence[str], seconds: float, is_harmless: Callable[[str], bool] = lambda _: False
) -> Generator[bytes]:
    """Run a command and give its standard output in pieces.

    The command and all that it started are ended when the time is over, or when nobody reads on.

    Args:
        name: Of the source, for errors.
        argv: The command.
        seconds: How long it may take in all.
        is_harmless: Of a line on standard error: whether a command that also printed something did not fail by it.

    Raises:
        SourceError: It cannot be started, failed, or took too long. What it printed until then was given.
    """
    deadline = time.monotonic() + seconds
    try:
        process = start(argv)
    except OSError as error:
        raise SourceError(f"{name}: cannot run {argv[0]}: {error.strerror}") from error
    complaints = bytearray()
    printed = False
    try:
        with process:
            try:
                for is_complaint, piece in pieces(process, deadline):
                    if is_complaint:
                        complaints += piece[: _COMPLAINTS - len(complaints)]
                    else:
                        printed = True
                        yield piece
            finally:
                if process.poll() is None:
                    kill(process)
    except TimeoutError:
        raise SourceError(f"{name}: did not end within {seconds:g} s and was stopped") from None
    lines = complaints.decode("utf-8", "backslashreplace").splitlines()
    if process.returncode and not (printed and lines and all(map(is_harmless, lines))):
        said = "; ".join(lines) or "nothing on standard error"
        raise SourceError(f"{name}: exit status {process.returncode}: {said}")
