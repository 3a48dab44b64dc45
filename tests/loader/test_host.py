"""The life of plugins: chosen, loaded, ``init``, ``fini``, unloaded."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

import pytest

from rota.loader import PluginHost, PluginRefusedError, State
from rota.model import Errno, PluginError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rota.interfaces import Controller

    from .conftest import WritePlugin

LIFE = """
calls = None
def init(ctld):
    global calls
    calls = ctld
    calls.append("init NAME")
    return SLURM_SUCCESS
def fini():
    calls.append("fini NAME")
"""


@pytest.fixture
def calls() -> list[str]:
    """Stands in for the controller: plugins under test write down what is called."""
    return []


@pytest.fixture
def ctld(calls: list[str]) -> Controller:
    return cast("Controller", calls)


@pytest.fixture
def host(plugins: Path) -> Iterator[PluginHost]:
    before = set(sys.modules)
    with PluginHost([plugins], entry_points=False) as host:
        yield host
    assert [name for name in set(sys.modules) - before if "rota_plugin_" in name] == []


def life(name: str) -> str:
    return LIFE.replace("NAME", name)


def test_init_once_in_order_and_fini_once_in_reverse(
    host: PluginHost, plugins: Path, write_plugin: WritePlugin, calls: list[str], ctld: Controller
) -> None:
    write_plugin(plugins, "priority/mine", life("priority"))
    write_plugin(plugins, "sched/mine", life("sched"))
    host.load("priority/mine")
    host.load("sched/mine")
    assert calls == []
    host.start(ctld)
    host.start(ctld)
    assert calls == ["init priority", "init sched"]
    host.close()
    host.close()
    assert calls == ["init priority", "init sched", "fini sched", "fini priority"]


def test_neither_init_nor_fini_is_needed(
    host: PluginHost, plugins: Path, write_plugin: WritePlugin, ctld: Controller
) -> None:
    write_plugin(plugins, "priority/mine")
    host.load("priority/mine")
    host.start(ctld)
    host.close()


@pytest.mark.parametrize("init", ["def init():", "def init(*nothing):", "def init(ctld=None):"])
def test_ways_to_write_init(
    host: PluginHost, plugins: Path, write_plugin: WritePlugin, ctld: Controller, init: str
) -> None:
    write_plugin(plugins, "priority/mine", f"started = []\n{init}\n    started.append(1)\n    return SLURM_SUCCESS\n")
    plugin = host.load("priority/mine")
    host.start(ctld)
    assert plugin.container.started == [1]  # type: ignore[attr-defined]


FINI = "def fini():\n    raise AssertionError\n"


@pytest.mark.parametrize(
    ("body", "problem", "errno"),
    [
        ("return SLURM_ERROR", "init returned -1, expected SLURM_SUCCESS", Errno.PLUGIN_NAME_INVALID),
        ("global errno; errno = 2016; return -1", "init returned -1, errno 2016, expected", Errno.NODES_BUSY),
        ("global errno; errno = 99; return 5", "init returned 5, errno 99, expected", Errno.PLUGIN_NAME_INVALID),
        ("pass", "init returned None, expected SLURM_SUCCESS: it must `return SLURM_SUCCESS`", None),
        ("return False", "init returned False, expected", None),
        ("return 0.0", "init returned 0.0, expected", None),
        ("return ''", "init returned '', expected", None),
        ("1 / 0", "init raised ZeroDivisionError at {path}:", Errno.PLUGIN_NAME_INVALID),
        ("global errno; errno = 2016; 1 / 0", "init raised ZeroDivisionError", Errno.NODES_BUSY),
        ("raise RequestError('no', Errno.JOB_HELD)", "init raised RequestError", Errno.JOB_HELD),
        ("raise SystemExit", "init raised SystemExit", None),
    ],
)
def test_a_failed_init_unloads_without_fini(
    plugins: Path, write_plugin: WritePlugin, body: str, problem: str, errno: Errno | None
) -> None:
    head = "from rota.interfaces import Errno, RequestError, SLURM_ERROR\n"
    path = write_plugin(plugins, "priority/mine", f"{head}def init(ctld):\n    {body}\n{FINI}")
    host = PluginHost([plugins], entry_points=False)
    plugin = host.load("priority/mine")
    with pytest.raises(PluginRefusedError) as caught:
        host.start(cast("Controller", None))
    assert f"plugin priority/mine ({path}): {problem.format(path=path)}" in str(caught.value)
    assert errno is None or caught.value.errno is errno
    assert plugin.container.__name__ not in sys.modules  # type: ignore[attr-defined]
    host.close()
    assert host.messages == []
    with pytest.raises(PluginRefusedError, match="it has been unloaded"):
        plugin.start(cast("Controller", None))


def test_success_may_be_an_errno(host: PluginHost, plugins: Path, write_plugin: WritePlugin, ctld: Controller) -> None:
    body = "from rota.interfaces import Errno\ndef init(ctld):\n    return Errno.SUCCESS\n"
    write_plugin(plugins, "priority/mine", body)
    host.load("priority/mine")
    host.start(ctld)


def test_an_interrupted_init_unloads_without_fini(
    host: PluginHost, plugins: Path, write_plugin: WritePlugin, ctld: Controller
) -> None:
    write_plugin(plugins, "priority/mine", f"def init(ctld):\n    raise KeyboardInterrupt\n{FINI}")
    host.load("priority/mine")
    with pytest.raises(PluginRefusedError, match="init raised KeyboardInterrupt"):
        host.start(ctld)
    host.close()
    assert host.messages == []


def test_those_before_a_failed_one_get_their_fini(
    host: PluginHost, plugins: Path, write_plugin: WritePlugin, calls: list[str], ctld: Controller
) -> None:
    write_plugin(plugins, "priority/mine", life("priority"))
    write_plugin(plugins, "sched/mine", "def init(ctld):\n    return -1\n")
    host.load("priority/mine")
    host.load("sched/mine")
    with pytest.raises(PluginRefusedError):
        host.start(ctld)
    host.close()
    assert calls == ["init priority", "fini priority"]


def test_without_init_having_been_called_there_is_no_fini(
    host: PluginHost, plugins: Path, write_plugin: WritePlugin
) -> None:
    write_plugin(plugins, "priority/mine", FINI)
    host.load("priority/mine")
    host.close()
    assert host.messages == []


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_fini_exactly_once_whatever_ends_the_block(
    plugins: Path, write_plugin: WritePlugin, calls: list[str], ctld: Controller, error: type[BaseException]
) -> None:
    write_plugin(plugins, "priority/mine", life("it"))
    host = PluginHost([plugins])
    host.load("priority/mine")
    host.start(ctld)
    with pytest.raises(error), host:
        raise error
    assert calls == ["init it", "fini it"]
    host.close()
    assert calls == ["init it", "fini it"]


@pytest.mark.parametrize("error", ["RuntimeError('no')", "SystemExit('no')"])
def test_a_raising_fini_is_reported_and_the_others_run(
    plugins: Path, write_plugin: WritePlugin, calls: list[str], ctld: Controller, error: str
) -> None:
    write_plugin(plugins, "priority/mine", life("priority"))
    path = write_plugin(plugins, "sched/mine", f"{life('sched')}    raise {error}\n")
    told: list[str] = []
    with PluginHost([plugins], report=told.append) as host:
        host.load("priority/mine")
        host.load("sched/mine")
        host.start(ctld)
    assert calls[2:] == ["fini sched", "fini priority"]
    assert told == host.messages
    assert len(told) == 1
    assert told[0].startswith(f"plugin sched/mine ({path}): fini raised {error.partition('(')[0]} at {path}:")


def test_fini_may_close_the_host(plugins: Path, write_plugin: WritePlugin, ctld: Controller) -> None:
    write_plugin(plugins, "priority/mine", "def init(ctld):\n    return 0\ndef fini():\n    closing()\n")
    done: list[int] = []
    with PluginHost([plugins]) as host:
        plugin: Any = host.load("priority/mine")

        def closing() -> None:
            done.append(1)
            host.close()
            plugin.close(pytest.fail)

        plugin.container.closing = closing
        host.start(ctld)
    assert done == [1]


class TestSelect:
    """Which plugin is used, and what is said about the others."""

    def test_a_plugin_of_ours_replaces_a_built_in_one(self, plugins: Path, write_plugin: WritePlugin) -> None:
        write_plugin(plugins, "sched/easy")
        with PluginHost([plugins]) as host:
            assert host.load("sched/easy").plugin_name == "the easy plugin"
            assert host.messages == []

    def test_but_not_with_a_lower_revision_and_that_is_said(self, plugins: Path, write_plugin: WritePlugin) -> None:
        path = write_plugin(plugins, "sched/easy", plugin_version=1)
        with PluginHost([plugins]) as host:
            assert host.load("sched/easy").plugin_name != "the easy plugin"
        assert len(host.messages) == 1
        assert host.messages[0].startswith(f"plugin sched/easy ({path}) is passed over: minor revision 1, ")

    def test_the_highest_minor_of_two_directories(
        self, plugins: Path, more_plugins: Path, write_plugin: WritePlugin
    ) -> None:
        write_plugin(plugins, "sched/mine", plugin_version=101)
        write_plugin(more_plugins, "sched/mine", plugin_version=102)
        selection = PluginHost([plugins, more_plugins]).select("sched/mine")
        assert [one.state for one in selection.verdicts] == [State.LOST, State.CHOSEN]

    def test_a_rejected_one_is_passed_over_and_that_is_said(
        self, plugins: Path, more_plugins: Path, write_plugin: WritePlugin
    ) -> None:
        path = write_plugin(plugins, "sched/mine", plugin_version=5000)
        write_plugin(more_plugins, "sched/mine")
        with PluginHost([plugins, more_plugins]) as host:
            assert host.load("sched/mine").candidate.path != path
        reason = "is passed over: no API version in common: the plugin speaks 5, this rota 0"
        assert host.messages == [f"plugin sched/mine ({path}) {reason}"]

    def test_a_wrong_major_alone(self, host: PluginHost, plugins: Path, write_plugin: WritePlugin) -> None:
        write_plugin(plugins, "sched/mine", plugin_version=2035, plugin_legacy=1000)
        with pytest.raises(PluginRefusedError, match=r"the plugin speaks 1 to 2, this rota 0$"):
            host.load("sched/mine")

    def test_a_plugin_for_another_release(self, host: PluginHost, plugins: Path, write_plugin: WritePlugin) -> None:
        write_plugin(plugins, "sched/mine", plugin_release="9.9.9")
        with pytest.raises(PluginRefusedError, match=r"it is built for rota 9\.9\.9 only"):
            host.load("sched/mine")
        assert PluginHost([plugins], release="9.9.9").select("sched/mine").chosen

    def test_a_scheduler_without_version_loads_with_a_warning(
        self, host: PluginHost, plugins: Path, write_plugin: WritePlugin
    ) -> None:
        write_plugin(plugins, "sched/mine", plugin_version=None)
        host.load("sched/mine")
        assert host.messages == ["plugin sched/mine: plugin_version is missing and counts as 0"]

    @pytest.mark.parametrize(
        ("plugin_type", "problem"),
        [
            ("sched", r"'sched' is not a plugin type"),
            ("sched/../x", "is not a plugin type"),
            ("seelct/x", "there is no API 'seelct': this rota has jobmeta, priority, sched"),
            ("sched/nope", r"there is no plugin sched/nope in .*: there is .*sched/easy"),
        ],
    )
    def test_what_there_is_not(self, host: PluginHost, plugin_type: str, problem: str) -> None:
        with pytest.raises(PluginError, match=problem):
            host.select(plugin_type)

    def test_survey(self, host: PluginHost, plugins: Path, write_plugin: WritePlugin) -> None:
        write_plugin(plugins, "sched/aaa")
        write_plugin(plugins, "sched/easy")
        types = [one.plugin_type for one in host.survey()]
        assert types == sorted(set(types))
        assert {"sched/aaa", "sched/easy", "priority/none"} <= set(types)
        assert [len(one.verdicts) for one in host.survey() if one.plugin_type == "sched/easy"] == [2]
