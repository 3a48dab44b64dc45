"""A month of a real Slurm 22.05.8, read and replayed: how far a replay of accounting can be believed.

``make record-month`` has played it, see data/README.md. Users' requests and run times are drawn; what became of the
jobs, and what ``sreport`` says, is Slurm's. docs/workloads.md has the figures: who changes them tells it there.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rota import Scenario
from rota import replay as replay_scenario
from rota.results.report.calibration import calibrate
from rota.workload import read_workload

if TYPE_CHECKING:
    from rota.results.report.calibration import Calibration

DATA = Path(__file__).parent / "data" / "month-22.05"
#: 2026-11-01 in UTC.
END = 1_793_491_200
#: What 22.05 does where slurm.conf does not say: see docs/differences.md.
SLURMS = ("default_queue_depth=100", "sched_interval=60", "batch_sched_delay=3")


def test_users_have_used_what_sreport_says() -> None:
    log = read_workload(DATA / "sacct.txt.gz")
    assert log.requests is not None
    assert log.unix_start_time is not None
    start = log.unix_start_time + log.submit_time + log.wait_time
    seconds = np.where(log.run_time >= 0, np.minimum(start + log.run_time, END) - start, 0) * log.allocated_procs
    used: Counter[str] = Counter()
    for one, count in zip(log.requests, seconds.tolist(), strict=True):
        used[one.user] += count
    lines = (DATA / "sreport.txt").read_text().splitlines()[4:]
    said = {row["Login"]: int(row["Used"]) for row in csv.DictReader(lines, delimiter="|") if row["Login"]}
    assert dict(used) == said


def _calibrate(end: str | None) -> tuple[Calibration, list[str]]:
    """Replay it up to a date under the configuration of then, with Slurm's own defaults; give what is told, too."""
    told: list[str] = []
    scenario = Scenario.from_files(
        DATA / "sacct.txt.gz",
        DATA / "slurm.conf",
        (DATA / "sacctmgr.dump", DATA / "qos.txt"),
        settings=SLURMS,
        node_failures=DATA / "failures.txt",
        end=end,
        report=lambda text: told.append(str(text)),
    )
    return calibrate(replay_scenario(scenario).schedule, scenario.workload), told


def _shares(made: Calibration) -> list[int]:
    """Give how many of a hundred jobs start in the same second, within a minute, and within an hour."""
    recorded = made.jobs.recorded_wait
    assert recorded is not None
    late = np.abs(made.jobs.wait - recorded)
    return [round(100 * float((late <= seconds).mean())) for seconds in (0, 60, 3600)]


#: What is told of the whole file, of which parts are taken.
TOLD = [
    "11 jobs had not ended: each runs to its time limit, or else to the last time recorded",
    "11 lines have the number of another job: each is a job of its own, the first with the number 3654 here",
]


@pytest.mark.slow
def test_the_first_days() -> None:
    made, told = _calibrate("2026-10-06")
    assert told == [
        *TOLD,
        "3 jobs were withdrawn while they waited: they are in the queue until then, and in no figure",
    ]
    assert (made.all.jobs, _shares(made)) == (595, [49, 73, 86])


@pytest.mark.slow
def test_the_month() -> None:
    made, told = _calibrate(None)
    assert told[:3] == [
        *TOLD,
        "26 jobs were withdrawn while they waited: they are in the queue until then, and in no figure",
    ]
    # The job that is left out asked for more than there is, and was refused.
    assert len(told) == 4
    assert (made.all.jobs, _shares(made)) == (3620, [41, 63, 81])
    assert [round(one / 60) for one in made.all.mean] == [330, 336]
    assert made.rank_correlation == pytest.approx(0.902, abs=0.0005)
    assert round(made.all.close, 2) == 0.86
