"""Reading back what a replay has stored as JSON: one message for all that can be wrong with it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def reading(what: str, stored: dict[str, Any], marked: str, path: Path) -> Iterator[None]:
    """Have errors within the block name the file, and say what to do.

    Args:
        what: ``history of plans``.
        stored: The file's content.
        marked: What its ``format`` has to be.
        path: Where it was read.

    Raises:
        InputError: it has another format, or the block came upon a field that is missing or cannot be used.
    """
    if stored.get("format") != marked:
        raise InputError(f"not the {what}: format is not {marked}: replay again", path=path)
    try:
        yield
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        problem = f"{error} is missing" if isinstance(error, KeyError) else str(error).splitlines()[0]
        raise InputError(f"not the {what}: {problem}: replay again", path=path) from error
