"""The same replay gives the same bytes, whatever the hash seed, the time zone and the folder."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from rota.results.store import RESULT_FILES

from .conftest import kth_head

if TYPE_CHECKING:
    from pathlib import Path

#: Where time is written down, and nowhere else.
TIMING = "timing.json"


def results(log: Path, scheduler: str, out: Path, **environment: str) -> dict[str, bytes]:
    """Replay in a process of its own; give the files of the result."""
    subprocess.run(
        [sys.executable, "-m", "rota", "replay", log.name, "--scheduler", scheduler, "--out", str(out)],
        check=True,
        capture_output=True,
        cwd=log.parent,
        env=os.environ | environment,
    )
    return {path.name: path.read_bytes() for path in out.iterdir()}


@pytest.mark.parametrize(
    "scheduler",
    ["sched/easy", *(pytest.param(one, marks=pytest.mark.slow) for one in ("sched/conservative", "sched/backfill"))],
)
def test_two_runs_give_the_same_bytes(scheduler: str, tmp_path: Path) -> None:
    log = kth_head(tmp_path / "head.swf", 3000)
    first = results(log, scheduler, tmp_path / "first", PYTHONHASHSEED="0", TZ="UTC")
    second = results(log, scheduler, tmp_path / "elsewhere" / "second", PYTHONHASHSEED="1", TZ="Asia/Tokyo")
    assert first.keys() == RESULT_FILES - {"priorities.json"}
    assert [name for name in sorted(first) if name != TIMING and first[name] != second[name]] == []
