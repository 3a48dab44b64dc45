"""The state is saved by the work that a new start would have to do again, while the controller goes on."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.controller.copies import in_copy
from rota.store import Database
from rota.store.location import database_url
from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Callable

#: Each priority takes the work of many jobs.
_PLUGIN = """
import time

from rota.interfaces.stubs.priority import *

plugin_name = "Takes its time"
plugin_type = "priority/slow"
plugin_version = 100


def priority_p_set(last_prio, job_ptr):
    time.sleep(0.1)
    return 1000
"""
_NODE = "NodeName=n1 CPUs=4\nPartitionName=main Nodes=n1 Default=YES\n"
#: Jobs whose priorities take a second.
_JOBS = 10


def _after_snapshot(cluster: LiveCluster) -> tuple[int, int]:
    """Give how many jobs the last snapshot has, and how many events came after it."""
    database = Database(database_url(cluster.state))
    try:
        found = database.last_snapshot()
        assert found is not None
        return len(found[1]["engine"]["jobs"]), len([*database.events_after(found[0])])
    finally:
        database.close()


def test_what_would_take_long_to_do_again_is_saved(tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "priority_slow.py").write_text(_PLUGIN)
    with LiveCluster(tmp_path, f"PluginDir={plugins}\nPriorityType=priority/slow\n{_NODE}") as cluster:
        ids = [cluster.submit("-b", "now+1hour", "--wrap", "true") for _ in range(_JOBS)]
        cluster.wait(lambda: _after_snapshot(cluster)[0] >= _JOBS / 2)
        cluster.submit("-b", "now+1hour", "--wrap", "true")
        cluster.kill()
        jobs, events = _after_snapshot(cluster)
        assert jobs + events >= _JOBS + 1
        assert events < _JOBS  # of twice as many
        cluster.up()
        assert len(cluster.run("squeue", "-h").stdout.splitlines()) == len(ids) + 1


def _in_copy(work: Callable[[], bytes]) -> bytes:
    return asyncio.run(in_copy(work))


def test_a_copy_has_no_file_of_the_controller(tmp_path: Path) -> None:
    def files() -> bytes:
        return "\n".join(str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.exists()).encode()

    with (tmp_path / "lock").open("w") as file:
        assert str(file.name) in files().decode()
        found = _in_copy(files).decode().splitlines()
    assert [one for one in found if "pipe" in one] == found


def test_what_a_copy_gives_may_be_large() -> None:
    assert _in_copy(lambda: b"x" * 10_000_000) == b"x" * 10_000_000


def test_a_copy_that_fails_says_why() -> None:
    def killed() -> bytes:
        os.kill(os.getpid(), 9)
        return b""

    with pytest.raises(ChildProcessError, match=r"has ended with 1: (?s:.*)ZeroDivisionError"):
        _in_copy(lambda: bytes(1 // 0))
    with pytest.raises(ChildProcessError, match="has ended with -9"):
        _in_copy(killed)


def test_a_copy_that_nobody_waits_for_is_ended(tmp_path: Path) -> None:
    def endless() -> bytes:
        (tmp_path / "pid").write_text(str(os.getpid()))
        time.sleep(600)
        return b""

    async def give_up() -> None:
        async with asyncio.timeout(0.5):
            await in_copy(endless)

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())
    assert not Path("/proc", (tmp_path / "pid").read_text()).exists()
