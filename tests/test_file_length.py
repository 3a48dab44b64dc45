"""A file of over 400 lines says why it is not split."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MOST = 400
REASON = re.compile(rf"^Over {MOST} lines: \S.*\.$", re.MULTILINE)


def long_files() -> list[Path]:
    files = [path for folder in ("src", "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path.relative_to(ROOT) for path in files if path.read_bytes().count(b"\n") > MOST]


@pytest.mark.parametrize("path", long_files(), ids=str)
def test_a_long_file_gives_its_reason(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse((ROOT / path).read_text(encoding="utf-8"))) or ""
    assert REASON.search(docstring)
