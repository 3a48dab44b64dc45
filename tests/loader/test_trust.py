"""A file that somebody else could have written is refused."""

from __future__ import annotations

import grp
import os
import pwd
from typing import TYPE_CHECKING

import pytest

from rota.loader import trust
from rota.loader.discover import SearchPath, discover
from rota.loader.trust import file_problems

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Install, WritePlugin

STRANGER = 54321
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def file(plugins: Path, write_plugin: WritePlugin) -> Path:
    return write_plugin(plugins, "sched/mine")


def problem_of(file: Path) -> str:
    """What the loader says about the file."""
    (candidate,) = discover(SearchPath.of([file.parent], entry_points=False), "sched/mine")
    assert candidate.problems == file_problems(file, strict=True)
    assert not candidate.code
    return "; ".join(candidate.problems)


def test_our_own_file_is_trusted(file: Path) -> None:
    assert file_problems(file, strict=True) == ()


def test_a_world_writable_file(file: Path) -> None:
    file.chmod(0o646)
    assert problem_of(file) == f"file {file} is writable by others: chmod o-w {file}"


@pytest.mark.parametrize("mode", [0o757, 0o1777])
def test_a_world_writable_directory_even_a_sticky_one(file: Path, mode: int) -> None:
    file.parent.chmod(mode)
    assert problem_of(file) == f"directory {file.parent} is writable by others: chmod o-w {file.parent}"


@as_root
def test_a_file_of_another_user(file: Path) -> None:
    os.chown(file, STRANGER, -1)
    assert problem_of(file) == f"file {file} belongs to user {STRANGER}, not to root or to you: chown 0 {file}"


@as_root
def test_a_directory_of_another_user(file: Path) -> None:
    os.chown(file.parent, STRANGER, -1)
    assert f"directory {file.parent} belongs to user {STRANGER}" in problem_of(file)


@as_root
def test_roots_files_are_trusted_by_everybody(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    assert file_problems(file, strict=True) == ()


def test_a_group_that_is_not_private(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "_is_private", lambda gid, uid: False)
    file.chmod(0o664)
    assert f"file {file} is writable by group {file.stat().st_gid}: chmod g-w {file}" in problem_of(file)


def test_the_users_private_group(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "_is_private", lambda gid, uid: True)
    file.chmod(0o664)
    assert file_problems(file, strict=True) == ()


def test_private_is_a_group_of_the_users_own_name_and_of_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    users = {7: pwd.struct_passwd(("ann", "x", 7, 7, "", "/", "/bin/sh"))}
    groups = {
        7: grp.struct_group(("ann", "x", 7, [])),
        8: grp.struct_group(("ann", "x", 8, ["bob"])),
        9: grp.struct_group(("staff", "x", 9, [])),
    }
    monkeypatch.setattr(pwd, "getpwuid", users.__getitem__)
    monkeypatch.setattr(grp, "getgrgid", groups.__getitem__)
    assert trust._is_private(7, 7)
    assert not trust._is_private(8, 7)
    assert not trust._is_private(9, 7)
    assert not trust._is_private(7, 99)
    assert not trust._is_private(99, 7)


# ---- further up ------------------------------------------------------------------------------------------------------


@pytest.fixture
def deep(tmp_path: Path, write_plugin: WritePlugin) -> Path:
    """A plugin some directories down: ``tmp_path/site/rota/plugins/sched_mine.py``."""
    directory = tmp_path / "site" / "rota" / "plugins"
    directory.mkdir(parents=True)
    return write_plugin(directory, "sched/mine")


@pytest.mark.parametrize("up", [1, 2])
@pytest.mark.parametrize("mode", [0o757, 0o777, 0o775])
def test_a_directory_further_up_that_others_may_write_to(
    deep: Path, up: int, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "_is_private", lambda gid, uid: False)
    above = deep.parents[up]
    assert file_problems(deep, strict=True) == ()
    above.chmod(mode)
    whose, advice = ("others", "o-w") if mode & 0o002 else (f"group {above.stat().st_gid}", "g-w")
    assert problem_of(deep) == f"directory {above} is writable by {whose}: chmod {advice} {above}"
    assert file_problems(deep, strict=False) == ()


def test_a_sticky_directory_further_up_is_like_tmp(deep: Path) -> None:
    deep.parents[1].chmod(0o1777)
    assert file_problems(deep, strict=True) == ()


@as_root
def test_in_a_sticky_directory_what_leads_on_must_be_ours(deep: Path) -> None:
    deep.parents[2].chmod(0o1777)
    os.chown(deep.parents[1], STRANGER, -1)
    assert problem_of(deep) == (
        f"directory {deep.parents[1]} belongs to user {STRANGER}, not to root or to you: chown 0 {deep.parents[1]}"
    )


def test_each_link_on_the_way_is_followed(deep: Path, tmp_path: Path) -> None:
    open_to_all = tmp_path / "open" / "below"
    open_to_all.mkdir(parents=True)
    (open_to_all / "link").symlink_to(os.path.relpath(deep.parents[1], open_to_all))
    (tmp_path / "first").symlink_to(open_to_all / "link")
    plugin = tmp_path / "first" / "plugins" / deep.name
    assert plugin.exists()
    assert file_problems(plugin, strict=True) == ()
    open_to_all.parent.chmod(0o777)
    assert problem_of(plugin) == f"directory {open_to_all.parent} is writable by others: chmod o-w {open_to_all.parent}"


@as_root
def test_a_link_on_the_way_that_is_another_users(deep: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(deep.parents[1])
    os.chown(link, STRANGER, -1, follow_symlinks=False)
    assert f"link {link} belongs to user {STRANGER}" in problem_of(link / "plugins" / deep.name)


class TestLinks:
    """A symbolic link is as good as what it leads to."""

    @pytest.fixture
    def link(self, file: Path, more_plugins: Path) -> Path:
        link = more_plugins / file.name
        link.symlink_to(os.path.relpath(file, more_plugins))
        return link

    def test_good(self, link: Path) -> None:
        assert file_problems(link, strict=True) == ()

    def test_target(self, link: Path, file: Path) -> None:
        file.chmod(0o666)
        assert "is writable by others" in problem_of(link)

    def test_directory_of_the_target(self, link: Path, file: Path) -> None:
        file.parent.chmod(0o777)
        assert f"chmod o-w {file.parent}" in problem_of(link)

    def test_directory_of_the_link(self, link: Path) -> None:
        link.parent.chmod(0o777)
        assert f"chmod o-w {link.parent}" in problem_of(link)

    @as_root
    def test_link_of_another_user(self, link: Path) -> None:
        os.chown(link, STRANGER, -1, follow_symlinks=False)
        assert f"link {link} belongs to user {STRANGER}" in problem_of(link)

    def test_round_in_circles(self, plugins: Path) -> None:
        link = plugins / "sched_mine.py"
        link.symlink_to(link)
        (candidate,) = discover(SearchPath.of([plugins], entry_points=False), "sched/mine")
        assert "unreadable" in candidate.problems[0]

    def test_dangling(self, plugins: Path) -> None:
        (plugins / "sched_mine.py").symlink_to("nowhere.py")
        (candidate,) = discover(SearchPath.of([plugins], entry_points=False), "sched/mine")
        assert candidate.problems == ("unreadable: No such file or directory",)


class TestImportPath:
    """Modules of installed packages: who may write there can run code anyway, but not everybody should."""

    @as_root
    def test_owner_does_not_matter(self, install: Install) -> None:
        path = install("mine", "plugin_type = 'sched/mine'\nplugin_name = 'x'\n", "sched/mine = mine")
        os.chown(path, STRANGER, STRANGER)
        path.chmod(0o664)
        (candidate,) = discover(SearchPath(), "sched/mine")
        assert not candidate.problems

    def test_world_writable(self, install: Install) -> None:
        path = install("mine", "plugin_type = 'sched/mine'\nplugin_name = 'x'\n", "sched/mine = mine")
        path.chmod(0o666)
        (candidate,) = discover(SearchPath(), "sched/mine")
        assert candidate.problems == (f"file {path} is writable by others: chmod o-w {path}",)
