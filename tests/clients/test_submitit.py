"""submitit: what it submits runs, and it hears how it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable


def test_array(program: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = program("submitit", "submitit_array.py")
    assert done.stdout.splitlines() == ["COMPLETED 4", "COMPLETED 9", "FAILED FailedJobError"]
