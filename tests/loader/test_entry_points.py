"""Plugins of installed packages: real metadata, real modules, nothing imported to find them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from rota.loader import PluginHost, PluginRefusedError, Source, entry_points
from rota.loader.discover import SearchPath, discover

if TYPE_CHECKING:
    from pathlib import Path

    from rota.loader import Candidate

    from .conftest import Install

MODULE = """
from rota.interfaces.stubs.priority import *
plugin_type = "priority/mine"
plugin_name = "mine"
plugin_version = 100
"""


def find(plugin_type: str = "priority/mine") -> Candidate:
    (candidate,) = discover(SearchPath(), plugin_type)
    return candidate


def test_a_module_is_found_and_loaded(install: Install) -> None:
    path = install("my_module", MODULE, "priority/mine = my_module")
    candidate = find()
    assert candidate.source is Source.ENTRY_POINT
    assert candidate.path == path
    assert candidate.where == 'entry point "priority/mine" of my-dist: my_module'
    with PluginHost() as host:
        assert host.load("priority/mine").plugin_name == "mine"


def test_they_can_be_left_out(install: Install) -> None:
    install("my_module", MODULE, "priority/mine = my_module")
    assert discover(SearchPath.of(entry_points=False), "priority/mine") == []


def test_finding_imports_neither_module_nor_package(install: Install) -> None:
    install("my_pkg.__init__", "raise SystemExit")
    install("my_pkg.deep.mine", MODULE + "raise SystemExit", "priority/mine = my_pkg.deep.mine")
    assert not find().problems
    assert not any(name.startswith("my_pkg") for name in sys.modules)


def test_a_module_keeps_its_package_and_is_fresh_each_time(install: Install) -> None:
    install("my_pkg.__init__", "imported = True")
    install("my_pkg.common", "NAME = 'common'")
    code = MODULE + "from . import imported\nfrom .common import NAME\nimport my_pkg.common\ncalls = []\n"
    install("my_pkg.mine", code, "priority/mine = my_pkg.mine")
    with PluginHost() as host:
        one, other = host.load("priority/mine"), host.load("priority/mine")
        assert one.container.NAME == "common"  # type: ignore[attr-defined]
        assert one.container.calls is not other.container.calls  # type: ignore[attr-defined]
        assert one.container.__name__ != other.container.__name__  # type: ignore[attr-defined]
        assert "my_pkg.mine" not in sys.modules


def test_a_package_has_fresh_submodules_too(install: Install) -> None:
    install("my_pkg.part", "calls = []")
    install("my_pkg.__init__", MODULE + "from .part import calls", "priority/mine = my_pkg")
    before = set(sys.modules)
    with PluginHost() as host:
        one, other = host.load("priority/mine"), host.load("priority/mine")
        assert one.container.calls is not other.container.calls  # type: ignore[attr-defined]
    assert not any("rota_plugin_" in name for name in set(sys.modules) - before)


def test_a_package_that_fails_to_import(install: Install) -> None:
    path = install("my_pkg.__init__", "1 / 0")
    install("my_pkg.mine", MODULE, "priority/mine = my_pkg.mine")
    with PluginHost() as host, pytest.raises(PluginRefusedError, match="ZeroDivisionError"):
        host.load("priority/mine")
    assert path.exists()


OBJECT = """
from rota.interfaces.stubs import priority as stubs
class Mine:
    plugin_type = "priority/mine"
    plugin_name = "an object"
    plugin_version = 100
    def priority_p_set(self, last_prio, job_ptr): return 1
    def priority_p_reconfig(self): ...
    def priority_p_set_max_cluster_usage(self, procs, half_life): return 0
    def priority_p_set_assoc_usage(self, assoc): ...
    @staticmethod
    def priority_p_get_priority_factors_list(req_msg): return None
plugin = Mine()
"""


@pytest.mark.parametrize("attr", ["Mine", "plugin"])
def test_an_object(install: Install, attr: str) -> None:
    install("my_module", OBJECT, f"priority/mine = my_module:{attr}")
    with PluginHost() as host:
        one, other = host.load("priority/mine"), host.load("priority/mine")
        assert one.container is not other.container
        assert one.functions["priority_p_set"](0, None) == 1


def test_an_object_that_is_not_there(install: Install) -> None:
    install("my_module", MODULE, "priority/mine = my_module:plugin")
    with PluginHost() as host, pytest.raises(PluginRefusedError, match="plugin: AttributeError"):
        host.load("priority/mine")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("priority/mine = nowhere", "there is no module nowhere"),
        ("priority/mine = my_module.deeper", "there is no module my_module.deeper"),
        ("priority/mine = math", "module math has no Python source file that could be looked at"),
        ("priority/mine = sys", "module sys has no Python source file that could be looked at"),
        ("priority/mine = my-module", "'my-module' is not a module's name"),
        ("priority/mine = ", "'' is not a module's name"),
    ],
)
def test_targets_that_cannot_be_looked_at(install: Install, line: str, problem: str) -> None:
    install("my_module", MODULE, line)
    assert find().problems == (problem,)


def test_the_name_must_be_the_type(install: Install) -> None:
    install("my_module", MODULE, "priority/other = my_module", "mine = my_module")
    assert find("priority/other").problems[0].startswith("plugin_type is 'priority/mine': the entry point must be")
    named = [one for one in discover(SearchPath()) if one.plugin_type == "mine"]
    assert "the entry point's name is wrong" in named[0].problems[0]


def test_a_broken_finder_is_a_problem_of_that_plugin_only(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def find_spec(self, name: str, path: object) -> None:
            raise RuntimeError("no")

    install("my_module", MODULE, "priority/mine = my_module")
    monkeypatch.setattr(sys, "meta_path", [Broken()])
    with pytest.raises(LookupError, match="looking for module my_module failed: RuntimeError: no"):
        entry_points.locate("my_module")


def test_the_order_is_that_of_distributions(install: Install) -> None:
    install("zz", MODULE, "priority/mine = zz", name="Zz.Dist")
    install("aa", MODULE, "priority/mine = aa", name="aa-dist")
    assert [one.module for one in discover(SearchPath(), "priority/mine")] == ["aa", "zz"]
    assert [one.distribution for one in entry_points.plugin_entry_points()] == ["aa-dist", "zz-dist"]


def test_without_any_the_slow_library_is_not_imported(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p];"
        "from rota.loader import PluginHost; host = PluginHost(); host.load('sched/none'); host.close();"
        "sys.exit('importlib.metadata' in sys.modules or 'rota.plugins' in sys.modules)"
    )
    path = next(one.rpartition("/rota/")[0] for one in [entry_points.__file__])
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {path!r}); {code}"], check=False
    )
    assert done.returncode == 0


def test_what_only_the_slow_library_can_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "archive.zip"
    archive.write_bytes(b"")
    assert entry_points._may_declare((str(archive),))
    assert not entry_points._may_declare((str(tmp_path), str(tmp_path / "missing")))

    class Finder:
        def find_distributions(self) -> None: ...

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert entry_points._may_declare(())
