"""cluster_tools: calls as tasks of job arrays, and why they failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .conftest import PROGRAMS

if TYPE_CHECKING:
    from .conftest import Program


def test_calls(program: Program) -> None:
    done = program("cluster-tools", "cluster_tools_calls.py", environment={"PYTHONPATH": str(PROGRAMS)})
    limits, squares, one, failed, ended, two, too_large = done.stdout.splitlines()
    assert (limits, squares, one, two) == ("1001 4294967296", "[0, 1, 4, 9]", "None", "2")
    assert failed.startswith("RemoteException ValueError: 5")
    assert ended == "RemoteException Job submission/execution failed"
    assert too_large.startswith("RemoteOutOfMemoryException Job submission/execution failed. The job was terminated")
    assert too_large.endswith("because it consumed too much memory (Requested: 61.44 MB)")
