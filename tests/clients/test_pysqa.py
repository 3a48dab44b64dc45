"""pysqa, and executorlib by it: jobs, their dependencies, and calls in jobs and in steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conftest import Program


def test_queue(program: Program) -> None:
    done = program("executorlib", "pysqa_queue.py")
    assert done.stdout.splitlines() == [
        "          first|a-name-of-more-|running|pending|True",
        "['finished', 'running']",
        "['finished', 'finished']",
    ]


def test_a_job_for_each_call(program: Program) -> None:
    done = program("executorlib", "executorlib_cluster.py")
    assert done.stdout == "42 3 ValueError(5)\n"


def test_a_step_for_each_call(program: Program) -> None:
    done = program("executorlib", "executorlib_allocation.py", launcher=("salloc", "-n2"))
    assert done.stdout.splitlines() == [str([(number, True, "1") for number in range(4)])] * 2
