"""What a replay costs, counted: a feature that costs every job something shows here, however little it is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="other versions of Python count otherwise: see `make bench`"
)
def test_no_job_costs_more_calls_than_before() -> None:
    """The count is exact: where it is lower on purpose, ``make calls`` records it, so that it stays so."""
    # In a process of its own: what is remembered of other tests would change the count.
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "calls.py", "--json"], check=True, capture_output=True, text=True
    )
    recorded = json.loads((BENCHMARKS / "calls.json").read_text())
    assert json.loads(done.stdout) == recorded, "calls a job are others: look where, then `make calls`"
