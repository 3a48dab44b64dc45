"""Forecasts against the truth, on recorded workloads: a small version of benchmarks/bench_forecast.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from rota.config import interchangeable, read_slurm_conf
from rota.forecast.check import Checked, check, held
from rota.model import InputError
from rota.replays import ReplayOptions, Scenario
from rota.sacctmgr import read_associations
from rota.workload import bundled, read_workload

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_ranges_hold_on_kth() -> None:
    """Bounds: the whole log, at 50 moments with 20 futures, has 87 % in ranges, and errors of 41 and 108 minutes."""
    path = bundled("KTH-SP2")
    assert path is not None
    log = read_workload(path)
    jobs = log.take(np.arange(4000))
    scenario = Scenario(jobs, interchangeable(100), ReplayOptions(scheduler="sched/backfill"))
    checked = check(scenario, moments=12, futures=9)
    found = held(checked)
    assert found.moments == 12
    assert found.jobs > 50
    assert 0.6 < found.inside < 0.97
    assert found.error < found.plan_error
    # The ranges say something: they are narrower than from now until the time that jobs wait at most.
    widths = [one.late - one.early for one in checked if one.late is not None and one.early is not None]
    assert np.median(widths) < max(one.start for one in checked) / 2


@pytest.mark.slow
def test_forecasts_are_better_than_plans_on_ubccr(traces: Path) -> None:
    """Bounds: 43 moments with 10 futures have 56 % in ranges, and errors of 4 and 22 hours."""
    folder = traces / "slurm"
    # The switches are in no file of the name that Slurm gives it.
    config = read_slurm_conf(folder / "ubccr_medium_slurm.conf", ["TopologyPlugin=topology/none"]).config
    tree = read_associations([folder / "ubccr_medium_sacctmgr.script"], config.cluster_name).tree
    options = ReplayOptions(scheduler="sched/backfill", priority="priority/multifactor", associations=tree)
    log = read_workload(folder / "ubccr_workload_5k.events.gz")
    found = held(check(Scenario(log, config, options), moments=4, futures=9))
    assert found.inside > 0.3
    assert found.error < found.plan_error


def test_a_start_counts_as_inside_within_a_minute() -> None:
    checked = [
        Checked(0, 1, start=start, early=100, expected=200, late=late, planned=None)
        for start, late in ((39, 300), (40, 300), (360, 300), (361, 300), (10**6, None))
    ]
    assert [one.inside for one in checked] == [False, True, True, False, True]


def test_without_waiting_jobs_there_is_nothing_to_check() -> None:
    with pytest.raises(InputError, match="no job waited"):
        held([])
