"""Which cores jobs get: as Slurm 22.05.8 gave them. `slurm.test_cores` compares all of its recorded scenarios."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rota.core.job import Job
from rota.model import JobSpec, Node
from rota.resources import make_pool
from rota.testing import cluster, partition

WIDE = Node(name="n1", cpus=16, sockets=2, cores_per_socket=8)
THREADS = Node(name="n1", cpus=16, sockets=2, cores_per_socket=4, threads_per_core=2)
GPUS = Node(name="n1", cpus=8, sockets=2, cores_per_socket=4, gres=("gpu:4",))
#: GPUs 0 and 1 are near the first socket, 2 and 3 near the second.
NEAR = Node(name="n1", cpus=8, sockets=2, cores_per_socket=4, gres=("gpu:2(C:0-3)", "gpu:2(C:4-7)"))
FOUR = Node(name="n1", cpus=8, sockets=4, cores_per_socket=2)


class Machine:
    """One node, and what jobs get of it."""

    def __init__(self, node: Node, parameters: str = "CR_Core_Memory") -> None:
        config = cluster(
            nodes=[node], partitions=[partition("main")], SelectTypeParameters=parameters, DefMemPerCPU="0"
        )
        config = replace(config, cores_apart=True)
        self.partition = config.partitions[0]
        self.pool: Any = make_pool(config, [node])

    def select(self, **asked: Any) -> int:
        """Give what a job would get."""
        pool, spec = self.pool, JobSpec(time_limit=60, **asked)
        job = Job(1, spec, 0, self.partition, pool.units(spec, self.partition))
        resources: int = pool.select(job, pool.free)
        assert pool.suffices(job, resources)
        return resources

    def start(self, **asked: Any) -> list[int]:
        """Start a job; give its processors."""
        resources = self.select(**asked)
        self.pool.take(resources)
        return [*self.pool.processor_ids(resources, 0)]

    def gpus(self, resources: int) -> dict[str, tuple[int, ...]]:
        """Give the GPUs of a resource set."""
        found: dict[str, tuple[int, ...]] = self.pool.gpu_ids(resources, 0)
        return found


@pytest.mark.parametrize(
    ("node", "before", "asked", "given"),
    [
        (WIDE, [], {"num_cpus": 5, "num_tasks": 5}, [0, 1, 2, 8, 9]),
        # Tasks of several processors are not split, as long as there is room: plain-3100032.
        (WIDE, [{"num_cpus": 2}], {"num_cpus": 12, "num_tasks": 4, "cpus_per_task": 3}, [*range(1, 7), *range(9, 15)]),
        (THREADS, [{"num_cpus": 1}], {"num_cpus": 3, "num_tasks": 3}, [2, 3, 8, 9]),
        # Planes: the socket that suffices, as of threads-3100124.
        (
            THREADS,
            [{"num_cpus": 1, "threads_per_core": 1}],
            {"num_cpus": 4, "num_tasks": 2, "cpus_per_task": 2, "threads_per_core": 1, "fills_sockets": True},
            [*range(8, 16)],
        ),
        # Sockets that are not needed are avoided: sockets-3100030, as the next.
        (FOUR, [{"num_cpus": 3}], {"num_cpus": 1, "num_tasks": 1, "ntasks_per_socket": 1}, [6]),
        (
            FOUR,
            [{"num_cpus": 1}, {"num_cpus": 1, "num_tasks": 1, "ntasks_per_socket": 1}],
            {"num_cpus": 4, "num_tasks": 4, "cores_per_socket": 2},
            [2, 3, 4, 5],
        ),
        # With GPUs, no more cores than their tasks can use: gpus-3300261, gpus-3300430 and gpus-3100126.
        (GPUS, [], {"num_cpus": 1, "num_tasks": 1, "gres": "gpu:1"}, [4]),
        (GPUS, [], {"num_cpus": 3, "num_tasks": 1, "cpus_per_task": 3, "gres_per_job": "gpu:2"}, [0, 4, 5]),
        (GPUS, [], {"num_cpus": 3, "num_tasks": 3, "ntasks_per_node": 3, "gres": "gpu:1"}, [0, 4, 5]),
        # GPUs for each task, with processors: gpus-3100152.
        (
            GPUS,
            [{"num_cpus": 1}],
            {"num_cpus": 3, "num_tasks": 3, "gres_per_task": "gpu:1", "cpus_per_gpu": 2},
            [*range(1, 7)],
        ),
    ],
)
def test_cores(node: Node, before: list[dict[str, Any]], asked: dict[str, Any], given: list[int]) -> None:
    machine = Machine(node)
    for one in before:
        machine.start(**one)
    assert machine.start(**asked) == given


def test_gpus() -> None:
    # gpus-3300131: jobs 4 and 6; and GPUs of any type, as of gpus-3100009.
    machine = Machine(GPUS._replace(gres=("gpu:a100:2", "gpu:v100:2")))
    assert machine.gpus(machine.select(num_cpus=1, gres="gpu:v100:1")) == {"gpu:v100": (2,)}
    assert machine.gpus(machine.select(num_cpus=1, gres="gpu:a100:2")) == {"gpu:a100": (0, 1)}
    assert machine.gpus(machine.select(exclusive=True)) == {"gpu:a100": (0, 1), "gpu:v100": (2, 3)}
    machine.start(num_cpus=1, gres="gpu:1")
    assert machine.gpus(machine.select(num_cpus=1, gres="gpu:3")) == {"gpu:a100": (1,), "gpu:v100": (2, 3)}


def test_too_many_gpus_are_counted() -> None:
    machine = Machine(GPUS._replace(gres=("gpu:a100:2147483640", "gpu:v100:2")))
    assert machine.gpus(machine.select(num_cpus=1, gres="gpu:a100:7")) == {}
    assert machine.gpus(machine.select(num_cpus=1, gres="gpu:v100:1")) == {"gpu:v100": (0,)}


def test_whole_sockets() -> None:
    machine = Machine(FOUR, "CR_Socket_Memory")
    assert machine.start(num_cpus=3, num_tasks=3) == [0, 1, 2, 3, 4, 5]
    assert machine.start(num_cpus=1) == [6, 7]


def test_reserved_cores_are_the_last_of_each_socket() -> None:
    node = WIDE._replace(core_spec_count=3)
    assert Machine(node).start(exclusive=True) == [*range(7), *range(8, 14)]
    machine = Machine(node)
    assert machine.start(num_cpus=11, num_tasks=11) == [*range(6), *range(8, 13)]
    assert machine.start(num_cpus=2, num_tasks=2) == [6, 13]


def test_what_was_saved_without_cores_is_restored() -> None:
    pool = Machine(WIDE).pool
    held = pool.from_indices({0: {"cpu": 4}})
    pool.take(held)
    machine = Machine(WIDE)
    machine.pool = pool
    assert len(machine.start(num_cpus=12, num_tasks=12)) == 12
    assert pool.problem([held, pool.up - pool.free - held]) == ""


#: What leaves the first socket of `NEAR` without cores: ``-n4 -m block:block``.
FIRST_SOCKET = {"num_cpus": 4, "num_tasks": 4, "fills_sockets": True}


@pytest.mark.parametrize(
    ("before", "asked", "cores", "gpus"),
    [
        ([], {"gres": "gpu:1"}, [0], [0]),
        ([], {"gres": "gpu:2"}, [0], [0, 1]),
        # No socket has so many: one of the second, on which it has a core, and then those of both.
        ([], {"gres": "gpu:3"}, [4], [0, 2, 3]),
        ([], {"num_cpus": 2, "gres": "gpu:2"}, [0, 1], [0, 1]),
        ([], {"num_cpus": 4, "gres_per_job": "gpu:3"}, [0, 1, 4, 5], [0, 1, 2]),
        ([], {"num_cpus": 3, "gres_per_task": "gpu:1"}, [0, 1, 4], [0, 1, 2]),
        ([], {"num_tasks": 1, "cpus_per_task": 3, "num_cpus": 3, "gres_per_task": "gpu:2"}, [0, 1, 2], [0, 1]),
        ([], {"num_cpus": 4, "num_tasks": 1, "gres_per_job": "gpu:2", "cpus_per_gpu": 2}, [0, 1, 2, 3], [0, 1]),
        ([], {"num_cpus": 4, "num_tasks": 1, "gres_per_job": "gpu:4", "cpus_per_gpu": 1}, [0, 1, 4, 5], [0, 1, 2, 3]),
        # Where the first socket has no cores left, the GPUs of the second come first.
        ([FIRST_SOCKET], {"gres": "gpu:1"}, [4], [2]),
        ([FIRST_SOCKET], {"gres": "gpu:3"}, [4], [0, 2, 3]),
        # It has a core of each socket whose GPUs it has, and no others.
        ([], {"gres": "gpu:3", "enforces_binding": True}, [0, 4], [0, 1, 2]),
        ([], {"num_cpus": 2, "gres_per_job": "gpu:3", "enforces_binding": True}, [0, 4], [0, 1, 2]),
        ([], {"num_cpus": 2, "gres_per_task": "gpu:2", "enforces_binding": True}, [0, 4], [0, 1, 2, 3]),
        ([], {"gres": "gpu:1", "enforces_binding": False}, [0], [0]),
        # GPUs for each socket.
        ([], {"num_cpus": 2, "gres_per_socket": "gpu:1", "sockets_per_node": 2}, [0, 4], [0, 2]),
        ([], {"num_cpus": 2, "gres_per_socket": "gpu:2", "sockets_per_node": 1}, [0, 4], [0, 1, 2, 3]),
        ([FIRST_SOCKET], {"gres_per_socket": "gpu:1", "sockets_per_node": 1}, [4], [2]),
        ([], {"gres_per_socket": "gpu:1", "sockets_per_node": 2, "enforces_binding": True}, [0, 4], [0, 2]),
    ],
)
def test_gpus_near_cores(
    before: list[dict[str, Any]], asked: dict[str, Any], cores: list[int], gpus: list[int]
) -> None:
    """Slurm 22.05.8 gave these to such jobs, each with ``-w`` on such a node of its own."""
    machine = Machine(NEAR)
    for one in before:
        machine.start(**one)
    resources = machine.select(**{"num_tasks": asked.get("num_cpus", 1), **asked})
    assert [*machine.pool.processor_ids(resources, 0)] == cores
    assert [*machine.gpus(resources).get("gpu", ())] == gpus


@pytest.mark.parametrize(
    ("before", "asked"),
    [
        # Refused, as one core is needed, and one socket has two GPUs.
        ([], {"gres_per_job": "gpu:3", "enforces_binding": True}),
        ([], {"gres_per_socket": "gpu:3", "sockets_per_node": 1}),
        # Waits: the GPUs of the first socket have no free cores.
        ([FIRST_SOCKET], {"gres": "gpu:3", "enforces_binding": True}),
    ],
)
def test_gpus_that_are_too_far(before: list[dict[str, Any]], asked: dict[str, Any]) -> None:
    """Slurm 22.05.8 refused such a job, or had it wait."""
    machine = Machine(NEAR)
    for one in before:
        machine.start(**one)
    spec = JobSpec(time_limit=60, num_tasks=1, **asked)
    job = Job(1, spec, 0, machine.partition, machine.pool.units(spec, machine.partition))
    assert not machine.pool.select(job, machine.pool.free)
