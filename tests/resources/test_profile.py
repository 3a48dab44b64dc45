"""The profile of future availability against a model that keeps what is free in every single second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.core.job import Job
from rota.model import JobSpec, Node, Partition
from rota.resources import FutureProfile, ProcessorPool, WholeNodePool
from rota.testing import cluster

if TYPE_CHECKING:
    from rota.resources import Pool

#: Seconds that the model looks ahead; nothing is changed after the first half.
SPAN = 60
NOW = 100


class _Seconds:
    """What is free, second by second."""

    def __init__(self, pool: Pool, now: int, ends: list[tuple[int, int]]) -> None:
        self._pool = pool
        self.now = now
        self.free = [
            pool.free + sum(resources for end, resources in ends if end <= time) for time in range(now, now + SPAN)
        ]

    def at(self, time: int) -> int:
        return self.free[min(time - self.now, SPAN - 1)]

    def change(self, start: int, end: int, resources: int) -> None:
        for time in range(max(start, self.now), end):
            self.free[time - self.now] += resources

    def common(self, start: int, end: int) -> int:
        found = self.at(start)
        for time in range(start, end):
            found = self._pool.common(found, self.at(time))
        return found

    def earliest(self, job: Job, duration: int, after: int, before: int | None) -> tuple[int, int] | None:
        for start in range(max(after, self.now), before or self.now + SPAN):
            resources = self._pool.select(job, self.common(start, start + duration))
            if resources:
                return start, resources
        return None


class _Machine:
    """A random machine with running jobs, its profile and the model."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw
        if draw(st.booleans(), label="processors"):
            nodes = [Node(name="n0", cpus=8)]
        else:
            sizes = draw(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 2)), min_size=2, max_size=6))
            nodes = [Node(name=f"n{i}", cpus=cpus, weight=weight) for i, (cpus, weight) in enumerate(sizes)]
        self.pool = ProcessorPool(nodes[0].cpus) if len(nodes) == 1 else WholeNodePool(cluster(nodes=nodes), nodes)
        self.whole = self.pool.up
        ends = []
        for _ in range(draw(st.integers(0, 4))):
            resources = self.part_of(self.pool.free)
            if resources:
                self.pool.free -= resources
                ends.append((NOW + draw(st.integers(-5, 20)), resources))
        ends.sort()
        self.profile = FutureProfile(self.pool, NOW, ends)
        self.model = _Seconds(self.pool, NOW, ends)

    def part_of(self, resources: int) -> int:
        """Draw a subset of a resource set."""
        if self.pool.interchangeable:
            return int(self._draw(st.integers(0, resources)))
        return resources & int(self._draw(st.integers(0, self.whole)))

    def job(self) -> Job:
        """Draw a job that fits the machine, in a partition of some of its nodes."""
        nodes = 1 if self.pool.interchangeable else int(self._draw(st.integers(1, self.whole)))
        part = Partition(name="p", nodes=nodes)
        spec = JobSpec(num_cpus=self._draw(st.integers(1, 8)), min_nodes=self._draw(st.integers(0, 2)))
        units = self.pool.units(spec, part)
        return Job(1, spec, NOW, part, units) if units else Job(1, JobSpec(), NOW, part, 1)

    def reserve(self) -> tuple[int, int, int] | None:
        """Take something that is free, in both."""
        start = NOW + self._draw(st.integers(0, 15))
        end = start + self._draw(st.integers(1, 12))
        resources = self.part_of(self.model.common(start, end))
        if not resources:
            return None
        self.profile.take(start, end, resources)
        self.model.change(start, end, -resources)
        return start, end, resources

    def compare(self) -> None:
        steps = self.profile.steps()
        times = [time for time, _ in steps]
        assert times == sorted(set(times))
        for time in range(times[0], NOW + SPAN):
            free = next(resources for begin, resources in reversed(steps) if begin <= time)
            assert free == self.model.at(time), time


@given(st.data())
def test_earliest_is_the_first_second_at_which_the_job_fits_for_its_duration(data: Any) -> None:
    machine = _Machine(data.draw)
    for _ in range(data.draw(st.integers(0, 6))):
        machine.reserve()
    for _ in range(3):
        job, duration = machine.job(), data.draw(st.integers(1, 15))
        after = NOW + data.draw(st.integers(-3, 25))
        before = data.draw(st.none() | st.integers(NOW, NOW + 30))
        found = machine.profile.earliest(job, duration, after, before=before)
        assert found == machine.model.earliest(job, duration, after, before)


@given(st.data())
def test_taking_and_giving_back_is_what_it_is_in_every_second(data: Any) -> None:
    machine = _Machine(data.draw)
    taken: list[tuple[int, int, int]] = []
    machine.compare()
    for _ in range(data.draw(st.integers(1, 10))):
        if taken and data.draw(st.booleans()):
            start, end, resources = taken.pop(data.draw(st.integers(0, len(taken) - 1)))
            # All of it, or what is left of it.
            start = max(start, data.draw(st.integers(start, end)))
            machine.profile.give(start, end, resources)
            machine.model.change(start, end, resources)
        elif reserved := machine.reserve():
            taken.append(reserved)
        machine.compare()


@given(st.data())
def test_looking_with_what_is_held_is_the_same_as_giving_it_back_first(data: Any) -> None:
    machine = _Machine(data.draw)
    for _ in range(data.draw(st.integers(0, 5))):
        machine.reserve()
    job, duration = machine.job(), data.draw(st.integers(1, 12))
    first = machine.profile.earliest(job, duration, NOW + data.draw(st.integers(0, 20)))
    if first is None:
        return
    start, held = first
    machine.profile.take(start, start + duration, held)
    for _ in range(data.draw(st.integers(0, 3))):
        machine.model = _model_of(machine)
        machine.reserve()
    found = machine.profile.earliest(job, duration, NOW, before=start, held=held)
    machine.profile.give(start, start + duration, held)
    assert found == machine.profile.earliest(job, duration, NOW, before=start)


def _model_of(machine: _Machine) -> _Seconds:
    """Write a profile out second by second."""
    model = _Seconds(machine.pool, NOW, [])
    steps = machine.profile.steps()
    model.free = [
        next(resources for begin, resources in reversed(steps) if begin <= time) for time in range(NOW, NOW + SPAN)
    ]
    return model


@given(st.data())
def test_advancing_forgets_the_past_and_nothing_else(data: Any) -> None:
    machine = _Machine(data.draw)
    for _ in range(data.draw(st.integers(0, 5))):
        machine.reserve()
    machine.profile.advance(NOW + data.draw(st.integers(-3, 30)))
    machine.compare()
    machine.profile.advance(NOW)
    machine.compare()


@pytest.mark.parametrize("cpus", [4, 0], ids=["processors", "nodes"])
def test_what_is_past_can_neither_be_taken_nor_given_back(cpus: int) -> None:
    pool = ProcessorPool(cpus) if cpus else WholeNodePool((two := cluster(nodes=2)), two.nodes)
    profile = FutureProfile(pool, NOW, [])
    before = profile.steps()
    profile.give(NOW - 20, NOW - 10, 1)
    profile.take(NOW - 20, NOW, 1)
    profile.take(NOW + 5, NOW + 5, 1)
    assert profile.steps() == before
    profile.take(NOW - 20, NOW + 1, 1)
    assert [time for time, _ in profile.steps()] == [NOW, NOW + 1]
