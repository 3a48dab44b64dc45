"""Clients that do not say what they should: the controller lives on, and nothing is changed."""

from __future__ import annotations

import json
import random
import socket
import struct
from contextlib import chdir
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """A cluster of this machine."""
    with LiveCluster(tmp_path_factory.mktemp("hostile")) as found:
        yield found


def _send(cluster: LiveCluster, data: bytes, *, patience: float = 0.3) -> bytes:
    """Send bytes to the socket; give what comes back."""
    with socket.socket(socket.AF_UNIX) as connection, chdir(cluster.state):
        connection.connect("rota.sock")
        connection.settimeout(patience)
        answer = b""
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                answer += part
        except OSError:
            pass
        return answer


def _message(*texts: bytes) -> bytes:
    data = b"".join(text + b"\0" for text in texts)
    return struct.pack(">I", len(data)) + data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xff\xff\xff" + b"x" * 1000,
        struct.pack(">I", 1000) + b"half of it",
        _message(),
        _message(b"1"),
        _message(b"2", b"22", b"/", b"1", b"squeue"),
        _message(b"1", b"not octal", b"/", b"1", b"squeue"),
        _message(b"1", b"22", b"relative", b"1", b"squeue"),
        _message(b"1", b"22", b"/", b"-1", b"squeue"),
        _message(b"1", b"22", b"/", b"0"),
        _message(b"1", b"22", b"/", b"9", b"squeue"),
        _message(b"1", b"22", b"/", b"99999999999999999999", b"squeue"),
    ],
)
def test_junk_gets_no_answer(cluster: LiveCluster, data: bytes) -> None:
    assert _send(cluster, data) == b""
    assert cluster.run("squeue", "-h").stdout == ""


def test_random_junk(cluster: LiveCluster) -> None:
    chance = random.Random(1)  # noqa: S311 - the same junk each time
    good = _message(b"1", b"22", b"/", b"2", b"squeue", b"-h", b"A=b")
    for _ in range(60):
        data = bytearray(good if chance.random() < 0.7 else chance.randbytes(chance.randrange(200)))
        for _ in range(chance.randrange(1, 6)):
            if data:
                data[chance.randrange(len(data))] = chance.randrange(256)
        _send(cluster, bytes(data), patience=0.05)
    assert cluster.run("squeue", "-h").stdout == ""


def test_unknown_commands_and_bytes_that_are_no_text(cluster: LiveCluster) -> None:
    answer = _send(cluster, _message(b"1", b"22", b"/", b"1", b"rm"))
    assert b"rota has no command of this name" in answer
    assert answer.endswith(b"x\0\0\0\x011")
    for word in (b"\xff\xfe", b"-j\xff", b"--name=\xc3\x28", b"\x1b[2J"):
        assert _send(cluster, _message(b"1", b"22", b"/", b"2", b"squeue", word), patience=2.0)[-6:-5] == b"x"


def test_a_client_that_leaves_in_the_middle_of_a_submission(cluster: LiveCluster) -> None:
    # The controller asks for the script, and the client is gone.
    asked = _send(cluster, _message(b"1", b"22", b"/tmp", b"2", b"sbatch", b"job.sh"))
    assert asked.startswith(b"r")
    assert cluster.status()["jobs"] == {}


def test_job_names_with_escapes_and_newlines_stay_on_their_line(cluster: LiveCluster) -> None:
    name = "two\nlines\x1b[31m and\ta tab"
    job_id = cluster.submit("-H", "-J", name, "--comment", name, "--wrap", "true")
    for words in (
        ("squeue", "-h", "-o", "%i %j"),
        ("squeue", "-h"),
        ("sacct", "-j", str(job_id), "-n", "-X", "-P", "-o", "JobID,JobName"),
    ):
        lines = cluster.run(*words).stdout.splitlines()
        assert len(lines) == 1
        assert "\x1b" not in lines[0]
    assert "\x1b" not in cluster.run("scontrol", "show", "job", str(job_id)).stdout
    cluster.run("scancel", str(job_id))


def test_the_environment_may_hold_any_bytes(cluster: LiveCluster) -> None:
    script = b'#!/bin/bash\nprintf %s "$ODD" \xff\n'
    (cluster.directory / "odd.sh").write_bytes(script)
    cluster.run("bash", "-c", "ODD=$'a\\xffb' sbatch --wait -o odd.out odd.sh")
    assert (cluster.directory / "odd.out").read_bytes() == b"a\xffb\xff"


def test_names_and_comments_may_hold_any_bytes(cluster: LiveCluster) -> None:
    """Such a job has ended in the database, and so do those after it."""
    cluster.run("bash", "-c", "sbatch --wait -J $'odd\\xff' --comment $'\\xed\\xa0\\x80' --wrap true")
    cluster.submit("--wait", "-J", "plain", "--wrap", "true")
    jobs = json.loads(cluster.run("sacct", "-X", "--json").stdout)["jobs"]
    assert [one["name"] for one in jobs[-2:]] == ["odd\ufffd", "plain"]
    assert [one["name"] for one in cluster.records()[-2:]] == ["odd\udcff", "plain"]
