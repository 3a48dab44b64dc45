"""Commands run as a user would, a small log, and plugins in a scratch directory."""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING, NamedTuple, Protocol

import pytest

from rota.cli.main import main
from rota.workload import bundled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Processors of the machine that `small_log` is for.
PROCS = 8
JOBS = 40


class Outcome(NamedTuple):
    """What a command left."""

    status: int
    out: str
    err: str

    @property
    def problem(self) -> str:
        """The one line that says what the user must mend; nothing else was printed."""
        assert self.status == 2, self
        assert self.out == ""
        assert self.err.startswith("rota: error: ")
        assert self.err.count("\n") == 1, self.err
        assert self.err.endswith("\n")
        return self.err.removeprefix("rota: error: ").rstrip("\n")


class Rota(Protocol):
    """Runs ``rota`` with arguments, in this process."""

    def __call__(self, *args: object) -> Outcome: ...


@pytest.fixture
def rota(capfd: pytest.CaptureFixture[str]) -> Rota:
    def run(*args: object) -> Outcome:
        capfd.readouterr()
        status = main([str(arg) for arg in args])
        return Outcome(status, *capfd.readouterr())

    return run


@pytest.fixture(autouse=True)
def careful_umask() -> Iterator[None]:
    """What the tests write is ours alone, on whatever system they run: otherwise no plugin would be trusted."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def job_line(number: int, submit: int, run: int, procs: int, requested: int) -> str:
    """Write a job with all else as it is in most logs."""
    return f"{number} {submit} -1 {run} {procs} -1 -1 {procs} {requested} -1 1 {number % 3} 1 -1 1 1 -1 -1"


@pytest.fixture
def small_log(tmp_path: Path) -> Path:
    """A log on which every policy does something else: more work than the machine has time for."""
    jobs = [job_line(i, 7 * i, 20 + 37 * i % 90, 1 + 5 * i % PROCS, 40 + 53 * i % 120) for i in range(1, JOBS + 1)]
    path = tmp_path / "small.swf"
    path.write_text("\n".join([f"; MaxProcs: {PROCS}", "; UnixStartTime: 1000000", *jobs, ""]))
    return path


def kth_head(path: Path, jobs: int) -> Path:
    """Write the header and the first jobs of the log that comes with rota."""
    source = bundled("KTH-SP2")
    assert source is not None
    lines = gzip.decompress(source.read_bytes()).splitlines(keepends=True)
    header = [line for line in lines if line.startswith(b";")]
    path.write_bytes(b"".join(header + lines[len(header) : len(header) + jobs]))
    return path


#: A plugin that starts whatever fits, in queue order, as the documentation has it.
FIRST_FIT = """
from rota.interfaces import SLURM_ERROR
from rota.interfaces.stubs.sched import *

plugin_type = "{type}"
plugin_name = "a scheduler under test"
plugin_version = {version}


def init(ctld):
    global controller
    controller = ctld
    controller.disable_main_pass()
    return SLURM_SUCCESS


def slurm_sched_p_initial_priority(last_prio, job_ptr):
    return controller.priority.set(last_prio, job_ptr)


def slurm_sched_p_schedule():
    for job in controller.queue:
        controller.start(job)
    return SLURM_SUCCESS
"""
#: The same for priorities: first come, first served.
IN_ORDER = """
from rota.interfaces.stubs.priority import *

plugin_type = "{type}"
plugin_name = "a priority plugin under test"
plugin_version = {version}


def init(ctld):
    global controller
    controller = ctld
    return SLURM_SUCCESS


def priority_p_set(last_prio, job_ptr):
    return last_prio - 1
"""


class WritePlugin(Protocol):
    """Writes ``<major>_<minor>.py`` into the scratch directory and gives its path."""

    def __call__(self, plugin_type: str, more: str = "", *, version: int = 100) -> Path:
        """``more`` comes last, so that what it defines replaces what is there."""


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    path = tmp_path / "plugins"
    path.mkdir()
    return path


@pytest.fixture
def write_plugin(plugins: Path) -> WritePlugin:
    def write(plugin_type: str, more: str = "", *, version: int = 100) -> Path:
        body = FIRST_FIT if plugin_type.startswith("sched/") else IN_ORDER
        path = plugins / f"{plugin_type.replace('/', '_')}.py"
        path.write_text(body.format(type=plugin_type, version=version) + "\n\n" + more)
        return path

    return write
