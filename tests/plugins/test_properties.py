"""Properties of the built-in schedulers, on random workloads and machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.model import JobState, Node
from rota.testing import Harness, Script, cluster, partition, random_script

if TYPE_CHECKING:
    from random import Random

    from rota.model import ClusterConfig

SCHEDULERS = ("sched/builtin", "sched/easy", "sched/conservative", "sched/backfill")
#: Chance that hypothesis draws, and therefore shrinks.
RANDOMS = st.randoms(use_true_random=False)


def _one_partition(rng: Random) -> ClusterConfig:
    """Draw a machine with one partition."""
    if rng.random() < 0.5:
        return cluster(cpus=rng.randint(1, 12))
    return cluster(nodes=_nodes(rng))


def _any_machine(rng: Random) -> ClusterConfig:
    """Draw a machine with one or more partitions, which may overlap."""
    if rng.random() < 0.4:
        return _one_partition(rng)
    nodes = _nodes(rng)
    places = range(len(nodes))
    parts = [
        partition(f"p{i}", rng.sample(places, rng.randint(1, len(nodes))), tier=rng.choice((1, 1, 2))) for i in range(2)
    ]
    return cluster(nodes=nodes, partitions=parts)


def _nodes(rng: Random) -> list[Node]:
    count = rng.randint(2, 7)
    return [Node(name=f"n{i}", cpus=rng.randint(1, 4), weight=rng.randint(1, 2)) for i in range(count)]


def _play(config: ClusterConfig, script: Script, sched: str) -> Harness:
    rota = Harness(config, sched=sched)
    script.put(rota)
    rota.run_to_end()
    rota.close()
    return rota


@given(rng=RANDOMS, sched=st.sampled_from(SCHEDULERS))
def test_safety_whatever_happens(rng: Random, sched: str) -> None:
    """Nothing is oversubscribed, no job starts too early: the engine's invariants, and here once more from outside."""
    config = _any_machine(rng)
    script = random_script(rng, config, jobs=12)
    rota = _play(config, script, sched)
    specs = {one.job_id: one for one in script.submissions}
    for job in rota.finished:
        if job.start_time is not None and job.end_time is not None:
            assert job.start_time >= max(specs[job.job_id].time, job.spec.begin_time)
            assert job.end_time <= job.start_time + job.time_limit
    assert rota.live == []
    assert not rota.engine.faults


@given(rng=RANDOMS, sched=st.sampled_from(SCHEDULERS))
def test_no_two_jobs_have_the_same_resources_at_one_time(rng: Random, sched: str) -> None:
    config = _any_machine(rng)
    rota = _play(config, random_script(rng, config, jobs=12, calm=True), sched)
    alloc = {launch.job_id: launch.resources for launch in rota.launches}
    spans = [(job.start_time or 0, job.end_time or 0, job) for job in rota.finished]
    for time in {start for start, _, _ in spans}:
        held = [alloc[job.job_id] for start, end, job in spans if start <= time < end]
        if len(config.nodes) == 1:
            assert sum(held) <= config.nodes[0].cpus
        else:
            assert sum(held).bit_count() == sum(nodes.bit_count() for nodes in held)
    for job in rota.finished:
        if len(config.nodes) > 1:
            cpus = sum(node.cpus for i, node in enumerate(config.nodes) if alloc[job.job_id] >> i & 1)
            assert cpus >= job.spec.num_cpus
            partition = next(one for one in config.partitions if one.name == job.partition)
            assert alloc[job.job_id] & ~partition.nodes == 0


@given(rng=RANDOMS, sched=st.sampled_from(SCHEDULERS))
def test_every_job_that_fits_ends(rng: Random, sched: str) -> None:
    config = _any_machine(rng)
    script = random_script(rng, config, jobs=15, calm=True)
    rota = _play(config, script, sched)
    assert rota.count(JobState.COMPLETED) == len(script.submissions)


@given(rng=RANDOMS, order=st.sampled_from(["fcfs", "sjf"]))
def test_easy_never_delays_the_head_past_its_shadow_time(rng: Random, order: str) -> None:
    """With exact estimates and one partition, the head starts no later than it was first promised."""
    config = _one_partition(rng)
    config = cluster(nodes=config.nodes, SchedulerParameters=f"easy_order={order}")
    rota = Harness(config, sched="sched/easy")
    promised: dict[int, int] = {}

    def note_promise() -> None:
        queue = rota.ctld.queue
        if queue and not rota.engine.pass_due and queue[0].planned_start is not None:
            promised.setdefault(queue[0].job_id, queue[0].planned_start)

    rota.checks.append(note_promise)
    random_script(rng, config, jobs=20, calm=True, exact=True).put(rota)
    rota.run_to_end()
    assert all(rota.starts[job_id] <= time for job_id, time in promised.items())
    rota.close()


@given(rng=RANDOMS, exact=st.booleans())
def test_conservative_starts_no_job_later_than_it_was_first_reserved(rng: Random, exact: bool) -> None:
    config = _any_machine(rng)
    rota = Harness(config, sched="sched/conservative")
    reserved: dict[int, int] = {}

    def note_reservations() -> None:
        if not rota.engine.pass_due:
            for job in rota.ctld.queue:
                assert job.planned_start is not None
                reserved.setdefault(job.job_id, job.planned_start)

    rota.checks.append(note_reservations)
    random_script(rng, config, jobs=20, calm=True, exact=exact).put(rota)
    rota.run_to_end()
    assert all(rota.starts[job_id] <= time for job_id, time in reserved.items())
    rota.close()


@pytest.mark.parametrize("sched", ["sched/easy", "sched/conservative"])
@given(rng=RANDOMS)
def test_backfilling_is_no_worse_than_fifo_for_the_first_that_has_to_wait(sched: str, rng: Random) -> None:
    config = _one_partition(rng)
    script = random_script(rng, config, jobs=15, calm=True, exact=True)
    fifo, other = _play(config, script, "sched/builtin").starts, _play(config, script, sched).starts
    waiting = [one for one in script.submissions if fifo[one.job_id] > one.time]
    if waiting:
        assert other[waiting[0].job_id] <= fifo[waiting[0].job_id]


@given(rng=RANDOMS, sched=st.sampled_from(SCHEDULERS))
def test_fifo_starts_jobs_of_one_partition_in_order_and_nobody_starts_them_twice(rng: Random, sched: str) -> None:
    config = _one_partition(rng)
    rota = _play(config, random_script(rng, config, jobs=15, calm=True), sched)
    order = [launch.job_id for launch in rota.launches]
    assert len(order) == len(set(order))
    if sched == "sched/builtin":
        assert order == sorted(order)


@pytest.mark.slow
@settings(max_examples=5 * settings().max_examples)
@given(rng=RANDOMS, sched=st.sampled_from(SCHEDULERS))
def test_safety_whatever_happens_at_length(rng: Random, sched: str) -> None:
    config = _any_machine(rng)
    rota = _play(config, random_script(rng, config, jobs=25), sched)
    assert rota.live == []
    assert not rota.engine.faults
