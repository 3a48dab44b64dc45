"""The environment of the templates: with escaping, and with styles, scripts and data inlined."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_SHARED = "rota.pages"


@cache
def environment(package: str) -> Environment:
    """Make the environment of a package's templates; undefined names are errors.

    Templates have ``asset(name)``, which inlines a file of the package or, if it has none of that name, of this one;
    ``uplot()``, which inlines uPlot with its licence; and the filter ``script_json``.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def asset(name: str) -> Markup:
        own = files(package).joinpath(name)
        return Markup(own.read_text(encoding="utf-8") if own.is_file() else _read(name))  # noqa: S704 - our own files

    made = Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.globals["asset"] = asset
    made.globals["uplot"] = _uplot
    made.filters["script_json"] = script_json
    return made


def script_json(data: Any) -> Markup:
    """Give data as JSON that is safe inside of a script element."""
    from markupsafe import Markup

    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    safe = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return Markup(safe)  # noqa: S704 - it cannot end the element


def _read(name: str) -> str:
    return files(_SHARED).joinpath(name).read_text(encoding="utf-8")


def _uplot() -> Markup:
    """Inline uPlot with its licence in place of its banner, which only links to it."""
    from markupsafe import Markup

    code = _read("vendor/uplot/uPlot.iife.min.js").split("*/", 1)[1]
    return Markup(f"/*! uPlot\n{_read('vendor/uplot/LICENSE')}\n*/{code}")  # noqa: S704 - our own files
