"""Reading the JSON files of a result: one error message for all that can be wrong with them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def reading(what: str, stored: dict[str, Any], marked: str, path: Path) -> Iterator[None]:
    """Turn errors within the block into ones that name the file and say what to do.

    Args:
        what: What the file contains, such as ``history of plans``.
        stored: Content of the file.
        marked: The format that it must have.
        path: Path of the file.

    Raises:
        InputError: it has another format, or a field is missing or cannot be used.
    """
    if stored.get("format") != marked:
        raise InputError(f"not the {what}: format is not {marked}: replay again", path=path)
    try:
        yield
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        problem = f"{error} is missing" if isinstance(error, KeyError) else str(error).splitlines()[0]
        raise InputError(f"not the {what}: {problem}: replay again", path=path) from error
