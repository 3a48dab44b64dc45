"""Options of sbatch about GPUs. The figures are those of the Slurm that `test_sbatch` names."""

from __future__ import annotations

from typing import Any

import pytest

from rota.commands.sbatch import OptionError, parse_request, split_words

from .conftest import different


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--gres=gpu:a100:1", {"gres": "gpu:a100:1"}),
        ("--gres=none", {}),
        ("--gres=gpu:1 --gres=gpu:2", {"gres": "gpu:2"}),
        ("-G 2", {"gres_per_job": "gpu:2"}),
        ("--gpus=a100:2", {"gres_per_job": "gpu:a100:2"}),
        ("--gpus=x:1,y:1", {"gres_per_job": "gpu:x:1,gpu:y:1"}),
        ("--gpus-per-node=a100:1", {"gres": "gpu:a100:1"}),
        # Beside GPUs of --gres those of --gpus-per-node are not counted (TRES has gres/gpu=1).
        ("--gpus-per-node=2 --gres=gpu:1", {"gres": "gpu:1"}),
        ("--gpus-per-node=2 --gres=shard:1", {"gres": "gpu:2,shard:1"}),
        (
            "--gpus=2 --gres=gpu:1 --gpus-per-node=2",
            {"gres_per_job": "gpu:2", "gres": "gpu:1", "min_nodes": 2, "max_nodes": 2, "num_cpus": 2},
        ),
        (
            "--gpus-per-socket=a:2 --sockets-per-node=2 --mem-per-gpu=5",
            {"gres_per_socket": "gpu:a:2", "sockets_per_node": 2, "mem_per_gpu": 5},
        ),
        ("--gpus=2 --gres-flags=enforce-binding", {"gres_per_job": "gpu:2", "enforces_binding": True}),
        ("--gpus=2 --gres-flags=Disable-Binding", {"gres_per_job": "gpu:2", "enforces_binding": False}),
        ("--gpus-per-task=1 -n 2", {"gres_per_task": "gpu:1", "num_tasks": 2, "num_cpus": 2}),
        (
            "--gpus-per-task=1 -N 2",
            {"gres_per_task": "gpu:1", "num_tasks": 2, "num_cpus": 2, "min_nodes": 2, "max_nodes": 2},
        ),
        (
            "--gpus-per-task=1 --gpus=4",
            {"gres_per_task": "gpu:1", "gres_per_job": "gpu:4", "num_tasks": 4, "num_cpus": 4},
        ),
        (
            "--gpus-per-task=a:2 --gpus=a:4",
            {"gres_per_task": "gpu:a:2", "gres_per_job": "gpu:a:4", "num_tasks": 2, "num_cpus": 2},
        ),
        (
            "--gpus=4 --gpus-per-node=2 -N 1-4",
            {"gres_per_job": "gpu:4", "gres": "gpu:2", "min_nodes": 2, "max_nodes": 2, "num_cpus": 2},
        ),
        (
            "--gpus=4 --gpus-per-node=2 -n 1",
            {"gres_per_job": "gpu:4", "gres": "gpu:2", "min_nodes": 2, "max_nodes": 2, "num_tasks": 1},
        ),
        (
            "--gres=gpu:2 --gpus=4",
            {"gres_per_job": "gpu:4", "gres": "gpu:2", "min_nodes": 2, "max_nodes": 2, "num_cpus": 2},
        ),
        (
            "--gpus-per-node=2 --gpus-per-task=1 -n 4",
            {
                "gres": "gpu:2",
                "gres_per_task": "gpu:1",
                "num_tasks": 4,
                "num_cpus": 4,
                "ntasks_per_node": 2,
                "min_cpus_per_node": 2,
            },
        ),
        (
            "--ntasks-per-node=2 --gpus-per-task=1 -N 2",
            {
                "gres_per_task": "gpu:1",
                "num_tasks": 4,
                "num_cpus": 4,
                "min_nodes": 2,
                "max_nodes": 2,
                "ntasks_per_node": 2,
                "min_cpus_per_node": 2,
            },
        ),
    ],
)
def test_gpus(options: str, expected: dict[str, Any]) -> None:
    assert different(options) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--cpus-per-gpu=2", {"cpus_per_gpu": 2}),
        # What squeue of Slurm 22.05.8 shows as CPUS while they wait: without the processors that go with GPUs.
        ("-G 2 --cpus-per-gpu=2", {"gres_per_job": "gpu:2", "cpus_per_gpu": 2}),
        (
            "-n 6 -G 2 --cpus-per-gpu=2",
            {"gres_per_job": "gpu:2", "cpus_per_gpu": 2, "num_cpus": 6, "num_tasks": 6},
        ),
        (
            "-N 2 --gres=gpu:2 --cpus-per-gpu=2",
            {"gres": "gpu:2", "cpus_per_gpu": 2, "num_cpus": 2, "min_nodes": 2, "max_nodes": 2},
        ),
        (
            "-n 2 --gpus-per-task=2 --cpus-per-gpu=2",
            {"gres_per_task": "gpu:2", "cpus_per_gpu": 2, "num_cpus": 2, "num_tasks": 2},
        ),
        ("-G 1 --mem-per-gpu=1G", {"gres_per_job": "gpu:1", "mem_per_gpu": 1024}),
        ("-G 1 --mem-per-gpu=0", {"gres_per_job": "gpu:1"}),
        ("-G 2 --ntasks-per-gpu=2", {"gres_per_job": "gpu:2", "ntasks_per_gpu": 2, "num_cpus": 4, "num_tasks": 4}),
        ("-n 4 --ntasks-per-gpu=2", {"gres_per_job": "gpu:2", "ntasks_per_gpu": 2, "num_cpus": 4, "num_tasks": 4}),
        (
            "-n 4 -G 3 --ntasks-per-gpu=2",
            {"gres_per_job": "gpu:3", "ntasks_per_gpu": 2, "num_cpus": 6, "num_tasks": 6},
        ),
        (
            "-n 4 -c 2 --ntasks-per-gpu=2",
            {
                "gres_per_job": "gpu:2",
                "ntasks_per_gpu": 2,
                "num_cpus": 8,
                "num_tasks": 4,
                "cpus_per_task": 2,
                "min_cpus_per_node": 2,
            },
        ),
        (
            "-N 2 --ntasks-per-gpu=2",
            {
                "gres_per_job": "gpu:2",
                "ntasks_per_gpu": 2,
                "num_cpus": 4,
                "num_tasks": 4,
                "min_nodes": 2,
                "max_nodes": 2,
            },
        ),
        (
            "-w n04 --ntasks-per-gpu=2 --gpus-per-node=2",
            {
                "gres": "gpu:2",
                "ntasks_per_gpu": 2,
                "num_cpus": 4,
                "num_tasks": 4,
                "min_nodes": 1,
                "required_nodes": "n04",
            },
        ),
        (
            "-w n04 -G 2 --gpus-per-task=1",
            {
                "gres_per_job": "gpu:2",
                "gres_per_task": "gpu:1",
                "num_cpus": 2,
                "num_tasks": 2,
                "min_nodes": 1,
                "required_nodes": "n04",
            },
        ),
    ],
)
def test_what_goes_with_a_gpu(options: str, expected: dict[str, Any]) -> None:
    assert different(options) == expected


def test_there_are_no_more_nodes_than_gpus() -> None:
    """So that Slurm gave three nodes: near-4200006 of the random scenarios."""
    assert parse_request(split_words("-N3-4 -n5 --gpus=3")).max_nodes == 3


@pytest.mark.parametrize(
    ("options", "option", "problem"),
    [
        ("-n2 --gpus-per-socket=1", "--gpus-per-socket", "needs --sockets-per-node"),
        ("-G 2 --gpus-per-socket=1 --sockets-per-node=1", "--gpus-per-socket", "other options about GPUs are there"),
        ("-G 2 --gres-flags=binding", "--gres-flags", "'binding' is neither enforce-binding nor disable-binding"),
    ],
)
def test_what_is_refused(options: str, option: str, problem: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_request(split_words(options))
    assert caught.value.option == option
    assert str(caught.value).startswith(problem)
