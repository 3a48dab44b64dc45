"""Files of usage, from one replay to the next: ``--save-usage`` and ``--usage``."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rota.model import InputError
from rota.workload.files import write_bytes

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class UsageFile:
    """Saved usage, and the file from which it was read."""

    path: Path
    #: Usage as given by `Usage.save`.
    data: dict[str, Any]
    text: str

    def blame(self, error: InputError) -> InputError:
        """Add file and line to an error about the data."""
        key = re.search(rf'^\s*"{error.field}"', self.text, re.MULTILINE)
        line = None if key is None else self.text.count("\n", 0, key.end()) + 1
        return InputError(error.problem, path=self.path, line=line, field=error.field)


def read_usage(path: Path) -> UsageFile:
    """Read a file of usage.

    Raises:
        InputError: the file cannot be read, or is not such a file.
    """
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from None
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise InputError("is no JSON, and so not what --save-usage writes", path=path, line=line) from None
    if not isinstance(data, dict):
        raise InputError("is not what --save-usage writes", path=path)
    return UsageFile(path, data, text)


def write_usage(path: Path, usage: dict[str, Any]) -> None:
    """Write a file of usage, as given by `Usage.save`; the file is replaced atomically.

    Raises:
        InputError: the file cannot be written.
    """
    write_bytes(path, (json.dumps(usage, indent=1) + "\n").encode())
