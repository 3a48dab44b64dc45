"""Where plugins are found, in what order, and that looking at them runs nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from rota.loader import Source, candidate_from_file
from rota.loader.discover import SearchPath, discover
from rota.model import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from rota.loader import Candidate

    from .conftest import WritePlugin


def find(*directories: Path, wanted: str | None = None) -> list[Candidate]:
    """Look into directories alone."""
    return discover(SearchPath(directories, entry_points=False, built_in=None), wanted)


def test_plugin_dir_is_colon_separated_or_a_list(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    assert SearchPath.of(f"{a}::{b}:{a}").directories == (a, b)
    assert SearchPath.of([a, str(b)]).directories == (a, b)
    assert SearchPath.of("").directories == SearchPath.of(None).directories == ()


def test_directories_come_left_to_right_then_the_built_in_ones(
    plugins: Path, more_plugins: Path, write_plugin: WritePlugin
) -> None:
    write_plugin(plugins, "sched/easy")
    write_plugin(more_plugins, "sched/easy")
    for directories in ([plugins, more_plugins], [more_plugins, plugins]):
        found = discover(SearchPath.of(directories, entry_points=False), "sched/easy")
        assert [one.path and one.path.parent for one in found][:2] == directories
        assert [one.source for one in found] == [Source.PLUGIN_DIR, Source.PLUGIN_DIR, Source.BUILT_IN]
        assert [one.order for one in found] == [0, 1, 2]


def test_looking_runs_nothing(plugins: Path, tmp_path: Path, write_plugin: WritePlugin) -> None:
    trace = tmp_path / "it_ran"
    write_plugin(plugins, "sched/mine", f"open({str(trace)!r}, 'w').close()\nraise SystemExit\n")
    (candidate,) = find(plugins)
    assert not candidate.problems
    assert not trace.exists()
    assert not (plugins / "__pycache__").exists()


def test_only_plugins_are_found_in_a_directory(plugins: Path, write_plugin: WritePlugin) -> None:
    for name in ("my_functions.py", "__init__.py", "_sched_x.py", ".sched_x.py", "sched.py", "sched_x.txt", "README"):
        (plugins / name).write_text("x = 1\n")
    write_plugin(plugins, "priority/mine")
    assert [one.plugin_type for one in find(plugins)] == ["priority/mine"]


def test_a_broken_plugin_is_found_by_its_name(plugins: Path) -> None:
    path = plugins / "sched_mine.py"
    path.write_text("def f(:\n")
    for candidate in (*find(plugins), *find(plugins, wanted="sched/mine"), candidate_from_file(path)):
        assert candidate.plugin_type == "sched/mine"
        assert candidate.identity is None
        assert "syntax error in line 1" in candidate.problems[0]


def test_an_api_that_nobody_hosts_is_found_if_it_says_it_is_a_plugin(plugins: Path) -> None:
    (plugins / "scehd_mine.py").write_text("plugin_type = 'scehd/mine'\nplugin_name = 'a slip'\n")
    assert [one.plugin_type for one in find(plugins)] == ["scehd/mine"]


def test_file_name_and_type_must_agree(plugins: Path, write_plugin: WritePlugin) -> None:
    write_plugin(plugins, "sched/mine", plugin_type="sched/other")
    for candidate in (*find(plugins), *find(plugins, wanted="sched/mine")):
        assert candidate.plugin_type == "sched/mine"
        assert candidate.problems == ("plugin_type is 'sched/other': then the file must be called sched_other.py",)
    assert find(plugins, wanted="sched/other") == []


def test_a_major_type_with_an_underscore(plugins: Path) -> None:
    (plugins / "job_submit_all.py").write_text("plugin_type = 'job_submit/all'\nplugin_name = 'x'\n")
    assert [one.plugin_type for one in find(plugins)] == ["job_submit/all"]
    assert find(plugins, wanted="job/submit_all") == []


@pytest.mark.parametrize("make", ["missing", "file"])
def test_a_directory_that_cannot_be_read_is_named(tmp_path: Path, make: str) -> None:
    directory = tmp_path / make
    if make == "file":
        directory.touch()
    for wanted in (None, "sched/mine"):
        with pytest.raises(InputError, match=rf"{directory}: PluginDir: \w+"):
            find(directory, wanted=wanted)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_directory_and_file(plugins: Path, write_plugin: WritePlugin) -> None:
    write_plugin(plugins, "sched/mine").chmod(0)
    assert find(plugins)[0].problems == ("unreadable: Permission denied",)
    plugins.chmod(0)
    with pytest.raises(InputError, match=f"{plugins}: PluginDir: Permission denied"):
        find(plugins)


def test_what_is_not_a_regular_file(plugins: Path) -> None:
    (plugins / "sched_a.py").mkdir()
    os.mkfifo(plugins / "sched_b.py")
    assert [one.problems for one in find(plugins)] == [("not a regular file",)] * 2
    for name, problem in (("sched_b.py", "not a regular file"), ("sched_c.py", "no such file")):
        with pytest.raises(InputError, match=problem):
            candidate_from_file(plugins / name)


class TestFolders:
    """Files in a folder that is named like an API, as the built-in plugins are."""

    JOBMETA = "def fetch(ids):\n    return {}\n"

    def test_one_without_identity_symbols_is_named_by_its_place(self, plugins: Path) -> None:
        (plugins / "jobmeta").mkdir()
        (plugins / "jobmeta" / "pid.py").write_text(self.JOBMETA)
        (plugins / "jobmeta_tid.py").write_text(self.JOBMETA)
        (plugins / "jobmeta" / "_helper.py").write_text("")
        search = SearchPath((plugins,), entry_points=False, built_in=None)
        found = {one.plugin_type: one for one in discover(search)}
        assert set(found) == {"jobmeta/pid", "jobmeta/tid"}
        assert all(not one.problems and one.identity for one in found.values())
        assert [one.where for one in discover(search, "jobmeta/pid")] == [str(plugins / "jobmeta" / "pid.py")]
        assert [one.plugin_type for one in discover(search, major="sched")] == []

    def test_others_are_found_there_too(self, plugins: Path, write_plugin: WritePlugin) -> None:
        path = write_plugin(plugins, "sched/mine")
        (plugins / "sched").mkdir()
        path.rename(plugins / "sched" / "mine.py")
        search = SearchPath((plugins,), entry_points=False, built_in=None)
        (found,) = discover(search)
        assert (found.plugin_type, found.problems) == ("sched/mine", ())

    def test_one_in_the_wrong_place(self, plugins: Path, write_plugin: WritePlugin) -> None:
        path = write_plugin(plugins, "sched/mine")
        (plugins / "sched").mkdir()
        path.rename(plugins / "sched" / "other.py")
        (found,) = discover(SearchPath((plugins,), entry_points=False, built_in=None))
        assert found.problems == ("plugin_type is 'sched/mine': then the file must be called sched/mine.py",)

    def test_a_file_by_its_path(self, plugins: Path) -> None:
        (plugins / "jobmeta").mkdir()
        for name, expected in (("sched_job_id.py", "jobmeta/sched_job_id"), ("jobmeta_x.py", "jobmeta/x")):
            (plugins / "jobmeta" / name).write_text(self.JOBMETA)
            assert candidate_from_file(plugins / "jobmeta" / name).plugin_type == expected
