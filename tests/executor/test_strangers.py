"""Who is of a run and who is not: anybody can write its mark into an environment.

All of it is tried where there are no control groups, which know their processes.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rota.executor.protocol import Measured, Outcome
from rota.executor.tasks import Processes

from .bench import Bench, is_alive, kill_9, let_through, state_of, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

#: All users can run it.
PYTHON = "/usr/bin/python3"
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root has processes of several users"),
    pytest.mark.skipif(not Path(PYTHON).exists(), reason=f"no {PYTHON}, which all users can run"),
]

#: Users of their own: the same test may run beside this one.
ALICE, BOB = 200_000 + 2 * os.getpid(), 200_001 + 2 * os.getpid()
SLEEP = "import time; print(flush=True); time.sleep(1000)"
GREEDY = f"x = bytearray(300_000_000); {SLEEP}"
#: Leaves parent, session and process group, and keeps the environment.
LEAVE = "import os, sys\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
ORPHAN = f"{LEAVE}os.execv(sys.argv[1], sys.argv[1:])"
#: Its first thread ends, another one goes on.
HEADLESS = """
import ctypes, os, threading
open(os.environ["OUT"] + "/headless", "w").write(str(os.getpid()))
x = bytearray(60_000_000)
threading.Thread(target=lambda: __import__("time").sleep(1000)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


@pytest.fixture
def strangers() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that are no run's, to be ended."""
    found: list[subprocess.Popen[bytes]] = []
    yield found
    for process in found:
        process.kill()
        process.communicate()


def mark(bench: Bench, job_id: int) -> str:
    return bench.spec(job_id, "/bin/true").mark


def stranger(
    strangers: list[subprocess.Popen[bytes]], program: list[str], uid: int, mark: str, **more: Any
) -> subprocess.Popen[bytes]:
    """Start a process of a user that has the mark of a run, and wait until it says something."""
    environment = {"ROTA_RUN": mark, "PATH": os.environ["PATH"]}
    process = subprocess.Popen(program, user=uid, group=uid, env=environment, stdout=subprocess.PIPE, **more)
    strangers.append(process)
    assert process.stdout is not None
    if program[0] == PYTHON:
        process.stdout.readline()
    return process


def user(bench: Bench, uid: int) -> dict[str, Any]:
    """What a run of a user is given."""
    let_through(bench.folder.parent)
    bench.folder.chmod(0o777)
    return {"uid": uid, "gid": uid, "stdout": str(bench.folder / f"{uid}.out"), "stderr": "/dev/null"}


def script_of(bench: Bench, uid: int, *programs: str) -> str:
    """A script that starts programs, says so, and waits."""
    return "".join(f"{program}\n" for program in programs) + f"touch $OUT/{uid}.ready; while :; do sleep 0.01; done"


def is_ready(bench: Bench, uid: int) -> bool:
    return (bench.folder / f"{uid}.ready").exists()


def file_of(bench: Bench, name: str) -> int:
    """The number that a process writes to a file."""
    path = bench.folder / name
    bench.until(lambda: path.exists() and path.read_text().strip())
    return int(path.read_text())


def measured(bench: Bench, job_id: int) -> Measured:
    """What a run has used until now."""
    count = len(bench.of(Measured, job_id))
    bench.executor.measure()
    bench.until(lambda: len(bench.of(Measured, job_id)) > count)
    return bench.of(Measured, job_id)[-1]


def of(pid: int, file: str) -> str:
    """What the kernel says of a process."""
    try:
        return Path(f"/proc/{pid}/{file}").read_text()
    except OSError:
        return ""


def set_uid(folder: Path, program: str, uid: int) -> str:
    """A copy of a program that becomes a user."""
    copy = folder / f"set-{uid}"
    shutil.copy(shutil.which(program) or program, copy)
    os.chown(copy, uid, uid)
    copy.chmod(0o4755)
    return str(copy)


def test_a_process_of_another_user_is_of_no_run(bare: Bench, strangers: list[subprocess.Popen[bytes]]) -> None:
    bare.launch(1, script_of(bare, ALICE, "trap 'exit 4' TERM"), memory=100_000_000, **user(bare, ALICE))
    bare.until(lambda: is_ready(bare, ALICE))
    other = stranger(strangers, [PYTHON, "-c", GREEDY], BOB, mark(bare, 1))
    roots = stranger(strangers, [PYTHON, "-c", GREEDY], 0, mark(bare, 1))
    assert measured(bare, 1).usage.max_rss < 100_000_000
    # It is looked at all runs together: when this one has been found, the other one has been seen as well.
    bare.launch(2, f"#!{PYTHON}\n{GREEDY}", memory=100_000_000)
    assert bare.end(2).outcome is Outcome.OUT_OF_MEMORY
    bare.executor.suspend(1, 0)
    pid = bare.pid(1)
    bare.until(lambda: state_of(pid) == "T")
    assert [state_of(one.pid) for one in (other, roots)] == ["S", "S"]
    bare.executor.resume(1, 0)
    bare.executor.signal(1, 0, signal.SIGTERM)
    end = bare.end(1)
    assert (end.exit_code, end.outcome) == (4, Outcome.ENDED)
    assert end.usage.max_rss < 100_000_000
    assert [other.poll(), roots.poll()] == [None, None]


@pytest.mark.parametrize("killed", ["supervisor", "both"])
def test_nor_after_the_supervisor_was_killed(
    bare: Bench, strangers: list[subprocess.Popen[bytes]], killed: str
) -> None:
    bare.launch(1, script_of(bare, ALICE), **user(bare, ALICE))
    bare.until(lambda: is_ready(bare, ALICE))
    other = stranger(strangers, [PYTHON, "-c", GREEDY], BOB, mark(bare, 1))
    supervisor = bare.executor.supervisor_pid
    kill_9(supervisor, *([bare.executor.keeper_pid] if killed == "both" else []))
    bare.until(lambda: bare.is_connected and bare.executor.supervisor_pid != supervisor)
    bare.note_pids()
    assert measured(bare, 1).usage.max_rss < 100_000_000
    assert bare.terminate(1).signal == signal.SIGTERM
    assert other.poll() is None


def test_a_set_uid_program_does_not_make_a_process_anothers(
    bare: Bench, strangers: list[subprocess.Popen[bytes]]
) -> None:
    """Bob executes a program that is set-uid of Alice's, with the mark of her run."""
    bare.launch(1, script_of(bare, ALICE), **user(bare, ALICE))
    bare.until(lambda: is_ready(bare, ALICE))
    other = stranger(strangers, [set_uid(bare.folder, "sleep", ALICE), "1000"], BOB, mark(bare, 1))
    wait_for(lambda: f"Uid:\t{BOB}\t{ALICE}" in of(other.pid, "status"))
    assert bare.terminate(1).signal == signal.SIGTERM
    assert other.poll() is None


@pytest.mark.parametrize("leaves", [False, True], ids=["child", "orphan"])
def test_a_set_uid_program_of_a_run_is_the_runs(bare: Bench, *, leaves: bool) -> None:
    set_uid(bare.folder, "sleep", 0)
    orphan = bare.script(f"#!{PYTHON}\n{ORPHAN}", "orphan")
    program = f"{orphan} $OUT/set-0 777" if leaves else "$OUT/set-0 777 &"
    bare.launch(1, script_of(bare, ALICE, program), **user(bare, ALICE))
    bare.until(lambda: is_ready(bare, ALICE))
    found: list[int] = bare.until(lambda: [pid for pid in bare.processes(1) if of(pid, "cmdline").endswith("777\0")])
    assert bare.terminate(1).signal == signal.SIGTERM
    assert not is_alive(found[0])


def test_what_was_there_before_a_run_is_not_of_it(bare: Bench, strangers: list[subprocess.Popen[bytes]]) -> None:
    earlier = stranger(strangers, [PYTHON, "-c", SLEEP], ALICE, mark(bare, 1))
    bare.launch(1, script_of(bare, ALICE), **user(bare, ALICE))
    bare.until(lambda: is_ready(bare, ALICE))
    later = stranger(strangers, [PYTHON, "-c", SLEEP], ALICE, mark(bare, 1))
    bare.terminate(1)
    assert later.wait() in (-signal.SIGTERM, -signal.SIGKILL)
    assert earlier.poll() is None


def test_a_process_is_of_one_run_only(bare: Bench) -> None:
    """A child of one run with the mark of another is of that from which it descends."""
    bare.launch(2, script_of(bare, BOB), **user(bare, ALICE) | {"stdout": "/dev/null"})
    program = f"ROTA_RUN={mark(bare, 2)} {PYTHON} -c '{GREEDY}' > $OUT/greedy &"
    bare.launch(1, script_of(bare, ALICE, program), **user(bare, ALICE))
    bare.until(lambda: (bare.folder / "greedy").exists() and (bare.folder / "greedy").read_text())
    assert measured(bare, 1).usage.max_rss > 300_000_000
    assert measured(bare, 2).usage.max_rss < 100_000_000
    bare.terminate(2)
    assert measured(bare, 1).usage.max_rss > 300_000_000
    bare.terminate(1)


def test_a_process_whose_first_thread_has_ended_is_not_overlooked(bare: Bench) -> None:
    program = f"{PYTHON} -c '{HEADLESS}' &"
    bare.launch(1, script_of(bare, ALICE, program), **user(bare, ALICE))
    pid = file_of(bare, "headless")
    wait_for(lambda: state_of(pid) == "Z")
    assert measured(bare, 1).usage.max_rss > 60_000_000
    bare.terminate(1)
    assert len(list(Path(f"/proc/{pid}").glob("task/*"))) <= 1


@pytest.fixture(params=[(), ("--no-cgroups",)], ids=["groups", "processes"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with Bench(tmp_path / "bench", request.param) as bench:
        yield bench


def test_only_processes_of_its_user_can_join_a_run(either: Bench, strangers: list[subprocess.Popen[bytes]]) -> None:
    either.launch(1, script_of(either, ALICE), **user(either, ALICE))
    either.until(lambda: is_ready(either, ALICE))
    own = stranger(strangers, [PYTHON, "-c", GREEDY], ALICE, "")
    others = [
        stranger(strangers, [PYTHON, "-c", SLEEP], BOB, mark(either, 1)),
        stranger(strangers, [PYTHON, "-c", SLEEP], 0, mark(either, 1)),
        stranger(strangers, [set_uid(either.folder, "sleep", ALICE), "1000"], BOB, mark(either, 1)),
    ]
    wait_for(lambda: f"Uid:\t{BOB}\t{ALICE}" in of(others[-1].pid, "status"))
    ended = subprocess.Popen(["/bin/true"])
    ended.wait()
    joined = [either.do(either.executor.join(1, 0, one.pid)) for one in (own, *others, ended)]
    assert joined == [True, False, False, False, False]
    assert either.do(either.executor.join(2, 0, own.pid)) is False
    supervisor = either.executor.supervisor_pid
    kill_9(supervisor)
    either.until(lambda: either.is_connected and either.executor.supervisor_pid != supervisor)
    either.note_pids()
    if not either.has_groups:
        assert measured(either, 1).usage.max_rss > 300_000_000
    either.terminate(1)
    assert own.wait() in (-signal.SIGTERM, -signal.SIGKILL)
    assert [one.poll() for one in others] == [None, None, None]


def test_what_tasks_use_is_what_the_processes_of_their_user_use(
    bare: Bench, strangers: list[subprocess.Popen[bytes]]
) -> None:
    set_uid(bare.folder, "sleep", 0)
    bare.launch(1, script_of(bare, ALICE, "$OUT/set-0 1000 &"), **user(bare, ALICE))
    bare.until(lambda: is_ready(bare, ALICE))
    stranger(strangers, [PYTHON, "-c", GREEDY], BOB, mark(bare, 1))
    stranger(strangers, [PYTHON, "-c", GREEDY], 0, mark(bare, 1))
    stranger(strangers, [set_uid(bare.folder, "sleep", ALICE), "1000"], BOB, mark(bare, 1))
    (script,) = Processes().tasks(mark(bare, 1), ALICE, "n1")
    of_run = {bare.pid(1), *map(int, Path(f"/proc/{bare.pid(1)}/task/{bare.pid(1)}/children").read_text().split())}
    assert of_run.issuperset(
        pid for pid in script.pids if is_alive(pid)
    )  # it sleeps for moments, each in a process of its own
    assert bare.pid(1) in script.pids
    assert len(script.pids) >= 2
    assert script.max_rss < 100_000_000


def test_environments_cost_the_supervisor_nothing(bare: Bench, strangers: list[subprocess.Popen[bytes]]) -> None:
    """Hundred processes with an environment of a megabyte: the supervisor reads none of it itself."""
    bare.launch(1, script_of(bare, ALICE), **user(bare, ALICE))
    bare.until(lambda: is_ready(bare, ALICE))
    large = {f"LARGE{number}": "x" * 100_000 for number in range(10)}
    fork = f"import os\nfor _ in range(99):\n    if not os.fork(): break\n{SLEEP}"
    program = [PYTHON, "-c", fork]
    crowd = subprocess.Popen(
        program, user=ALICE, group=ALICE, env=large, stdout=subprocess.PIPE, start_new_session=True
    )
    strangers.append(crowd)
    assert crowd.stdout is not None
    for _ in range(100):
        crowd.stdout.readline()
    try:
        before = read_by(bare.executor.supervisor_pid)
        for _ in range(3):
            measured(bare, 1)
        bare.terminate(1)
        assert read_by(bare.executor.supervisor_pid) - before < 20_000_000
    finally:
        os.killpg(crowd.pid, signal.SIGKILL)


def read_by(pid: int) -> int:
    """Bytes that a process itself has read from anywhere."""
    return int(of(pid, f"task/{pid}/io").split()[1])
