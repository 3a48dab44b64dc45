"""Priorities of jobs with several partitions, from sbatch lines through a replay to the text that Slurm printed.

The lines are those that were submitted to the recorded Slurm (data/several-partitions.txt), whose jobs have the numbers
8 to 14: seven short ones come first here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.config import read_slurm_conf
from rota.inspect.view import EngineView
from rota.listings import render
from rota.replays import ReplayOptions, Scenario
from rota.replays.run import Replay
from rota.sacctmgr import read_associations
from rota.workload import read_workload

from .conftest import recording

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rota.listings import View

RECORDED = recording("several-partitions.txt")
CONF = """\
ClusterName=rig
PriorityDecayHalfLife=1-0
PriorityCalcPeriod=1
PriorityMaxAge=1-0
PriorityWeightAge=1000
PriorityWeightFairshare=10000
PriorityWeightJobSize=100
PriorityWeightPartition=1000
PriorityWeightQOS=2000
PriorityWeightTRES=cpu=500
PriorityFlags=ACCRUE_ALWAYS
NodeName=n[01-04] CPUs=4 CoresPerSocket=4 RealMemory=8000
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60
PartitionName=high Nodes=ALL MaxTime=60 PriorityJobFactor=10
PartitionName=short Nodes=n[01-02] MaxTime=10 DefaultTime=5
"""
ACCOUNTS = """\
add cluster rig
add account phys fairshare=60
add account chem fairshare=40
add user alice account=phys fairshare=10
add user bob account=phys fairshare=5
add user carol account=chem fairshare=10
"""
JOBS = [
    *["-dt 0 -e submit_batch_job | -sim-walltime 1 --uid=root -A root -n 1 -t 1 x"] * 7,
    "-dt 5 -e submit_batch_job | -sim-walltime 600 --uid=root -A root -J full -N 4 -n 16 -t 60 -p debug x",
    "-dt 60 -e submit_batch_job | -sim-walltime 5 --uid=root -A root -J two -p debug,high -n 4 -t 5 x",
    "-dt 60 -e submit_batch_job | -sim-walltime 5 --uid=root -A root -J three -p high,debug,short -n 8 -t 5 x",
    "-dt 60 -e submit_batch_job | -sim-walltime 5 --uid=root -A root -J nolimit -p short,debug -n 4 x",
    "-dt 60 -e submit_batch_job | -sim-walltime 5 --uid=root -A root -J toolong -p short,debug -n 4 -t 30 x",
    "-dt 60 -e submit_batch_job | -sim-walltime 5 --uid=root -A root -J toobig -p short,high -n 16 -t 8 x",
    "-dt 60 -e submit_batch_job | -sim-walltime 5 --uid=root -A root -J one -p high -n 4 -t 5 --nice=50 x",
]


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    folder: Path = tmp_path_factory.mktemp("several")
    texts = {"slurm.conf": CONF, "rig.script": ACCOUNTS, "jobs.events": "\n".join(JOBS) + "\n"}
    for name, text in texts.items():
        (folder / name).write_text(text)
    options = ReplayOptions(
        priority="priority/multifactor",
        scheduler="sched/builtin",
        associations=read_associations([folder / "rig.script"], "rig").tree,
    )
    with Replay(
        Scenario(read_workload(folder / "jobs.events"), read_slurm_conf(folder / "slurm.conf").config, options)
    ) as replay:
        replay.run(60)
        yield EngineView(replay.engine.view)


@pytest.mark.parametrize("command", sorted(RECORDED))
def test_text_is_slurms(command: str, view: View) -> None:
    assert render(command, view) == RECORDED[command]


def test_squeue_names_all_partitions_of_a_job_that_waits(view: View) -> None:
    # The recorded squeue's: `squeue -o '%i %P %T %l'`; Slurm puts those of job 13 in another order.
    assert render("squeue -h -t PD -S i -o '%i %P %l'", view).splitlines() == [
        "9 debug,high 5:00",
        "10 high,debug,short 5:00",
        "11 short,debug 5:00",
        "12 short,debug 30:00",
        "13 short,high 8:00",
        "14 high 5:00",
    ]
