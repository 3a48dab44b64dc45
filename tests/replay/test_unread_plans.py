"""Plans that nobody reads are not made: schedule and recorded history are as if all were.

What is expected comes from the same replay when each cycle plans all jobs.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rota.config import interchangeable, read_slurm_conf
from rota.core import Engine
from rota.replays import ReplayOptions, Scenario, driver, replay, run
from rota.resources.future.node_space import NodeSpace
from rota.sacctmgr import read_associations
from rota.workload import read_workload

from .conftest import KTH_PROCS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rota.core.job import Job
    from rota.results.schedule import ReplayResult
    from rota.workload import Workload

CONF = """\
ClusterName=c
SchedulerType=sched/backfill
SchedulerParameters=bf_interval={interval},bf_window=600{scheduler}
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightFairshare={fairshare}
PriorityWeightJobSize=5000
PriorityWeightQOS=100000
PriorityCalcPeriod=10
SlurmVersion={version}
AccountingStorageEnforce=limits,qos
PreemptType={preempt}
PreemptMode={mode}
SelectType={select}
SelectTypeParameters={parameters}
Licenses=ansys:2
NodeName=a[1-3] CPUs=8 Sockets=1 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=16000 Feature=old
NodeName=b[1-3] CPUs=4 RealMemory=32000 Weight=2 Feature=new
PartitionName=main Nodes=a[1-3],b[1-3] Default=YES MaxTime=10:00:00
PartitionName=first Nodes=a[2-3],b1 PriorityTier=2
"""
SCRIPT = """\
add QOS Name=high Priority=100 Preempt=normal
add QOS Name=few Priority=50 GrpTRES={few}
add cluster Name=c QOS=normal,high,few
add account Name=phys Fairshare=3 {phys}
add account Name=chem Fairshare=1
add user Name=ann Account=phys
add user Name=bob Account=phys
add user Name=cat Account=chem
"""
_MORE, _STILL_MORE = (5, *range(10, 18)), range(18, 50)
SEEDS = [
    0,
    *(pytest.param(seed, marks=pytest.mark.slow) for seed in _MORE),
    *(pytest.param(seed, marks=(pytest.mark.slow, pytest.mark.longest)) for seed in _STILL_MORE),
]


def drawn_conf(rng: Random) -> str:
    preempt = rng.choice(("none", "none", "partition_prio", "qos"))
    select = rng.choice(("select/cons_tres", "select/cons_tres", "select/linear"))
    return CONF.format(
        version=rng.choice(("22.05", "26.05")),
        interval=rng.choice((30, 120, 300)),
        scheduler=rng.choice(("", ",bf_max_job_user=5", ",bf_busy_nodes,bf_licenses", ",bf_max_job_array_resv=2")),
        fairshare=rng.choice((0, 3000)),
        preempt=f"preempt/{preempt}",
        mode="OFF" if preempt == "none" else rng.choice(("REQUEUE", "CANCEL")),
        select=select,
        parameters="CR_Memory" if select == "select/linear" else rng.choice(("CR_Core_Memory", "CR_CPU")),
    )


def drawn_jobs(rng: Random) -> str:
    """Draw some hundred jobs, of which a dozen are in the queue at a time."""
    lines, now = [], 0.0
    for number in range(1, 121):
        now += rng.choice((0, 0, 5, 60, 600))
        limit = rng.choice((10, 30, 60, 240))
        options = [f"-t {limit}", f"-p {rng.choice(('main', 'main', 'first', 'main,first'))}"]
        options.append(rng.choice(("-n 1", "-n 2", "-n 6", "-N 1 -n 8", "-N 2", "-N 2-3 -n 5", "-n 3 -c 2")))
        options.append(rng.choice(("", "--mem=9000", "--mem-per-cpu=1000")))
        options.append(rng.choice(("", "", "", "--exclusive", "-C new", "--time-min=5", "-L ansys", "--array=0-4")))
        qos = rng.choice(("normal", "normal", "high", "few"))
        runs = rng.choice((30, 60 * limit // 3, 60 * limit, 120 * limit))
        lines.append(
            f"-dt {now} -e submit_batch_job | -sim-walltime {runs} --uid={rng.choice(('ann', 'bob', 'cat'))} "
            f"-J j{number} -q {qos} {' '.join(options)} pseudo.job\n"
        )
    return "".join(lines)


class Played:
    """Replays random workloads on random machines."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def scenario(self, seed: int, *, history: bool) -> Scenario:
        rng = Random(seed)  # noqa: S311 - no secrets
        conf, script, jobs = (self._folder / name for name in ("slurm.conf", "associations.script", "jobs.events"))
        conf.write_text(drawn_conf(rng))
        few, phys = rng.choice(("cpu=8", "node=3")), rng.choice(("", "GrpTRES=cpu=12", "GrpJobs=3"))
        script.write_text(SCRIPT.format(few=few, phys=phys))
        jobs.write_text(drawn_jobs(rng))
        config = read_slurm_conf(conf).config
        options = ReplayOptions(
            scheduler="sched/backfill",
            priority="priority/multifactor",
            associations=read_associations([script], config.cluster_name).tree,
            history=history,
            check=True,
            report=lambda _text: None,
        )
        return Scenario(read_workload(jobs), config, options)

    def run(self, seed: int, *, history: bool) -> ReplayResult:
        return replay(self.scenario(seed, history=history))


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    monkeypatch.setattr(driver, "_IDLE_TICKS", 1000)  # some jobs can never start
    monkeypatch.setattr(run, "SAMPLES", 6)  # cycles are more frequent, as they are in months
    return Played(tmp_path)


def schedule_of(result: ReplayResult) -> list[tuple[object, ...]]:
    found = result.schedule
    nodes = found.nodes if found.nodes is not None else [""] * len(found)
    return list(zip(found.job_id.tolist(), found.start.tolist(), found.end.tolist(), found.state, nodes, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("history", [False, True])
def test_schedule_and_history_are_those_of_whole_plans(
    played: Played, monkeypatch: pytest.MonkeyPatch, seed: int, history: bool
) -> None:
    found = played.run(seed, history=history)
    monkeypatch.setattr(Engine, "plans_unread", lambda _engine, _seconds: None)
    whole = played.run(seed, history=history)
    assert schedule_of(found) == schedule_of(whole)
    assert found.plans == whole.plans


def test_fewer_plans_are_made(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the tests above would compare two equal ways."""
    made = {"no history": 0, "history": 0, "whole": 0}
    which = ""
    earliest: Callable[..., tuple[int, int, int] | None] = NodeSpace.earliest

    def count(self: NodeSpace[Job], *args: int, **options: int) -> tuple[int, int, int] | None:
        made[which] += 1
        return earliest(self, *args, **options)

    monkeypatch.setattr(NodeSpace, "earliest", count)
    for which in made:
        if which == "whole":
            monkeypatch.setattr(Engine, "plans_unread", lambda _engine, _seconds: None)
        played.run(5, history=which == "history")
    assert made["no history"] < made["history"] < made["whole"]
    assert made["no history"] < 0.8 * made["whole"]


def test_interchangeable_processors(kth: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    log = kth.take(np.arange(1500))
    scenario = Scenario(log, interchangeable(KTH_PROCS), ReplayOptions(scheduler="sched/backfill"))
    found = replay(scenario).schedule
    monkeypatch.setattr(Engine, "plans_unread", lambda _engine, _seconds: None)
    assert found.start.tolist() == replay(scenario).schedule.start.tolist()
