"""Forecasts against the truth, on recorded workloads: a small version of benchmarks/bench_forecast.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from rota.config import interchangeable, read_slurm_conf
from rota.forecast.check import Checked, check, held
from rota.forecast.run_times import RunTimes
from rota.model import InputError
from rota.replays import ReplayOptions, Scenario
from rota.sacctmgr import read_associations
from rota.workload import bundled, read_workload

if TYPE_CHECKING:
    from pathlib import Path

    from rota.forecast.run_times import PastRun


@pytest.mark.slow
def test_ranges_hold_on_kth() -> None:
    """Bounds: the whole log, at 50 moments with 20 futures, has 85 % in ranges, and errors of 41 and 108 minutes."""
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


@pytest.mark.longest
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


#: Four processors. Job 1 has them for 600 s, and two wait: 2 is withdrawn, 3 starts as the first one has ended.
_LOG = """\
; MaxProcs: 4
1 0 -1 600 4 -1 -1 4 1200 -1 1 1 1 -1 1 1 -1 -1
2 60 100 -1 4 -1 -1 4 1200 -1 5 1 1 -1 1 1 -1 -1
3 120 -1 600 4 -1 -1 4 1200 -1 1 2 1 -1 1 1 -1 -1
4 7200 -1 900 4 -1 -1 4 1200 -1 1 1 1 -1 1 1 -1 -1
5 7300 -1 600 4 -1 -1 4 1200 -1 1 2 1 -1 1 1 -1 -1
"""


def _scenario(tmp_path: Path) -> Scenario:
    (tmp_path / "log.swf").write_text(_LOG)
    log = read_workload(tmp_path / "log.swf")
    return Scenario(log, interchangeable(4), ReplayOptions(scheduler="sched/backfill", report=lambda _text: None))


def test_jobs_that_were_withdrawn_have_no_start(tmp_path: Path) -> None:
    """They are in the trace and not in the schedule: once the jobs after them were taken for each other."""
    checked = check(_scenario(tmp_path), moments=2, futures=1, within=86_400)
    assert [(one.moment, one.job_id) for one in checked] == [(180, 3), (7360, 5)]
    for one, start in zip(checked, (600, 8100), strict=True):
        assert start <= one.moment + one.start <= start + 60


def test_moments_are_within_the_time_that_is_asked_for(tmp_path: Path) -> None:
    assert {one.moment for one in check(_scenario(tmp_path), moments=5, futures=1, within=3600)} == {180}
    assert check(_scenario(tmp_path), moments=5, futures=1, within=60) == []


def test_a_forecast_knows_the_runs_of_its_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that have begun since, and all that still run: where these began the cluster knows."""
    known: list[list[tuple[str, int, int | None]]] = []

    def note(past: list[PastRun]) -> RunTimes:
        known.append([(run.user, run.took, run.end) for run in past])
        return RunTimes(past)

    monkeypatch.setattr("rota.forecast.check.RunTimes", note)
    for history in (None, 3600, 60):
        check(_scenario(tmp_path), moments=2, futures=1, within=86_400, history=history)
    first, running = ("user1", 180, None), ("user1", 160, None)
    ended = [("user1", 600, 600), ("user2", 600, known[1][1][2])]
    assert known[0] == [first]
    assert known[1] == [*ended, running]
    assert known[2:] == [[first], [running]] * 2


@pytest.mark.slow
@pytest.mark.parametrize("history", [3_600, 86_400])
def test_ranges_hold_with_a_short_history(history: int) -> None:
    """A small version of ``benchmarks/bench_forecast.py short``: of eight weeks 83 and 82 % are inside.

    Args:
        history: Its length, seconds.
    """
    path = bundled("KTH-SP2")
    assert path is not None
    jobs = read_workload(path).take(np.arange(2000))
    scenario = Scenario(jobs, interchangeable(100), ReplayOptions(scheduler="sched/backfill"))
    found = held(check(scenario, moments=8, futures=9, history=history))
    assert found.jobs > 50
    assert 0.65 < found.inside < 0.95


def test_a_start_counts_as_inside_within_a_minute() -> None:
    checked = [
        Checked(0, 1, start=start, early=100, expected=200, late=late, planned=None)
        for start, late in ((39, 300), (40, 300), (360, 300), (361, 300), (10**6, None))
    ]
    assert [one.inside for one in checked] == [False, True, True, False, True]


def test_without_waiting_jobs_there_is_nothing_to_check() -> None:
    with pytest.raises(InputError, match="no job waited"):
        held([])
