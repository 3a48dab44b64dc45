"""What becomes of a run: its exit, its output, where and as whom it runs."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import stat
import sys
import time
from pathlib import Path

import pytest

from rota.executor.local import ExecutorError, LocalExecutor
from rota.executor.protocol import Ended, LaunchFailed, Measured, Outcome, Started

from .bench import WAIT, Bench, is_alive, let_through, wait_for

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run as others")


@pytest.mark.parametrize("code", [0, 1, 7, 75, 255])
def test_an_exit_code_is_reported(plain: Bench, code: int) -> None:
    before = time.time()
    end = plain.run(1, f"exit {code}")
    assert (end.exit_code, end.signal, end.outcome) == (code, 0, Outcome.ENDED)
    assert before <= plain.of(Started)[0].time <= end.time <= time.time()


def test_a_signal_is_reported(bench: Bench) -> None:
    end = bench.run(1, "kill -USR1 $$")
    assert (end.exit_code, end.signal) == (0, signal.SIGUSR1)


def test_usage_is_measured(bench: Bench) -> None:
    end = bench.run(1, f"{sys.executable} -c 'bytearray(50_000_000)'; for ((i = 0; i < 100000; i++)); do :; done")
    assert 0.05 < end.usage.user_seconds + end.usage.system_seconds < 20
    assert 50_000_000 < end.usage.max_rss < 1 << 28


def memory_of(pid: int) -> int:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(status["VmRSS"].split()[0]) * 1024


def test_the_memory_of_a_run_is_not_that_of_the_supervisor(bench: Bench) -> None:
    prolog = bench.script("touch $OUT/begun; while [ ! -e $OUT/on ]; do sleep 0.01; done", "prolog")
    bench.launch(1, f"echo; {WAIT}", prolog=prolog)
    bench.until((bench.folder / "begun").exists)
    bench.executor.measure()
    bench.until(lambda: bench.of(Measured, 1))
    (bench.folder / "on").touch()
    bench.printed(1)
    bench.executor.measure()
    before, after = bench.until(lambda: len(bench.of(Measured, 1)) == 2 and bench.of(Measured, 1))
    supervisor = memory_of(bench.executor.supervisor_pid)
    assert before.usage.max_rss < supervisor
    assert 1 << 20 < after.usage.max_rss < supervisor
    bench.go()
    assert after.usage.max_rss <= bench.end(1).usage.max_rss < supervisor


@pytest.mark.slow
def test_every_run_of_some_seconds_is_measured_once(bench: Bench) -> None:
    assert 1 << 20 < bench.run(1, "sleep 7").usage.max_rss < memory_of(bench.executor.supervisor_pid)


def test_a_launch_of_a_known_run_is_no_second_start(bench: Bench) -> None:
    bench.launch(1, "echo begun; sleep 0.2", append=True)
    bench.launch(1, "echo begun; sleep 0.2", append=True)
    bench.end(1)
    bench.launch(1, "echo begun; sleep 0.2", append=True)
    bench.until(lambda: len(bench.of(Ended)) == 2)
    assert bench.of(Ended)[0] == bench.of(Ended)[1]
    assert len({started.pid for started in bench.of(Started)}) == 1
    assert bench.printed(1) == "begun\n"


def test_a_forgotten_run_is_not_known_any_more(plain: Bench) -> None:
    plain.run(1, "exit 3")
    plain.forget(1)
    plain.run(2, "exit 4")
    plain.disconnect()
    plain.connect()
    assert [end.job_id for end in plain.of(Ended)] == [2]


def test_restarts_are_runs_of_their_own(plain: Bench) -> None:
    path = plain.script("echo $ROTA_RUN")
    for restart in range(3):
        plain.start(plain.spec(1, path, restart_count=restart, append=True))
        plain.until(lambda: len(plain.of(Ended)) == restart + 1)  # noqa: B023 - it is called at once
    assert plain.out(1).read_text().split() == [f"{plain.state}:1.{restart}" for restart in range(3)]


def test_two_hundred_runs_that_end_in_a_second(bench: Bench) -> None:
    path = bench.script('echo $1 >> "$OUT/$1.ran"; exit $(($1 % 200))')
    for job in range(1, 201):
        bench.start(bench.spec(job, path, str(job)))
    bench.until(lambda: len(bench.of(Ended)) == 200)
    assert {end.job_id: end.exit_code for end in bench.of(Ended)} == {job: job % 200 for job in range(1, 201)}
    assert all((bench.folder / f"{job}.ran").read_text() == f"{job}\n" for job in range(1, 201))


def test_output_is_truncated_or_appended_to(plain: Bench) -> None:
    plain.run(1, "echo old")
    plain.forget(1)
    plain.reports.clear()
    plain.run(1, "echo new; echo error >&2", append=True)
    assert plain.printed(1) == "old\nnew\nerror\n"
    plain.run(2, "echo newest", stdout=str(plain.out(1)), stderr=str(plain.folder / "error"))
    assert plain.printed(1) == "newest\n"


def test_one_open_file_for_both_outputs(plain: Bench) -> None:
    plain.run(1, "for i in 1 2 3; do echo out $i; echo error $i >&2; done")
    assert plain.printed(1) == "".join(f"out {i}\nerror {i}\n" for i in (1, 2, 3))


def test_standard_input(plain: Bench) -> None:
    (plain.folder / "in").write_text("read\n")
    plain.run(1, "cat", stdin=str(plain.folder / "in"))
    assert plain.printed(1) == "read\n"


def test_a_missing_directory_is_replaced(plain: Bench) -> None:
    end = plain.run(1, "pwd", cwd="/no/such/place")
    assert end.exit_code == 0
    assert plain.printed(1, "tmp\n").splitlines() == [
        "rota: error: couldn't chdir to `/no/such/place': No such file or directory: going to /tmp instead",
        "/tmp",  # noqa: S108 - as Slurm
    ]


def test_output_that_cannot_be_opened_ends_the_run(plain: Bench) -> None:
    path = str(plain.folder / "no" / "such")
    assert plain.run(1, "touch $OUT/ran", stdout=path, stderr=path).signal == 53
    assert not (plain.folder / "ran").exists()


@pytest.mark.parametrize("text", ["#!/no/such/interpreter\n", "#!/bin/sh\n"])
def test_a_program_that_cannot_be_executed(plain: Bench, text: str) -> None:
    path = plain.script(text)
    Path(path).chmod(0o755 if "such" in text else 0o644)
    plain.start(plain.spec(1, path))
    assert plain.end(1).exit_code == (2 if "such" in text else 13)
    assert "execve()" in plain.printed(1)


def test_surroundings(plain: Bench) -> None:
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    processor = min(os.sched_getaffinity(0))
    limits = {"NOFILE": (100, 200), "CORE": (-1, -1) if hard != -1 else (0, 0)}
    plain.run(1, "umask; ulimit -Sn; ulimit -Hn", umask=0o027, rlimits=limits)
    assert plain.out(1).read_text().split() == ["0027", "100", "200"]
    assert stat.S_IMODE(plain.out(1).stat().st_mode) == 0o640
    status = ("-h", "-E", "^(Sig(Blk|Ign)|Cpus_allowed_list)", "/proc/self/status")
    plain.start(plain.spec(2, "/bin/grep", *status, cpus=(processor,)))
    plain.end(2)
    _, blocked, _, ignored, _, cpus = plain.out(2).read_text().split()
    # The C library keeps signals 32 and 33 for itself: who has started this test may have left them ignored.
    assert (int(blocked, 16), int(ignored, 16) & ~(0b11 << 31), cpus) == (0, 0, str(processor))


def test_no_file_of_the_supervisor_is_left_open(plain: Bench) -> None:
    plain.launch(1, "sleep 60")
    plain.pid(1)
    plain.start(plain.spec(2, "/bin/ls", "/proc/self/fd"))
    plain.end(2)
    assert plain.out(2).read_text().split() == ["0", "1", "2", "3"]  # 3 is the listing's own


def test_environment(plain: Bench) -> None:
    environment = {"A": "1\n2", "BASH_FUNC_x%%": "() { :; }", "Ü": "\udcff"}
    plain.start(plain.spec(1, "/usr/bin/env", "-0", env=environment))
    plain.end(1)
    got = plain.out(1).read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
    assert sorted(got) == sorted(
        [f"ROTA_RUN={plain.state}:1.0", *(f"{name}={value}" for name, value in environment.items())]
    )


def test_what_is_said_of_paths_can_be_shown_and_is_bounded(plain: Bench) -> None:
    """A run whose error output cannot be opened has nowhere else to say so than where the supervisor does."""
    folder = plain.folder / ("\x1b[2J\n\u202e" + "x" * 200)
    said = plain.state / "supervisor.err"
    said.write_bytes(b"earlier\n" * (1 << 16))
    for job in range(1, 4):
        assert plain.run(job, "exit 0", stderr=f"{folder}/{'y' * 200}/{'z' * 200}").signal == 53
    wait_for(lambda: said.stat().st_size < 100_000)
    text = said.read_text() + (plain.state / "supervisor.err.1").read_text()
    (line, *_) = [line for line in text.splitlines() if "could not open" in line]
    assert "\\x1b[2J\\n\\u202exxx" in line
    assert line.isprintable()
    assert len(line) < 400
    assert (plain.state / "supervisor.err.1").stat().st_size <= 1 << 18


def test_a_full_pipe_holds_up_the_run_only(bench: Bench) -> None:
    pipe = bench.folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    bench.launch(1, "yes", stdout=str(pipe), stderr="/dev/null")
    assert bench.run(2, "exit 5").exit_code == 5
    assert bench.terminate(1).signal == signal.SIGTERM
    os.close(reader)


def test_a_pipe_that_nobody_reads_can_be_given_up(bench: Bench) -> None:
    pipe = bench.folder / "pipe"
    os.mkfifo(pipe)
    bench.launch(1, "echo never", stdout=str(pipe), stderr="/dev/null")
    bench.pid(1)
    assert bench.terminate(1).signal == signal.SIGTERM


def test_live_usage_is_measured_on_request(bench: Bench) -> None:
    bench.launch(1, "i=0; echo go; while :; do ((i++)); done")
    bench.printed(1)

    def measured() -> Measured:
        bench.reports.clear()
        bench.executor.measure()
        bench.until(lambda: bench.of(Measured, 1))
        return bench.of(Measured, 1)[0]

    wait_for(lambda: (usage := measured().usage).user_seconds + usage.system_seconds > 0.05)
    assert 1 << 20 < measured().usage.max_rss < 1 << 28


def test_prolog_and_epilog(bench: Bench) -> None:
    prolog = bench.script('echo prolog $ROTA_RUN >> "$OUT/log"', "prolog")
    epilog = bench.script('echo epilog >> "$OUT/log"; sleep 0.1', "epilog")
    # Root does not hand on a user's variables: see below.
    end = bench.run(1, 'echo script >> "$OUT/log"; exit 4', prolog=prolog, epilog=epilog)
    assert end.exit_code == 4
    assert (bench.folder / "log").read_text() == f"prolog {bench.state}:1.0\nscript\nepilog\n"


def test_a_prolog_that_fails(bench: Bench) -> None:
    bench.launch(1, 'touch "$OUT/ran"', prolog=bench.script("exit 3", "prolog"))
    (failed,) = bench.until(lambda: bench.of(LaunchFailed, 1))
    assert failed.prolog
    assert failed.message.endswith("prolog exited with 3")
    assert not (bench.folder / "ran").exists()


#: Never ends, ignores SIGTERM, and so does a child of it.
HANGING = 'echo $$ >> "$OUT/pids"; trap "" TERM; sleep 1000 & echo $! >> "$OUT/pids"; while :; do sleep 1; done'


def pids_of_what_hung(bench: Bench) -> list[int]:
    return [int(pid) for pid in (bench.folder / "pids").read_text().split()]


def test_a_prolog_that_hangs_is_killed(bench: Bench) -> None:
    prolog = bench.script(HANGING, "prolog")
    bench.launch(1, 'touch "$OUT/ran"', prolog=prolog, prolog_epilog_timeout=1)
    (failed,) = bench.until(lambda: bench.of(LaunchFailed, 1))
    assert failed.prolog
    assert failed.message == f"prolog {prolog} has taken longer than PrologEpilogTimeout"
    assert not (bench.folder / "ran").exists()
    assert not any(is_alive(pid) for pid in pids_of_what_hung(bench))


def test_an_epilog_that_hangs_is_killed(bench: Bench) -> None:
    epilog = bench.script(HANGING, "epilog")
    end = bench.run(1, "exit 4", epilog=epilog, prolog_epilog_timeout=1)
    assert (end.exit_code, end.outcome) == (4, Outcome.ENDED)
    assert end.epilog_failure == f"epilog {epilog} has taken longer than PrologEpilogTimeout"
    wait_for(lambda: not any(is_alive(pid) for pid in pids_of_what_hung(bench)))


@pytest.mark.parametrize(("last", "said"), [("exit 3", "exited with 3"), ("kill -9 $$", "was ended by signal 9")])
def test_an_epilog_that_fails(bench: Bench, last: str, said: str) -> None:
    epilog = bench.script(last, "epilog")
    end = bench.run(1, "exit 4", epilog=epilog, prolog_epilog_timeout=60)
    assert (end.exit_code, end.epilog_failure) == (4, f"epilog {epilog} {said}")


@as_root
def test_another_user(bench: Bench) -> None:
    theirs = bench.folder / "theirs"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    let_through(bench.folder)
    out = theirs / "out"
    user = {"uid": NOBODY, "gid": NOBODY, "groups": (NOBODY, 12345), "stdout": str(out), "stderr": str(out)}
    epilog = bench.script('id -u > "$SLURM_OUT/epilog"; env >> "$SLURM_OUT/epilog"', "epilog")
    user["env"] = {"PATH": os.environ["PATH"], "LD_PRELOAD": "/theirs.so", "SLURM_OUT": "/", "SLURM_JOB_GPUS": "0,1,2"}
    user["own_env"] = {"SLURM_OUT": str(bench.folder)}
    bench.run(1, "unset LD_PRELOAD; id -u; id -g; id -G; cat /proc/$$/oom_score_adj", epilog=epilog, **user)
    lines = [line for line in out.read_text().splitlines() if "LD_PRELOAD" not in line]
    adjusted = Path("/proc/self/oom_score_adj").read_text().strip()
    assert lines == [str(NOBODY), str(NOBODY), f"{NOBODY} 12345", adjusted]
    assert out.stat().st_uid == NOBODY
    said = (bench.folder / "epilog").read_text()
    assert said.startswith("0\n")
    assert "LD_PRELOAD" not in said
    assert "SLURM_JOB_GPUS" not in said


@as_root
def test_files_are_opened_with_the_users_rights(bench: Bench) -> None:
    bench.folder.chmod(0o711)
    let_through(bench.folder.parent)
    end = bench.run(1, "exit 0", uid=NOBODY, gid=NOBODY)
    assert end.signal == 53
    assert not bench.out(1).exists()


def test_a_state_directory_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "bench").touch()
    with pytest.raises(ExecutorError, match="cannot be started"):
        asyncio.run(LocalExecutor(tmp_path / "bench" / "state", print).start())


def test_two_state_directories(plain: Bench, tmp_path: Path) -> None:
    with Bench(tmp_path / "other") as other:
        plain.launch(1, "sleep 60")
        other.launch(1, "sleep 60")
        assert plain.pid(1) != other.pid(1)
        assert other.terminate(1).signal == signal.SIGTERM
        assert not plain.of(Ended)


def test_only_the_owner_can_look_in(plain: Bench) -> None:
    plain.run(1, ":")
    assert stat.S_IMODE(plain.state.stat().st_mode) == 0o700
    for path in plain.state.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


@pytest.mark.slow
def test_the_supervisor_ends_when_nobody_needs_it(plain: Bench) -> None:
    plain.run(1, "exit 6")
    plain.disconnect()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in plain.pids))
    plain.connect()
    assert [end.exit_code for end in plain.of(Ended)] == [6]


def test_who_has_lost_the_end_of_a_run_hears_it_again(plain: Bench) -> None:
    end = plain.run(1, "exit 3")
    plain.reports.clear()
    plain.executor.kill(1, 0, signal.SIGTERM, 0)
    assert plain.end(1) == end


def test_what_was_never_launched_ends_when_it_is_killed(plain: Bench) -> None:
    plain.executor.kill(1, 0, signal.SIGTERM, 0)
    assert (plain.end(1).signal, plain.end(1).outcome) == (signal.SIGTERM, Outcome.ENDED)
