"""Which GRES of a job its steps get, beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.commands.gpu_binding import read_gpu_binding
from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_RECORDED = Path(__file__).parent / "recorded" / "step-gres.txt"
_CONF = """
GresTypes=gpu,widget
DefMemPerCPU=100
SelectTypeParameters=CR_Core_Memory
AccountingStorageTRES=gres/gpu
NodeName=n[01-02] CPUs=8 Sockets=2 CoresPerSocket=4 RealMemory=8000 Gres=gpu:a100:2,gpu:v100:2,widget:4
PartitionName=main Nodes=ALL Default=YES DefaultTime=60 MaxTime=INFINITE
"""
_SAY = "sh -c 'echo $SLURM_GPUS_ON_NODE:$CUDA_VISIBLE_DEVICES; sleep {}'"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("gres"), _CONF) as found:
        yield found


@pytest.mark.slow
def test_as_slurm_gives_them(cluster: LiveCluster) -> None:
    said = cluster.run("bash", str(_RECORDED.with_suffix(".sh")), patience=600).stdout
    assert said.splitlines() == _RECORDED.read_text().splitlines()


def test_steps_side_by_side_have_different_ones_and_the_third_waits(cluster: LiveCluster) -> None:
    step = f"srun -n1 --exact --gpus=1 {_SAY.format(1)}"
    done = cluster.run("salloc", "-Q", "-n4", "-N1", "--gres=gpu:2", "sh", "-c", f"{step} & {step} & {step}; wait")
    assert sorted(done.stdout.split()[:2]) == ["1:0", "1:1"]
    assert len(done.stdout.split()) == 3
    assert done.stderr.count("Requested nodes are busy") == 1


def test_a_job_of_a_type_gets_that_type(cluster: LiveCluster) -> None:
    say = _SAY.format(0)
    command = f"srun {say}; srun --gpus=v100:1 {say}; srun --gpus=1 {say}"
    done = cluster.run("salloc", "-Q", "-n1", "--gres=gpu:a100:1,gpu:v100:2", "sh", "-c", command)
    assert done.stdout.split() == ["3:0,2,3", "1:2", "1:0"]


@pytest.mark.parametrize(
    ("job", "step", "tasks"),
    [
        ("--gpus=4", "-n3 --gpus=2 --ntasks-per-gpu=2", 4),
        ("--gpus=4", "-n4 --gpus=1 --ntasks-per-gpu=1", 4),
        ("--gres=gpu:4", "-n1 --gpus-per-node=1 --ntasks-per-gpu=2", 2),
        ("--ntasks-per-gpu=2", "-n2", 2),
    ],
)
def test_as_many_tasks_as_go_with_the_gpus(cluster: LiveCluster, job: str, step: str, tasks: int) -> None:
    """As Slurm 22.05.8; without a number of GPUs the step has as many as go with its tasks."""
    done = cluster.run("salloc", "-Q", "-N1", "-n4", *job.split(), "srun", *step.split(), "printenv", "SLURM_NTASKS")
    assert done.stdout.split() == [str(tasks)] * tasks


def test_a_step_has_no_more_memory_than_its_job(cluster: LiveCluster) -> None:
    command = "for n in 400 401; do srun -n1 --mem=$n echo $n; done; srun --mem-per-cpu=101 true"
    done = cluster.run("salloc", "-Q", "-N1", "-n4", "--mem=400", "bash", "-c", command, check=False)
    assert (done.returncode, done.stdout) == (1, "400\n")
    said = [line.partition(": error: ")[2].partition(": ")[2] for line in done.stderr.splitlines()]
    assert said == ["Memory required by task is not available", "More processors requested than permitted"]


def test_the_time_limit_of_a_step_may_exceed_that_of_its_job(cluster: LiveCluster) -> None:
    done = cluster.run("salloc", "-Q", "-n1", "-t", "3", "srun", "-t", "5", "squeue", "-hs", "-o", "%i %l")
    assert ".0 5:00\n" in done.stdout


def test_what_a_step_has_outlives_the_controller(tmp_path: Path) -> None:
    out, go = tmp_path / "out", tmp_path / "go"
    first = _SAY.replace("sleep {}", f"until [ -e {go} ]; do sleep 0.1; done")
    script = (
        f"srun -n1 --exact --gpus=1 {first} & sleep 1; srun -n1 --exact --gpus=1 {_SAY.format(0)}; touch {go}; wait"
    )
    with LiveCluster(tmp_path, _CONF) as cluster:
        job = cluster.submit("-N1", "-n4", "--gres=gpu:2", "-o", str(out), "--wrap", script)
        cluster.wait(lambda: out.exists() and out.read_text() == "1:0\n")
        cluster.kill()
        cluster.up()
        cluster.idle()
        assert out.read_text().split() == ["1:0", "1:1"]
        said = cluster.run("sacct", "-nPX", "-j", str(job), "-o", "state").stdout
    assert said == "COMPLETED\n"


@pytest.mark.slow
def test_a_step_ends_at_its_own_time_limit(cluster: LiveCluster) -> None:
    """As Slurm 22.05.8 said, which looks twice a minute only, and takes part of a minute for a whole one."""
    show = "sleep 1; squeue -hs -o '%i %l' | grep 0; scontrol show step $SLURM_JOB_ID.0 | grep -o TimeLimit=.*"
    command = f"srun -t 0:03 sleep 100 & {show}; wait $!; echo $? $SLURM_JOB_ID"
    done = cluster.run("salloc", "-Q", "-n1", "-t", "5", "bash", "-c", command, patience=90)
    *shown, status, job = done.stdout.split()
    assert [*shown, status] == [f"{job}.0", "1:00", "TimeLimit=00:01:00", "143"]
    assert "DUE TO TIME LIMIT ***\n" in done.stderr
    assert done.stderr.endswith(f"srun: Force Terminated StepId={job}.0\n")
    said = cluster.run("sacct", "-nP", "-j", f"{job}.0", "-o", "state,exitcode").stdout
    assert said == "TIMEOUT|0:15\n"


@pytest.mark.parametrize(
    ("text", "local", "gpus"),
    [
        # As slurmstepd of Slurm 22.05.8 said of tasks of a step with four GPUs, or these two.
        ("single:2", 2, (1,)),
        ("single:x", 1, (1,)),
        ("per_task:3", 1, (3,)),
        ("per_task:0", 0, None),
        ("map_gpu:1,0", 2, (1,)),
        ("map_gpu:0*2,1", 1, (0,)),
        ("map_gpu:7", 1, (0,)),
        ("mask_gpu:1,2", 1, (1,)),
        ("mask_gpu:0x3,0xc", 1, (2, 3)),
        ("verbose,none", 0, None),
        ("nope", 0, None),
        ("closest", 1, (0, 1, 2, 3)),
    ],
)
def test_bindings(text: str, local: int, gpus: tuple[int, ...] | None) -> None:
    assert read_gpu_binding(text).of_task((0, 1, 2, 3), local) == gpus


def test_a_long_list_of_gpus_is_bounded() -> None:
    assert len(read_gpu_binding("map_gpu:" + ",".join(["1*" + "9" * 5000] * 20_000)).numbers) == 4096
