"""Random scripts: actions of users and administrators, which can be played to any plugin.

A script does not depend on the scheduler, so the same one can be played to several to compare their decisions. At its
end all holds are released and all nodes and partitions are up, so that every job can run.
"""

from __future__ import annotations

from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rota.core import events as ev
from rota.model import Node, NodeState, PartitionState, RequestError
from rota.testing.builders import cluster, partition, spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from rota.model import ClusterConfig, JobSpec
    from rota.testing.harness import Harness


def processors() -> ClusterConfig:
    """A machine of 16 interchangeable processors."""
    return cluster(cpus=16)


def overlapping() -> ClusterConfig:
    """8 nodes of 4 processors, and two partitions with three nodes in common."""
    return cluster(
        nodes=8,
        cpus_per_node=4,
        partitions=[partition("batch", range(6)), partition("wide", range(3, 8))],
    )


def tiers() -> ClusterConfig:
    """6 nodes of different sizes and weights; an express partition of a higher tier has two of them."""
    sizes = ((2, 1), (4, 2), (8, 3), (8, 1), (4, 1), (2, 2))
    nodes = [Node(name=f"n{i}", cpus=cpus, weight=weight) for i, (cpus, weight) in enumerate(sizes)]
    parts = [partition("batch"), partition("express", (2, 3), tier=10)]
    return cluster(nodes=nodes, partitions=parts)


def shared() -> ClusterConfig:
    """5 nodes whose processors, memory and GPUs are shared; one partition allocates two of them whole."""
    sizes = ((4, 1, 0), (4, 1, 2), (8, 2, 2), (2, 1, 0), (8, 1, 4))
    nodes = [
        Node(name=f"n{i}", cpus=cpus, weight=weight, real_memory=1000 * cpus, gres=(f"gpu:{gpus}",) if gpus else ())
        for i, (cpus, weight, gpus) in enumerate(sizes)
    ]
    parts = [partition("batch", def_mem_per_cpu=500), partition("whole", (3, 4), exclusive=True, def_mem_per_cpu=500)]
    return cluster(nodes=nodes, partitions=parts, SelectType="select/cons_tres")


def oversubscribed(select: str = "select/cons_tres") -> ClusterConfig:
    """4 nodes of 4 processors, and partitions that allow two jobs on a core, three that ask for it, and one."""
    parts = [
        partition("batch", max_share=2, force_share=True),
        partition("asked", (1, 2, 3), max_share=3),
        partition("alone", (0, 1)),
    ]
    return cluster(nodes=4, cpus_per_node=4, partitions=parts, SelectType=select)


def oversubscribed_whole() -> ClusterConfig:
    """The same with whole nodes that jobs share."""
    return oversubscribed("select/linear")


#: Machines by name.
MACHINES: Mapping[str, Callable[[], ClusterConfig]] = MappingProxyType(
    {
        "processors": processors,
        "overlapping": overlapping,
        "tiers": tiers,
        "shared": shared,
        "oversubscribed": oversubscribed,
        "oversubscribed whole": oversubscribed_whole,
    }
)


class Submission(NamedTuple):
    """A job of a script."""

    time: int
    job_id: int
    spec: JobSpec
    #: Run time in seconds; if it is longer than the time limit, the engine has to stop the job.
    run: int


class Script(NamedTuple):
    """A script."""

    submissions: tuple[Submission, ...]
    #: Events other than submissions, with their times.
    other_events: tuple[tuple[int, ev.Event], ...]

    @property
    def last(self) -> int:
        """The time of the last submission or event."""
        times = [one.time for one in self.submissions] + [time for time, _ in self.other_events]
        return max(times, default=0)

    def put(self, harness: Harness) -> None:
        """Put everything on a harness's agenda. Requests may be refused when a job has ended."""
        for one in self.submissions:
            harness.at(one.time, _submission(harness, one))
        for time, event in self.other_events:
            harness.at(time, _event(harness, event))


def _submission(harness: Harness, one: Submission) -> Callable[[], object]:
    return lambda: harness.submit(one.spec, job_id=one.job_id, run=one.run)


def _event(harness: Harness, event: ev.Event) -> Callable[[], object]:
    def send() -> None:
        with suppress(RequestError):
            harness.send(event)

    return send


def random_script(
    rng: Random, config: ClusterConfig, *, jobs: int = 30, calm: bool = False, exact: bool = False
) -> Script:
    """Draw a script.

    Args:
        rng: Random generator; the same state gives the same script.
        config: The machine, on which every job fits.
        jobs: Number of jobs.
        calm: Submissions only: no holds, cancellations, begin times, failures and priorities.
        exact: The run time of every job is its time limit.
    """
    submissions, now = [], 0
    for job_id in range(1, jobs + 1):
        now += rng.choice((0, 0, 1, rng.randint(2, 40), rng.randint(10, 300)))
        request = _request(rng, config, now, calm=calm)
        limit = request.time_limit or 0
        run = limit if exact else rng.choice((limit, rng.randint(1, limit), limit if calm else limit + 30))
        submissions.append(Submission(now, job_id, request, run))
    other_events = [] if calm else _other_events(rng, config, now + 300, jobs)
    return Script(tuple(submissions), tuple(other_events))


def _request(rng: Random, config: ClusterConfig, now: int, *, calm: bool) -> JobSpec:
    part = rng.choice(config.partitions)
    sizes = [node.cpus for place, node in enumerate(config.nodes) if part.nodes >> place & 1]
    fields: dict[str, object] = {
        "partition": part.name,
        "cpus": min(rng.choice((1, 1, 2, rng.randint(1, sum(sizes)), -(-sum(sizes) // 2))), sum(sizes)),
        "nodes": rng.choice((0, 0, 0, rng.randint(1, len(sizes)))),
        "limit": rng.choice((rng.randint(1, 60), rng.randint(60, 600), 300)),
        "user": rng.randint(1, 4),
    }
    if any(node.gres for node in config.nodes):
        # What fits on one node of each of these sizes fits on several as well.
        fields["mem_per_cpu"] = rng.choice((0, 0, 100, 1000))
        fields["gres"] = rng.choice(("", "", "", "gpu:1", "gpu:2")) if part.nodes >> 1 & 1 else ""
        if fields["gres"]:
            fields |= {"cpus": rng.randint(1, 4), "nodes": 0}
    if any(one.max_share > 1 for one in config.partitions):
        fields["oversubscribe"] = rng.random() < 0.5
    if not calm:
        others = rng.sample(config.partitions, rng.randint(0, len(config.partitions)))
        fields |= {
            "partition": rng.choice((part.name, ",".join([part.name, *(one.name for one in others if one != part)]))),
            "begin": rng.choice((0, 0, 0, now + rng.randint(-50, 500))),
            "hold": rng.random() < 0.1,
            "nice": rng.choice((0, 0, 0, 10, -10, 1000)),
            "requeue": rng.random() < 0.3,
            "priority": rng.choice((None,) * 9 + (4_294_901_000,)),
        }
    return spec(**fields)


def _other_events(rng: Random, config: ClusterConfig, end: int, jobs: int) -> list[tuple[int, ev.Event]]:
    """Draw other events before ``end``, and those that undo them at ``end``."""
    found: list[tuple[int, ev.Event]] = []
    for _ in range(jobs):
        time, job_id = rng.randint(0, end), rng.randint(1, jobs)
        kind = rng.choice((ev.Cancel, ev.Hold, ev.Release, ev.Requeue))
        found.append((time, kind(job_id=job_id)))
    for _ in range(3):
        time = rng.randint(0, end)
        node = rng.choice(config.nodes)
        found += [
            (time, ev.UpdateNode(name=node.name, state=rng.choice((NodeState.DOWN, NodeState.DRAIN)))),
            (min(time + rng.randint(1, 400), end), ev.UpdateNode(name=node.name, state=NodeState.UP)),
        ]
        part = rng.choice(config.partitions)
        # Not DRAIN and INACTIVE, which refuse submissions.
        found.append((rng.randint(0, end), ev.UpdatePartition(name=part.name, state=PartitionState.DOWN)))
        found.append((rng.randint(0, end), ev.UpdatePartition(name=part.name, state=PartitionState.UP)))
    found += [(end, ev.UpdateNode(name=node.name, state=NodeState.UP)) for node in config.nodes]
    found += [(end, ev.UpdatePartition(name=part.name, state=PartitionState.UP)) for part in config.partitions]
    found += [(end, ev.Release(job_id=job_id)) for job_id in range(1, jobs + 1)]
    found.sort(key=lambda item: item[0])
    return found
