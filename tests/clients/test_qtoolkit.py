"""qtoolkit: jobs of several nodes and arrays, listed, asked about and cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conftest import Program


def test_jobs(program: Program) -> None:
    done = program("qtoolkit", "qtoolkit_jobs.py")
    assert done.stdout.splitlines() == [
        "SubmissionStatus.SUCCESSFUL ",
        "large debug 102400 2 4 300",
        *["large QState.RUNNING 4 300"] * 2,
        "['ann', 'ann']",
        "CancelStatus.SUCCESSFUL",
        "SlurmState.CANCELLED",
        "True",
        "SubmissionStatus.FAILED 1 sbatch: error: Batch job submission failed: Invalid partition name specified",
        "None",
    ]
