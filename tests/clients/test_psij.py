"""psij: jobs of one and of several processes, and what it hears of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conftest import Program


def test_jobs_and_what_is_heard_of_them(program: Program) -> None:
    done = program("psij", "psij_jobs.py")
    assert done.stdout.splitlines() == [
        "attached CANCELED",
        "good COMPLETED 0 QUEUED COMPLETED",
        "bad FAILED 7 QUEUED FAILED",
        "wide COMPLETED 0 QUEUED COMPLETED",
        "sleeper CANCELED None QUEUED CANCELED",
        "hi oh",
        "0 of 4 on n1",
        "1 of 4 on n1",
        "2 of 4 on n2",
        "3 of 4 on n2",
        "4",
    ]
