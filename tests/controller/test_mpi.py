"""MPI programs under ``srun``, beside what Slurm 22.05.8 did, and under the launchers of MPICH and Open MPI.

``recorded/pmi.txt`` is what Slurm's server of PMI 1 and 2 answered to the first of four tasks on two nodes; ``{job}``
stands for the step, ``{rank}`` for the task. Programs are compiled with Debian's MPICH and Open MPI.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.client import orted
from rota.client.pmi import mapping
from rota.client.pmix_library import LibraryError, PMIx
from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = Path(__file__).parent
_RECORDED = dict(
    block.split("\n", 1) for block in re.split(r"(?m)^##### ", (_HERE / "recorded" / "pmi.txt").read_text())[1:]
)
_CONF = """
SelectType=select/cons_tres
NodeName=n[01-04] CPUs=4 RealMemory=4000
PartitionName=debug Nodes=ALL Default=YES
KillWait=5
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("mpi"), _CONF) as found:
        yield found


def _compiled(cluster: LiveCluster, compiler: str, packages: str) -> str:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not there: apt-get install {packages}")
    program = cluster.directory / f"check-{compiler}"
    subprocess.run([compiler, "-o", program, _HERE / "mpi" / "check.c"], check=True)
    return str(program)


@pytest.fixture(scope="module")
def mpich(cluster: LiveCluster) -> str:
    return _compiled(cluster, "mpicc.mpich", "mpich libmpich-dev")


@pytest.fixture(scope="module")
def open_mpi(cluster: LiveCluster) -> str:
    return _compiled(cluster, "mpicc.openmpi", "openmpi-bin libopenmpi-dev")


def _ranks(tasks_by_node: list[int], what: str = "") -> list[str]:
    """Give what the program prints: all ranks know of each other, and who is on their nodes."""
    size = sum(tasks_by_node)
    nodes = [count for count in tasks_by_node for _ in range(count)]
    lines = [
        f"rank {rank} of {size}, sum {size * (size - 1) // 2}, from {(rank - 1) % size}, {count} on its node, {what}"
        for rank, count in enumerate(nodes)
    ]
    return sorted(lines)


def _printed(text: str) -> list[str]:
    return sorted(line for line in text.splitlines() if line.startswith("rank "))


def _last_step(cluster: LiveCluster) -> str:
    return cluster.run("sacct", "-n", "-P", "-o", "State,ExitCode").stdout.splitlines()[-1]


# ---- PMI, as its servers speak it: no MPI library is needed ---------------------------------------------------------


@pytest.mark.parametrize("version", ["1", "2"])
def test_the_server_answers_as_slurms(cluster: LiveCluster, version: str) -> None:
    lines = _RECORDED[version].splitlines()
    requests = [f"* {line}" for line in lines if not line.startswith("->")]
    done = _talk(cluster, version, requests)
    assert done.returncode == 0
    job = re.findall(r"(?:kvsname|jobid)=([\d.]+)", done.stdout)[0]
    for line, expected in zip(done.stdout.splitlines(), lines, strict=True):
        wanted = expected.format(job=job, rank="0")
        if version == "1" and line.startswith("->"):  # more may be said
            assert set(wanted.split()) <= set(line.split())
        elif line.startswith("->"):
            assert set(wanted.split(";")) <= set(line.split(";"))
        else:
            assert line == wanted


def _talk(cluster: LiveCluster, version: str, requests: list[str]) -> subprocess.CompletedProcess[str]:
    (cluster.directory / "requests").write_text("\n".join(requests))
    program = str(_HERE / "mpi" / "talk.py")
    options = ("-n4", "-N2", "--mpi=pmi2")
    done = cluster.run("srun", *options, "-o", "talk-%t", "python3", program, version, "requests", check=False)
    done.stdout = (cluster.directory / "talk-0").read_text()
    return done


_HELLO = {"1": ["* cmd=init pmi_version=1 pmi_subversion=1"], "2": ["* cmd=init pmi_version=2 pmi_subversion=0"]}


def test_semicolons_in_values_of_version_2(cluster: LiveCluster) -> None:
    requests = ["* cmd=kvs-put;key=k{rank};value=a;;b;;;", "* cmd=kvs-fence;", "* cmd=kvs-get;key=k3;thrid=7;"]
    done = _talk(cluster, "2", _HELLO["2"] + requests)
    assert done.stdout.splitlines()[-1] == "-> cmd=kvs-get-response;thrid=7;rc=0;found=TRUE;value=a;;b;;;"


def test_attributes_of_a_node_are_its_own_and_waited_for(cluster: LiveCluster) -> None:
    # Of four tasks on two nodes the last is alone on the second.
    put = "cmd=info-putnodeattr;key=here;value={rank};"
    get = "cmd=info-getnodeattr;key=here;wait=TRUE;"
    _talk(cluster, "2", [*_HELLO["2"], f"0 {get}", f"2 {put}", f"3 {put}", f"3 {get}"])
    answers = [(cluster.directory / f"talk-{task}").read_text().splitlines()[-1] for task in (0, 3)]
    assert [answer.rpartition("value=")[2] for answer in answers] == ["2;", "3;"]


@pytest.mark.parametrize(
    ("version", "request_", "answer"),
    [
        ("1", "* mcmd=spawn|nprocs=2|execname=true|totspawns=1|spawnssofar=1|argcnt=0|endcmd", "spawn_result rc=-1"),
        ("2", "* cmd=spawn;ncmds=1;preputcount=0;subcmd=true;maxprocs=2;argc=0;", "spawn-response;rc=-1"),
    ],
)
def test_more_tasks_are_refused(cluster: LiveCluster, version: str, request_: str, answer: str) -> None:
    done = _talk(cluster, version, [*_HELLO[version], request_])
    assert answer in done.stdout.splitlines()[-1]
    assert "rota does not start more tasks in a step" in done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("version", "request_"),
    [
        pytest.param("1", "0 cmd=abort exitcode=5", id="abort-1"),
        pytest.param("1", "0 cmd=no_such_thing", id="unknown", marks=pytest.mark.slow),
        pytest.param("1", "0 cmd=init pmi_version=3 pmi_subversion=0", id="version", marks=pytest.mark.slow),
        pytest.param("2", "0 cmd=abort;isworld=TRUE;msg=stop;", id="abort-2", marks=pytest.mark.slow),
        # The length has seven digits.
        pytest.param("2", "0 " + "x" * 1_000_000, id="length", marks=pytest.mark.slow),
    ],
)
def test_a_task_ends_the_step(cluster: LiveCluster, version: str, request_: str) -> None:
    # The others wait in a fence for ever. Slurm kills all tasks, whatever the code is.
    fence = {"1": "* cmd=barrier_in", "2": "* cmd=kvs-fence;"}[version]
    done = _talk(cluster, version, [*_HELLO[version], request_, fence])
    assert "Job step aborted: Waiting up to 7 seconds for job step to finish." in done.stderr
    assert done.returncode == 137
    assert _last_step(cluster) == "CANCELLED|0:9"


def test_types_are_listed_and_others_refused(cluster: LiveCluster) -> None:
    listed = cluster.run("srun", "--mpi=list").stdout
    assert listed.splitlines() == ["MPI plugin types are...", "\tnone", "\tpmi2", "\tpmix"]
    done = cluster.run("srun", "-n1", "--mpi=bogus", "true", check=False)
    assert done.stderr == "srun: error: Invalid MPI type 'bogus', --mpi=list for acceptable types\n"
    assert done.returncode == 1


def test_tasks_without_mpi_are_not_disturbed(cluster: LiveCluster) -> None:
    names = "env | grep -E 'PMI|MPI_TYPE' | sort"
    with_pmi = cluster.run("srun", "-n1", "--mpi=pmi2", "bash", "-c", names).stdout
    variables = dict(line.split("=") for line in with_pmi.splitlines())
    assert variables.keys() == {"PMI_FD", "PMI_JOBID", "PMI_RANK", "PMI_SIZE", "SLURM_MPI_TYPE"}
    assert cluster.run("srun", "-n1", "bash", "-c", names).stdout == ""
    # A step within a task of another one is no part of that one's program.
    nested = cluster.run("srun", "-n1", "--mpi=pmi2", "srun", "--overlap", "-n1", "--mpi=none", "bash", "-c", names)
    assert nested.stdout == "SLURM_MPI_TYPE=pmi2\n"


@pytest.mark.parametrize(
    ("nodes", "expected"),  # as Slurm 22.05.8 said it
    [
        ([0], "(vector,(0,1,1))"),
        ([0, 0, 0, 0], "(vector,(0,1,4))"),
        ([0, 1, 2, 3], "(vector,(0,4,1))"),
        ([0, 0, 0, 0, 1, 1, 2, 3], "(vector,(0,1,4),(1,1,2),(2,2,1))"),
        ([0, 1, 2, 3, 0, 1, 0], "(vector,(0,4,1),(0,2,1),(0,1,1))"),
        ([0, 0, 1, 1, 2, 2, 0, 0, 1, 1], "(vector,(0,3,2),(0,2,2))"),
    ],
)
def test_which_tasks_are_on_which_nodes(nodes: list[int], expected: str) -> None:
    assert mapping(nodes) == expected


# ---- MPICH ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "tasks_by_node"),
    [
        ("-n4 -N2", [3, 1]),
        pytest.param("-n1", [1], marks=pytest.mark.slow),
        pytest.param("-n2 -N2", [1, 1], marks=pytest.mark.slow),
        pytest.param("-n8 -N4", [4, 2, 1, 1], marks=pytest.mark.slow),
    ],
)
def test_mpich(cluster: LiveCluster, mpich: str, options: str, tasks_by_node: list[int]) -> None:
    done = cluster.run("srun", "--mpi=pmi2", *options.split(), mpich)
    assert _printed(done.stdout) == _ranks(tasks_by_node)


def test_mpi_abort_of_mpich(cluster: LiveCluster, mpich: str) -> None:
    done = cluster.run("srun", "--mpi=pmi2", "-n3", mpich, "abort", "5", check=False)
    assert "application called MPI_Abort(MPI_COMM_WORLD, 5)" in done.stderr
    assert done.returncode == 137  # as Slurm
    assert _last_step(cluster) == "CANCELLED|0:9"


@pytest.mark.slow
def test_a_killed_rank_ends_the_step_if_that_is_wanted(cluster: LiveCluster, mpich: str) -> None:
    # Of Slurm: the others get SIGTERM.
    done = cluster.run("srun", "--mpi=pmi2", "-K", "-n3", mpich, "kill", check=False)
    assert "task 2: Killed" in done.stderr
    assert "tasks 0-1: Terminated" in done.stderr
    assert done.returncode == 143


@pytest.mark.slow
def test_what_slurm_conf_says(cluster: LiveCluster, mpich: str) -> None:
    cluster.conf.write_text(f"{_CONF}MpiDefault=pmi2\nKillOnBadExit=1\n")
    cluster.run("scontrol", "reconfigure")
    try:
        assert _printed(cluster.run("srun", "-n2", mpich).stdout) == _ranks([2])
        assert cluster.run("srun", "-n3", mpich, "kill", check=False).returncode == 143
        assert _printed(cluster.run("srun", "-n2", "--mpi=none", mpich).stdout) == _ranks([1]) * 2
    finally:
        cluster.conf.write_text(_CONF)
        cluster.run("scontrol", "reconfigure")


@pytest.mark.slow
def test_mpi_comm_spawn_of_mpich(cluster: LiveCluster, mpich: str) -> None:
    done = cluster.run("srun", "--mpi=pmi2", "-n2", mpich, "spawn")
    assert done.stdout.splitlines().count("spawn refused") == 2


@pytest.mark.slow
def test_several_programs(cluster: LiveCluster, mpich: str) -> None:
    (cluster.directory / "programs").write_text(f"0 {mpich} first\n1-3 {mpich} others\n")
    done = cluster.run("srun", "--mpi=pmi2", "-n4", "-N2", "--multi-prog", "programs")
    expected = [line + ("first" if line.startswith("rank 0") else "others") for line in _ranks([3, 1])]
    assert _printed(done.stdout) == expected


@pytest.mark.slow
def test_steps_at_the_same_time(cluster: LiveCluster, mpich: str) -> None:
    steps = "\n".join(f"srun --mpi=pmi2 --exact -n3 {mpich} {name} > out-{name} &" for name in "abcd")
    cluster.run("sbatch", "-W", "-n12", "-N4", stdin=f"#!/bin/bash\n{steps}\nwait\n")
    for name in "abcd":
        printed = _printed((cluster.directory / f"out-{name}").read_text())
        assert [line.partition(", from")[0] for line in printed] == [f"rank {rank} of 3, sum 3" for rank in range(3)]
        assert all(line.endswith(name) for line in printed)


# ---- launchers of MPI libraries, which start their daemons with srun ------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("command", ["mpiexec.mpich", "mpiexec.mpich -bootstrap slurm"])
def test_mpiexec_of_mpich(cluster: LiveCluster, mpich: str, command: str) -> None:
    assert _printed(_in_job(cluster, f"{command} {mpich}")) == _ranks([3, 1])
    assert _printed(_in_job(cluster, f"{command} -n 3 {mpich}")) == _ranks([3])
    assert "hydra_pmi_proxy|2|" in cluster.run("sacct", "-n", "-P", "-o", "JobName,NTasks,NNodes").stdout


@pytest.mark.slow
def test_mpirun_of_open_mpi(cluster: LiveCluster, open_mpi: str) -> None:
    assert _printed(_in_job(cluster, f"mpirun.openmpi {_AS_ROOT} {open_mpi}")) == _ranks([3, 1])
    assert "orted|2|" in cluster.run("sacct", "-n", "-P", "-o", "JobName,NTasks,NNodes").stdout
    assert "status 5" in _in_job(cluster, f"mpirun.openmpi {_AS_ROOT} {open_mpi} abort 5; echo status $?")


def test_mpirun_of_open_mpi_in_an_allocation(cluster: LiveCluster, open_mpi: str) -> None:
    done = cluster.run("salloc", "-n4", "-N2", "mpirun.openmpi", _AS_ROOT, open_mpi)
    assert _printed(done.stdout) == _ranks([3, 1])


def test_memory_of_nodes_is_apart_under_mpirun(cluster: LiveCluster, open_mpi: str) -> None:
    # Open MPI 4 names it by the machine: the first ranks of the two nodes would have one file, and end by SIGSEGV.
    left = Path(tempfile.mkdtemp(prefix="rota-orted-", dir="/dev/shm"))  # as of an srun that was killed
    program = ("bash", "-c", f"echo memory $OMPI_MCA_btl_vader_backing_directory; exec {open_mpi}")
    done = cluster.run("salloc", "-N2", "--ntasks-per-node=2", "mpirun.openmpi", _AS_ROOT, *program)
    assert _printed(done.stdout) == _ranks([2, 2])
    folders = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("memory ")}
    assert len(folders) == 2
    assert not any(Path(folder).exists() for folder in folders)
    assert not left.exists()


def test_memory_that_is_in_use_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.client.orted._MEMORY", str(tmp_path))
    spec = {"tasks": [{"node": 0}, {"node": 1}]}
    first = orted.Server(spec, lambda: None)
    folders = [*first.enter(0).values(), *first.enter(1).values()]
    second = orted.Server(spec, lambda: None)
    assert all(Path(folder).is_dir() for folder in folders)
    for server in (first, second):
        server.close()
    assert not list(tmp_path.iterdir())


#: Open MPI refuses to run as root otherwise.
_AS_ROOT = "--allow-run-as-root"


def _in_job(cluster: LiveCluster, script: str) -> str:
    """Run a script as a job of four tasks on two nodes; give what it prints."""
    cluster.run("sbatch", "-W", "-n4", "-N2", "-o", "job.out", stdin=f"#!/bin/bash\n{script}\n")
    return (cluster.directory / "job.out").read_text()


# ---- Open MPI, by PMIx ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tasks", "nodes"), [(4, 2), *(pytest.param(n, m, marks=pytest.mark.slow) for n, m in ((1, 1), (2, 2), (8, 4)))]
)
def test_open_mpi(cluster: LiveCluster, open_mpi: str, tasks: int, nodes: int) -> None:
    folder = cluster.directory / "tmp"
    folder.mkdir(exist_ok=True)
    options = (f"-n{tasks}", f"-N{nodes}", "--mpi=pmix")
    done = cluster.run("srun", *options, open_mpi, environment={"TMPDIR": str(folder)})
    assert _printed(done.stdout) == _ranks([tasks])  # virtual nodes are one machine
    assert not list(folder.glob("rota-pmix-*"))


@pytest.mark.slow
def test_mpi_abort_of_open_mpi(cluster: LiveCluster, open_mpi: str) -> None:
    # As Slurm: the others are killed, and the code is that of the rank that called MPI_Abort.
    done = cluster.run("srun", "--mpi=pmix", "-n3", open_mpi, "abort", "5", check=False)
    assert "tasks 0-1: Killed" in done.stderr
    assert "task 2: Exited with exit code 5" in done.stderr
    assert done.returncode == 5
    assert _last_step(cluster) == "FAILED|5:0"
    assert cluster.run("srun", "--mpi=pmix", "-n3", open_mpi, "abort", "0", check=False).returncode == 137


@pytest.mark.slow
def test_a_killed_rank_of_open_mpi_ends_the_step(cluster: LiveCluster, open_mpi: str) -> None:
    # As Slurm, without -K.
    done = cluster.run("srun", "--mpi=pmix", "-n3", open_mpi, "kill", check=False)
    assert "task 2: Killed" in done.stderr
    assert "Job step aborted: Waiting up to 7 seconds for job step to finish." in done.stderr
    assert done.returncode == 137


@pytest.mark.slow
def test_mpi_comm_spawn_of_open_mpi(cluster: LiveCluster, open_mpi: str) -> None:
    done = cluster.run("srun", "--mpi=pmix", "-n2", open_mpi, "spawn")
    assert done.stdout.splitlines().count("spawn refused") == 2


@pytest.mark.slow
def test_steps_of_open_mpi_at_the_same_time(cluster: LiveCluster, open_mpi: str) -> None:
    steps = "\n".join(f"srun --mpi=pmix --exact -n2 {open_mpi} {name} > out-{name} &" for name in "ab")
    cluster.run("sbatch", "-W", "-n4", stdin=f"#!/bin/bash\n{steps}\nwait\n")
    assert [_printed((cluster.directory / f"out-{name}").read_text()) for name in "ab"] == [
        _ranks([2], name) for name in "ab"
    ]


def test_tasks_without_mpi_under_pmix(cluster: LiveCluster, open_mpi: str) -> None:  # which needs the library
    done = cluster.run("srun", "--mpi=pmix", "-n2", "bash", "-c", "echo $SLURM_PROCID $SLURM_MPI_TYPE $PMIX_RANK")
    assert sorted(done.stdout.splitlines()) == ["0 pmix 0", "1 pmix 1"]
    # A step within a task of another one is no part of that one's program.
    words = ("srun", "--overlap", "--mpi=none", "bash", "-c", "echo ${PMIX_RANK-none} ${PMIX_NAMESPACE-none}")
    assert cluster.run("srun", "--mpi=pmix", "-n1", *words).stdout == "none none\n"


def test_open_mpi_does_not_begin_without_pmix(cluster: LiveCluster, open_mpi: str) -> None:
    done = cluster.run("srun", "-n1", open_mpi, check=False)  # as with Slurm
    assert "The application appears to have been direct launched using" in done.stderr
    assert done.returncode == 1


def test_without_the_library_of_pmix(cluster: LiveCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.client.pmix_library._NAME", "libpmix.so.none")
    with pytest.raises(LibraryError, match="on Debian the package libpmix2"):
        PMIx("1.0", 1, lambda _: None)
