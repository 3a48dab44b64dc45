"""Think times: jobs come some time after the end of the job that they follow (SWF fields 17 and 18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.config import interchangeable, read_slurm_conf
from rota.model import InputError
from rota.replays import ReplayOptions, Scenario
from rota.replays.run import Replay
from rota.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rota.model import ClusterConfig
    from rota.results.schedule import ReplayResult

#: Job 2 follows job 1 at once, job 3 comes 30 s after the end of job 2, and job 4 at once after job 3.
LOG = Workload.build(
    "made",
    {
        "submit_time": [0, 50, 110, 500],
        "run_time": [100, 100, 10, 10],
        "requested_procs": [4, 4, 4, 4],
        "requested_time": [200, 700, 20, 20],
        "preceding_job": [-1, 1, 2, 3],
        "think_time": [-1, -1, 30, 0],
    },
)


def play(config: ClusterConfig, log: Workload = LOG, pass_per: str = "instant") -> ReplayResult:
    options = ReplayOptions(think_time=True, pass_per=pass_per, check=True, report=lambda _: None)
    with Replay(Scenario(log, config, options)) as run:
        run.run()
        return run.result()


@pytest.mark.parametrize("pass_per", ["instant", "event"])
def test_an_example_worked_out_by_hand(pass_per: str) -> None:
    schedule = play(interchangeable(4), pass_per=pass_per).schedule
    assert schedule.submit.tolist() == schedule.start.tolist() == [0, 100, 230, 240]
    assert schedule.end.tolist() == [100, 200, 240, 250]


def test_who_follows_a_job_that_is_refused_comes_after_its_refusal(log_file: Callable[..., Path]) -> None:
    conf = "ClusterName=x\nEnforcePartLimits=ALL\nNodeName=n1 CPUs=4\nPartitionName=p Nodes=n1 Default=YES MaxTime=10\n"
    result = play(read_slurm_conf(log_file(conf, "slurm.conf")).config)
    assert result.summary.refused == 1
    assert result.schedule.submit.tolist() == [0, 100, 130, 140]


def test_a_job_that_names_a_later_one_or_none_of_the_log_comes_as_recorded() -> None:
    log = LOG.with_columns(preceding_job=[2, 99, 2, -1])
    assert play(interchangeable(4), log).schedule.submit.tolist() == [0, 50, 230, 500]


def test_a_log_in_which_nobody_follows_is_told() -> None:
    with pytest.raises(InputError, match=r"--think-time: no job names a preceding job \(field 17\)"):
        play(interchangeable(4), LOG.with_columns(preceding_job=[-1] * 4))
