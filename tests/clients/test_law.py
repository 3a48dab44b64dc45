"""law: jobs of its manager for Slurm."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conftest import Program


def test_jobs(program: Program) -> None:
    done = program("law", "law_jobs.py")
    assert done.stdout.splitlines() == [
        "(22, 5, 8)",
        "[1, 2, 3]",
        str([("finished", 0), ("failed", 1), ("running", None)]),
        "failed CANCELLED+",
    ]
