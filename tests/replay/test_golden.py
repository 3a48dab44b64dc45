"""Published schedules, reproduced job by job.

Source: É. Gaussier, D. Glesser, V. Reis, D. Trystram, "Improving Backfilling by using Machine Learning to predict
Running Times", SC15, and the same authors' simulator; the logs are those of the Parallel Workloads Archive. There a
pass follows each event. The schedules of KTH-SP2 are part of the project (``data/README.md``), the others are read
where they can be found.
"""

from __future__ import annotations

from dataclasses import replace as with_changes
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from rota.config import interchangeable
from rota.replays import ReplayOptions, Scenario, replay
from rota.workload import FILTERS, read_swf

from .conftest import DATA, KTH_PROCS

if TYPE_CHECKING:
    from pathlib import Path

    from rota.replays import Schedule
    from rota.workload import Workload


class Policy(NamedTuple):
    """How a schedule was made."""

    scheduler: str
    estimate: str = "requested"
    parameters: str = ""


POLICIES = {
    "easy-reqtime": Policy("sched/easy"),
    "easy-clairvoyant": Policy("sched/easy", "actual"),
    "easy-sjbf-clairvoyant": Policy("sched/easy", "actual", "easy_order=sjf"),
    "pyss-conservative": Policy("sched/conservative"),
    "pyss-fcfs": Policy("sched/builtin"),
}
MACHINES = {
    "SDSC-SP2": ("SDSC-SP2.sc15-filtered54006.swf.gz", 128),
    "SDSC-BLUE": ("SDSC-BLUE-2000-4.1-cln.swf.gz", 1152),
}
#: Those of KTH-SP2 apart: machine and policy.
OTHERS = [
    ("SDSC-SP2", "easy-reqtime"),
    ("SDSC-SP2", "easy-clairvoyant"),
    ("SDSC-SP2", "easy-sjbf-clairvoyant"),
    ("SDSC-SP2", "pyss-conservative"),
    ("SDSC-BLUE", "easy-reqtime"),
]
WAITS = DATA / "kth-sp2-waits.npz"


def schedule_of(log: Workload, procs: int, policy: str) -> Schedule:
    how = POLICIES[policy]
    config = with_changes(interchangeable(procs), parameters={"schedulerparameters": how.parameters})
    options = ReplayOptions(scheduler=how.scheduler, estimate=how.estimate, pass_per="event", check=True)
    return replay(Scenario(log, config, options)).schedule


def assert_same_starts(schedule: Schedule, job_number: np.ndarray, wait: np.ndarray) -> None:
    """Compare by job number; the message shows the first jobs that differ."""
    order = np.argsort(schedule.job_id)
    assert schedule.job_id[order].tolist() == sorted(job_number.tolist())
    published = wait[np.argsort(job_number)]
    differing = np.flatnonzero(schedule.wait[order] != published)
    first = [(int(schedule.job_id[order[i]]), int(schedule.wait[order[i]]), int(published[i])) for i in differing[:5]]
    assert not len(differing), f"{len(differing)} jobs differ (job, wait, published wait): {first}"


@pytest.mark.parametrize(
    "policy",
    [pytest.param(one, marks=() if one == "easy-reqtime" else pytest.mark.slow) for one in POLICIES],
)
def test_every_job_of_kth_sp2_starts_when_it_was_published_to(policy: str, kth: Workload) -> None:
    with np.load(WAITS) as published:
        assert_same_starts(schedule_of(kth, KTH_PROCS, policy), published["job_number"], published[policy])


@pytest.mark.slow
def test_easy_with_predictions_is_as_good_as_it_was_published_to_be(kth: Workload, examples: Path) -> None:
    """The same article has the mean bounded slowdowns of EASY, 92.6, and of EASY++, 63.5."""
    options = ReplayOptions(scheduler="sched/easypp", plugin_dir=[examples], pass_per="event", check=True)
    found = replay(Scenario(kth, interchangeable(KTH_PROCS), options)).summary
    assert found.mean_bounded_slowdown == pytest.approx(63.5, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("machine", "policy"), OTHERS)
def test_every_job_starts_when_it_was_published_to(machine: str, policy: str, traces: Path, golden: Path) -> None:
    file, procs = MACHINES[machine]
    log = FILTERS["sc15"](read_swf(traces / file), procs)
    published = read_swf(golden / f"{machine}.{policy}.swf.gz")
    assert_same_starts(schedule_of(log, procs, policy), published.job_number, published.wait_time)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_bundled_waits_are_the_published_ones(policy: str, golden: Path) -> None:
    published = read_swf(golden / f"KTH-SP2.{policy}.swf.gz")
    order = np.argsort(published.job_number)
    with np.load(WAITS) as waits:
        assert np.array_equal(waits["job_number"], published.job_number[order])
        assert np.array_equal(waits[policy], published.wait_time[order])


def test_no_published_schedule_is_left_out(golden: Path) -> None:
    tested = {f"KTH-SP2.{policy}.swf.gz" for policy in POLICIES}
    tested |= {f"{machine}.{policy}.swf.gz" for machine, policy in OTHERS}
    assert {path.name for path in golden.iterdir()} == tested
