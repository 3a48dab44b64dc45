"""``init`` once, ``fini`` exactly once, however a replay ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from .conftest import PROCS, job_line

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Rota, WritePlugin

#: Writes a line whenever it is started or stopped.
DIARY = """
def _note(what):
    with open({diary!r}, "a") as diary:
        diary.write(what + "\\n")


_init = init


def init(ctld):
    _note("{name} init")
    return _init(ctld)


def fini():
    _note("{name} fini")
"""
WHOLE_LIFE = ["priority init", "sched init", "sched fini", "priority fini"]


class Diary:
    """A scheduler and a priority plugin that write down when they are started and stopped."""

    def __init__(self, path: Path, write_plugin: WritePlugin) -> None:
        self.path = path
        self._write = write_plugin
        path.write_text("")
        for kind in ("sched", "priority"):
            self.write(kind)

    def write(self, kind: str, more: str = "") -> None:
        """Have the plugin of that kind do ``more``."""
        self._write(f"{kind}/mine", DIARY.format(diary=str(self.path), name=kind) + more + "\n")

    @property
    def lines(self) -> list[str]:
        return self.path.read_text().splitlines()


@pytest.fixture
def diary(tmp_path: Path, write_plugin: WritePlugin) -> Diary:
    return Diary(tmp_path / "diary", write_plugin)


@pytest.fixture
def options(plugins: Path) -> list[str]:
    return ["--scheduler", "sched/mine", "--priority", "priority/mine", "--plugin-dir", str(plugins)]


def test_the_priority_plugin_lives_longer(rota: Rota, small_log: Path, diary: Diary, options: list[str]) -> None:
    assert rota("replay", small_log, *options).status == 0
    assert diary.lines == WHOLE_LIFE


def test_fini_follows_faults(rota: Rota, small_log: Path, diary: Diary, options: list[str]) -> None:
    diary.write("sched", "def slurm_sched_p_schedule(): raise SystemExit")
    assert rota("replay", small_log, *options).status == 2
    assert diary.lines == WHOLE_LIFE


def test_fini_follows_tolerated_faults(rota: Rota, small_log: Path, diary: Diary, options: list[str]) -> None:
    diary.write("sched", "def slurm_sched_p_schedule(): raise SystemExit")
    assert rota("replay", small_log, *options, "--tolerate-faults").status == 0
    assert diary.lines == WHOLE_LIFE


def test_fini_follows_an_error_in_the_middle_of_the_log(
    rota: Rota, small_log: Path, diary: Diary, options: list[str]
) -> None:
    with small_log.open("a") as log:
        log.write(job_line(99, 10_000, 10, PROCS + 1, 10) + "\n")
    assert "job 99 cannot be replayed" in rota("replay", small_log, *options, "--strict").problem
    assert diary.lines == WHOLE_LIFE


@pytest.mark.parametrize("failure", ["return -1", "raise OSError", "raise SystemExit(0)", "raise KeyboardInterrupt"])
def test_no_fini_follows_an_init_that_failed(
    failure: str, rota: Rota, small_log: Path, diary: Diary, options: list[str]
) -> None:
    diary.write("sched", f"def init(ctld):\n    _note('sched init')\n    {failure}")
    assert rota("replay", small_log, *options).status == 2
    assert diary.lines == ["priority init", "sched init", "priority fini"]


def test_no_init_is_called_when_another_plugin_cannot_be_loaded(
    rota: Rota, small_log: Path, diary: Diary, options: list[str]
) -> None:
    diary.write("sched", "del slurm_sched_p_newalloc")
    assert "slurm_sched_p_newalloc(job_ptr) is missing" in rota("replay", small_log, *options, "--strict").problem
    assert diary.lines == []


@pytest.mark.parametrize("failure", ["raise OSError('too late')", "raise SystemExit(1)"])
def test_a_fini_that_raises_is_told_and_keeps_nobody_from_ending(
    failure: str, rota: Rota, small_log: Path, diary: Diary, options: list[str]
) -> None:
    diary.write("sched", f"def fini():\n    _note('sched fini')\n    {failure}")
    outcome = rota("replay", small_log, *options)
    assert outcome.status == 0
    assert outcome.err.startswith("rota: plugin sched/mine (")
    assert "): fini raised " in outcome.err
    assert outcome.err.count("\n") == 1
    assert diary.lines == WHOLE_LIFE


def test_fini_follows_ctrl_c(small_log: Path, diary: Diary, options: list[str]) -> None:
    diary.write("sched", "def slurm_sched_p_schedule():\n    _note('at work')\n    import time\n    time.sleep(60)")
    out = small_log.parent / "out"
    command = [sys.executable, "-m", "rota", "replay", str(small_log), *options, "--out", str(out)]
    # Shells start background jobs with Ctrl-C ignored, and children inherit that.
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    try:
        give_up = time.monotonic() + 30
        while "at work" not in diary.lines:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < give_up
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, stdout, stderr.strip()) == (130, "", "rota: interrupted")
    assert diary.lines == ["priority init", "sched init", "at work", "sched fini", "priority fini"]
    assert not out.exists()


def test_what_fini_logs_is_seen(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "priority_last.py"
    plugin.write_text(
        "from rota.interfaces.stubs.priority import *\n"
        "plugin_type = 'priority/last'\nplugin_name = 'last words'\nplugin_version = 100\n"
        "def init(ctld):\n    global log\n    log = ctld.log\n    return SLURM_SUCCESS\n"
        "def fini():\n    log('good bye')\n"
    )
    outcome = rota("replay", small_log, "--plugin-dir", tmp_path, "--priority", "priority/last")
    assert outcome.status == 0
    assert "good bye" in outcome.err
