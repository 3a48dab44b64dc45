"""A run ends with all of its processes, however they behave."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from rota.executor.protocol import Ended, Outcome

from .bench import PATIENCE, Bench, is_alive, let_through

if TYPE_CHECKING:
    from pathlib import Path

#: Leaves the session, the parent and the process group.
DAEMON = """#!/usr/bin/env python3
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[1], "w").write(str(os.getpid()))
        time.sleep(1000)
    os._exit(0)
while not os.path.exists(sys.argv[1]) or not open(sys.argv[1]).read():
    time.sleep(0.01)
"""


def daemon_of(bench: Bench) -> int:
    path = bench.folder / "daemon.pid"
    bench.until(lambda: path.exists() and path.read_text().strip())
    return int(path.read_text())


def test_what_a_script_leaves_behind_is_ended(bench: Bench) -> None:
    daemon = bench.script(DAEMON, "daemon")
    end = bench.run(1, f'{daemon} "$OUT/daemon.pid"; sleep 1000 & echo; exit 3')
    assert (end.exit_code, end.outcome) == (3, Outcome.ENDED)
    assert not is_alive(daemon_of(bench))
    assert bench.processes() == []


def test_a_daemon_is_ended_with_its_run(bench: Bench) -> None:
    daemon = bench.script(DAEMON, "daemon")
    bench.launch(1, f'{daemon} "$OUT/daemon.pid"; echo; sleep 1000')
    bench.printed(1)
    assert bench.terminate(1).signal == signal.SIGTERM
    assert not is_alive(daemon_of(bench))


def test_a_daemon_without_the_environment_is_ended(bench: Bench) -> None:
    daemon = bench.script(DAEMON, "daemon")
    bench.launch(1, f'env -i {sys.executable} {daemon} "{bench.folder}/daemon.pid" & wait; echo; sleep 1000')
    pid = daemon_of(bench)
    bench.launch(2, "sleep 1000")
    bench.pid(2)
    if not bench.has_groups:
        pytest.skip("only a control group knows it")
    bench.terminate(1)
    assert not is_alive(pid)
    assert not bench.of(Ended, 2)


def test_the_script_alone_can_be_sent_a_signal(bench: Bench) -> None:
    bench.launch(1, "trap 'echo caught' USR1; bash -c 'echo; while :; do sleep 0.01; done' & while :; do wait; done")
    bench.printed(1)
    bench.executor.signal(1, 0, signal.SIGUSR1, batch_only=True)
    bench.printed(1, "caught")
    assert len(bench.processes()) >= 2
    bench.executor.signal(1, 0, signal.SIGUSR1)
    bench.until(lambda: bench.out(1).read_text().count("caught") >= 2)


def test_a_run_is_sent_a_signal_as_soon_as_it_is_started(bench: Bench) -> None:
    for job_id in range(1, 21):
        bench.launch(job_id, "sleep 60")
        bench.executor.kill(job_id, 0, signal.SIGTERM, 2 * PATIENCE)
    assert {bench.end(job_id).signal for job_id in range(1, 21)} == {signal.SIGTERM}


def test_a_run_that_ignores_sigterm_is_killed_in_the_end(bench: Bench) -> None:
    bench.launch(1, "trap '' TERM; echo; while :; do sleep 0.01; done")
    bench.printed(1)
    begun = time.monotonic()
    bench.executor.kill(1, 0, signal.SIGTERM, 0.4)
    end = bench.end(1)
    assert (end.exit_code, end.signal) == (0, signal.SIGKILL)
    assert time.monotonic() - begun >= 0.4


def test_why_a_run_is_ended_is_said_in_its_error_output(bench: Bench) -> None:
    bench.launch(1, "trap 'echo over; exit' TERM; echo ready; while :; do sleep 0.01; done")
    bench.printed(1)
    bench.executor.kill(1, 0, signal.SIGTERM, 2 * PATIENCE, "it is ended\n")
    bench.end(1)
    assert bench.out(1).read_text().startswith("ready\nit is ended\n")


@pytest.mark.parametrize("opened", ["2<kept", "2> >(cat >>kept)", "2>&-"])
def test_nothing_is_said_but_in_a_file_that_the_script_writes_to(bench: Bench, opened: str) -> None:
    """A script can open what it may only read: a supervisor of root's must not write there.

    Bash itself may say there that a command of the script was terminated.
    """
    kept = bench.folder / "kept"
    kept.write_text("before\n")
    bench.launch(1, f"trap exit TERM; exec {opened}; echo ready; while :; do sleep 0.01; done")
    bench.printed(1)
    bench.executor.kill(1, 0, signal.SIGTERM, 2 * PATIENCE, "it is ended\n")
    bench.end(1)
    assert kept.read_text() in ("before\n", "before\nTerminated\n")


def test_a_run_that_heeds_sigterm_ends_as_it_likes(bench: Bench) -> None:
    bench.launch(1, "trap 'exit 9' TERM; echo; while :; do sleep 0.01; done")
    bench.printed(1)
    assert bench.terminate(1).exit_code == 9


def test_suspended_runs_stand_still(bench: Bench) -> None:
    bench.launch(1, "while :; do echo x; sleep 0.01; done & while :; do echo y; sleep 0.01; done")
    bench.printed(1, "x")
    bench.executor.suspend(1, 0)
    bench.until(lambda: bench.is_suspended(1))
    size = bench.out(1).stat().st_size
    bench.executor.resume(1, 0)
    bench.until(lambda: bench.out(1).stat().st_size > size)
    bench.executor.suspend(1, 0)
    bench.until(lambda: bench.is_suspended(1))
    assert bench.terminate(1).signal == signal.SIGTERM


def test_calls_for_runs_that_are_over_or_unknown_do_nothing(bench: Bench) -> None:
    bench.run(1, "exit 2")
    for job in (1, 2):
        bench.executor.signal(job, 0, signal.SIGKILL)
        bench.executor.suspend(job, 0)
        bench.executor.resume(job, 0)
    bench.executor.forget(2, 0)
    assert bench.run(3, "exit 3").exit_code == 3
    assert len(bench.of(Ended)) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="root has no limit of processes: it runs the bomb as another user")
def test_a_fork_bomb_within_its_limit_is_killed(bench: Bench) -> None:
    let_through(bench.folder.parent)
    bench.folder.chmod(0o777)
    # A user of its own: limits of processes are counted by user, and the same test may run beside this one.
    uid = 100_000 + os.getpid()
    user = {"uid": uid, "gid": uid, "rlimits": {"NPROC": (60, 60)}, "stdout": "/dev/null", "stderr": "/dev/null"}
    bomb = 'touch "$OUT/bomb"; bomb() { bomb & bomb & while :; do sleep 0.1; done; }; bomb'
    bench.launch(1, bomb, **user)
    bench.until(lambda: len(bench.processes()) > 40)
    bench.executor.kill(1, 0, signal.SIGTERM, 0.1)
    assert bench.end(1).signal in (signal.SIGTERM, signal.SIGKILL)
    assert bench.processes() == []


GREEDY = "#!/usr/bin/env python3\nimport time\nprint('go', flush=True)\nx = bytearray(200_000_000)\ntime.sleep({})\n"


@pytest.mark.parametrize(
    "options", [(), pytest.param(("--no-memory-cgroups",), marks=pytest.mark.slow), ("--no-cgroups",)]
)
def test_too_much_memory(tmp_path: Path, options: tuple[str, ...]) -> None:
    with Bench(tmp_path / "bench", options) as bench:
        greedy = bench.script(GREEDY.format(1000), "greedy")
        bench.launch(1, f"{greedy}; exit 0", memory=100_000_000)
        bench.launch(2, GREEDY.format(0), memory=1_000_000_000)
        end = bench.end(1)
        assert end.outcome is Outcome.OUT_OF_MEMORY
        if bench.executor.capabilities().memory == "measurement":
            assert end.usage.max_rss > 100_000_000
        else:
            assert end.exit_code == 0  # the kernel killed the child, not the script
            assert 90_000_000 < end.usage.max_rss < 130_000_000
        assert bench.end(2).outcome is Outcome.ENDED
