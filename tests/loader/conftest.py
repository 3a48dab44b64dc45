"""Plugins for the tests of the loader: written into scratch directories, as a user would."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from rota.loader import entry_points as entry_points_module

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAD = """\
'''A plugin under test.'''
from rota.interfaces.stubs.{major} import *
"""
SCHED = """
def init(ctld):
    ctld.append("init {minor}")
    return SLURM_SUCCESS
def fini():
    pass
def slurm_sched_p_initial_priority(last_prio, job_ptr):
    return 1
"""


class WritePlugin(Protocol):
    """Writes ``<major>_<minor>.py`` and gives its path."""

    def __call__(self, directory: Path, plugin_type: str, body: str = "", /, **identity: Any) -> Path:
        """Identity symbols may be given other values; ``None`` leaves one out."""


@pytest.fixture(autouse=True)
def careful_umask() -> Iterator[None]:
    """What the tests write is ours alone, on whatever system they run."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """An empty directory that only we can write."""
    return make_directory(tmp_path / "plugins")


@pytest.fixture
def more_plugins(tmp_path: Path) -> Path:
    """Another one."""
    return make_directory(tmp_path / "more_plugins")


def make_directory(path: Path) -> Path:
    path.mkdir()
    return path


@pytest.fixture
def write_plugin() -> WritePlugin:
    return write


def write(directory: Path, plugin_type: str, body: str = "", /, **identity: Any) -> Path:
    path = directory / f"{plugin_type.replace('/', '_')}.py"
    path.write_text(source(plugin_type, body, **identity))
    return path


def source(plugin_type: str, body: str = "", /, **identity: Any) -> str:
    major, _, minor = plugin_type.partition("/")
    symbols = {"plugin_type": plugin_type, "plugin_name": f"the {minor} plugin", "plugin_version": 100} | identity
    lines = [f"{name} = {value!r}" for name, value in symbols.items() if value is not None]
    head = HEAD.format(major=major) + (SCHED.format(minor=minor) if major == "sched" else "")
    return head + "\n".join(lines) + "\n" + body + "\n"


class Install(Protocol):
    """Installs a distribution with one module and its entry points, and gives the path of the module."""

    def __call__(self, module: str, text: str, *entry_points: str, name: str = "my-dist") -> Path:
        """Entry points are lines of ``entry_points.txt``."""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """A scratch site-packages on ``sys.path``, gone without trace after the test."""
    site = make_directory(tmp_path / "site")
    monkeypatch.syspath_prepend(str(site))
    before = set(sys.modules)

    def do(module: str, text: str, *entry_points: str, name: str = "my-dist") -> Path:
        path = site.joinpath(*module.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        info = site / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[rota.plugins]\n" + "\n".join(entry_points) + "\n")
        entry_points_module._entry_points.cache_clear()
        return path

    yield do
    entry_points_module._entry_points.cache_clear()
    for new in set(sys.modules) - before:
        del sys.modules[new]
