"""Rendering templates, styles, scripts and data into one self-contained file."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.pages import environment
from rota.results.report import wording

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Environment
    from numpy.typing import NDArray


#: Colours and dashes of lines, as in ``theme.js`` and ``charts.js``.
_COLOURS = 8
_DASHES = ((), (7, 3), (2, 2), (9, 3, 2, 3), (4, 4), (12, 4))


def write_page(path: Path, template: str, **context: Any) -> None:
    """Render a template to a file.

    Raises:
        OSError: the file cannot be written.
    """
    html = _environment().get_template(template).render(**context)
    path.write_text(html, encoding="utf-8", newline="\n")


def numbers(values: NDArray[Any], digits: int = 4) -> list[float]:
    """Convert an array for JSON, whole numbers without a fraction."""
    if np.issubdtype(values.dtype, np.integer):
        return values.tolist()  # type: ignore[no-any-return]
    rounded = np.round(values.astype(np.float64), digits).tolist()
    return [int(value) if value.is_integer() else value for value in rounded]


def run_mark(place: int) -> str:
    """Give a piece of a run's line as a background in CSS, with its colour and dash, as ``compare.js`` draws it."""
    colour, dash, at = f"var(--c{place % _COLOURS + 1})", _DASHES[place % len(_DASHES)], 0
    pieces = []
    for i, length in enumerate(dash):
        pieces.append(f"{'transparent' if i % 2 else colour} {at}px {at + length}px")
        at += length
    return f"repeating-linear-gradient(to right, {', '.join(pieces)})" if pieces else colour


@cache
def _environment() -> Environment:
    made = environment("rota.results.report")
    for word in (wording.duration, wording.count, wording.decimal, wording.percent, wording.points):
        made.filters[word.__name__] = word
    return made
