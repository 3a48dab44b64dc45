"""A file system that does not answer, and what a process can do with it, is the trouble of its own run."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.executor.protocol import Ended
from rota.executor.tasks import Processes

from .bench import Bench, is_alive, state_of, wait_for
from .stuck import StuckFileSystem
from .test_strangers import ALICE, BOB, LEAVE, PYTHON, is_ready, mark, measured, script_of, user

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems and has several users")
#: Holds the lock of its memory for as long as the file system does not answer: nobody can read its environment then.
LOCKED = """
import ctypes, os, sys, time
file = os.open(os.environ["SLOW"] + "/page", os.O_RDWR | os.O_CREAT)
os.write(file, b"x" * 4096)
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
page = libc.mmap(None, 4096, 3, 1, file, 0)
ctypes.memset(ctypes.c_void_p(page), 1, 4096)
open(os.environ["OUT"] + "/locked", "w").write(str(os.getpid()))
while not os.path.exists(os.environ["OUT"] + "/stuck"): time.sleep(0.01)
libc.mmap(page, 4096, 3, 0x32, -1, 0)
time.sleep(1000)
"""
#: Leaves parent and session, so that only its mark tells whose it is.
ORPHAN = LEAVE + LOCKED


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[StuckFileSystem]:
    try:
        system = StuckFileSystem(tmp_path / "slow")
    except OSError as error:
        pytest.skip(str(error))
    with system:
        yield system


@pytest.fixture(params=[(), ("--no-cgroups",)], ids=["groups", "processes"])
def others(request: pytest.FixtureRequest, tmp_path: Path, slow: StuckFileSystem) -> Iterator[Bench]:
    """A bench that is over after the file system has failed: its runs could not end before."""
    with Bench(tmp_path / "bench", request.param) as bench:
        yield bench
        slow.fail()


def goes_on(bench: Bench) -> None:
    """Runs of others are started, measured, stopped and ended meanwhile."""
    assert bench.run(2, "exit 3").exit_code == 3
    bench.launch(3, script_of(bench, BOB), **user(bench, BOB))
    bench.until(lambda: is_ready(bench, BOB))
    measured(bench, 3)
    bench.executor.suspend(3, 0)
    pid = bench.pid(3)
    bench.until(lambda: bench.is_suspended(3) if bench.has_groups else state_of(pid) == "T")
    bench.executor.resume(3, 0)
    assert bench.terminate(3).signal == signal.SIGTERM


def test_what_is_said_at_a_cancel_is_not_waited_for(others: Bench, slow: StuckFileSystem) -> None:
    own = {**user(others, ALICE), "stdout": str(slow.where / "out"), "stderr": str(slow.where / "out")}
    others.launch(1, f"echo begin >&2; {script_of(others, ALICE)}", **own)
    others.until(lambda: is_ready(others, ALICE))
    slow.stick()
    for _ in range(20):
        others.executor.kill(1, 0, signal.SIGTERM, 0.1, "it is ended\n")
    goes_on(others)
    assert not others.of(Ended, 1)  # the kernel closes its files before it has ended
    slow.fail()
    assert others.end(1).signal in (signal.SIGTERM, signal.SIGKILL)


def test_files_that_cannot_be_opened_now_are_waited_for_by_their_run(others: Bench, slow: StuckFileSystem) -> None:
    slow.stick()
    names = ("cwd", "stdin", "stdout", "stderr")
    for number, name in enumerate(names):
        others.launch(10 + number, "exit 0", **user(others, ALICE) | {name: str(slow.where / "file")})
    for number in range(len(names)):
        others.pid(10 + number)
    goes_on(others)
    for number in range(len(names)):
        others.executor.kill(10 + number, 0, signal.SIGTERM, 0.1, "it is ended\n")
    others.launch(4, "exit 5")
    assert others.end(4).exit_code == 5


@pytest.mark.skipif(not Path(PYTHON).exists(), reason=f"no {PYTHON}, which all users can run")
@pytest.mark.parametrize("leaves", [pytest.param(False, marks=pytest.mark.slow), True], ids=["child", "orphan"])
def test_memory_that_cannot_be_read_is_waited_for_by_nobody(
    others: Bench, slow: StuckFileSystem, *, leaves: bool
) -> None:
    program = others.script(f"#!{PYTHON}\n{ORPHAN if leaves else LOCKED}", "locked.py")
    own = {
        **user(others, ALICE),
        "env": {"SLOW": str(slow.where), "OUT": str(others.folder), "PATH": os.environ["PATH"]},
    }
    others.launch(1, script_of(others, ALICE, f"{program} &"), **own)
    path = others.folder / "locked"
    others.until(lambda: path.exists() and path.read_text())
    slow.stick()
    (others.folder / "stuck").touch()
    wait_for(lambda: state_of(int(path.read_text())) == "D")
    goes_on(others)
    assert [task.step_id for task in Processes().tasks(mark(others, 3), BOB, "n1")] == []
    assert len(Processes().tasks(mark(others, 1), ALICE, "n1")) <= 1
    others.executor.kill(1, 0, signal.SIGTERM, 0.1)
    others.launch(4, script_of(others, BOB), **user(others, BOB))
    others.terminate(4)
    slow.fail()
    others.end(1)
    wait_for(lambda: not is_alive(int(path.read_text())))
