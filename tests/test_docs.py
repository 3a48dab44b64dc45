"""Every plugin that the documentation shows is complete and works as it stands."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from rota.interfaces import APIS, REQUIRED_IDENTITY

ROOT = Path(__file__).parent.parent
CODE = [
    (page.relative_to(ROOT), code)
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for code in re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
]
SHOWN = [
    pytest.param(code, id=f"{page}-{code.partition(':')[0].strip(chr(34))}")
    for page, code in CODE
    if "plugin_type" in code
]
GLOSSARY = ROOT / "docs" / "concepts" / "glossary.md"


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


@pytest.mark.slow
def test_the_replay_in_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = (code for page, code in CODE if page.name == "README.md" and "import rota\n" in code)
    exec(code, {})  # noqa: S102 - ours
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "sched/builtin",
        "sched/easy",
        "sched/conservative",
    ]


def test_the_glossary_is_in_order_and_the_pages_link_to_the_words_that_are_ours() -> None:
    terms = re.findall(r"^([^\W_][^\n]*)\n  (\*\(rota\)\*)?", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    names = [name for name, _ in terms]
    assert len(names) > 40
    assert names == sorted(names, key=lambda name: re.sub("[^a-z]", "", name.lower()))
    pages = " ".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md") if page != GLOSSARY)
    links = {" ".join(link.split()) for link in re.findall(r"\{term\}`([^`]*)`", pages)}
    linked = {link.partition("<")[2].rstrip(">") or link for link in links}
    assert {name for name, ours in terms if ours} <= linked


def _prose(page: Path) -> str:
    """Give what is no code."""
    text = re.sub(r"^(```|~~~).*?^\1", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(`+)[^`].*?\1", "", text, flags=re.DOTALL)


def test_options_are_set_as_code() -> None:
    """Else their two hyphens become a dash, as in –time-min."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = {page.name: re.findall(r"(?<![-\w])--[a-z][-a-z]*", _prose(page)) for page in pages}
    assert not {page: words for page, words in found.items() if words}


def test_the_start_page_has_a_picture_and_a_door_for_each_kind_of_reader() -> None:
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"^!\[.+\]\((.+)\)$", page, re.MULTILINE) == ["_static/compare.png"]
    doors = re.findall(r"^(You .+)\n: .*\[", page, re.MULTILINE)
    assert doors == ["You run a cluster", "You compare policies", "You write a policy"]
