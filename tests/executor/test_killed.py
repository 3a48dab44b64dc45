"""The supervisor, the keeper, both, or the daemon are killed: every run runs once, and its end is known."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.executor.protocol import Ended, LaunchFailed, Measured, Outcome, RunSpec, Started
from rota.executor.supervisor.log import TAIL, lines_of, records_in, tail_of

from .bench import WAIT, Bench, is_alive, kill_9, state_of, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Says that it ran, takes some time, writes down how it will end, and ends so.
SCRIPT = 'echo ran >> "$OUT/$1.ran"; sleep 0.$((RANDOM % 4))$((RANDOM % 10)); echo $2 > "$OUT/$1.code"; exit $2'
SUPERVISOR, KEEPER, BOTH = "supervisor", "keeper", "both"


def kill(bench: Bench, victims: str) -> None:
    """Kill -9, as soon as there is a connection."""
    bench.until(lambda: bench.is_connected and is_alive(bench.executor.supervisor_pid))
    bench.note_pids()
    keeper, supervisor = bench.executor.keeper_pid, bench.executor.supervisor_pid
    kill_9(*{SUPERVISOR: [supervisor], KEEPER: [keeper], BOTH: [keeper, supervisor]}[victims])


def check(bench: Bench, codes: dict[int, int], *, all_known: bool) -> None:
    """Every run ran once and has the exit code that it wrote down."""
    bench.until(lambda: bench.all_over, 120)
    assert not bench.of(LaunchFailed)
    ends = {end.job_id: end for end in bench.of(Ended)}
    assert ends.keys() == codes.keys()
    for job, code in codes.items():
        assert (bench.folder / f"{job}.ran").read_text() == "ran\n", job
        assert (bench.folder / f"{job}.code").read_text() == f"{code}\n", ends[job]
        if all_known or ends[job].outcome is not Outcome.UNKNOWN:
            assert (ends[job].exit_code, ends[job].outcome) == (code, Outcome.ENDED), ends[job]
    assert len(bench.of(Ended)) == len(codes)


def storm(bench: Bench, seed: int, kills: int, victims: list[str], jobs: int) -> None:
    path, chance, first = bench.script(SCRIPT), random.Random(seed), 1000 * seed  # noqa: S311 - not for secrets
    codes: dict[int, int] = {}
    for _ in range(kills):
        for job in range(first + len(codes), first + len(codes) + jobs):
            codes[job] = chance.randrange(200)
            bench.start(bench.spec(job, path, str(job), str(codes[job])))
        bench.sleep(chance.choice([0, 0.005, 0.02, 0.1]) * chance.random())
        kill(bench, chance.choice(victims))
    check(bench, codes, all_known=victims == [SUPERVISOR])
    for job in codes:
        bench.forget(job)
    bench.reports.clear()


def test_kill_9_under_load(bench: Bench) -> None:
    storm(bench, 1, 5, [SUPERVISOR, KEEPER, BOTH], 12)


@pytest.mark.slow
@pytest.mark.parametrize("victims", [[SUPERVISOR], [KEEPER], [BOTH], [SUPERVISOR, KEEPER, BOTH]], ids="-".join)
def test_many_kill_9_under_load(bench: Bench, victims: list[str]) -> None:
    for seed in range(5):
        storm(bench, seed, 12, victims, 20)


def test_a_killed_supervisor_loses_no_exit_and_no_usage(bench: Bench) -> None:
    memory = f"{sys.executable} -c 'bytearray(50_000_000)'"
    bench.launch(1, f"{memory}; for ((i = 0; i < 50000; i++)); do :; done; echo done; {WAIT}; exit 7")
    bench.printed(1, "done")
    kill(bench, SUPERVISOR)
    bench.go()
    end = bench.end(1)
    assert (end.exit_code, end.outcome) == (7, Outcome.ENDED)
    assert end.usage.user_seconds + end.usage.system_seconds > 0.02
    assert end.usage.max_rss > 50_000_000
    assert len(bench.of(Started)) == 1


def test_a_killed_supervisor_is_replaced(bench: Bench) -> None:
    kill(bench, SUPERVISOR)
    killed, keeper = bench.executor.supervisor_pid, bench.executor.keeper_pid
    assert bench.run(1, "exit 3").exit_code == 3
    assert bench.executor.supervisor_pid != killed
    assert bench.executor.keeper_pid == keeper


def test_a_killed_keeper_is_replaced_by_the_supervisor(bench: Bench) -> None:
    bench.launch(1, f"echo; {WAIT}; exit 5")
    bench.printed(1)
    supervisor = bench.executor.supervisor_pid
    kill(bench, KEEPER)
    bench.until(lambda: bench.is_connected and bench.executor.keeper_pid == supervisor)
    assert bench.executor.supervisor_pid != supervisor
    bench.launch(2, f"echo; {WAIT}; exit 6")
    bench.printed(2)
    kill(bench, SUPERVISOR)
    bench.go()
    assert [(bench.end(job).exit_code, bench.end(job).outcome) for job in (1, 2)] == [
        (5, Outcome.ENDED),
        (6, Outcome.ENDED),
    ]
    assert len(bench.of(Started)) == 2


def test_a_keeper_is_replaced_as_often_as_it_is_killed(plain: Bench) -> None:
    for job in range(1, 6):
        killed = plain.executor.keeper_pid
        kill(plain, KEEPER)
        plain.until(lambda: plain.is_connected and plain.executor.keeper_pid != killed)  # noqa: B023 - called at once
        assert plain.run(job, f"exit {job}").exit_code == job


@pytest.fixture
def inheriting() -> Iterator[None]:
    """Orphans become children of the test, so that they are reaped when it says so."""
    prctl = ctypes.CDLL(None).prctl
    prctl(36, 1, 0, 0, 0)
    yield
    prctl(36, 0, 0, 0, 0)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


@pytest.mark.usefixtures("inheriting")
@pytest.mark.parametrize("reaped", [False, True])
def test_the_kernel_tells_the_status_when_both_were_killed(bench: Bench, *, reaped: bool) -> None:
    if reaped and tuple(map(int, os.uname().release.split(".")[:2])) < (6, 15):
        pytest.skip("only of zombies, with this kernel")
    for job, last in ((1, "exit 5"), (2, "kill -USR2 $$")):
        bench.launch(job, f"echo; {WAIT}; {last}")
        bench.printed(job)
    kill(bench, BOTH)
    bench.until(lambda: bench.is_connected and bench.executor.supervisor_pid not in bench.pids)
    bench.go()
    if reaped:
        for job in (1, 2):
            os.waitpid(bench.pid(job), 0)
    assert (bench.end(1).exit_code, bench.end(1).outcome) == (5, Outcome.ENDED)
    assert (bench.end(2).signal, bench.end(2).outcome) == (signal.SIGUSR2, Outcome.ENDED)


@pytest.mark.usefixtures("inheriting")
@pytest.mark.parametrize("reaped", [False, True])
def test_an_end_that_nobody_saw_is_unknown(bench: Bench, *, reaped: bool) -> None:
    bench.launch(1, f"echo; {WAIT}; exit 5")
    bench.printed(1)
    pid = bench.pid(1)
    keeper, supervisor = bench.executor.keeper_pid, bench.executor.supervisor_pid
    bench.disconnect()
    kill_9(keeper, supervisor)
    bench.go()
    wait_for(lambda: not is_alive(pid))
    if reaped:
        os.waitpid(pid, 0)
    bench.connect()
    assert bench.end(1).outcome is (Outcome.UNKNOWN if reaped else Outcome.ENDED)


def test_runs_that_were_found_again_can_be_ended(bench: Bench) -> None:
    script = "trap '' TERM; (trap '' TERM; setsid sleep 1000) & echo; while :; do sleep 0.01; done"
    bench.launch(1, script)
    bench.launch(2, "while :; do echo x; sleep 0.01; done")
    bench.printed(1)
    bench.printed(2)
    kill(bench, BOTH)
    bench.executor.suspend(2, 0)
    bench.until(lambda: bench.is_suspended(2))
    size = bench.out(2).stat().st_size
    bench.executor.resume(2, 0)
    bench.until(lambda: bench.out(2).stat().st_size > size)
    bench.executor.kill(1, 0, signal.SIGTERM, 0.2)
    assert bench.end(1).signal == signal.SIGKILL
    assert bench.terminate(2).signal == signal.SIGTERM
    assert bench.processes() == []


def test_what_was_suspended_goes_on_and_nothing_else(bench: Bench) -> None:
    for job in (1, 2):
        bench.launch(job, "while :; do echo x; sleep 0.01; done")
    os.kill(bench.pid(1), signal.SIGSTOP)  # as its user may
    bench.printed(2)
    bench.executor.suspend(2, 0)
    bench.until(lambda: bench.is_suspended(2))
    kill(bench, BOTH)
    size = bench.out(2).stat().st_size
    for job in (1, 2):
        bench.executor.resume(job, 0)
    bench.until(lambda: bench.out(2).stat().st_size > size)
    assert state_of(bench.pid(1)) == "T"


@pytest.mark.parametrize("victims", [SUPERVISOR, BOTH])
def test_the_time_to_kill_is_not_forgotten(bench: Bench, victims: str) -> None:
    bench.launch(1, "trap '' TERM; echo; while :; do sleep 0.01; done")
    bench.printed(1)
    bench.executor.kill(1, 0, signal.SIGTERM, 0.2)
    bench.until(lambda: '"is":"kill"' in (bench.state / "supervisor.log").read_text())
    kill(bench, victims)
    assert bench.end(1).signal == signal.SIGKILL


def test_runs_whose_launch_was_lost_can_be_ended(bench: Bench) -> None:
    path, chance = bench.script('echo ran >> "$OUT/$1.ran"; sleep 1000'), random.Random(1)  # noqa: S311 - not for secrets
    for first in range(0, 30, 6):
        jobs = range(first, first + 6)
        for job in jobs:
            bench.start(bench.spec(job, path, str(job)))
        bench.sleep(chance.choice([0, 0.01]) * chance.random())
        kill_9(bench.executor.keeper_pid, bench.executor.supervisor_pid)
        bench.disconnect()  # and forgets what it has asked for
        bench.connect()
        for job in jobs:
            bench.executor.kill(job, 0, signal.SIGTERM, 10)
        bench.until(lambda: len(bench.of(Ended)) == 6)
        assert {end.signal for end in bench.of(Ended)} == {signal.SIGTERM}
        for job in jobs:
            bench.forget(job)
    assert bench.processes() == []


def test_epilogs_run_although_the_supervisor_is_killed(bench: Bench) -> None:
    epilog = bench.script(f'echo epilog >> "$OUT/log"; {WAIT}; echo end >> "$OUT/log"', "epilog")
    bench.launch(1, "exit 4", epilog=epilog)
    bench.until((bench.folder / "log").exists)
    kill(bench, SUPERVISOR)
    bench.go()
    assert bench.end(1).exit_code == 4
    assert (bench.folder / "log").read_text() == "epilog\nend\n"


def test_prologs_run_on_although_the_supervisor_is_killed(bench: Bench) -> None:
    prolog = bench.script(f'echo prolog >> "$OUT/log"; {WAIT}; exit 2', "prolog")
    for job in (1, 2):
        bench.launch(job, 'echo script >> "$OUT/log"', prolog=prolog if job == 1 else "")
    bench.until(lambda: (bench.folder / "log").exists() and "prolog" in (bench.folder / "log").read_text())
    kill(bench, SUPERVISOR)
    bench.go()
    (failed,) = bench.until(lambda: bench.of(LaunchFailed, 1))
    assert failed.prolog
    assert bench.end(2).exit_code == 0
    assert sorted((bench.folder / "log").read_text().split()) == ["prolog", "script"]


@pytest.mark.parametrize("victims", [SUPERVISOR, BOTH])
def test_the_time_limit_of_an_epilog_is_not_forgotten(bench: Bench, victims: str) -> None:
    epilog = bench.script('touch "$OUT/hangs"; sleep 1000', "epilog")
    bench.launch(1, "exit 4", epilog=epilog, prolog_epilog_timeout=1)
    bench.until((bench.folder / "hangs").exists)
    kill(bench, victims)
    end = bench.end(1)
    assert (end.exit_code, end.outcome) == (4, Outcome.ENDED)
    assert end.epilog_failure.endswith("taken longer than PrologEpilogTimeout")


def test_the_time_limit_of_a_prolog_is_not_forgotten(bench: Bench) -> None:
    prolog = bench.script('touch "$OUT/hangs"; sleep 1000', "prolog")
    bench.launch(1, 'touch "$OUT/ran"', prolog=prolog, prolog_epilog_timeout=1)
    bench.until((bench.folder / "hangs").exists)
    kill(bench, SUPERVISOR)
    (failed,) = bench.until(lambda: bench.of(LaunchFailed, 1))
    assert failed.message.endswith("taken longer than PrologEpilogTimeout")
    assert not (bench.folder / "ran").exists()


def test_the_daemon_goes_and_comes_back(bench: Bench) -> None:
    bench.launch(1, f"{WAIT}; exit 3")
    bench.launch(2, "sleep 1000")
    first = bench.pid(1), bench.pid(2)
    bench.disconnect()
    bench.go()
    wait_for(lambda: not is_alive(first[0]))
    bench.connect()
    assert (bench.pid(1), bench.pid(2)) == first
    assert bench.end(1).exit_code == 3
    assert not bench.of(Ended, 2)
    bench.launch(2, "echo again")
    bench.executor.measure()
    bench.until(lambda: bench.of(Measured, 2))
    assert {started.pid for started in bench.of(Started, 2)} == {first[1]}


@pytest.mark.parametrize("torn", [b'{"is":"end","job":1,"run', b"\xff\0\n", b"{}\n[]\n7\n"])
def test_a_torn_line_in_the_log(bench: Bench, torn: bytes) -> None:
    bench.launch(1, f"{WAIT}; exit 5")
    bench.run(2, "exit 6")
    bench.pid(1)
    for name in ("supervisor.log", "keeper.log"):
        with (bench.state / name).open("ab") as file:
            file.write(torn)
    kill(bench, SUPERVISOR)
    assert bench.run(3, "touch $OUT/go; exit 7").exit_code == 7
    assert bench.end(1).exit_code == 5
    kill(bench, SUPERVISOR)
    bench.disconnect()
    bench.connect()
    assert {end.job_id: end.exit_code for end in bench.of(Ended)} == {1: 5, 2: 6, 3: 7}


@pytest.mark.parametrize("is_damaged", [False, True])
@pytest.mark.parametrize("has_begun", [False, True])
def test_launches_of_which_nothing_was_heard(bench: Bench, *, has_begun: bool, is_damaged: bool) -> None:
    ran = bench.folder / "1.ran"
    bench.run(2, "exit 6")
    if not has_begun:
        os.kill(bench.executor.supervisor_pid, signal.SIGSTOP)
    bench.launch(1, f'echo ran >> "$OUT/1.ran"; {WAIT}; exit 5')
    bench.send()
    if has_begun:
        wait_for(ran.exists)
    bench.lose_connection()
    kill_9(bench.executor.keeper_pid, bench.executor.supervisor_pid)
    if is_damaged:
        (bench.state / "supervisor.log").write_text("damaged\n")
    bench.until(lambda: bench.of(Started, 1))
    assert bench.run(3, "exit 7").exit_code == 7
    bench.go()
    end = bench.end(1)
    assert ran.read_text() == "ran\n"
    # A run that has begun has no parent any more that is told its status.
    assert (end.outcome, end.exit_code) == (Outcome.ENDED, 5) or (end.outcome is Outcome.UNKNOWN and has_begun)


@pytest.mark.parametrize("without_keeper", [False, True])
def test_a_state_directory_that_is_gone(bench: Bench, *, without_keeper: bool) -> None:
    bench.launch(1, "sleep 60")
    bench.run(2, "exit 6")
    pid = bench.pid(1)
    shutil.rmtree(bench.state)
    if without_keeper:
        kill(bench, KEEPER)
    wait_for((bench.state / "supervisor.sock").exists)
    bench.disconnect()
    bench.connect()
    assert bench.pid(1) == pid
    assert bench.end(2).exit_code == 6
    kill(bench, BOTH)
    assert bench.run(3, "exit 7").exit_code == 7
    assert is_alive(pid)


def test_another_boot(plain: Bench) -> None:
    plain.launch(1, "sleep 60")
    plain.pid(1)
    pids = plain.pids
    plain.disconnect()
    kill_9(*pids)
    wait_for(lambda: not any(is_alive(pid) for pid in pids))
    log = plain.state / "supervisor.log"
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    records, first, number, wrong = records_in(log.read_bytes(), (plain.state / TAIL).read_bytes(), boot)
    assert not wrong
    for record in records:
        if record["is"] == "boot":
            record["boot"] = "another"
    log.write_bytes(lines_of(records, first))
    (plain.state / TAIL).write_bytes(tail_of(first, number - 1, "another"))
    plain.connect()
    assert plain.end(1).outcome is Outcome.UNKNOWN
    kill_9(*plain.processes())  # the machine has not really been started again
    wait_for(lambda: not plain.processes())


def test_junk_on_the_socket(plain: Bench) -> None:
    import socket

    for junk in (
        b"\0\xff\n",
        b"{}\n",
        b"[]\n",
        b'{"do":"launch","number":1,"what":{}}\n',
        b'{"do":"kill"',
        b"7\n" * 99,
    ):
        connection = socket.socket(socket.AF_UNIX)
        folder = os.open(plain.state, os.O_PATH)
        connection.connect(f"/proc/self/fd/{folder}/supervisor.sock")
        os.close(folder)
        connection.sendall(junk)
        connection.close()
    plain.start(RunSpec(job_id=1, argv=(), mark="x"))
    (failed,) = plain.until(lambda: plain.of(LaunchFailed, 1))
    assert "argv is empty" in failed.message
    assert plain.run(2, "exit 3").exit_code == 3
