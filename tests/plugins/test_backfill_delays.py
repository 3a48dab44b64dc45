"""Whom sched/backfill may delay, and whom it may not."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.model import Node
from rota.testing import Harness, cluster, spec, with_parameters

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from rota.core.job import Job, QueueRecord
    from rota.model import ClusterConfig, JobSpec

    Planned = Job | QueueRecord

#: Chance that hypothesis draws, and therefore shrinks.
RANDOMS = st.randoms(use_true_random=False)
LICENSES = {"matlab": 2, "ansys": 3}


#: Time limits are multiples of this, and so are the grid and the times of cycles: the grid costs nothing.
HOUR = 3600


def _with_options(config: ClusterConfig, unit: int) -> ClusterConfig:
    """Have a cycle plan the whole queue of a machine, on a grid of ``unit`` seconds; ends are rounded up to it.

    Running jobs are taken away one expected end at a time: with ``bf_window_linear=1`` a window reaches no further than
    to the next one.
    """
    parameters = f"bf_interval={unit},bf_resolution={unit},bf_window=43200,bf_max_job_test=1000,bf_window_linear=1"
    return with_parameters(config, SlurmVersion="25.11", SchedulerParameters=parameters)


def _machine(rng: Random, kind: str) -> ClusterConfig:
    """Draw a machine."""
    if kind == "processors":
        return cluster(cpus=rng.randint(1, 8))
    places = range(rng.randint(2, 5))
    nodes = [Node(name=f"n{i}", cpus=rng.randint(1, 4), weight=rng.randint(1, 2)) for i in places]
    if kind == "whole nodes":
        return cluster(nodes=nodes)
    return cluster(nodes=nodes, SelectType="select/cons_tres", SelectTypeParameters="CR_CPU")


def _queue(rng: Random, config: ClusterConfig, unit: int) -> list[JobSpec]:
    """Draw jobs, that of the highest priority first."""
    nodes, cpus = len(config.nodes), sum(node.cpus for node in config.nodes)
    return [
        spec(
            cpus=rng.choice((1, 1, rng.randint(1, cpus), rng.randint(1, cpus), -(-cpus // 2))),
            nodes=rng.choice((0, 0, rng.randint(1, nodes))) if nodes > 1 else 0,
            limit=rng.randint(1, 6) * unit,
            priority=1000 - place,
        )
        for place in range(rng.randint(3, 8))
    ]


def _starts(config: ClusterConfig, queue: Sequence[JobSpec], cycles: int = 0) -> dict[int, int]:
    """Submit all at once, each to run to its time limit; give their starts by place in the queue, from 1.

    Args:
        config: The machine.
        queue: The jobs.
        cycles: A cycle takes place every so many seconds, whatever has changed, before the main pass; 0: when it does.
    """
    with Harness(config, sched="sched/backfill") as rota:
        plugin: Any = rota.engine.sched_guard._container
        for place, one in enumerate(queue, start=1):
            rota.at(0, partial(rota.submit, one, job_id=place, run=one.time_limit))
        if cycles:
            for time in range(0, sum(one.time_limit or 0 for one in queue), cycles):
                rota.at(time, lambda: rota.propose(lambda _: plugin.cycle()))
        rota.run_to_end()
        assert not rota.faults
        return rota.starts


def _delayed(config: ClusterConfig, queue: Sequence[JobSpec], cycles: int = 0) -> list[tuple[int, int, int]]:
    """Find who starts later than if nobody of lower priority had come: place, start without them, start.

    Who does not wait without them is not asked about: nothing can be before its turn.
    """
    found, starts = [], _starts(config, queue, cycles)
    for place in range(1, len(queue)):
        alone = _starts(config, queue[:place], cycles)[place]
        if alone:
            found.append((place, alone, starts[place]))
        else:
            assert starts[place] == 0
    return found


@given(rng=RANDOMS, unit=st.sampled_from((60, HOUR)))
def test_on_processors_nobody_is_delayed_by_jobs_of_lower_priority(rng: Random, unit: int) -> None:
    """It holds for every job: processors are counted, so that a plan does not depend on which ones anybody has.

    Here and below a cycle takes place whenever a job may end: see
    `test_a_cycle_more_may_delay_a_job_that_is_not_the_first`.
    """
    config = _with_options(_machine(rng, "processors"), unit)
    for place, alone, start in _delayed(config, _queue(rng, config, unit), unit):
        assert start <= alone, place


@given(rng=RANDOMS)
def test_on_whole_nodes_nobody_is_delayed_by_jobs_of_lower_priority(rng: Random) -> None:
    """It holds for every job: running jobs are taken away one expected end at a time."""
    config = _with_options(_machine(rng, "whole nodes"), 60)
    for place, alone, start in _delayed(config, _queue(rng, config, 60), 60):
        assert start <= alone, place


@given(rng=RANDOMS)
def test_on_shared_nodes_the_first_that_waits_is_not_delayed_by_jobs_of_lower_priority(rng: Random) -> None:
    """It holds for the job of the highest priority among those that do not start at once, ends being an hour apart.

    It does not without ``bf_window_linear``, as in Slurm: windows that double take more and more ends together, so that
    a start is planned too late, and what is free until then is given away.

    Not for those after it, as in Slurm: what is left of a node decides whether it is the best fit, so a job that runs
    on some of its processors changes where one of higher priority starts, and with that what is left for those between
    the two: `test_best_fit_may_delay_a_job_that_is_not_the_first`.
    """
    config = _with_options(_machine(rng, "shared nodes"), HOUR)
    for place, alone, start in _delayed(config, _queue(rng, config, HOUR), HOUR)[:1]:
        assert start <= alone, place


def _queue_of(text: str, unit: int) -> list[JobSpec]:
    """Read ``processors/nodes x time limit`` for each job, that of the highest priority first."""
    found = []
    for place, one in enumerate(text.split()):
        cpus, nodes, limit = map(int, one.replace("x", "/").split("/"))
        found.append(spec(cpus=cpus, nodes=nodes, limit=limit * unit, priority=1000 - place))
    return found


def _nodes(text: str) -> list[Node]:
    """Read ``processors/weight`` for each node."""
    pairs = [one.split("/") for one in text.split()]
    return [Node(name=f"n{i}", cpus=int(cpus), weight=int(weight)) for i, (cpus, weight) in enumerate(pairs)]


@pytest.mark.parametrize(("flags", "start"), [("CR_CPU", 7), ("CR_CPU,FIRST_FIT", 4)])
def test_best_fit_may_delay_a_job_that_is_not_the_first(flags: str, start: int) -> None:
    """Nodes of 5 and 6 processors; after two hours 4 are free on each, and the fifth job is to have 2 on the first one.

    If the last one has a processor of the second node then, 3 are left there: that is the best fit now. So the sixth
    job, which needs all of the second node and could have had it after 4 hours, waits for the fifth. Whoever takes the
    first node that will do delays nobody.
    """
    config = _with_options(
        cluster(nodes=_nodes("5/1 6/1"), SelectType="select/cons_tres", SelectTypeParameters=flags), HOUR
    )
    queue = _queue_of("1/0x9 4/0x2 2/0x4 3/0x2 2/0x5 6/0x1 1/0x3", HOUR)
    queue = [one._replace(max_nodes=1) for one in queue]
    alone, starts = (_starts(config, jobs, HOUR) for jobs in (queue[:6], queue))
    assert (alone[5], starts[5], starts[7]) == (2 * HOUR, 2 * HOUR, 0)
    assert (alone[6], starts[6]) == (4 * HOUR, start * HOUR)


@pytest.mark.parametrize(("cycles", "start"), [(0, 16), (HOUR, None)])
def test_a_cycle_more_may_delay_a_job_that_is_not_the_first(cycles: int, start: int | None) -> None:
    """Cycles take place after a change: what a later job does makes one more, or one less.

    With cycles whether anything has changed or not, nobody is delayed. Each node is one core. The queue is one that was
    found by trying.
    """
    nodes = [node._replace(threads_per_core=node.cpus) for node in _nodes("2/1 1/1 1/2 4/1")]
    config = _with_options(cluster(nodes=nodes, SelectType="select/cons_tres", SelectTypeParameters="CR_Core"), HOUR)
    queue = _queue_of("5/1x5 4/0x4 1/0x4 5/0x2 8/0x5 1/0x2 1/2x4 1/0x4 1/0x5", HOUR)
    delayed = [(place, after // HOUR) for place, alone, after in _delayed(config, queue, cycles) if after > alone]
    assert delayed == ([] if start is None else [(7, start)])
