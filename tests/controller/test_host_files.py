"""Nodes that files name, beside what Slurm 22.05.8 printed: ``recorded/host_files.txt``, made by ``host_files.sh``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.client import thin
from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[01-04] CPUs=4 RealMemory=4000
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100
"""
_RECORDED = (Path(__file__).parent / "recorded" / "host_files.txt").read_text()
_FILES = {
    "hf3": "n02\nn01\nn02\n",
    "hf4": "n01\nn01\nn02\nn02\n",
    "hfout": "n01\nn03\n",
    "hfodd": "# c\nn02,n01 # x\n\n n03\nn01*2\n",
    "hfrange": "n[01-02]\nn02\n",
}
#: What a task tells of itself.
_TASK = (
    "echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURMD_NODENAME $SLURM_STEP_NODELIST "
    "$SLURM_STEP_TASKS_PER_NODE $SLURM_NTASKS $SLURM_CPUS_ON_NODE"
)
#: What is different on purpose.
_DIFFERENT = {
    "SLURM_HOSTFILE= srun -m arbitrary -n2",  # an empty variable names no file
    "SLURM_HOSTFILE=hf3 srun -N1 -n3 -m arbitrary",  # the number of nodes follows from the file
    "SLURM_HOSTFILE=hf3 srun -n3 -m arbitrary --exact",  # Slurm finds no room for it on nodes that are free
    "SLURM_HOSTFILE=hf3 srun -n3 -c2 -m arbitrary",  # no room, in the words for other steps
    "SLURM_HOSTFILE=hf3 srun -n3 -m arbitrary -x n01",
    "srun -x ./hf3 -n1",
    "srun -n3 -m arbitrary:block -w n02,n01,n02",  # rota says why beside
    "sbatch -F nofile --wrap true",  # the exit status is that of other files
    "srun -F nofile",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("hosts"), _CONF) as found:
        for name, text in _FILES.items():
            (found.directory / name).write_text(text)
        yield found


def _cases(where: str) -> list[tuple[str, list[str]]]:
    blocks = [block.splitlines() for block in re.split(r"(?m)^(?===|\$\$)", _RECORDED)[1:]]
    found = [(command.removeprefix(where), _comparable(lines)) for command, *lines in blocks if command[:3] == where]
    return [case for case in found if case[0] not in _DIFFERENT]


def _comparable(lines: list[str]) -> list[str]:
    """Leave out the ids of jobs, and a warning about more names than nodes that makes no difference."""
    lines = [line for line in lines if "Eliminating nodes from the nodelist" not in line]
    host = re.compile(r"^vm$")
    return [host.sub("host", re.sub(r"(?<=job )\d+", "#", line)) for line in lines]


def _said(cluster: LiveCluster, commands: list[str], *options: str) -> list[list[str]]:
    """Run commands one after the other, in a job if it has options, and give what each prints."""
    lines = ["#!/bin/bash", f"export TASK='{_TASK}'"]
    for command in commands:
        whole = f'{command} sh -c "$TASK"' if options else command
        lines += [f"{whole} >out 2>err </dev/null; code=$?", "sort out; sed 's/^/e| /' err; echo rc $code; echo ---"]
    (cluster.directory / "commands").write_text("\n".join(lines))
    start = ["sbatch", "-W", *options, "-o", "said", "commands"] if options else ["bash", "commands"]
    done = cluster.run(*start)
    text = (cluster.directory / "said").read_text() if options else done.stdout
    return [_comparable(block.splitlines()) for block in text.split("---\n")[:-1]]


def test_within_a_job(cluster: LiveCluster) -> None:
    cases = _cases("== ")
    assert len(cases) > 20
    said = _said(cluster, [command for command, _ in cases], "-N2", "-n4", "-w", "n01,n02")
    assert dict(zip((command for command, _ in cases), said, strict=True)) == dict(cases)


def test_outside_of_one(cluster: LiveCluster) -> None:
    cases = [case for case in _cases("$$ ") if "hostname" not in case[0] or "rc 0" not in case[1]]
    assert len(cases) > 12
    said = _said(cluster, [command for command, _ in cases])
    assert dict(zip((command for command, _ in cases), said, strict=True)) == dict(cases)
    cluster.run("scancel", "-u", "root")


def test_a_job_of_its_own(cluster: LiveCluster) -> None:
    """As recorded: each task is on the node of its line, and a file with ``-w`` names nodes, no places."""
    by_line = cluster.run("srun", "-l", "sh", "-c", "echo $SLURMD_NODENAME", environment={"SLURM_HOSTFILE": "hf3"})
    assert sorted(by_line.stdout.splitlines()) == ["0: n02", "1: n01", "2: n02"]
    named = cluster.run("srun", "-l", "-w", "./hf3", "sh", "-c", "echo $SLURMD_NODENAME")
    assert sorted(named.stdout.splitlines()) == ["0: n01", "1: n02"]


def test_a_batch_job(cluster: LiveCluster) -> None:
    """The variable reaches the script, whose steps follow the file again."""
    script = "#!/bin/bash\necho $SLURM_DISTRIBUTION $SLURM_NTASKS $SLURM_JOB_NODELIST\n"
    script += "srun -l sh -c 'echo $SLURMD_NODENAME'\n"
    (cluster.directory / "job").write_text(script)
    cluster.run("sbatch", "-W", "-n3", "-o", "job.out", "job", environment={"SLURM_HOSTFILE": "hf3"})
    said = (cluster.directory / "job.out").read_text().splitlines()
    assert [said[0], *sorted(said[1:])] == ["arbitrary 3 n[01-02]", "0: n02", "1: n01", "2: n02"]


def test_files_that_cannot_be_used(cluster: LiveCluster) -> None:
    (cluster.directory / "empty").write_text("# nothing\n")
    (cluster.directory / "huge").write_text("n01*99999\n")
    for name, why in (("empty", "Hostlist is empty!"), ("huge", "it names more than 32,768 nodes")):
        done = cluster.run("srun", "-F", name, "true", check=False)
        assert done.stderr == f"srun: error: {why}\nsrun: error: Invalid --nodefile node file\n"
    done = cluster.run("sbatch", check=False, stdin="#!/bin/bash\n#SBATCH -w ./hf3\ntrue\n")
    assert done.stderr.splitlines()[0] == "sbatch: error: -w: './hf3' is a file: write the names of the nodes"
    for words in (("sbatch", "--version"), ("srun", "--usage"), ("salloc", "--help"), ("srun", "--mpi=list")):
        assert not cluster.run(*words, environment={"SLURM_HOSTFILE": "/nonexistent"}).stderr
    digits = "9" * 5000
    done = cluster.run("sbatch", "-n", digits, "--wrap=true", check=False, environment={"SLURM_HOSTFILE": "hf3"})
    assert done.stderr == f'sbatch: error: Invalid numeric value "{digits}" for --ntasks.\n'


def test_a_file_without_an_end_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thin, "MOST", 5)
    assert thin.content(b"/dev/zero") == (b"+", bytes(5))
