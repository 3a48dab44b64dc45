"""Rendering templates, styles, scripts and data into one self-contained file."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.results.report import wording

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Environment
    from markupsafe import Markup
    from numpy.typing import NDArray

_PACKAGE = "rota.results.report"
_UPLOT = "vendor/uplot/uPlot.iife.min.js"


def write_page(path: Path, template: str, **context: Any) -> None:
    """Render a template to a file.

    Raises:
        OSError: the file cannot be written.
    """
    html = _environment().get_template(template).render(**context)
    path.write_text(html, encoding="utf-8", newline="\n")


def script_json(data: Any) -> Markup:
    """Give data as JSON that is safe inside of a script element."""
    from markupsafe import Markup

    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    safe = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return Markup(safe)  # noqa: S704 - it cannot end the element


def numbers(values: NDArray[Any], digits: int = 4) -> list[float]:
    """Convert an array for JSON, whole numbers without a fraction."""
    if np.issubdtype(values.dtype, np.integer):
        return values.tolist()  # type: ignore[no-any-return]
    rounded = np.round(values.astype(np.float64), digits).tolist()
    return [int(value) if value.is_integer() else value for value in rounded]


@cache
def _environment() -> Environment:
    """Make the Jinja environment: with escaping, and undefined names are errors."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader(_PACKAGE)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals["asset"] = _asset
    environment.globals["uplot"] = _uplot
    environment.filters["script_json"] = script_json
    for word in (wording.duration, wording.count, wording.decimal, wording.percent, wording.points):
        environment.filters[word.__name__] = word
    return environment


def _read(name: str) -> str:
    return files(_PACKAGE).joinpath(name).read_text(encoding="utf-8")


def _asset(name: str) -> Markup:
    """Inline a style or script of this package."""
    from markupsafe import Markup

    return Markup(_read(name))  # noqa: S704 - our own file


def _uplot() -> Markup:
    """Inline uPlot with its licence in place of its banner, which only links to it."""
    from markupsafe import Markup

    code = _read(_UPLOT).split("*/", 1)[1]
    return Markup(f"/*! uPlot\n{_read('vendor/uplot/LICENSE')}\n*/{code}")  # noqa: S704 - our own files
