"""The GPUs that jobs and steps are told of, where GPUs are near cores: as Slurm 22.05.8 did with the same files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CONF = """
GresTypes=gpu
DefMemPerCPU=100
SelectTypeParameters=CR_Core_Memory
NodeName=n[1-4] CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=8000 Gres=gpu:4
PartitionName=main Nodes=ALL Default=YES DefaultTime=60 MaxTime=INFINITE
"""
#: The first two are near the second socket.
_GRES = """
NodeName=n[1-4] Name=gpu File=/dev/tty[4-5] Cores=4-7
NodeName=n[1-4] Name=gpu File=/dev/tty[2-3] Cores=0-3
"""
_VARIABLES = ("CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE")
#: Of each request: the values in the batch script, in a step, and in one with ``--gpus=1``.
_SAID = {
    "-n1 --gres=gpu:2 -w n1": ("2,3 2,3 2,3 - 2", "2,3 2,3 2,3 2,3 2", "2 2 2,3 2 1"),
    "-n2 --gpus=3 -w n2": ("0,2,3 0,2,3 0,2,3 - 3", "0,2,3 0,2,3 0,2,3 0,2,3 3", "0 0 0,2,3 0 1"),
    "-n2 --gpus-per-task=1 -w n3": ("2,3 2,3 2,3 - 2", "2 2 2,3 2 1", "2 2 2,3 2 1"),
    "-n1 --gpus-per-socket=1 --sockets-per-node=2 --gres-flags=enforce-binding -w n4": (
        "0,2 0,2 0,2 - 2",
        "0,2 0,2 0,2 0,2 2",
        "0 0 0,2 0 1",
    ),
}


def test_jobs_and_steps_are_told_their_gpus(tmp_path: Path) -> None:
    (tmp_path / "gres.conf").write_text(_GRES)
    say = "echo " + " ".join(f"${{{name}:--}}" for name in _VARIABLES)
    script = tmp_path / "script.sh"
    script.write_text(f"#!/bin/sh\n{say}\nsrun -n1 sh -c '{say}'\nsrun -n1 --gpus=1 sh -c '{say}'\n")
    with LiveCluster(tmp_path, _CONF) as cluster:
        jobs = {request: cluster.submit(*request.split(), "-o", f"{tmp_path}/%j.out", str(script)) for request in _SAID}
        cluster.wait(lambda: set(jobs.values()) <= set(cluster.ended()))
        found = {request: (tmp_path / f"{job}.out").read_text().splitlines() for request, job in jobs.items()}
    assert found == {request: [*said] for request, said in _SAID.items()}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    conf = "GresTypes=gpu\nNodeName=n[1-2] CPUs=4 Gres=gpu:2\nPartitionName=main Nodes=ALL Default=YES\n"
    with LiveCluster(tmp_path_factory.mktemp("gpus"), conf) as found:
        yield found


_TOO_MUCH = "error: Step requested {}\nsrun: error: Unable to create step for job {{}}: "
_INVALID = _TOO_MUCH + "Invalid generic resource (gres) specification\n"
_BEYOND_JOB = _INVALID.format("gres=gpu:3 is more than the job's gres=gpu:2")
_BEYOND_NODE = _INVALID.format("gres_per_node=gpu:3 is more than the job's gres_per_node=gpu:2")


@pytest.mark.parametrize(
    ("job", "step", "why"),
    [
        ("-n1", "--gpus=1", _INVALID.format("GRES but job doesn't have GRES")),
        ("-n1", "--gres=gpu:1", _INVALID.format("GRES but job doesn't have GRES")),
        ("-n1", "--cpus-per-gpu=1", _INVALID.format("GRES but job doesn't have GRES")),
        ("-n2 --gpus=2 -N1", "--gpus=3", _BEYOND_JOB),
        ("-N2 -n4 --gres=gpu:2", "--gres=gpu:3", _BEYOND_NODE),
        ("-N2 -n4 --gres=gpu:2", "--gpus=1", _INVALID.format("gres=gpu:1 is less than the requested min nodes=2")),
    ],
)
def test_steps_get_no_gpus_that_their_job_has_not(cluster: LiveCluster, job: str, step: str, why: str) -> None:
    words = ("salloc", "-Q", *job.split(), "sh", "-c", f"echo $SLURM_JOB_ID; srun {step} true")
    done = cluster.run(*words, check=False)
    assert (done.returncode, done.stderr) == (1, "srun: " + why.format(done.stdout.strip()))


def test_a_step_may_see_none_of_them(cluster: LiveCluster) -> None:
    say = "sh -c 'echo $SLURM_GPUS_ON_NODE-$CUDA_VISIBLE_DEVICES'"
    command = f"srun --gres=none {say}; srun --gpus-per-task=1 {say}"
    found = cluster.run("salloc", "-Q", "-n2", "-N1", "--gres=gpu:2", "sh", "-c", command).stdout
    assert sorted(found.split()) == ["-", "-", "2-0", "2-1"]
