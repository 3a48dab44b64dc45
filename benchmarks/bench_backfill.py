"""Cost of one cycle of ``sched/backfill``: a queue of 100 to 5,000 jobs on 100 to 10,000 nodes.

``make bench`` prints a table for whole nodes, for shared nodes, and for shared nodes with jobs of one node. The machine
is full when the cycle begins: each node has a job, or four of a quarter where all are of one node, and these end at
different times. The pending jobs are random, with sizes up to a tenth of the machine and time limits up to two days;
all of them are tested.

Two cycles are measured: the first one of an engine, with empty caches, and the next one, a minute and an end of a job
later. The same cycle is not measured twice, as with full caches it would be faster than any cycle of a replay.

Absolute times depend on the computer; compare ratios. Times are processor times; the best of several engines counts.
"""

from __future__ import annotations

import random
from itertools import count
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.core import Engine
from rota.core.events import JobEnded, SchedulePass, Submit
from rota.loader import PluginHost
from rota.model import JobSpec, Node
from rota.testing import cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rota.model import ClusterConfig

_CPUS = 16
_HOUR = 3600
QUEUES = (100, 500, 1_000, 5_000)
MACHINES = (100, 1_000, 10_000)


def _machine(nodes: int, select: str, queue: int) -> ClusterConfig:
    return cluster(
        nodes=[Node(name=f"n{number}", cpus=_CPUS, cores_per_socket=_CPUS) for number in range(nodes)],
        SelectType=select,
        SelectTypeParameters="CR_Core",
        SchedulerParameters=f"bf_max_job_test={queue},bf_node_space_size=100000,bf_interval=-1",
    )


class Cycles(NamedTuple):
    """The times of two cycles in milliseconds, and the number of jobs that the first one planned."""

    first: float
    later: float
    planned: int


def cycle_ms(nodes: int, select: str, queue: int, runs: int = 3, *, of_one: bool = False) -> Cycles:
    """Measure the first two cycles of ``runs`` engines, or of jobs of one node; give the best time of each."""
    measured = [_two_cycles(nodes, select, queue, of_one=of_one) for _ in range(runs)]
    first, later, planned = zip(*measured, strict=True)
    return Cycles(min(first), min(later), planned[0])


def _two_cycles(nodes: int, select: str, queue: int, *, of_one: bool) -> Cycles:
    chance = random.Random(1)  # noqa: S311 - the same jobs each time, no secrets
    with PluginHost([]) as host:
        backfill, priority, picker = (
            host.load(name) for name in ("sched/backfill", "priority/basic", "select/cons_tres")
        )
        engine = Engine(
            _machine(nodes, select, queue),
            priority=priority.container,
            sched=backfill.container,
            select=picker.container,
        )
        picker.start(engine.select_controller)
        priority.start(engine.priority_controller)
        backfill.start(engine.sched_controller)
        engine.begin()
        numbers = count(1)
        parts = 4 if of_one else 1
        for _ in range(parts * nodes):
            spec = JobSpec(_CPUS // parts, chance.randrange(1, 48) * _HOUR)
            engine.handle(Submit(job_id=next(numbers), spec=spec), 0)
        engine.handle(SchedulePass(), 0)
        for _ in range(queue):
            if of_one:
                spec = JobSpec(chance.choice((1, 2, 4, 8, 16)), chance.randrange(1, 48) * _HOUR, 1, max_nodes=1)
                engine.handle(Submit(job_id=next(numbers), spec=spec), 60)
                continue
            wanted = chance.choice((1, 1, 2, 4, chance.randrange(1, nodes // 10 + 1)))
            cpus = wanted * _CPUS if select == "select/linear" else max(wanted * _CPUS * chance.randrange(1, 5) // 4, 1)
            spec = JobSpec(cpus, chance.randrange(1, 48) * _HOUR, wanted)
            engine.handle(Submit(job_id=next(numbers), spec=spec), 60)
        cycle: Any = getattr(backfill.container, "cycle")  # noqa: B009 - a container is any object
        first = _took_ms(cycle)
        planned = sum(job.planned_start is not None for job in engine.jobs.values())
        ended = next(iter(engine.sched_controller.running), None)
        if ended is not None:
            engine.handle(JobEnded(job_id=ended.job_id), 120)
        return Cycles(first, _took_ms(cycle), planned)


def _took_ms(cycle: Callable[[], object]) -> float:
    begun = process_time()
    cycle()
    return (process_time() - begun) * 1e3


def cycles() -> Iterator[dict[str, object]]:
    """Measure cycles with all sizes of the machine and all lengths of the queue."""
    for select, of_one in (("select/linear", False), ("select/cons_tres", False), ("select/cons_tres", True)):
        for nodes in MACHINES:
            for queue in QUEUES:
                first, later, planned = cycle_ms(nodes, select, queue, of_one=of_one)
                yield {
                    "select": select,
                    "jobs of one node": of_one,
                    "nodes": nodes,
                    "pending jobs": queue,
                    "planned": planned,
                    "first ms": round(first, 1),
                    "later ms": round(later, 1),
                    "us a job": round(later * 1e3 / queue),
                }


#: By the name in the JSON file.
TABLES = {"backfill_cycles": cycles}
