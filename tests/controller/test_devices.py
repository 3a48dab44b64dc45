"""Cores and GPUs of this machine that jobs get."""

from __future__ import annotations

from rota.controller.devices import Devices, NodeDevices
from rota.model import Node
from rota.model.lines import AllocationLine

_NODES = [Node(name="a", cpus=2, gres=("gpu:1",)), Node(name="b", cpus=4, gres=("gpu:2",))]


def _asked(node: str, cpus: int, gpus: int = 0) -> list[AllocationLine]:
    return [AllocationLine(node=node, cpus=cpus, gres={"gpu": gpus} if gpus else {})]


def test_each_job_has_cores_and_gpus_of_its_own() -> None:
    devices = Devices(_NODES, cpus=[0, 1, 4, 5, 6, 7], gpus=3)
    first = devices.choose(_asked("b", 2, 1), {})
    assert first == {"b": NodeDevices((4, 5), (1,))}
    assert devices.choose(_asked("b", 2, 1), {}) == {"b": NodeDevices((6, 7), (2,))}
    devices.free(first)
    assert devices.choose(_asked("b", 1, 1), {}) == {"b": NodeDevices((4,), (1,))}
    assert devices.choose(_asked("a", 2, 1), {}) == {"a": NodeDevices((0, 1), (0,))}


def test_what_a_run_has_stays_its_own_over_a_restart() -> None:
    devices = Devices(_NODES, cpus=range(6), gpus=3)
    devices.add({"b": NodeDevices((3, 5), (2,))})
    assert devices.choose(_asked("b", 2, 1), {}) == {"b": NodeDevices((2, 4), (1,))}


def test_a_job_gets_the_cores_that_it_was_allocated() -> None:
    devices = Devices(_NODES, cpus=[0, 1, 4, 5, 6, 7], gpus=0)
    first = devices.choose([AllocationLine(node="b", cpus=2, processors=(0, 2))], {})
    assert first == {"b": NodeDevices((4, 6))}
    # Those of a job that began when cores were not told apart.
    assert devices.choose([AllocationLine(node="b", cpus=1, processors=(2,))], {}) == {"b": NodeDevices((5,))}


def test_virtual_nodes_bind_to_nothing() -> None:
    devices = Devices(_NODES, cpus=[0, 1], gpus=0)
    assert devices.choose(_asked("b", 2), {}) == {"b": NodeDevices()}
    # GPUs that are not there are numbered, as a job may only want to see how it is told about them.
    assert devices.choose(_asked("b", 1, 2), {}) == {"b": NodeDevices((), (0, 1))}


def test_jobs_that_share_cores_are_not_bound() -> None:
    devices = Devices(_NODES, cpus=range(6), gpus=3)
    devices.choose(_asked("a", 2), {})
    assert devices.choose(_asked("a", 2), {}) == {"a": NodeDevices()}


def test_gpus_that_are_known_to_be_the_jobs() -> None:
    devices = Devices([Node(name="a", cpus=4, gres=("gpu:a100:2", "gpu:v100:2"))], range(4), 4)
    first = devices.choose([AllocationLine(node="a", cpus=1, gres={"gpu": 1})], {"a": {"gpu:v100": (2,)}})
    assert first["a"].gpus == (2,)
    assert devices.choose([AllocationLine(node="a", cpus=1, gres={"gpu": 2})], {})["a"].gpus == (0, 1)
