"""The file of a sweep, in TOML: options of ``rota replay`` without their dashes, those of the search, and a table.

::

    workload = "month.swf.gz"
    config = "slurm.conf"
    set = ["bf_interval=60"]
    search = "grid"

    [vary]
    bf_max_job_test = [50, 100, 500]
    PriorityWeightAge = "0:10000:2000"
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rota.model import InputError
from rota.sweep.axes import Axis, make_axis, read_values

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What the file says."""

    path: Path
    lines: tuple[str, ...]
    #: Options by name, without dashes, as TOML gives them.
    options: dict[str, Any]
    axes: tuple[Axis, ...]

    def error(self, problem: str, name: str) -> InputError:
        """Make an error about an option."""
        return InputError(problem, path=self.path, line=_line_of(self.lines, name), field=name)


def read_spec(path: Path) -> Spec:
    """Read the file.

    Raises:
        InputError: it cannot be read, is no TOML, or has a wrong axis; the message names the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", path=path) from None
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        line = int(where[1]) if where else len(text.splitlines())
        problem = str(error)[: where.start()] if where else str(error)
        raise InputError(f"is no TOML: {problem}", path=path, line=line) from None
    vary = told.pop("vary", {})
    spec = Spec(path=path, lines=tuple(text.splitlines()), options=told, axes=())
    if not isinstance(vary, dict):
        raise spec.error("is no table: write [vary], and a line for each parameter below it", "vary")
    axes = []
    for name, values in vary.items():
        try:
            axes.append(make_axis(name, _values(values, name), name))
        except InputError as error:
            raise spec.error(error.problem, name) from None
    return Spec(path=path, lines=spec.lines, options=told, axes=tuple(axes))


def _values(values: object, name: str) -> list[str]:
    """Read the values of an axis: a list, or text as ``--vary`` takes it."""
    if isinstance(values, str):
        return read_values(values, name)
    listed = values if isinstance(values, list) else [values]
    wrong = next((one for one in listed if isinstance(one, dict | list) or one == ""), None)
    if wrong is not None:
        raise InputError(f"{wrong!r} is no value: write numbers and texts", field=name)
    return [_text(one) for one in listed]


def _text(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _line_of(lines: tuple[str, ...], name: str) -> int | None:
    """Find the line of a key, from 1."""
    key = re.compile(rf"""\s*(\[\s*)?["']?{re.escape(name)}["']?\s*[=\]]""")
    return next((number for number, line in enumerate(lines, start=1) if key.match(line)), None)
