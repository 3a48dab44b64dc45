"""Whose runs a supervisor has, its place, and damage to what it has written."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import socket
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from rota.executor.local import ExecutorError, LocalExecutor
from rota.executor.protocol import Ended, RunSpec, Started
from rota.executor.supervisor.log import Log, lines_of, notes_in, records_in, tail_of
from rota.executor.supervisor.messages import bound
from rota.executor.traces import read_traces

from .bench import WAIT, kill_9, wait_for

if TYPE_CHECKING:
    from .bench import Bench

_RECORDS: list[dict[str, Any]] = [
    {"is": "boot", "boot": "now"},
    *({"is": "forget", "job": job, "run": 0} for job in range(1, 6)),
]


def _talk(state: Path, text: bytes) -> bytes:
    """Say something to the supervisor, and give what it says until it hangs up, or for a second."""
    heard = b""
    with closing(socket.socket(socket.AF_UNIX)) as connection:
        folder = os.open(state, os.O_PATH)
        connection.connect(f"/proc/self/fd/{folder}/supervisor.sock")
        os.close(folder)
        connection.settimeout(1)
        connection.sendall(text)
        try:
            while data := connection.recv(65536):
                heard += data
        except TimeoutError:
            return heard + b"it stays"
    return heard


def test_a_controller_of_another_cluster_is_refused(plain: Bench) -> None:
    plain.do(plain.executor.close())
    first = LocalExecutor(plain.state, plain.reports.append, cluster="one")
    plain.do(first.start())
    wait_for(lambda: read_traces(plain.state).cluster == "one")
    with pytest.raises(ExecutorError, match="has the jobs of another cluster"):
        asyncio.run(LocalExecutor(plain.state, print, cluster="two").start())
    assert not _talk(plain.state, b'{"do":"cluster","number":0,"cluster":"two"}\n').endswith(b"it stays")
    assert _talk(plain.state, b'{"do":"cluster","number":0,"cluster":"one"}\n').endswith(b"it stays")
    assert "a controller of another cluster has called" in (plain.state / "supervisor.err").read_text()
    assert read_traces(plain.state).cluster == "one"
    plain.do(first.close())
    plain.executor = LocalExecutor(plain.state, plain.reports.append, cluster="one")
    plain.connect()


def test_what_a_supervisor_was_told_is_in_its_log(plain: Bench) -> None:
    plain.do(plain.executor.close())
    plain.executor = LocalExecutor(plain.state, plain.reports.append, cluster="one", head=lambda: ["one", "1:a:", 7])
    plain.connect()
    plain.launch(1, WAIT)
    plain.pid(1)
    found = read_traces(plain.state)
    assert (found.cluster, found.head, found.last_job_id) == ("one", ["one", "1:a:", 7], 1)


def test_a_place_that_somebody_else_has_is_not_taken(plain: Bench) -> None:
    plain.launch(1, "sleep 60")
    plain.pid(1)
    shutil.rmtree(plain.state)
    plain.state.mkdir()
    lock = os.open(plain.state / "supervisor.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    time.sleep(2.2)  # it looks each second
    assert sorted(path.name for path in plain.state.iterdir()) == ["supervisor.lock"]
    os.close(lock)
    wait_for((plain.state / "supervisor.sock").exists)
    assert plain.pid(1) in [run.pid for run in read_traces(plain.state).runs.values()]


def _lose_log(bench: Bench) -> None:
    """Kill supervisor and keeper, of which the next ones find no log."""
    both = bench.executor.supervisor_pid, bench.executor.keeper_pid
    bench.disconnect()
    kill_9(*both)
    for name in ("supervisor.log", "supervisor.tail"):
        (bench.state / name).unlink()
    bench.connect()


def test_a_run_that_may_have_run_is_not_started_without_a_log(plain: Bench) -> None:
    def spec(job: int) -> RunSpec:
        return RunSpec(job_id=job, argv=("/bin/touch", str(plain.folder / f"ran-{job}")), mark=f"x:{job}:0")

    _lose_log(plain)
    for again, job in ((True, 1), (False, 2), (True, 3)):  # after one that is new all have been asked for
        plain.executor.launch(spec(job), again=again)
        plain.until(lambda job=job: plain.of(Started, job))  # type: ignore[misc]
        plain.end(job)
    assert sorted(path.name for path in plain.folder.glob("ran-*")) == ["ran-2", "ran-3"]


def test_a_run_is_started_where_all_of_before_are_known(plain: Bench) -> None:
    """It was written down, and its launch was lost: a supervisor that is new has not lost it."""
    plain.executor.launch(plain.spec(1, "/bin/touch", str(plain.folder / "ran")), again=True)
    plain.end(1)
    assert (plain.folder / "ran").exists()


def test_many_runs_of_a_user_are_found_without_a_log(plain: Bench) -> None:
    """More than may be asked for at a time; what was asked of one meanwhile is done when it is found."""
    specs = [plain.spec(job, "/bin/sleep", "60") for job in range(1, 301)]
    for spec in specs:
        plain.start(spec)
    plain.until(lambda: len(plain.of(Started)) == len(specs))
    plain.executor.suspend(7, 0)
    plain.until(lambda: plain.is_suspended(7))
    _lose_log(plain)
    for spec in specs:
        plain.executor.launch(spec, again=True)
    plain.executor.resume(7, 0)
    plain.executor.suspend(8, 0)
    plain.until(lambda: len(plain.of(Started)) == len(specs))
    plain.until(lambda: plain.is_suspended(8) and not plain.is_suspended(7))
    assert not plain.of(Ended)
    plain.executor.resume(8, 0)


def test_what_is_set_aside_of_messages_is_dropped_where_there_is_no_room(tmp_path: Path) -> None:
    messages = tmp_path / "messages"
    (tmp_path / "messages.1").mkdir()  # as little as on a full disk can anything be written there
    with messages.open("a") as file:
        file.write("x" * (1 << 19))
        file.flush()
        before = len([*Path("/proc/self/fd").iterdir()])
        bound(file.fileno())
        assert len([*Path("/proc/self/fd").iterdir()]) == before
    assert messages.stat().st_size == 0


def test_records_are_written_although_the_tail_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = Log()
    log.open()
    log.append(_RECORDS[:1])
    monkeypatch.setattr(Log, "_write_tail", Mock(side_effect=OSError))
    log.append(_RECORDS[1:3])
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    found = Log()
    assert (found.open(), found.wrong) == (_RECORDS[:3], [])
    found.append(_RECORDS[3:])
    again = Log()
    assert (again.open(), again.wrong) == (_RECORDS, [])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data, ""),
        (lambda data: data.replace(b'"job":3', b'"job":4'), "line 4 is not as it was written"),
        (lambda data: b"".join(data.splitlines(keepends=True)[:3]), "it has numbers 7 to 9, and had 7 to 12"),
        (lambda data: b"".join(data.splitlines(keepends=True)[2:]), "it has numbers 9 to 12"),
        (lambda data: b"".join(reversed(data.splitlines(keepends=True))), "is missing"),
        (lambda data: data.replace(data.splitlines(keepends=True)[2], b""), "number 9 is missing"),
        (lambda data: b"", "it has numbers 1 to 0"),
    ],
)
def test_damage_to_a_log_is_found(damage: object, said: str) -> None:
    assert callable(damage)
    data = damage(lines_of(_RECORDS, 7))
    records, _, after, wrong = records_in(data, tail_of(7, 12, "now"), "now")
    assert after == 13
    assert said in "; ".join(wrong)
    assert bool(wrong) is bool(said)
    assert all(record in _RECORDS for record in records)


def test_a_log_that_is_longer_than_its_tail_is_whole() -> None:
    assert not records_in(lines_of(_RECORDS, 7), tail_of(7, 11, "now"), "now")[3]
    assert not records_in(lines_of(_RECORDS, 7), tail_of(1, 6, "now"), "now")[3]  # written anew just now


def test_after_another_boot_the_end_may_be_torn() -> None:
    data = lines_of(_RECORDS, 7)
    assert not records_in(data[:-90] + b"\0" * 30 + b"\n", tail_of(7, 12, "before"), "now")[3]


def test_damaged_notes_of_the_keeper_are_left_out() -> None:
    data = b"".join(b"\n" + lines_of([{"is": "exit", "pid": pid, "code": 0}]) for pid in (1, 2, 3))
    found, wrong = notes_in(data.replace(b'"pid":2,"code":0', b'"pid":2,"code":1'))
    assert ([record["pid"] for record in found], wrong) == ([1, 3], 1)
