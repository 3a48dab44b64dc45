"""An engine that is restored from its saved state after any event continues as without a restart."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rota.core.effects import ResumeRun
from rota.core.snapshot import FORMAT, save
from rota.model import JobState, Node
from rota.testing import Harness, cluster
from rota.testing.builders import with_parameters

from .differences import Known, differences, read_known, scenarios
from .random_lives import SCHEDULERS, Living, draw_life
from .restarting import Restarting

if TYPE_CHECKING:
    from pathlib import Path

    from rota.model import ClusterConfig

SCENARIOS = scenarios()
KNOWN = read_known()


class RestartingLife(Restarting, Living):
    """Runs a life with a restart after every event and every pass."""


@pytest.mark.parametrize(
    "sched", [pytest.param(one, marks=() if one == "sched/backfill" else pytest.mark.slow) for one in SCHEDULERS]
)
@pytest.mark.seeds(1, 5)
def test_a_life_goes_on_after_restarts_as_it_would_have_without(sched: str, seeds: range) -> None:
    """Effects are the same, including the final records of all jobs and all refusals."""
    for seed in seeds:
        life = draw_life(seed, sched)
        with life.play() as through, life.play_on(RestartingLife) as again:
            assert (again.trace, again.faults) == (through.trace, [])
            assert again.effects == through.effects


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sched", "seed"),
    [
        # A job runs beyond its limit where nodes are reserved: the plan is not what it would be if it were made anew.
        ("sched/conservative", 9054),
        # A job of several partitions is changed: what was planned for it as it was is dropped.
        ("sched/conservative", 6470),
        # The usage factor of a QOS changes while its jobs run.
        ("sched/builtin", 49),
    ],
)
def test_lives_that_once_turned_out_otherwise(sched: str, seed: int) -> None:
    life = draw_life(seed, sched)
    with life.play() as through, life.play_on(RestartingLife) as again:
        assert (again.trace, again.effects) == (through.trace, through.effects)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_what_slurm_did_is_done_with_restarts_as_well(name: str, tmp_path: Path) -> None:
    try:
        differing = differences(SCENARIOS[name], tmp_path, Restarting)
    except NotImplementedError as error:
        pytest.skip(f"rota has no such request so far: {error}")
    assert differing == KNOWN.get(name, Known()).lines


def _large(count: int) -> ClusterConfig:
    nodes = [
        Node(name=f"n{place}", cpus=8, cores_per_socket=8, real_memory=64_000, gres=("gpu:4",))
        for place in range(count)
    ]
    return cluster(nodes=nodes, SelectType="select/cons_tres")


def test_a_gpu_of_one_of_224_shared_nodes() -> None:
    with Harness(_large(224)) as rota:
        rota.submit(cpus=1, gres="gpu:1", mem_per_node=100)
        held = json.loads(json.dumps(save(rota.engine)))["jobs"][0]["held"]
        assert held == {"n0": {"cpu": 1, "mem": 100, "gres/gpu": 1}}
        rota.restart()
        assert rota.state(1) is JobState.RUNNING


def test_two_thousand_shared_nodes_with_gpus() -> None:
    with Harness(_large(2000)) as rota:
        rota.submit(nodes=1900, cpus=1900 * 3, gres="gpu:1")
        rota.submit(nodes=1000, cpus=5000, gres="gpu:3")
        before = [job.alloc for job in rota.live]
        rota.restart()
        assert [job.alloc for job in rota.live] == before


def test_twenty_thousand_whole_nodes() -> None:
    with Harness(cluster(nodes=20_000), sched="sched/easy") as rota:
        rota.submit(nodes=15_000)
        rota.submit(nodes=20_000)
        before = rota.job(1).alloc
        rota.restart()
        assert (rota.job(1).alloc, rota.queue) == (before, [2])


def test_a_deadline_outlives_a_restart() -> None:
    with Harness(cluster(cpus=1)) as rota:
        rota.submit(limit=1000)
        rota.submit(limit=60, deadline=200)
        rota.restart()
        rota.wait(200)
        assert rota.finished[0].state is JobState.DEADLINE


def test_usage_outlives_a_run_without_a_plugin_that_keeps_it() -> None:
    config = with_parameters(cluster(cpus=4), PriorityDecayHalfLife="0", PriorityUsageResetPeriod="YEARLY")
    with Harness(config, priority="priority/multifactor") as rota:
        rota.submit(cpus=4, run=600, user="ann")
        rota.wait(600)
        used = rota.ctld.keep_usage().raw.tolist()
        assert used[0] == 4 * 600
        for plugin in ("priority/basic", "priority/multifactor"):
            rota._plugins = plugin, "sched/builtin"
            rota.restart()
        assert rota.ctld.keep_usage().raw.tolist() == used


def test_runs_are_launched_again_for_whoever_did_not_hear() -> None:
    with Harness(cluster(cpus=2)) as rota:
        rota.submit(cpus=1)
        launched = list(rota.effects)[-1]
        rota.restart()
        assert list(rota.effects)[-2:] == [launched, ResumeRun(job_id=1, restart_count=0)]
        assert len(rota.launches) == 1


def test_an_older_format_is_refused_with_what_to_do() -> None:
    with Harness(cluster(cpus=2)) as rota:
        saved = save(rota.engine) | {"format": FORMAT - 1}
        message = f"format {FORMAT - 1}, and this rota reads {FORMAT}: let its jobs end with the rota that saved it"
        with pytest.raises(Exception, match=message):
            rota._boot(saved)


def test_other_limits_are_in_force_after_a_restart() -> None:
    config = cluster(cpus=4)
    with Harness(config) as rota:
        rota.submit(cpus=4, run=10)
        rota.submit(cpus=4, limit=600)
        short = replace(config, partitions=(replace(config.partitions[0], max_time=60),))
        rota.restart(short)
        assert rota.job(2).reason.value == "PartitionTimeLimit"
