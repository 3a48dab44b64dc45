"""The calibration page: recorded against replayed waits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from results.test_browser import look
from rota import Scenario
from rota import replay as replay_scenario
from rota.model import JobSpec, JobState
from rota.results.report.calibration import MOST_ROWS, calibrate, write_calibration
from rota.results.schedule import STATES, Schedule
from rota.workload import Workload

if TYPE_CHECKING:
    from web.browser import Browser

    from results.conftest import MakeResult, RandomLog

RECORDED = Path(__file__).parents[1] / "workload" / "data" / "sacct-22.05"
MINUTE = 60


def schedule_of(recorded: list[int], replayed: list[int]) -> Schedule:
    count = len(recorded)
    submit = np.arange(count) * 1000
    start = submit + np.array(replayed)
    return Schedule(
        job_id=np.arange(1, count + 1),
        user_id=np.arange(count),
        submit=submit,
        start=start,
        end=start + 100,
        procs=np.ones(count, np.int64),
        time_limit=np.full(count, 600),
        state=np.full(count, STATES.index(JobState.COMPLETED), np.int8),
        recorded_wait=np.array(recorded),
    )


def log_of(requests: list[JobSpec]) -> Workload:
    return Workload.build("log", {"submit_time": [0] * len(requests)}, requests=tuple(requests))


def requests(*names: tuple[str, str, str]) -> Workload:
    return log_of([JobSpec(partition=partition, qos=qos, user=user) for partition, qos, user in names])


def test_figures() -> None:
    #            close: 10 min  close: twice   neither         unknown
    recorded = [0, 100 * MINUTE, 10 * MINUTE, -1]
    replayed = [10 * MINUTE, 200 * MINUTE, 31 * MINUTE, 5]
    log = requests(("a", "", "ann"), ("b", "", "ann"), ("a", "", "bob"), ("a", "", "bob"))
    made = calibrate(schedule_of(recorded, replayed), log)
    assert (made.all.jobs, made.all.mean, made.all.median) == (3, (2200, 4820), (600, 1860))
    assert made.all.difference == 2620
    assert made.all.close == pytest.approx(2 / 3)
    # Ranks 1, 3, 2 and 1, 3, 2.
    assert made.rank_correlation == pytest.approx(1)
    assert made.interval is None
    groups = {what: [(one.label, one.jobs, one.mean) for one in rows] for what, rows in made.groups}
    assert groups == {
        "Processors": [("1 proc", 3, (2200, 4820))],
        "Partition": [("a", 2, (300, 1230)), ("b", 1, (6000, 12000))],
        "User": [("ann", 2, (3000, 6300)), ("bob", 1, (600, 1860))],
    }


def test_ties_have_mean_ranks() -> None:
    log = requests(*[("", "", "")] * 4)
    # Ranks 1.5, 1.5, 3, 4 and 1, 2, 3, 4: 4.5 / sqrt(4.5 · 5).
    assert calibrate(schedule_of([0, 0, 5, 9], [1, 2, 3, 4]), log).rank_correlation == pytest.approx(0.9486833)
    assert calibrate(schedule_of([0, 0, 0, 0], [1, 2, 3, 4]), log).rank_correlation is None


def test_what_is_too_much_for_a_table_is_one_row() -> None:
    count = MOST_ROWS + 5
    log = requests(*[("", "", f"user{place}") for place in range(count)])
    made = calibrate(schedule_of([0] * count, [60] * count), log)
    (rows,) = (rows for what, rows in made.groups if what == "User")
    assert (len(rows), rows[-1].label, rows[-1].jobs) == (MOST_ROWS, "6 others", 6)


def test_the_page_draws_without_complaints(
    browser: Browser, random_log: RandomLog, make_result: MakeResult, tmp_path: Path
) -> None:
    schedule = random_log(400, 2)
    waits = np.where(schedule.start >= 0, schedule.wait * 2, -1)
    log = requests(*[("main", "normal", f"user{place % 9}") for place in range(400)])
    log = log.with_columns(job_number=schedule.job_id)
    write_calibration(make_result(replace(schedule, recorded_wait=waits)), log, tmp_path / "page.html")
    seen = look(browser, tmp_path / "page.html")
    assert seen["title"] == "log.swf – calibration"
    assert seen["problems"] == []
    assert seen["drawn"] == [True] * 3


@pytest.mark.slow
def test_the_replay_of_what_a_real_slurm_did_is_near() -> None:
    """Slurm's own waits on the machine and with the configuration of the record; no wait is exact to a second."""
    told: list[str] = []
    scenario = Scenario.from_files(
        RECORDED / "jobs.txt",
        RECORDED / "slurm.conf",
        [RECORDED / "sacctmgr.dump", RECORDED / "qos.txt"],
        report=told.append,
    )
    schedule = replay_scenario(scenario).schedule
    made = calibrate(schedule, scenario.workload)
    assert (made.all.jobs, len(schedule)) == (271, 271)
    assert made.rank_correlation is not None
    assert made.rank_correlation > 0.7
    assert made.all.mean[1] < 1.5 * made.all.mean[0]
