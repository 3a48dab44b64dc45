"""What is stored changes its shape with the version of the database alone.

`shapes.txt` has the fields of all records that are stored, with their types and defaults; fields at their defaults are
left out of what is stored. A rota that finds a field that it does not know cannot read the record: so with each change
`rota.store.schema.VERSION` is raised, older rotas refuse the database, and a migration changes what is stored.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import MISSING
from difflib import unified_diff
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from rota.controller.run import Run
from rota.core.events import EVENTS
from rota.core.plain import Record, shape_of
from rota.core.snapshot import FORMAT
from rota.model import ClusterConfig
from rota.model.accounting import AccountingRecord
from rota.model.mail import Letter
from rota.model.submission import Submission
from rota.store.schema import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHAPES = Path(__file__).with_name("shapes.txt")
_STORED = (AccountingRecord, Run, Submission, Letter, ClusterConfig, *EVENTS.values())
_WHAT_TO_DO = f"""
What is stored has another shape than version {VERSION} of the database says.
 1. Raise VERSION in src/rota/store/schema.py.
 2. Write src/rota/store/migrations/version_N.py, even if it has nothing to change, and add it to MIGRATIONS.
 3. Record a database of the version before: tests/store/recorded/record.py.
 4. Write the shapes anew: python {Path(*_SHAPES.parts[-3:-1], "test_shapes.py")}
"""


def _describe() -> str:
    """Describe all records that are stored."""
    lines = [f"version {VERSION}", f"snapshots of format {FORMAT}"]
    kinds = {kind for stored in _STORED for kind in _within(stored)}
    for kind in sorted(kinds, key=lambda kind: (kind.__name__, kind.__module__)):
        lines += ["", kind.__name__, *(f"  {line}" for line in _fields(kind))]
    return "\n".join(lines) + "\n"


def _within(hint: Any) -> Iterator[type]:
    """Give the records and enumerations in a type and, for records, in the types of their fields."""
    parts = get_args(hint)
    if isinstance(hint, type) and (issubclass(hint, Enum) or isinstance(shape_of(hint), Record)):
        yield hint
        parts = () if issubclass(hint, Enum) else tuple(get_type_hints(hint).values())
    for part in parts:
        yield from _within(part)


def _fields(kind: type) -> Iterator[str]:
    if issubclass(kind, Enum):
        yield ", ".join(map(str, sorted(one.value for one in kind)))
        return
    shape, hints = shape_of(kind), get_type_hints(kind)
    assert isinstance(shape, Record)
    for name, field in sorted(shape.fields.items()):
        default = shape._defaults[name]
        text = "" if default is MISSING else f" = {json.dumps(field.encode(default))}"
        yield f"{name}: {_text(hints[name])}{text}"


def _text(hint: Any) -> str:
    """Give a type without the modules of its classes."""
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else re.sub(r"\b[a-z_.]+\.", "", str(hint))


def test_shapes_change_with_the_version() -> None:
    recorded, found = _SHAPES.read_text().splitlines(), _describe().splitlines()
    changes = "\n".join(unified_diff(recorded, found, "recorded", "found", lineterm=""))
    assert not changes, f"{_WHAT_TO_DO}\n{changes}"


if __name__ == "__main__":
    if _SHAPES.read_text().startswith(f"version {VERSION}\n") and _SHAPES.read_text() != _describe():
        sys.exit(_WHAT_TO_DO)
    _SHAPES.write_text(_describe())
