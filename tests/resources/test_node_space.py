"""What backfill plans with, against adding up for each question anew."""

from __future__ import annotations

import random
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.core.job import Job
from rota.model import JobSpec, Node, Partition
from rota.resources import NodeSpace, ProcessorSpace, make_pool
from rota.resources.future.node_space import Windows
from rota.resources.pools.pool import ProcessorPool
from rota.testing import cluster

NODES, CPUS, JOBS = 6, 4, 12


class Machine:
    """A pool and the jobs that run on it, by their ends."""

    def __init__(self, select: str) -> None:
        nodes = [Node(name=f"n{number}", cpus=CPUS, cores_per_socket=CPUS) for number in range(NODES)]
        self.pool: Any = make_pool(cluster(nodes=nodes, SelectType=select, SelectTypeParameters="CR_Core"), nodes)
        self.partition = Partition(name="p", nodes=2**NODES - 1)
        self.running: list[Job] = []

    def start(self, job_id: int, cpus: int, end: int) -> Job | None:
        """Start a job if it fits, as the engine does."""
        pool, spec = self.pool, JobSpec(cpus, end)
        job = Job(job_id, spec, 0, self.partition, pool.units(spec, self.partition))
        job.alloc = pool.select(job, pool.free)
        if not job.alloc:
            return None
        pool.free -= job.alloc
        job.alloc_nodes = pool.nodes_of(job.alloc)
        job.start_time, job.end_time = 0, end
        self.running.append(job)
        self.running.sort(key=lambda job: job.end_time or 0)  # stable: of equal ends, who started first
        return job

    def space(self) -> NodeSpace[Job]:
        """Begin to plan."""
        return NodeSpace(self.pool, 0, self.running, resolution=60, window=3600)

    def free_after(self, gone: int) -> Any:
        """Say what is free when so many jobs have ended: sets that have nothing in common are joined with +."""
        return self.pool.view(self.pool.free + sum(job.alloc for job in self.running[:gone]))


@pytest.mark.parametrize("select", ["select/linear", "select/cons_tres"])
@pytest.mark.parametrize("seed", range(20))
def test_what_is_free_when_some_jobs_have_ended_is_what_they_held(select: str, seed: int) -> None:
    """In any order of questions, also when jobs start in between, or have ended since the last plan was made."""
    chance = random.Random(seed)  # noqa: S311 - the same jobs each time, no secrets
    machine = Machine(select)
    for number in range(JOBS):
        machine.start(number, chance.randrange(1, CPUS + 1), chance.randrange(100, 110))
    space = machine.space()
    for number in range(JOBS, 3 * JOBS):
        for gone in chance.choices(range(len(machine.running) + 1), k=3):
            assert np.array_equal(space._releases.view(gone), machine.free_after(gone))
        if machine.running and chance.random() < 0.5:
            machine.pool.release(machine.running.pop(chance.randrange(len(machine.running))).alloc)
            space = machine.space()
        started = machine.start(number, chance.randrange(1, CPUS + 1), chance.randrange(100, 110))
        if started is not None:
            space.started(started)
    assert machine.running


@given(opened=st.lists(st.integers(0, 2**NODES - 1), min_size=1, max_size=12), data=st.data())
def test_a_window_that_moves_on_is_what_its_slots_have_in_common(opened: list[int], data: Any) -> None:
    windows, first, last = Windows(opened), 0, 1
    for _ in range(data.draw(st.integers(1, 6))):
        first = data.draw(st.integers(first, len(opened) - 1))
        last = data.draw(st.integers(max(first + 1, last), len(opened)))
        assert windows.move(first, last) == reduce(and_, opened[first:last])


@pytest.mark.parametrize("seed", range(20))
def test_the_window_is_what_is_open_all_the_time(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same reservations each time, no secrets
    machine = Machine("select/linear")
    space = machine.space()
    job = Job(1, JobSpec(1, 60), 0, machine.partition, 1)
    for _ in range(15):
        space.reserve(job, chance.randrange(30) * 60, chance.randrange(1, 20) * 60, chance.randrange(1, 2**NODES))
        start, duration = chance.randrange(0, 3000), chance.randrange(1, 3000)
        slots = list(zip(space._begin, space._open, strict=True))
        now = max(place for place, (begin, _) in enumerate(slots) if begin <= start)
        expected = slots[now][1]
        for begin, opened in slots[now + 1 :]:
            if begin <= start + duration:
                expected &= opened
        assert space.open_nodes(job, start, duration) == expected
        nodes = chance.randrange(1, 2**NODES)
        starts = start // 60 * 60
        meanwhile = [
            opened
            for (begin, opened), after in zip(slots, [*space._begin[1:], 10**9], strict=True)
            if begin < start + duration and after > starts
        ]
        assert space.is_open(job, start, duration, nodes) == all(nodes & opened == nodes for opened in meanwhile)


def test_jobs_with_whole_nodes_hold_them_until_their_ends_on_the_grid_if_that_is_asked_for() -> None:
    """``bf_running_job_reserve``: without it a job is gone to the second; see Slurm's page on sched/backfill."""
    machine = Machine("select/linear")
    machine.start(1, NODES * CPUS, 90)
    job = Job(2, JobSpec(1, 60), 0, machine.partition, 1)
    assert machine.space().earliest(job, 60, 0) == (90, 1, 0)
    space = NodeSpace(machine.pool, 0, machine.running, resolution=60, window=3600, reserve_running=True)
    assert space.earliest(job, 60, 0) == (120, 1, 120)


@pytest.mark.parametrize("contiguous", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_whole_nodes_are_planned_for_the_first_end_after_which_the_job_fits(seed: int, *, contiguous: bool) -> None:
    """``select/linear`` takes one running job away after the other; recorded: linear/planned-next-end."""
    chance = random.Random(seed)  # noqa: S311 - the same jobs each time, no secrets
    machine = Machine("select/linear")
    for number in range(NODES):
        machine.start(number, chance.randrange(1, 3) * CPUS, chance.randrange(100, 200))
    space = machine.space()
    for count in range(1, NODES + 1):
        spec = JobSpec(count * CPUS, 60, min_nodes=count, contiguous=contiguous)
        job = Job(99, spec, 0, machine.partition, machine.pool.units(spec, machine.partition))
        fits = [(machine.pool.find(job, machine.free_after(gone), 2**NODES - 1), gone) for gone in range(NODES + 1)]
        found, gone = next(one for one in fits if one[0])
        end = machine.running[gone - 1].end_time if gone else 0
        assert space.earliest(job, 60, 0) == (end, found, 0)


@pytest.mark.parametrize(("step", "start"), [(0, 115), (10, 100)])
def test_batches_of_running_jobs_grow_as_they_are_told_to(step: int, start: int) -> None:
    """What ends within 30 s of 60; then within 60 s of it, n0 with it, or with ``bf_window_linear=10`` within 40."""
    machine = Machine("select/cons_tres")
    for number, end in enumerate((115, 50, 100, 110, 3000, 3000)):
        machine.start(number, CPUS, end)
    space = NodeSpace(machine.pool, 0, machine.running, resolution=1, window=3600, step=step)
    job = Job(9, JobSpec(2 * CPUS, 60, min_nodes=2), 0, machine.partition, 2)
    found = space.earliest(job, 60, 0)
    assert found is not None
    assert found[0] == start


def test_a_start_is_found_again_from_where_it_was_found_and_perhaps_not_from_itself() -> None:
    """As in Slurm: a search that begins then demands nodes that nobody has when the job would end, to the second."""
    machine = Machine("select/linear")
    machine.start(1, NODES * CPUS, 50)
    space = NodeSpace(machine.pool, 0, machine.running, resolution=1, window=3600)
    one, other = (Job(number, JobSpec(1, 60), 0, machine.partition, 1) for number in (2, 3))
    whole = JobSpec(NODES * CPUS, 60)
    start, nodes, since = space.earliest(one, 60, 0) or (0, 0, 0)
    assert (start, since) == (50, 0)
    space.reserve(one, start, 60, nodes)
    space.reserve(Job(4, whole, 0, machine.partition, NODES * CPUS), 110, 60, 2**NODES - 1)
    assert (space.earliest(other, 60, since, not_before=start) or (0,))[0] == 50
    assert (space.earliest(other, 60, start) or (0,))[0] == 170


def test_processors_of_a_job_that_should_have_ended_are_not_free_yet() -> None:
    pool = ProcessorPool(CPUS)
    partition = Partition(name="p", nodes=1)
    running, job = (Job(number, JobSpec(CPUS, 60), 0, partition, CPUS) for number in (1, 2))
    running.alloc, running.end_time, pool.free = CPUS, 120, 0
    assert ProcessorSpace(pool, 120, [running], resolution=60, window=3600).earliest(job, 60, 120) == (180, 1, 180)


@pytest.mark.parametrize(("ends_rounded_up", "free"), [(True, 120), (False, 60)])
def test_what_is_reserved_ends_at_a_full_minute(*, ends_rounded_up: bool, free: int) -> None:
    """Slurm 22.05.8 takes the one before the end, later code the one after."""
    machine = Machine("select/linear")
    space: NodeSpace[Job] = NodeSpace(machine.pool, 0, [], resolution=60, window=3600, ends_rounded_up=ends_rounded_up)
    job = Job(1, JobSpec(1, 60), 0, machine.partition, 1)
    space.reserve(job, 0, 90, 2**NODES - 1)
    assert space.earliest(job, 60, 0) == (free, 1, free)
