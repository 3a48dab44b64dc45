"""Many connections: of many users, that say nothing or half of something, that are not read, opened and closed."""

from __future__ import annotations

import os
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack, chdir, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.controller.crowd import Crowd, Places
from rota.controller.seldom import Seldom
from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

#: How many files the controller of these tests may have open.
_FILES = 400
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has users who trust nobody")


# ---- who may have how many --------------------------------------------------------------------------------------


def _fill(places: Places, users: int) -> Counter[int]:
    """Let users take one place each in turn, as long as any of them gets one."""
    taken: Counter[int] = Counter()
    more = True
    while more:
        more = False
        for user in range(users):
            if places.take(user):
                taken[user] += 1
                more = True
    return taken


@pytest.mark.parametrize("users", [1, 2, 5, 20, 60])
def test_however_many_users_take_all_they_can_another_one_gets_some(users: int) -> None:
    places = Places(900)
    taken = _fill(places, users)
    assert max(taken.values()) - min(taken.values()) <= 1
    assert all(places.take("another") for _ in range(5))


def test_one_user_alone_has_a_quarter_of_the_files() -> None:
    places = Places(900)
    assert _fill(places, 1)[0] == 300
    for _ in range(300):
        places.give_back(0)
    assert places.taken == 0
    assert _fill(places, 1)[0] == 300


def test_users_leave_room_for_administrators_and_they_for_the_controller() -> None:
    crowd = Crowd(800)
    for user in range(1000, 3000):
        crowd.enter(user, lambda: False)
    assert crowd.enter(4000, lambda: False) is None
    administrators = [crowd.enter(5000, lambda: True) for _ in range(800)]
    assert sum(one is not None for one in administrators) == 800 // 8
    leave = administrators[0]
    assert leave is not None
    leave()
    leave()  # it counts once
    assert crowd.enter(5000, lambda: True) is not None
    assert crowd.enter(5000, lambda: True) is None


def test_what_happens_again_and_again_is_one_line_a_minute() -> None:
    lines: list[str] = []
    now = 0.0
    seldom = Seldom(lines.append, lambda: now)
    for _ in range(5_000):
        seldom("full")
    now = 61.0
    seldom("full")
    seldom("full")
    assert lines == ["full", "full (4,999 more since the last such line)"]


# ---- a controller -----------------------------------------------------------------------------------------------


def _open_to_all(folder: Path) -> None:
    folder.chmod(0o711)
    for parent in folder.parents:
        if "pytest" in parent.as_posix():
            parent.chmod(parent.stat().st_mode | 0o011)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """A cluster of root's whose controller may have few files open."""
    folder = tmp_path_factory.mktemp("crowd")
    _open_to_all(folder)
    found = LiveCluster(folder, virtual_nodes(1, cpus=64))
    up = (sys.executable, "-m", "rota", "up", "--config", str(found.conf))
    found.run("bash", "-c", f'ulimit -n {_FILES}; exec "$@"', "bash", *up)
    try:
        yield found
    finally:
        found.rota("down", "--jobs", "cancel")


@contextmanager
def _as_user(uid: int) -> Iterator[None]:
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


def _connect(cluster: LiveCluster, uid: int, said: bytes = b"") -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    with _as_user(uid), chdir(cluster.state):
        connection.connect("rota.sock")
        with suppress(ConnectionError):  # it was refused
            connection.sendall(said)
    connection.settimeout(30)
    return connection


def _fill_up(cluster: LiveCluster, stack: ExitStack, users: range, said: bytes = b"", each: int = 120) -> None:
    for _ in range(each):
        for uid in users:
            stack.enter_context(_connect(cluster, uid, said))


def _files_of(pid: int) -> int:
    return len([*Path(f"/proc/{pid}/fd").iterdir()])


def _memory_of(pid: int) -> int:
    """Give the resident memory of a process, MiB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 >> 20


def _message(*words: str) -> bytes:
    texts = ["1", "22", "/", str(len(words)), *words]
    data = "".join(f"{text}\0" for text in texts).encode()
    return struct.pack(">I", len(data)) + data


def _as(uid: int, *words: str) -> tuple[str, ...]:
    return ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--", *words)


@only_root
@pytest.mark.parametrize("said", [b"", b"\0\0", b"\0\0\1\0half a call"], ids=["nothing", "a byte", "half"])
def test_twenty_users_that_take_all_they_can_keep_neither_root_nor_others_out(
    cluster: LiveCluster, said: bytes
) -> None:
    log = cluster.state / "controller.log"
    before = len(log.read_text().splitlines())
    with ExitStack() as stack:
        _fill_up(cluster, stack, range(2001, 2021), said, each=30)
        began = time.monotonic()
        assert cluster.run("squeue", "-h").returncode == 0
        assert cluster.submit("-o", "/dev/null", "--wait", "--wrap", "exit 0") > 0
        assert time.monotonic() - began < 20  # and not until they are sent away
        assert cluster.run(*_as(3000, "squeue", "-h"), check=False).returncode == 0
        refused = cluster.run(*_as(2001, "squeue", "-h"), check=False)
        assert (refused.returncode, "too many commands" in refused.stderr) == (1, True)
        pid = cluster.pid()
        assert pid is not None
        assert _files_of(pid) < _FILES * 7 / 8
    added = log.read_text().splitlines()[before:]
    assert len(added) <= 2, added
    assert not [line for line in added if "Traceback" in line or "defect" in line]
    cluster.wait(lambda: cluster.run(*_as(2001, "squeue", "-h"), check=False).returncode == 0)  # at once


@only_root
def test_places_of_connections_that_have_gone_are_free(cluster: LiveCluster) -> None:
    pid = cluster.pid()
    assert pid is not None
    before = _files_of(pid)
    for _ in range(1000):
        _connect(cluster, 2001).close()
        _connect(cluster, 2002, b"\0").close()
    assert cluster.run(*_as(2001, "squeue", "-h")).returncode == 0
    cluster.wait(lambda: _files_of(pid) <= before)


@only_root
def test_answers_that_nobody_reads_fill_no_memory_and_keep_others_out_of_nothing(cluster: LiveCluster) -> None:
    """Each answer is a script of 3 MB: some of them wait for a user who reads nothing, and no more."""
    script = "#!/bin/sh\n" + f"# {'x' * 1000}\n" * 3000
    job = cluster.run(*_as(2001, "sbatch", "--parsable", "-H"), stdin=script).stdout.strip()
    pid = cluster.pid()
    assert pid is not None
    before = _memory_of(pid)
    with ExitStack() as stack:
        _fill_up(cluster, stack, range(2001, 2002), _message("scontrol", "write", "batch_script", job, "-"), each=90)
        assert cluster.run("squeue", "-h").returncode == 0
        assert cluster.run(*_as(3000, "squeue", "-h")).returncode == 0
        assert "not been read" in cluster.run(*_as(2001, "squeue", "-h"), check=False).stderr
        assert _memory_of(pid) - before < 120
    cluster.wait(lambda: cluster.run(*_as(2001, "squeue", "-h"), check=False).returncode == 0)
    cluster.run("scancel", job)


@only_root
def test_clients_that_leave_before_a_child_has_answered_leave_nothing_in_the_log(cluster: LiveCluster) -> None:
    log = cluster.state / "controller.log"
    before = len(log.read_text().splitlines())
    for _ in range(30):
        connection = _connect(cluster, 2001, _message("squeue", "--json"))
        connection.shutdown(socket.SHUT_RD)  # as if it had gone just now, which the controller cannot see
        time.sleep(0.02)
        connection.close()
    cluster.wait(lambda: cluster.run(*_as(2001, "squeue", "--json"), check=False).returncode == 0)
    assert not [line for line in log.read_text().splitlines()[before:] if "error: in a child" in line]


@only_root
def test_users_who_connect_without_end_do_not_keep_root_waiting(cluster: LiveCluster) -> None:
    """They fill the backlog of their socket as fast as they can; root has another one, which they cannot open."""
    sock = cluster.state / "root.sock"
    assert stat.S_IMODE(sock.stat().st_mode) == 0o600
    flood = (
        "import os, socket\n"
        f"os.chdir({str(cluster.state)!r})\n"
        "kept = []\n"
        "while True:\n"
        "    one = socket.socket(socket.AF_UNIX); one.setblocking(False)\n"
        "    try: one.connect('rota.sock')\n"
        "    except OSError: pass\n"
        "    kept = [*kept[-50:], one]\n"
    )
    floods = [subprocess.Popen(_as(uid, sys.executable, "-c", flood)) for uid in (2001, 2002)]
    try:
        time.sleep(0.5)
        for _ in range(5):
            began = time.monotonic()
            assert cluster.run("squeue", "-h").returncode == 0
            assert time.monotonic() - began < 10
    finally:
        for one in floods:
            one.kill()
            one.wait()
    cluster.wait(lambda: cluster.run(*_as(2001, "squeue", "-h"), check=False).returncode == 0)


@only_root
def test_descriptors_that_are_sent_along_are_not_taken(cluster: LiveCluster) -> None:
    pid = cluster.pid()
    assert pid is not None
    before = _files_of(pid)
    with ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(_connect(cluster, 2001))
            socket.send_fds(connection, [b"\0\0"], [0, 1, 2] * 20)
        cluster.run("squeue", "-h")
        assert _files_of(pid) < before + 40  # of those 1,200 none, and a few of its own


def test_it_goes_on_when_it_had_no_file_left(tmp_path: Path) -> None:
    """However that came about: it says so once, and serves as soon as there is room."""
    with LiveCluster(tmp_path, virtual_nodes(1)) as cluster:
        pid = cluster.pid()
        assert pid is not None
        limit = ("prlimit", f"--pid={pid}")
        before = subprocess.check_output([*limit, "--nofile", "--output=SOFT", "--noheadings"], text=True).strip()
        highest = max(int(one.name) for one in Path(f"/proc/{pid}/fd").iterdir())
        subprocess.check_call([*limit, f"--nofile={highest + 4}:"])
        with ExitStack() as stack:
            for _ in range(highest + 4):
                stack.enter_context(_connect(cluster, os.geteuid()))
            for _ in range(20):
                refused = cluster.run("squeue", "-h", check=False)
                assert (refused.returncode, "too many files" in refused.stderr) == (1, True), refused
        cluster.wait(lambda: not cluster.run("squeue", "-h", check=False).returncode)
        subprocess.check_call([*limit, f"--nofile={before}:"])
        lines = [line for line in (cluster.state / "controller.log").read_text().splitlines() if "taken" in line]
        assert len(lines) == 1


@pytest.mark.slow
def test_a_thousand_srun_of_one_user_wait(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, virtual_nodes(1, cpus=1)) as cluster:
        holds = cluster.submit("-o", "/dev/null", "--wrap", "sleep 1000")
        cluster.wait(lambda: cluster.status()["jobs"].get("RUNNING"))
        path = cluster.state / "bin" / "srun"
        waiting = [
            subprocess.Popen([path, "true"], env=cluster.environment, stderr=subprocess.DEVNULL) for _ in range(1000)
        ]
        try:
            cluster.wait(lambda: cluster.status()["jobs"].get("PENDING") == 1000, patience=300)
            assert cluster.run("squeue", "-h", "-t", "R", "-o", "%A").stdout.split() == [str(holds)]
            assert all(one.poll() is None for one in waiting)
        finally:
            for one in waiting:
                one.send_signal(signal.SIGTERM)
            for one in waiting:
                one.wait()
