"""Every plugin that rota shows, in its documentation or among its examples, runs as it stands and without a word."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .conftest import JOBS

if TYPE_CHECKING:
    from .conftest import Rota

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = ROOT / "examples" / "plugins"


def documented() -> dict[str, str]:
    """Give the code of every plugin in the documentation, by page and type."""
    found = {}
    for page in PAGES:
        for code in re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            said = re.search(r'^plugin_type = "([^"]+)"$', code, re.MULTILINE)
            if said:
                found[f"{page.name} {said[1]}"] = code
    return found


def assert_runs(rota: Rota, log: Path, directory: Path, plugin_type: str) -> None:
    chosen = [{"sched": "--scheduler", "priority": "--priority"}.get(plugin_type.partition("/")[0], ""), plugin_type]
    if plugin_type.startswith("select/"):
        conf = directory.parent / "slurm.conf"
        conf.write_text(
            f"SelectType={plugin_type}\nSelectTypeParameters=CR_Core\n"
            "NodeName=n[1-128] CPUs=1\nPartitionName=main Nodes=ALL Default=YES\n"
        )
        chosen = ["--config", str(conf)]
    for pass_per in ("event", "instant"):
        options = (*chosen, "--plugin-dir", directory, "--pass-per", pass_per)
        outcome = rota("replay", log, *options, "--check", "--json")
        assert (outcome.status, outcome.err) == (0, "")
        assert json.loads(outcome.out)["jobs"] == JOBS


@pytest.mark.parametrize("name", documented())
def test_documented(name: str, rota: Rota, small_log: Path, plugins: Path) -> None:
    plugin_type = name.rsplit(maxsplit=1)[-1]
    (plugins / f"{plugin_type.replace('/', '_')}.py").write_text(documented()[name])
    assert_runs(rota, small_log, plugins, plugin_type)


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*_*.py")))
def test_example(name: str, rota: Rota, small_log: Path, plugins: Path) -> None:
    # Copied, since a checkout may be writable by others, and such a plugin is rightly refused.
    (plugins / f"{name}.py").write_bytes((EXAMPLES / f"{name}.py").read_bytes())
    assert_runs(rota, small_log, plugins, name.replace("_", "/", 1))


def test_what_slurm_calls_otherwise_is_named(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    """`select/linear` works, and was named nowhere."""
    assert "select/linear of Slurm: select/cons_tres is used for it" in rota("plugin", "list").out
    conf = tmp_path / "slurm.conf"
    conf.write_text("SelectType=select/foo\nNodeName=n[1-2] CPUs=8\nPartitionName=p Nodes=ALL Default=YES\n")
    problem = rota("replay", small_log, "--config", conf).problem
    assert problem.endswith("there is select/cons_tres, select/none, select/linear, select/cons_res, select/cray_aries")
