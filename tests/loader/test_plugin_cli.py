"""``rota plugin list``, ``show`` and ``check``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from rota.cli.plugin import plugin
from rota.interfaces import SCHED_API
from rota.model import InputError, PluginError

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import WritePlugin

CANDIDATE_KEYS = {
    "type", "name", "version", "legacy", "release", "api_range", "api_host", "spoken", "state", "why", "problems",
    "warnings", "source", "where", "file", "summary",
}  # fmt: skip
CHECK_KEYS = {"type", "where", "file", "ok", "executed", "spoken", "problems", "warnings", "functions"}


def run(*args: object, status: int = 0) -> str:
    result = CliRunner().invoke(plugin, [str(arg) for arg in args], catch_exceptions=False, standalone_mode=False)
    assert (result.return_value or 0) == status, result.output
    return result.output


def run_json(*args: object, status: int = 0) -> Any:
    return json.loads(run(*args, "--json", status=status))


@pytest.fixture
def three(plugins: Path, write_plugin: WritePlugin) -> Path:
    """One that replaces a built-in plugin, one that has a markup name, one that is broken."""
    write_plugin(plugins, "sched/easy", plugin_version=2001, plugin_legacy=900)
    write_plugin(plugins, "priority/mine", plugin_name="[bold]mine[/bold]")
    (plugins / "sched_broken.py").write_text("def f(:\n")
    return plugins


def test_list_json(three: Path) -> None:
    listed = run_json("list", "--plugin-dir", three)
    assert set(listed) == {"plugin_dir", "plugins"}
    assert listed["plugin_dir"] == [str(three)]
    assert all(set(one) == CANDIDATE_KEYS for one in listed["plugins"])
    found = {(one["type"], one["source"]): one for one in listed["plugins"]}
    ours = found["sched/easy", "plugin-dir"]
    assert ours | {"why": "", "api_host": [0]} == {
        "type": "sched/easy",
        "name": "the easy plugin",
        "version": 2001,
        "legacy": 900,
        "release": None,
        "api_range": [0, 2],
        "api_host": [0],
        "spoken": 0,
        "state": "lost",  # both speak API 0, and revision 100 is more than 1
        "why": "",
        "problems": [],
        "warnings": [],
        "source": "plugin-dir",
        "where": str(three / "sched_easy.py"),
        "file": str(three / "sched_easy.py"),
        "summary": "A plugin under test.",
    }
    assert found["sched/easy", "built-in"]["state"] == "chosen"
    broken = found["sched/broken", "plugin-dir"]
    assert (broken["state"], broken["name"], broken["spoken"], broken["api_range"]) == ("rejected", None, None, None)
    assert "syntax error in line 1" in broken["problems"][0]
    assert [one["type"] for one in listed["plugins"]] == sorted(one["type"] for one in listed["plugins"])


def test_list_fits_a_page_and_has_no_colours_when_piped(three: Path) -> None:
    text = run("list", "--plugin-dir", three)
    assert all(len(line) <= 100 for line in text.splitlines())
    assert "\x1b" not in text
    assert "[bold]mine[/bold]" in text
    assert "syntax error in line 1" in text
    assert "0 to 2" in text


def test_show(three: Path) -> None:
    text = run("show", "sched/easy", "--plugin-dir", three)
    assert "A plugin under test." in text
    assert "lost: minor revision 1" in text
    assert "slurm_sched_p_initial_priority(last_prio, job_ptr)" in text
    shown = run_json("show", "sched/easy", "--plugin-dir", three)
    assert set(shown) == {"type", "chosen", "functions", "candidates"}
    assert shown["chosen"] == shown["candidates"][1]["where"]
    assert [one["name"] for one in shown["functions"]] == [one.name for one in SCHED_API.symbols]
    assert set(shown["functions"][0]) == {"name", "signature", "optional", "in_source"}


def test_show_when_none_is_chosen(three: Path) -> None:
    shown = run_json("show", "sched/broken", "--plugin-dir", three)
    assert shown["chosen"] is shown["functions"] is None
    assert "rejected: syntax error" in run("show", "sched/broken", "--plugin-dir", three)


def test_looking_runs_nothing(plugins: Path, write_plugin: WritePlugin) -> None:
    write_plugin(plugins, "sched/mine", "raise KeyboardInterrupt\n")
    run("list", "--plugin-dir", plugins)
    run("show", "sched/mine", "--plugin-dir", plugins)


def test_check_a_good_type() -> None:
    checked = run_json("check", "sched/easy")
    assert set(checked) == CHECK_KEYS
    assert (checked["ok"], checked["executed"], checked["spoken"], checked["problems"]) == (True, True, 0, [])
    assert "slurm_sched_p_schedule" in checked["functions"]
    assert "init() was not called" in run("check", "sched/easy")


def test_check_lists_every_problem(plugins: Path, write_plugin: WritePlugin) -> None:
    path = write_plugin(plugins, "priority/mine", "del priority_p_set\npriority_p_reconfig = 1\n")
    for args in ([path], ["priority/mine", "--plugin-dir", plugins]):
        checked = run_json("check", *args, status=1)
        assert (checked["ok"], checked["executed"]) == (False, True)
        assert len(checked["problems"]) == 2
        text = run("check", *args, status=1)
        assert "problem: priority_p_set(last_prio, job_ptr) is missing" in text
        assert "problem: priority_p_reconfig is int, not a function" in text


def test_check_does_not_run_what_is_rejected_at_sight(plugins: Path, write_plugin: WritePlugin) -> None:
    path = write_plugin(plugins, "priority/mine", "raise KeyboardInterrupt\n")
    path.chmod(0o666)
    checked = run_json("check", path, status=1)
    assert (checked["ok"], checked["executed"]) == (False, False)
    assert "chmod o-w" in run("check", path, status=1)


def test_check_does_not_call_init_and_warns(plugins: Path, write_plugin: WritePlugin) -> None:
    path = write_plugin(plugins, "sched/mine", "def init(ctld):\n    raise KeyboardInterrupt\n", plugin_version=None)
    assert "warning: plugin_version is missing" in run("check", path)


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("check", "nope"), PluginError),
        (("check", "sched/nope"), PluginError),
        (("check", "nope.py"), InputError),
        (("show", "seelct/x"), PluginError),
        (("list", "--plugin-dir", "/no/such/directory"), InputError),
    ],
)
def test_bad_input_is_an_error_of_ours(args: tuple[str, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        run(*args)
