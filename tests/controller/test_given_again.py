"""Calls that are given again: what a client does with any part of an answer, and what a controller does with them."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from contextlib import chdir, suppress
from typing import TYPE_CHECKING

import pytest

from rota.client.away import PATIENCE
from rota.client.commands import install
from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_KEY, _OTHER = "0123456789abcdef0123", "f123456789abcdef0123"


def _frame(letter: bytes, text: str) -> bytes:
    return letter + len(text).to_bytes(4, "big") + text.encode()


_ANSWER = b"".join(
    (
        _frame(b"e", "sbatch: a warning\n"),
        _frame(b"j", "5"),
        _frame(b"o", "Submitted batch job 5\n"),
        _frame(b"e", "sbatch: a warning\n"),
        _frame(b"x", "3"),
    )
)


class _Controller(threading.Thread):
    """Answers with a part, and hangs up; the next time with all. What was sent stays unread, which resets."""

    def __init__(self, listener: socket.socket, first: int) -> None:
        super().__init__()
        self._listener = listener
        self._first = first
        self.headers: list[bytes] = []

    def run(self) -> None:
        for part in (_ANSWER[: self._first], _ANSWER):
            connection = self._listener.accept()[0]
            with connection:
                self.headers.append(connection.recv(60))
                connection.sendall(part)


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[tuple[dict[str, str], socket.socket]]:
    """Commands without a cluster, and the socket on which they call."""
    install(tmp_path / "bin", tmp_path, ["sbatch", "squeue", "srun"])
    (tmp_path / "lock").touch()
    with socket.socket(socket.AF_UNIX) as listener:
        with chdir(tmp_path):
            listener.bind("rota.sock")
        listener.listen()
        yield {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "ROTA_STATE": str(tmp_path)}, listener


def test_half_an_answer_is_asked_for_again(alone: tuple[dict[str, str], socket.socket]) -> None:
    environment, listener = alone
    for first in range(0, len(_ANSWER), 3):
        controller = _Controller(listener, first)
        controller.start()
        done = subprocess.run(["sbatch", "job.sh"], check=False, env=environment, capture_output=True, text=True)
        controller.join()
        assert (done.stdout, done.returncode) == ("Submitted batch job 5\n", 3), first
        assert done.stderr.count("sbatch: a warning\n") == 2
        (_, key, none), (_, same, again) = (header[4:].split(b"\0")[:3] for header in controller.headers)
        assert (key, none) == (same, b"")
        assert again == (b"again" if first < 28 else b"5")


@pytest.mark.slow
def test_a_controller_that_never_answers(alone: tuple[dict[str, str], socket.socket]) -> None:
    environment, listener = alone
    listener.settimeout(0.1)

    def start(name: str) -> subprocess.Popen[str]:
        return subprocess.Popen([name, "job.sh"], env=environment, stdout=-1, stderr=-1, text=True)

    with start("sbatch") as sbatch, start("srun") as srun, start("squeue") as squeue:
        until = time.monotonic() + PATIENCE + 3
        while time.monotonic() < until:
            with suppress(TimeoutError):
                listener.accept()[0].close()
        assert srun.poll() is None
        srun.kill()
        assert srun.communicate()[1] == "srun: Slurm controller not responding, sleeping and retrying.\n"
        said = "sbatch: error: the connection to the controller was lost: it may have submitted the job\n"
        assert (sbatch.communicate()[1], sbatch.returncode) == (said, 1)
        # As if it had found none: batchspawner takes a job for lost if another message comes.
        said = "slurm_load_jobs error: Unable to contact slurm controller (connect failure): `rota up` starts one\n"
        assert (squeue.communicate()[1], squeue.returncode) == (said, 1)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("again"), virtual_nodes(1)) as found:
        yield found


def _call(cluster: LiveCluster, known_as: str, *words: str, key: str = _KEY) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    with chdir(cluster.state):
        client.connect("rota.sock")
    texts = ["2", key, known_as, "22", str(cluster.directory), str(len(words)), *words, "PATH=/bin:/usr/bin"]
    message = "".join(f"{text}\0" for text in texts).encode()
    client.sendall(len(message).to_bytes(4, "big") + message)
    client.settimeout(10)
    return client


def _until(client: socket.socket, letters: bytes) -> dict[bytes, str]:
    """Read up to a frame with one of some letters; give what was said, by letter."""
    said: dict[bytes, str] = {}
    with client, client.makefile("rb") as stream:
        while head := stream.read(5):
            text = stream.read(int.from_bytes(head[1:], "big")).decode()
            said[head[:1]] = said.get(head[:1], "") + text
            if head[:1] in letters:
                break
    return said


def test_a_call_that_is_given_again_makes_no_second_job(cluster: LiveCluster) -> None:
    words = ["sbatch", "-H", "-o", "/dev/null", "--wrap", "true"]
    said = [_until(_call(cluster, known_as, *words, key=_OTHER), b"x") for known_as in ("", "", "again")]
    assert {one[b"o"] for one in said} == {said[0][b"o"]}
    job_id = said[0][b"o"].split()[-1]
    said.append(_until(_call(cluster, job_id, *words, key=_OTHER), b"x"))
    cluster.kill()
    cluster.up()
    said += [_until(_call(cluster, known_as, *words, key=_OTHER), b"x") for known_as in ("", "again", job_id)]
    cluster.run("scontrol", "release", job_id)
    cluster.idle()
    cluster.kill()
    cluster.up()
    said += [_until(_call(cluster, known_as, *words, key=_OTHER), b"x") for known_as in ("", "again", job_id)]
    assert {(one[b"o"], one[b"x"]) for one in said} == {(said[0][b"o"], "0")}
    assert [one["job_id"] for one in cluster.records()].count(int(job_id)) == 1
    assert len(cluster.records()) == 1
    assert not cluster.status()["jobs"]
    assert not cluster.status()["trouble"]


@pytest.mark.parametrize("known_as", ["again", "its job"])
@pytest.mark.parametrize("command", ["srun", "salloc"])
def test_who_lost_the_controller_before_it_said_anything_hears_of_the_wait(
    cluster: LiveCluster, command: str, known_as: str
) -> None:
    holding = cluster.submit("-o", "/dev/null", "--exclusive", "--wrap", "sleep 1000")
    words = [command, "-n1", "true"]
    key = f"{command[1]}{known_as[0]}".encode().hex() * 5
    with _call(cluster, "", *words, key=key) as client:
        cluster.wait(lambda: b"queued" in client.recv(4096, socket.MSG_PEEK))
        cluster.kill()
        job_id = _until(client, b"j")[b"j"]
    time.sleep(1)  # it waits for longer than a second, which is what the times of a job tell
    cluster.up()
    cluster.run("scancel", str(holding))
    cluster.wait(lambda: cluster.run("squeue", "-h", "-o", "%A %T").stdout == f"{job_id} RUNNING\n")
    said = _until(_call(cluster, known_as.replace("its job", job_id), *words, key=key), b"m")[b"e"].splitlines()
    assert [line for line in said if line.endswith(" resources")] == [
        f"{command}: job {job_id} queued and waiting for resources",
        f"{command}: job {job_id} has been allocated resources",
    ]
    cluster.run("scancel", job_id)
    cluster.idle()


@pytest.mark.parametrize("command", ["srun", "salloc", "sbatch"])
def test_nobody_comes_for_the_job_of_another_command(cluster: LiveCluster, command: str) -> None:
    job_id = cluster.submit("-o", "/dev/null", "--wrap", "sleep 1000")
    options = ["--wait", "--wrap", "true"] if command == "sbatch" else ["true"]
    said = _until(_call(cluster, str(job_id), command, *options, key="a" * 20), b"xm")
    assert said == {b"e": f"{command}: error: Job {job_id} no longer found and exit code not found\n", b"x": "1"}
    assert cluster.run("squeue", "-h", "-o", "%A %T").stdout == f"{job_id} RUNNING\n"
    cluster.run("scancel", str(job_id))
    cluster.idle()


@pytest.mark.parametrize("key", ["", "A" * 20, "0" * 19, "0" * 21, "../../../../../../.."])
def test_a_key_that_is_none(cluster: LiveCluster, key: str) -> None:
    with _call(cluster, "", "sbatch", "--wrap", "true", key=key) as client:
        assert client.recv(100) == b""


@pytest.mark.parametrize("known_as", ["x", "-1", "1" * 11, "\u0663"])
def test_a_job_that_is_none(cluster: LiveCluster, known_as: str) -> None:
    with _call(cluster, known_as, "sbatch", "--wrap", "true") as client:
        assert client.recv(100) == b""


@pytest.mark.parametrize("command", ["srun", "salloc"])
def test_an_allocation_whose_command_goes_before_it_has_begun(cluster: LiveCluster, command: str) -> None:
    with _call(cluster, "", command, "-n1", "true") as client:
        job_id = _until(client, b"m")[b"j"]
    cluster.wait(lambda: int(job_id) in cluster.ended(), patience=20)
    assert cluster.ended()[int(job_id)]["state"] == "CANCELLED"


def test_a_command_that_was_let_in_before_is_not_sent_away(alone: tuple[dict[str, str], socket.socket]) -> None:
    environment, listener = alone
    told = _frame(b"b", "") + _frame(b"e", "error: you have too many commands\n") + _frame(b"x", "1")
    with subprocess.Popen(["sbatch", "job.sh"], env=environment, stdout=-1, stderr=-1, text=True) as client:
        for part in (_ANSWER[:28], told, told, _ANSWER):
            with listener.accept()[0] as connection:
                connection.recv(60)
                connection.sendall(part)
        assert client.communicate(timeout=20) == ("Submitted batch job 5\n", "sbatch: a warning\n" * 2)
    assert client.returncode == 3
    with subprocess.Popen(["sbatch", "job.sh"], env=environment, stdout=-1, stderr=-1, text=True) as client:
        with listener.accept()[0] as connection:
            connection.sendall(told)
            time.sleep(0.1)
        assert client.communicate(timeout=20) == ("", "error: you have too many commands\n")
