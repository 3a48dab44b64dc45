"""Running a plugin: a module of its own each time, and every way in which that can fail."""

from __future__ import annotations

import pickle
import sys
from typing import TYPE_CHECKING

import pytest

from rota.interfaces import APIS
from rota.loader import PluginHost, PluginRefusedError, candidate_from_file, discover, load
from rota.loader.discover import BUILT_IN, SearchPath

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .conftest import WritePlugin


@pytest.fixture(autouse=True)
def nothing_stays_behind() -> Iterator[None]:
    before = {*sys.modules}
    yield
    assert [name for name in {*sys.modules} - before if "rota_plugin_" in name] == []


def refusal(path: Path) -> PluginRefusedError:
    with pytest.raises(PluginRefusedError) as caught:
        load(candidate_from_file(path), 0)
    return caught.value


def test_a_fresh_module_each_time(plugins: Path, write_plugin: WritePlugin) -> None:
    write_plugin(plugins, "priority/mine", "calls = []\n")
    with PluginHost(plugins.as_posix()) as host, PluginHost([plugins]) as other_host:
        loaded = [host.load("priority/mine"), host.load("priority/mine"), other_host.load("priority/mine")]
        assert len({id(one.container.calls) for one in loaded}) == 3  # type: ignore[attr-defined]
        assert all(sys.modules[one.container.__name__] is one.container for one in loaded)  # type: ignore[attr-defined]
    assert not (plugins / "__pycache__").exists()


def test_what_it_offers(plugins: Path, write_plugin: WritePlugin) -> None:
    path = write_plugin(plugins, "sched/mine", "errno = 2016\n")
    with PluginHost([plugins]) as host:
        plugin = host.load("sched/mine")
        assert (plugin.plugin_type, plugin.plugin_name) == ("sched/mine", "the mine plugin")
        assert plugin.candidate.path == path
        assert plugin.spoken_major == 0
        assert plugin.errno == 2016
        assert set(plugin.functions) == {one.name for one in APIS["sched"].symbols} - {"init", "fini"}
        assert plugin.functions["slurm_sched_p_initial_priority"](0, None) == 1


def test_a_module_of_that_name_is_not_an_errno(plugins: Path, write_plugin: WritePlugin) -> None:
    write_plugin(plugins, "priority/mine", "import errno\n")
    with PluginHost([plugins]) as host:
        assert host.load("priority/mine").errno == 0


def test_dataclasses_and_pickling_work(plugins: Path, write_plugin: WritePlugin) -> None:
    body = """
from __future__ import annotations
from dataclasses import dataclass
from typing import ClassVar
@dataclass
class Point:
    x: int
    origin: ClassVar[int] = 0
"""
    path = write_plugin(plugins, "priority/mine")
    path.write_text(body + path.read_text().partition("\n")[2])
    with PluginHost([plugins]) as host:
        plugin = host.load("priority/mine")
        point = plugin.container.Point(3)  # type: ignore[attr-defined]
        assert pickle.loads(pickle.dumps(point)) == point  # noqa: S301


def test_what_runs_is_what_was_looked_at(plugins: Path, write_plugin: WritePlugin) -> None:
    path = write_plugin(plugins, "priority/mine", "mark = 'looked at'\n")
    candidate = candidate_from_file(path)
    write_plugin(plugins, "priority/mine", "mark = 'exchanged'\n")
    plugin = load(candidate, 0)
    assert plugin.container.mark == "looked at"  # type: ignore[attr-defined]
    plugin.close(pytest.fail)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("1 / 0", "ZeroDivisionError at {path}:{line}: division by zero"),
        ("import no_such_module", "ModuleNotFoundError at {path}:{line}: No module named 'no_such_module'"),
        ("from rota.model import nothing", "ImportError at {path}:{line}: cannot import name 'nothing'"),
        ("raise SystemExit(3)", "SystemExit at {path}:{line}: 3"),
        ("raise RuntimeError('two\\nlines')", "RuntimeError at {path}:{line}: two lines"),
        ("import json; json.loads('{')", "JSONDecodeError at {path}:{line}: "),
        ("return 1", "SyntaxError at {path}:{line}: "),  # only compiling finds it
        ("raise KeyboardInterrupt", "KeyboardInterrupt at {path}:{line}"),
        ("class E(Exception):\n    def __str__(self): 1 / 0\nraise E", "E at {path}:"),
    ],
)
def test_whatever_running_it_raises(plugins: Path, write_plugin: WritePlugin, body: str, problem: str) -> None:
    path = write_plugin(plugins, "priority/mine", body)
    line = path.read_text().splitlines().index(body.splitlines()[0]) + 1
    error = refusal(path)
    assert f"loading it raised {problem.format(path=path, line=line)}" in str(error)
    assert str(error).startswith(f"plugin priority/mine ({path}): ")
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("plugin_version += 1", "plugin_version is 101 once it runs, but its source says 100"),
        ("globals()['plugin_name'] = 'other'", "plugin_name is 'other' once it runs, but its source says"),
        ("globals()['plugin_legacy'] = 0", "plugin_legacy is 0 once it runs, but its source says None"),
        ("del plugin_type", "plugin_type is None once it runs, but its source says 'priority/mine'"),
    ],
)
def test_it_must_be_what_it_said(plugins: Path, write_plugin: WritePlugin, body: str, problem: str) -> None:
    assert problem in str(refusal(write_plugin(plugins, "priority/mine", body)))


def test_every_problem_with_its_symbols_at_once(plugins: Path, write_plugin: WritePlugin) -> None:
    body = "del priority_p_set\npriority_p_reconfig = 1\ndef priority_p_set_assoc_usage(): ...\nplugin_version += 1\n"
    error = refusal(write_plugin(plugins, "priority/mine", body))
    assert [problem.split("(")[0].split()[0] for problem in error.problems] == [
        "plugin_version",
        "priority_p_set",
        "priority_p_reconfig",
        "priority_p_set_assoc_usage",
    ]
    assert "priority_p_set_assoc_usage() cannot be called with 1 argument: expected" in str(error)


def test_what_was_rejected_at_sight_is_not_run(plugins: Path, write_plugin: WritePlugin) -> None:
    path = write_plugin(plugins, "priority/mine", "raise KeyboardInterrupt", plugin_name=None)
    assert "plugin_name is missing" in str(refusal(path))


def test_an_api_that_is_not_hosted(plugins: Path) -> None:
    path = plugins / "other_mine.py"
    path.write_text("plugin_type = 'other/mine'\nplugin_name = 'x'\nplugin_version = 1\n")
    assert "this rota has no such API" in str(refusal(path))


@pytest.mark.parametrize("plugin_type", [one.plugin_type for one in discover(SearchPath(entry_points=False))])
def test_every_built_in_plugin_loads(plugin_type: str) -> None:
    with PluginHost(entry_points=False) as host:
        assert set(host.load(plugin_type).functions) <= {
            one.name for one in APIS[plugin_type.partition("/")[0]].symbols
        }
        assert host.messages == []


@pytest.mark.parametrize("major", APIS)
def test_every_api_has_a_null_plugin(major: str) -> None:
    assert (BUILT_IN / major / "none.py").is_file()
