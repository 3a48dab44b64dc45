"""What the machine is short of: processes, files. Runs wait for it, each starts once, and none fails."""

from __future__ import annotations

import os
import subprocess
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.executor.protocol import Ended, LaunchFailed, Short, Started
from rota.executor.supervisor.shortage import FILES, PROCESSES, pauses
from rota.testing.few_processes import can_be_few, few_processes

from .bench import WAIT, let_through, wait_for

if TYPE_CHECKING:
    from .bench import Bench

#: Nobody else uses this user id.
_USER = 61_234
needs_pids = pytest.mark.skipif(not can_be_few(), reason="no control group for processes can be made")


def _was_short(bench: Bench, missing: str) -> bool:
    return any(isinstance(one, Short) and one.missing == missing for one in bench.reports)


def test_pauses_grow_and_end() -> None:
    assert [*islice(pauses(3600), 3)] == [0.05, 0.1, 0.2]
    for _ in pauses(0.02):
        time.sleep(0.005)
    assert [*pauses(0)] == []


@needs_pids
def test_runs_wait_for_processes_and_each_starts_once(plain: Bench) -> None:
    jobs = range(1, 41)
    with few_processes("launch", plain.executor.supervisor_pid) as allow:
        allow(0)
        for job in jobs:
            plain.launch(job, "echo started; exit 3")
        plain.until(lambda: _was_short(plain, PROCESSES))
        plain.launch(7, "echo started; exit 3")  # asked for once more
        assert not plain.of(Started)
        allow(2)  # some, and then all
        plain.until(lambda: plain.of(Ended))
        allow(None)
        assert [plain.end(job).exit_code for job in jobs] == [3] * 40
    assert [plain.out(job).read_text() for job in jobs] == ["started\n"] * 40
    assert len(plain.of(Started)) == 40
    assert not plain.of(LaunchFailed)


@needs_pids
def test_a_run_that_waits_for_processes_can_be_ended_and_suspended(plain: Bench) -> None:
    with few_processes("wait", plain.executor.supervisor_pid) as allow:
        allow(0)
        plain.launch(1, "echo started")
        plain.launch(2, f"{WAIT}; echo started")
        plain.until(lambda: _was_short(plain, PROCESSES))
        plain.executor.suspend(2, 0)
        plain.executor.kill(1, 0, 15, 1)
        (failed,) = plain.until(lambda: plain.of(LaunchFailed, 1))
        assert (failed.missing, failed.prolog) == ("", False)
        allow(None)
        plain.pid(2)
        plain.until(lambda: plain.is_suspended(2))
        plain.executor.resume(2, 0)
        plain.go()
        assert plain.end(2).exit_code == 0
        assert not plain.out(1).exists()


@needs_pids
def test_a_supervisor_that_is_killed_meanwhile_starts_nothing_twice(plain: Bench) -> None:
    before = plain.executor.supervisor_pid
    with few_processes("killed", before, plain.executor.keeper_pid) as allow:
        allow(0)
        for job in range(1, 6):
            plain.launch(job, "echo started")
        plain.until(lambda: _was_short(plain, PROCESSES))
        os.kill(before, 9)
        plain.until(lambda: plain.executor.supervisor_pid != before)
        plain.note_pids()
        plain.sleep(0.3)
        allow(None)
        assert [plain.end(job).exit_code for job in range(1, 6)] == [0] * 5
    assert [plain.out(job).read_text() for job in range(1, 6)] == ["started\n"] * 5


@needs_pids
def test_prolog_and_epilog_wait_for_processes(plain: Bench) -> None:
    tools = {name: plain.script(f'#!/bin/sh\necho {name} >> "{plain.folder}/told"\n', name) for name in ("pro", "epi")}
    with few_processes("tools", plain.executor.supervisor_pid) as allow:
        allow(1)  # the run's own, and not its prolog's
        plain.launch(1, f"{WAIT}; exit 4", prolog=tools["pro"], epilog=tools["epi"])
        pid = plain.pid(1)
        plain.sleep(0.3)
        assert not (plain.folder / "told").exists()
        allow(None)
        plain.until((plain.folder / "told").exists)
        plain.until(lambda: b"script1" in Path(f"/proc/{pid}/cmdline").read_bytes())
        allow(-10)  # none, also when this one has ended
        plain.go()
        plain.until(lambda: _was_short(plain, PROCESSES))
        assert not plain.of(Ended)
        allow(None)
        ended = plain.end(1)
    assert (ended.exit_code, ended.epilog_failure) == (4, "")
    assert (plain.folder / "told").read_text() == "pro\nepi\n"


@needs_pids
def test_a_prolog_that_found_no_room_has_not_failed_and_an_epilog_is_run_again(plain: Bench) -> None:
    """They start programs of their own, which the machine has no room for."""
    told = f'"{plain.folder}/told"'
    tool = "#!/bin/dash\ntrue $(exec /bin/echo) && echo {0} >> {1}\n"
    tools = {name: plain.script(tool.format(name, told), name) for name in ("pro", "epi")}
    with few_processes("inner", plain.executor.supervisor_pid) as allow:
        allow(2)  # the run's own and its prolog
        plain.launch(1, f"{WAIT}; exit 4", prolog=tools["pro"], epilog=tools["epi"])
        (failed,) = plain.until(lambda: plain.of(LaunchFailed, 1))
        assert (failed.missing, failed.prolog) == (PROCESSES, False)
        assert (plain.folder / "told").read_text() == "epi\n"  # as after any other prolog that has failed
        (plain.folder / "told").unlink()
        allow(None)
        plain.forget(1)
        plain.reports.clear()
        plain.launch(1, "exec sleep 2", prolog=tools["pro"], epilog=tools["epi"])
        comm = Path(f"/proc/{plain.pid(1)}/comm")
        plain.until(lambda: comm.read_text() == "sleep\n")
        allow(0)  # when this one has ended there is room for the epilog, and for no more
        plain.until(lambda: _was_short(plain, PROCESSES))
        allow(None)
        ended = plain.end(1)
    assert (ended.exit_code, ended.epilog_failure) == (0, "")
    assert (plain.folder / "told").read_text() == "pro\nepi\n"


def test_runs_wait_for_files(plain: Bench) -> None:
    pid = plain.executor.supervisor_pid
    limit = ("prlimit", f"--pid={pid}")
    before = subprocess.check_output([*limit, "--nofile", "--output=SOFT", "--noheadings"], text=True).strip()
    subprocess.check_call([*limit, "--nofile=3:"])
    for job in (1, 2):
        plain.launch(job, "echo started")
    plain.until(lambda: _was_short(plain, FILES))
    subprocess.check_call([*limit, f"--nofile={before}:"])
    assert [plain.end(job).exit_code for job in (1, 2)] == [0, 0]
    assert [plain.out(job).read_text() for job in (1, 2)] == ["started\n"] * 2
    assert plain.executor.supervisor_pid == pid


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run jobs as other users")
def test_a_user_who_has_too_many_processes_is_told_so(plain: Bench) -> None:
    """Their limit is theirs: waiting for it would help nobody."""
    let_through(plain.folder)
    plain.folder.chmod(0o777)
    words = ("setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups", "--", "sleep", "100")
    others = [subprocess.Popen(words) for _ in range(3)]
    try:
        wait_for(lambda: all(Path(f"/proc/{one.pid}/comm").read_text() == "sleep\n" for one in others))
        ended = plain.run(1, "echo started", uid=_USER, gid=_USER, rlimits={"NPROC": (1, 1)})
    finally:
        for one in others:
            one.kill()
            one.wait()
    assert ended.exit_code == 11
    assert "ulimit -u" in plain.out(1).read_text()
    assert not _was_short(plain, PROCESSES)


@needs_pids
@pytest.mark.slow
def test_what_cannot_be_started_for_long_is_handed_back_and_can_be_launched_again(plain: Bench) -> None:
    with few_processes("long", plain.executor.supervisor_pid) as allow:
        allow(0)
        plain.launch(1, "echo started")
        (failed,) = plain.until(lambda: plain.of(LaunchFailed, 1), 120)
        assert failed.missing == PROCESSES
        allow(None)
        plain.reports.clear()
        plain.launch(1, "echo started")
        assert plain.end(1).exit_code == 0
    assert plain.out(1).read_text() == "started\n"
