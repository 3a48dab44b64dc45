"""A Prolog or Epilog that is not there, or a Python that users cannot run, is told before a job fails for it."""

from __future__ import annotations

import os
import socket
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

from rota.client import allocation
from rota.controller.programs import closed_python
from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_programs_that_are_not_there_are_told(tmp_path: Path) -> None:
    prolog, epilog = tmp_path / "prolog", tmp_path / "epilog"
    epilog.write_text("#!/bin/sh\n")
    epilog.chmod(0o644)
    cluster = LiveCluster(tmp_path, f"{virtual_nodes(1)}Prolog={prolog}\nEpilog={epilog}\n")
    try:
        done = cluster.rota("up", "--config", str(cluster.conf))
        assert done.stderr.splitlines() == [
            f"rota: warning: Prolog {prolog} is no program that can be run: no job starts, and nodes are drained",
            f"rota: warning: Epilog {epilog} is no program that can be run: nodes are drained when their jobs end",
        ]
        shown = cluster.rota("status").stdout
        assert f"{prolog} is no program" in shown
        prolog.write_text("#!/bin/sh\n")
        for one in (prolog, epilog):
            one.chmod(0o755)
        shown = cluster.rota("status").stdout
        assert not any(f"{one} is no program" in shown for one in (prolog, epilog))
        cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
    finally:
        cluster.rota("down", "--jobs", "cancel", check=False)


def test_a_python_that_only_root_can_run_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after ``rota up`` with a Python of root's own: its users found out by allocations that were revoked."""
    python, state = tmp_path / "own" / "python", tmp_path / "state"
    (state / "bin").mkdir(parents=True)
    python.parent.mkdir()
    python.touch(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(sys, "executable", str(python))
    real, closed = type(tmp_path).stat, {python.parent: 0o700, state: 0o711}

    def opened(path: Path, *, follow_symlinks: bool = True) -> SimpleNamespace:
        found = real(path, follow_symlinks=follow_symlinks)
        return SimpleNamespace(st_mode=closed.get(path, 0o755), st_gid=found.st_gid)

    monkeypatch.setattr(type(tmp_path), "stat", opened)
    (told,) = closed_python(state)
    assert told.startswith(f"other users cannot run {python}, since only its owner may enter or run {python.parent}: ")
    closed[state] = 0o700  # nobody else can use the cluster
    assert closed_python(state) == []
    closed[state], closed[python.parent] = 0o711, 0o755
    assert closed_python(state) == []


def test_an_allocation_that_cannot_be_served_says_why(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    controller, client = socket.socketpair()
    controller.close()
    spec = {"command": "srun", "job": 1, "key": "", "directory": str(tmp_path), "python": "/nosuch", "quiet": False}
    over = allocation._Over(spec, client)
    over.is_told = True
    assert allocation._reach(spec, over) is None
    client.close()
    assert capfd.readouterr().err == (
        "srun: error: Job allocation 1 has been revoked\n"
        "srun: error: it is served by /nosuch, which you may not run: tell the administrator\n"
    )
