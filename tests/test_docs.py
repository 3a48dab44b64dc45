"""Every plugin that the documentation shows is complete and works as it stands."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from rota.interfaces import APIS, REQUIRED_IDENTITY

ROOT = Path(__file__).parent.parent
SHOWN = [
    pytest.param(code, id=f"{page.relative_to(ROOT)}-{code.partition(':')[0].strip(chr(34))}")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for code in re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if "plugin_type" in code
]


def test_there_are_plugins_to_check() -> None:
    assert len(SHOWN) >= len(APIS)


@pytest.mark.parametrize("code", SHOWN)
def test_a_plugin_of_the_documentation_is_complete(code: str) -> None:
    plugin: dict[str, Any] = {}
    exec(code, plugin)  # noqa: S102 - ours
    for name, kind in REQUIRED_IDENTITY.items():
        assert isinstance(plugin[name], kind)
    for symbol in APIS[plugin["plugin_type"].partition("/")[0]].symbols:
        inspect.signature(plugin[symbol.name]).bind(*range(symbol.arity))
