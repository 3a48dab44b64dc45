"""parsl: apps in blocks of two nodes, and blocks that are given back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_apps_run_in_blocks(program: Program, cluster: LiveCluster) -> None:
    done = program("parsl", "parsl_apps.py")
    assert done.stdout.splitlines() == [
        "285 True",
        "n1 n2",
        "there: 2 nodes, 2 tasks",
        "ZeroDivisionError",
        "given back",
        "285",
    ]
    assert {record["base_state"] for record in cluster.records()} == {"CANCELLED"}
