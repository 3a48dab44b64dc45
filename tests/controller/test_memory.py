"""What asks for more memory than there may be is refused, and the controller goes on."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import struct
from contextlib import chdir, nullcontext
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from rota.controller import memory
from rota.controller.child import ChildError, from_child
from rota.controller.shortages import Shortages
from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.controller.cluster import Cluster


def _limit(pid: int) -> str:
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return next(line.split()[3] for line in lines if line.startswith("Max data size"))


def _send_much(cluster: LiveCluster) -> None:
    """Give a command as large as a call may be."""
    texts = ["1", "22", "/", "2", "sbatch", "--version", *(f"V{place}={'x' * 180}" for place in range(40_000))]
    data = "".join(f"{text}\0" for text in texts).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(cluster.state / "rota.sock"))
            connection.sendall(struct.pack(">I", len(data)) + data)
            while connection.recv(1 << 16):
                pass
        except OSError:
            pass  # it was refused


def test_the_controller_goes_on_and_nobody_else_is_limited(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, options=("--memory", "256M")) as cluster:
        status = cluster.status()
        callers = resource.getrlimit(resource.RLIMIT_DATA)[0]
        theirs = "unlimited" if callers == resource.RLIM_INFINITY else str(callers)
        assert (_limit(status["pid"]), _limit(status["supervisor_pid"])) == (str(256 << 20), theirs)
        attackers = [Thread(target=_send_much, args=(cluster,)) for _ in range(12)]
        for one in attackers:
            one.start()
        for one in attackers:
            one.join()
        done = cluster.run("sbatch", "--wait", "-o", "out", "--wrap", "ulimit -d")
        assert done.returncode == 0
        assert (tmp_path / "out").read_text().strip() == (theirs if theirs == "unlimited" else str(callers >> 10))
        assert cluster.status()["pid"] == status["pid"]


def test_the_usual_limit_is_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1 << 20}[name])  # 4 GiB
    assert memory.usual_limit(0, 0) == 1 << 30
    assert memory.usual_limit(10_000, 100) == (1 << 30) + 10_100 * (64 << 10)
    assert memory.usual_limit(100_000, 20_000) == 2 << 30


def test_children_together_fit_into_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 4 << 20}[name])  # 16 GiB
    assert memory.usual_limit_of_child(0) == 512 << 20
    assert memory.usual_limit_of_child(10_000) == (512 << 20) + 10_000 * (32 << 10)
    assert memory.usual_limit_of_child(200_000) == 1 << 30


def _from_child(make: Callable[[], bytes]) -> bytes:
    """Have a child of this process make something."""
    lock = os.open("/dev/null", os.O_RDONLY)
    parts: dict[str, Any] = {
        "driver": SimpleNamespace(no_commit=nullcontext, engine=SimpleNamespace(jobs={})),
        "database": SimpleNamespace(after_fork=lambda: None),
        "shortages": Shortages(lambda _: None, lambda: 0),
        "rights": SimpleNamespace(as_administrator=lambda uid: uid),
    }
    try:
        return asyncio.run(from_child(cast("Cluster", SimpleNamespace(lock=lock, **parts)), 1, make))
    finally:
        os.close(lock)


def test_a_child_has_limits_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA), resource.getrlimit(resource.RLIMIT_CPU)
    assert _from_child(lambda: bytes(3 << 20)) == bytes(3 << 20)
    with pytest.raises(ChildError):
        _from_child(lambda: bytes(700 << 20))
    monkeypatch.setattr(memory, "_CHILD_SECONDS", 1)

    def endless() -> bytes:
        while True:
            pass

    with pytest.raises(ChildError):
        _from_child(endless)
    assert before == (resource.getrlimit(resource.RLIMIT_DATA), resource.getrlimit(resource.RLIMIT_CPU))


@pytest.mark.parametrize("size", ["much", "1G1", "100M", "-4G", "9999999999G"])
def test_a_size_that_is_none_is_refused(tmp_path: Path, size: str) -> None:
    with chdir(tmp_path):
        cluster = LiveCluster(tmp_path, options=("--memory", size))
        with pytest.raises(AssertionError, match="no size of at least 256M"):
            cluster.up()
