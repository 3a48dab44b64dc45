"""Options of ``srun`` and ``salloc``: what Slurm 22.05.8 said to the same command lines, and its exit codes."""

from __future__ import annotations

import re
import shlex
import time
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CONF = """
ClusterName=rig
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-2] CPUs=4 RealMemory=4000
PartitionName=debug Nodes=ALL Default=YES
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("options"), _CONF) as cluster:
        yield cluster


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("srun -o /nosuch/x true", "srun: error: Could not open stdout file: No such file or directory"),
        ("srun -e /nosuch/x true", "srun: error: Could not open stderr file: No such file or directory"),
        ("srun -i /nosuch cat", "srun: error: Could not open stdin file: No such file or directory"),
        ("srun -i x9 cat", "srun: error: Could not open stdin file: No such file or directory"),
        ("srun -M nosuch true", "srun: error: No cluster 'nosuch' known by database."),
        ("salloc -M nosuch true", "salloc: error: No cluster 'nosuch' known by database."),
        ("salloc -D /nosuch pwd", "salloc: error: chdir(/nosuch): No such file or directory"),
        ("salloc -n1 /tmp", 'salloc: error: _fork_command: Unable to find command "/tmp"'),
    ],
)
def test_what_cannot_be_done_is_said(cluster: LiveCluster, words: str, line: str) -> None:
    done = cluster.run(*words.split(), check=False)
    assert (done.returncode, line in done.stderr.splitlines()) == (1, True), done.stderr
    cluster.idle()


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["srun", "-I5", "true"], 0),
        (["srun", "-n2", "-K0", "sh", "-c", "[ $SLURM_PROCID = 1 ] && exit 5; sleep 1"], 5),
        (["srun", "-n2", "-K1", "sh", "-c", "[ $SLURM_PROCID = 1 ] && exit 5; sleep 60"], 143),
        (["salloc", "-KINT", "-n1", "true"], 0),
        (["salloc", "-I5", "-n1", "true"], 0),
    ],
)
def test_values_that_are_optional_stand_behind_their_letter(
    cluster: LiveCluster, words: list[str], status: int
) -> None:
    assert cluster.run(*words, check=False).returncode == status


@pytest.mark.parametrize("words", ["srun -Ix true", "srun -n2 -Kx true", "salloc -Ix true", "salloc -Kx -n1 true"])
def test_such_values_that_cannot_be_used(cluster: LiveCluster, words: str) -> None:
    """Slurm's messages differ from option to option; all name it, and none goes on."""
    done = cluster.run(*words.split(), check=False)
    assert done.returncode != 0
    assert {"-I": "immediate", "-K": "--kill-"}[words.partition("x ")[0][-2:]] in done.stderr


@pytest.mark.parametrize(
    ("signal", "status"), [("TERM", 1), ("USR1", 1), ("HUP", 0), ("INT", 0), ("QUIT", 0), ("KILL", 0)]
)
def test_what_salloc_makes_of_a_command_that_a_signal_ends(cluster: LiveCluster, signal: str, status: int) -> None:
    command = f"ulimit -c 0; kill -{signal} $$"
    assert cluster.run("salloc", "-Q", "sh", "-c", command, check=False).returncode == status


@pytest.mark.parametrize(
    ("option", "command", "out", "status"),
    [
        ((), "sleep 0.5; echo goes on", "goes on\n", 0),
        (("-K",), "sleep 20 >/dev/null 2>&1 & wait", "", 1),
        (
            ("--kill-command=INT",),
            "trap 'echo interrupted; exit 3' INT; while :; do sleep 0.1; done",
            "interrupted\n",
            3,
        ),
    ],
)
def test_a_command_whose_allocation_is_taken_away(
    cluster: LiveCluster, option: tuple[str, ...], command: str, out: str, status: int
) -> None:
    """As in 22.05.8, one that is not at a terminal goes on, unless it is to be killed."""
    done = cluster.run("salloc", *option, "sh", "-c", f"scancel $SLURM_JOB_ID; {command}", check=False)
    said = re.sub(r"\d+", "J", done.stderr)
    assert said == "salloc: Granted job allocation J\nsalloc: Job allocation J has been revoked.\n"
    assert (done.stdout, done.returncode) == (out, status)


@pytest.mark.parametrize(
    ("options", "variables"),
    [
        ("-n4 -m plane=2", "SLURM_DISTRIBUTION=plane SLURM_DIST_PLANESIZE=2"),
        ("-n4 -m Block:Cyclic", "SLURM_DISTRIBUTION=block:cyclic"),
        ("-n4 -m cyclic:*,NoPack", "SLURM_DISTRIBUTION=cyclic:cyclic,nopack"),
        ("-n4 -m *", "SLURM_DISTRIBUTION=block"),
        ("-n4 -m pack", "SLURM_DISTRIBUTION=pack"),
        ("-n2 --hint=nomultithread", "SLURM_HINT=nomultithread SLURM_THREADS_PER_CORE=1"),
        ("-n2 -B 1:1:1", "SLURM_THREADS_PER_CORE=1"),
        ("-n2 --ntasks-per-core=1 --mem=1", "SLURM_MEM_PER_NODE=1 SLURM_NTASKS_PER_CORE=1"),
        ("-O -N2 -n5", "SLURM_TASKS_PER_NODE=3,2"),
        ("-n2 --ntasks-per-node=4", "SLURM_NTASKS_PER_NODE=4 SLURM_TASKS_PER_NODE=4"),
        ("-n3 --ntasks-per-node=2", "SLURM_NTASKS_PER_NODE=2 SLURM_TASKS_PER_NODE=2(x2)"),
        ("-N1-2 --ntasks-per-node=2", "SLURM_NTASKS=4 SLURM_NPROCS=4"),
    ],
)
@pytest.mark.parametrize("command", ["salloc -Q", "sbatch -QW -o {}/out --wrap env"])
def test_jobs_are_told_what_they_asked_for(
    cluster: LiveCluster, command: str, options: str, variables: str, tmp_path: Path
) -> None:
    words = [*command.format(tmp_path).split(), *options.split()]
    if command.startswith("salloc"):
        found = cluster.run(*words, "env").stdout
    else:
        cluster.run(*words)
        found = (tmp_path / "out").read_text()
    assert set(variables.split()) <= set(found.splitlines())


@pytest.mark.parametrize(
    ("options", "variables"),
    [
        ("-n4 -m plane=2", "SLURM_DISTRIBUTION=plane SLURM_DIST_PLANESIZE=2"),
        ("-n2 -m block,Pack", "SLURM_DISTRIBUTION=block,pack"),
        ("-n1 --hint=compute_bound", "SLURM_THREADS_PER_CORE=1"),
        ("-N2 --ntasks-per-node=2 --ntasks-per-core=1", "SLURM_NTASKS_PER_CORE=1 SLURM_NTASKS_PER_NODE=2"),
    ],
)
def test_tasks_are_told_what_their_step_asked_for(cluster: LiveCluster, options: str, variables: str) -> None:
    found = cluster.run("srun", *options.split(), "env").stdout
    assert set(variables.split()) <= set(found.splitlines())


_OWN, _IN_SALLOC, _IN_SCRIPT = "srun {} env", "salloc -Q {} srun env", "sbatch -QW -o {} {} --wrap 'srun env'"
_BINDING = "SLURM_CPU_BIND=quiet,{0} SLURM_CPU_BIND_LIST= SLURM_CPU_BIND_TYPE={0} SLURM_CPU_BIND_VERBOSE=quiet"
_MEMORY = "SLURM_MEM_BIND={0},{1} SLURM_MEM_BIND_LIST= SLURM_MEM_BIND_TYPE={1} SLURM_MEM_BIND_VERBOSE={0}"


@pytest.mark.parametrize(
    ("command", "options", "variables"),
    [
        (_OWN, "-n1 --mem-per-cpu=1", "SRUN_DEBUG=3 !SLURM_MEM_PER_CPU"),
        (_OWN, "-n1", "!SLURM_DISTRIBUTION !SLURM_NODE_ALIASES !SLURM_CPU_BIND"),
        (_OWN, "-n1", "!SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0 !SLURM_MEM_BIND !ROTA_OWN_JOB"),
        (_OWN, "-N1-2", "SLURM_NTASKS=2 SLURM_STEP_NUM_NODES=2"),
        (_OWN, "-n2 -m cyclic", "SLURM_DISTRIBUTION=cyclic"),
        (_OWN, "-n1 --ntasks-per-core=1", _BINDING.format("cores")),
        (_OWN, "-n1 --ntasks-per-socket=1", _BINDING.format("sockets")),
        (_OWN, "-n1 --hint=nomultithread", _BINDING.format("threads")),
        (_OWN, "-n1 --cpu-bind=verbose,map_cpu:0,1", "SLURM_CPU_BIND=verbose,map_cpu:0,1 SLURM_CPU_BIND_LIST=0,1"),
        (_OWN, "-n1 --cpu-bind=verbose,map_cpu:0,1", "SLURM_CPU_BIND_TYPE=map_cpu: SLURM_CPU_BIND_VERBOSE=verbose"),
        (_OWN, "-n1 --mem-bind=local", _MEMORY.format("quiet", "local")),
        (_IN_SALLOC, "-n1", "SLURM_NODE_ALIASES=(null) SLURM_DISTRIBUTION=cyclic"),
        (_IN_SALLOC, "-n1", "SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0=1 !SLURM_CPU_BIND"),
        (_IN_SALLOC, "-n1 --ntasks-per-core=1", "!SLURM_CPU_BIND"),
        (_IN_SALLOC, "-n1 --hint=nomultithread", _BINDING.format("threads")),
        (_IN_SALLOC, "-n1 --mem-bind=verbose,rank", _MEMORY.format("verbose", "rank")),
        (_IN_SALLOC, "-n1 --profile=task --network=ib", "SLURM_PROFILE=Task SLURM_NETWORK=ib"),
        (_IN_SALLOC, "-n4 -m plane=2", "SLURM_DISTRIBUTION=plane SLURM_DIST_PLANESIZE=2"),
        (_IN_SCRIPT, "-n1 --mem-per-cpu=1", "SLURM_MEM_PER_CPU=1 SLURM_NODE_ALIASES=(null)"),
        (_IN_SCRIPT, "-n1 -B 1:1:1", _BINDING.format("threads")),
        (_IN_SCRIPT, "-n1 --mem-bind=local --profile=task", "SLURM_PROFILE=Task SLURM_MEM_BIND=quiet,local"),
        (_IN_SCRIPT, "-n4 -m plane=2", "SLURM_DISTRIBUTION=plane SLURM_DIST_PLANESIZE=2"),
    ],
)
def test_tasks_are_told_what_srun_knows(
    cluster: LiveCluster, command: str, options: str, variables: str, tmp_path: Path
) -> None:
    """As 22.05.8 does it where ``srun`` makes the job, within ``salloc``, and in a script; not: ``!NAME``."""
    out = tmp_path / "out"
    words = shlex.split(command.format(*([out] if command is _IN_SCRIPT else []), options))
    found = cluster.run(*words).stdout.splitlines()
    if command is _IN_SCRIPT:
        found = out.read_text().splitlines()
    names = {line.partition("=")[0] for line in found}
    for one in variables.split():
        assert one[1:] not in names if one.startswith("!") else one in found


def test_the_gpus_of_a_job_are_told_by_its_script(tmp_path: Path) -> None:
    """As in 22.05.8, a step has ``SLURM_JOB_GPUS`` from the environment of ``srun`` alone."""
    conf = "GresTypes=gpu\nNodeName=n1 CPUs=4 Gres=gpu:2\nPartitionName=main Nodes=ALL Default=YES\n"
    say = ["sh", "-c", "echo $SLURM_JOB_GPUS-$SLURM_STEP_GPUS"]
    with LiveCluster(tmp_path, conf) as cluster:
        assert cluster.run("srun", "--gres=gpu:1", *say).stdout == "-0\n"
        assert cluster.run("salloc", "-Q", "--gres=gpu:1", "srun", *say).stdout == "-0\n"
        script = f"srun {shlex.join(say)}"
        cluster.run("sbatch", "-QW", "--gres=gpu:1", "-o", str(tmp_path / "out"), "--wrap", script)
    assert (tmp_path / "out").read_text() == "0-0\n"


_BUSY = "error: Unable to allocate resources: Requested nodes are busy"
_REVOKED = "salloc: Job allocation {job} has been revoked."


@pytest.mark.parametrize(
    ("words", "seconds", "lines"),
    [
        ("srun -I -N1 true", 0, [f"srun: {_BUSY}"]),
        ("srun -I1 -N1 true", 0, [f"srun: {_BUSY}"]),
        ("srun -I2 -N1 true", 2, ["srun: job {job} queued and waiting for resources", f"srun: {_BUSY}"]),
        ("salloc -I -N1 true", 0, [f"salloc: {_BUSY}", _REVOKED]),
        (
            "salloc -I2 -N1 true",
            2,
            [
                "salloc: Pending job allocation {job}",
                "salloc: job {job} queued and waiting for resources",
                "salloc: error: Unable to allocate resources: Connection timed out",
                _REVOKED,
            ],
        ),
    ],
)
def test_immediate_is_for_so_many_seconds(cluster: LiveCluster, words: str, seconds: int, lines: list[str]) -> None:
    """As 22.05.8 said and did while all nodes were busy; without a number it does not wait."""
    full = cluster.submit("-N2", "--exclusive", "--wrap", "sleep 60")
    cluster.wait(lambda: cluster.run("squeue", "-h", "-t", "R", "-j", str(full)).stdout)
    began = time.monotonic()
    done = cluster.run(*words.split(), check=False)
    took = time.monotonic() - began
    assert (done.returncode, done.stderr.splitlines()) == (1, [line.format(job=full + 1) for line in lines])
    assert took >= seconds - 1  # times are whole seconds
    cluster.run("scancel", str(full))
    cluster.idle()


def test_what_is_free_in_time_is_immediate(cluster: LiveCluster) -> None:
    cluster.submit("-N2", "--exclusive", "--wrap", "sleep 1")
    assert cluster.run("srun", "-I30", "-N1", "echo", "here").stdout == "here\n"
    cluster.submit("-N2", "--exclusive", "--wrap", "sleep 1")
    assert cluster.run("salloc", "-I30", "-N1", "echo", "here").stdout == "here\n"


def test_steps_are_immediate_for_so_many_seconds(cluster: LiveCluster) -> None:
    """As 22.05.8: a step that waits so does not say so, and one that may not wait waits for a second."""
    steps = "srun -I2 -n4 true; echo $?; srun -I -n4 true; echo $?; kill %1; srun -I60 -n4 true"
    script = f"set -m; srun -n4 sh -c 'touch begun; sleep 60' & until [ -e begun ]; do sleep 0.1; done; {steps}"
    done = cluster.run("salloc", "-N1", "-n4", "bash", "-c", script)
    assert done.stdout == "1\n1\n"
    busy = [line for line in done.stderr.splitlines() if "step" in line]
    assert [line.partition(": Requested")[2] for line in busy[:2]] == [" nodes are busy"] * 2
    assert not any("disabled" in line for line in busy)


@pytest.mark.parametrize(
    ("variables", "command", "said"),
    [
        # As 22.05.8 said: an option outranks a variable that it excludes.
        ({"SLURM_MEM_PER_CPU": "50"}, "srun --mem=200 squeue -h -O minmemory", "200M"),
        ({"SLURM_MEM_PER_NODE": "50"}, "srun --mem-per-cpu=200 squeue -h -O minmemory", "200M"),
        ({"SALLOC_MEM_PER_CPU": "50"}, "salloc -Q --mem=200 squeue -h -O minmemory", "200M"),
        # Outside of a job these count as well, and one that only a job sets does not.
        ({"SLURM_NTASKS": "3"}, "srun printenv SLURM_STEP_TASKS_PER_NODE", "3"),
        ({"SLURM_NPROCS": "2"}, "srun printenv SLURM_STEP_TASKS_PER_NODE", "2"),
        ({"SLURM_NTASKS_PER_NODE": "2"}, "srun -N2 printenv SLURM_STEP_TASKS_PER_NODE", "2(x2)"),
        ({"SLURM_NTASKS": "3"}, "srun -n1 printenv SLURM_STEP_TASKS_PER_NODE", "1"),
        ({"SLURM_JOB_NUM_NODES": "2"}, "srun printenv SLURM_STEP_TASKS_PER_NODE", "1(x2)"),
        ({"SLURM_NNODES": "2"}, "srun printenv SLURM_STEP_TASKS_PER_NODE", "1"),
        ({"A": "5", "SLURM_EXPORT_ENV": ""}, "srun /bin/sh -c 'echo A=$A'", "A="),
        ({"A": "5"}, "srun --export= /bin/sh -c 'echo A=$A'", "A="),
        ({"A": "5"}, "srun --export==7,A /bin/sh -c 'echo A=$A'", "A=5"),
    ],
)
def test_options_and_variables_together(
    cluster: LiveCluster, variables: dict[str, str], command: str, said: str
) -> None:
    done = cluster.run(*shlex.split(command), environment=variables)
    assert said in done.stdout.split()


@pytest.mark.parametrize(
    ("variables", "command", "what"),
    [
        ({}, "srun --gpus-per-task=1 true", "--gpus-per-task"),
        ({}, "salloc --gpus-per-task=1 true", "--gpus-per-task"),
        ({}, "sbatch --ntasks-per-node=2 --wrap=true", "--ntasks-per-node"),
        ({"SLURM_JOB_ID": "1", "SLURM_GPUS_PER_TASK": "1"}, "srun true", "SLURM_GPUS_PER_TASK"),
    ],
)
def test_tasks_of_gpus_exclude_gpus_of_tasks(
    cluster: LiveCluster, variables: dict[str, str], command: str, what: str
) -> None:
    """As 22.05.8 said, in a job of ``--gpus-per-task`` too."""
    name, *words = command.split()
    done = cluster.run(name, "--ntasks-per-gpu=1", "-n2", *words, environment=variables, check=False)
    why = f"fatal: {what} is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU\n"
    assert (done.returncode, done.stderr) == (1, f"{name}: {why}")
