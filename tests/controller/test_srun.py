"""``srun`` and ``salloc`` with real tasks: what they print and how they exit, beside what Slurm 22.05.8 did.

``recorded/srun.txt`` was recorded from Slurm 22.05.8 with four nodes of four processors and two GPUs each. ``JOB``
heads the options and the script of a batch job. Ids of jobs, times, process ids and the order of lines of several tasks
differ from run to run. What else is not the same is in `_DIFFERENT`, and names of clusters, accounts and hosts.
"""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from slurm.release import as_upstream

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONF = """
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[01-04] CPUs=4 RealMemory=4000 Gres=gpu:2
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100
KillWait=5
"""
_RECORDED = as_upstream((Path(__file__).parent / "recorded" / "srun.txt").read_text())
#: Lines that one of them has and the other does not, by a part of them.
_DIFFERENT = (
    "SLURM_SRUN_COMM_PORT=",  # there is no such port
    "SLURM_STEP_LAUNCHER_PORT=",
    "has been revoked.",  # Slurm's salloc says so of an allocation that it has just given back, now and then
    "couldn't chdir",  # said twice by Slurm
    "(core dumped)",  # depends on the machine
    "Segmentation fault",
)
_IDS = re.compile(r"(?<=StepId=)\d+|(?<=STEP )\d+|(?<=[Jj]ob )\d+|(?<=allocation )\d+|(?<=SLURM_JOBID=)\d+")
_IDS_FIRST = re.compile(r"(?<=SLURM_JOB_ID=)\d+|^\d+(?=[|.]| (?:RUNNING|1$))", re.MULTILINE)
_VARYING = re.compile(r"(?<=CANCELLED AT )[-\d:T]+|(?<=SLURM_TASK_PID=)\d+|(?<=SLURM_WORKING_CLUSTER=).*")
_NAMES = re.compile(r"(?<=SLURM_CLUSTER_NAME=).*|(?<=SLURM_JOB_ACCOUNT=).*|(?<=SLURM_CONF=).*|(?<=SLURM_SUBMIT_DIR=).*")


def _cases() -> Iterator[tuple[str, list[str], int]]:
    for block in re.split(r"(?m)^##### ", _RECORDED)[1:]:
        command, *lines = block.splitlines()
        yield command, [line for line in lines if not line.startswith("rc=")], int(lines[-1].removeprefix("rc="))


def _comparable(lines: list[str]) -> list[str]:
    """Leave out what differs from run to run, or on purpose."""
    kept = [line for line in lines if not any(part in line for part in _DIFFERENT)]
    texts = [(line[:3], line[3:]) for line in kept]
    for pattern in (_IDS, _IDS_FIRST, _VARYING, _NAMES):
        texts = [(sign, pattern.sub("#", text)) for sign, text in texts]
    host = os.uname().nodename.partition(".")[0]
    hosts = re.compile(rf"\b(?:vm|{re.escape(host)})\b")
    return sorted(sign + hosts.sub("host", text) for sign, text in texts if text.strip())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("steps"), _CONF) as found:
        yield found


_CASES = list(_cases())


@pytest.mark.parametrize(
    ("command", "lines", "status"), _CASES, ids=[f"{number} {case[0][:60]}" for number, case in enumerate(_CASES)]
)
def test_as_recorded(cluster: LiveCluster, command: str, lines: list[str], status: int) -> None:
    environment = {"PYTEST_CURRENT_TEST": ""}  # it has the name of the command
    if command.startswith("JOB "):
        options, _, script = command.removeprefix("JOB ").partition(" :: ")
        (cluster.directory / "job.sh").write_text(f"#!/bin/bash\n{script}\n")
        words = ("sbatch", "-W", *options.split(), "-o", "job.out", "-e", "job.err", "job.sh")
        done = cluster.run(*words, environment=environment, check=False)
        out, err = ((cluster.directory / name).read_text() for name in ("job.out", "job.err"))
    else:
        done = cluster.run("bash", "-c", command, environment=environment, check=False)
        out, err = done.stdout, done.stderr
    found = [*(f"o| {line}" for line in out.splitlines()), *(f"e| {line}" for line in err.splitlines())]
    assert _comparable(found) == _comparable(lines)
    assert done.returncode == status


def _submit(cluster: LiveCluster, script: str, *options: str) -> int:
    return cluster.submit("-o", "out-%j", *options, stdin=f"#!/bin/bash\n{script}\n")


def _steps(cluster: LiveCluster, job_id: int, fields: str = "JobID,State,ExitCode,NTasks,AllocCPUS") -> list[str]:
    shown = cluster.run("sacct", "-n", "-P", "-j", str(job_id), "-o", fields).stdout
    return [line.removeprefix(f"{job_id}.") for line in shown.splitlines() if "." in line.partition("|")[0]]


def test_steps_are_recorded_with_what_they_used(cluster: LiveCluster) -> None:
    burn = "import os, time\nx = bytearray(60_000_000)\nwhile time.process_time() < 0.5: pass\n"
    (cluster.directory / "burn.py").write_text(burn)
    job_id = _submit(cluster, "srun -n2 python3 burn.py; srun -n1 bash -c 'exit 3'; srun -n1 sleep 0", "-n4", "-W")
    assert _steps(cluster, job_id) == [
        "batch|COMPLETED|0:0|1|4",
        "0|COMPLETED|0:0|2|4",
        "1|FAILED|3:0|1|4",
        "2|COMPLETED|0:0|1|4",
    ]
    used = dict(line.split("|", 1) for line in _steps(cluster, job_id, "JobID,TotalCPU,MaxRSS"))
    seconds, memory = used["0"].split("|")
    assert float(seconds.rpartition(":")[2]) >= 1.0  # two tasks, half a second each
    assert float(used["batch"].split("|")[0].rpartition(":")[2]) < 1.0  # the script without its steps
    assert int(memory.removesuffix("K")) > 60_000


def test_a_batch_step_has_the_processors_of_its_node(cluster: LiveCluster) -> None:
    job_id = _submit(cluster, "until [ -e go ]; do sleep 0.02; done", "-N2", "--ntasks-per-node=2")
    cluster.wait(lambda: _steps(cluster, job_id))
    assert _steps(cluster, job_id) == ["batch|RUNNING|0:0|1|2"]
    (cluster.directory / "go").touch()
    cluster.idle()
    assert _steps(cluster, job_id) == ["batch|COMPLETED|0:0|1|2"]


def test_steps_side_by_side_have_processors_of_their_own(cluster: LiveCluster) -> None:
    one = "srun -n2 --exact bash -c 'touch here-$0-$SLURM_PROCID; until [ -e here-$1-1 ]; do sleep 0.02; done' {} {} &"
    job_id = _submit(cluster, f"{one.format('a', 'b')}\n{one.format('b', 'a')}\nwait", "-n4", "-W")
    assert _steps(cluster, job_id)[1:] == ["0|COMPLETED|0:0|2|2", "1|COMPLETED|0:0|2|2"]


@pytest.mark.slow
def test_a_step_of_more_tasks_than_a_process_may_have_files(cluster: LiveCluster) -> None:
    # Each task needs three files of srun; the tasks themselves have the limit of the user.
    options = "-n400 -N4 --overcommit"
    done = cluster.run("bash", "-c", f"ulimit -Sn 1024; srun {options} bash -c 'echo $(ulimit -Sn) $(cat)' < /dev/null")
    assert done.stdout.split() == ["1024"] * 400


def test_an_overlapping_step_does_not_wait(cluster: LiveCluster) -> None:
    job_id = _submit(
        cluster,
        "srun -n4 bash -c 'until [ -e go ]; do sleep 0.02; done' & srun -n1 --overlap touch go; wait",
        "-n4",
        "-W",
    )
    assert {line.split("|")[1] for line in _steps(cluster, job_id)} == {"COMPLETED"}


def test_the_controller_is_killed_while_a_step_runs(cluster: LiveCluster) -> None:
    script = "srun -n2 bash -c 'echo $SLURM_PROCID >> began; until [ -e over ]; do sleep 0.02; done; exit 4'; echo $?"
    job_id = _submit(cluster, f"{script}; srun -n1 echo next", "-n2")
    began = cluster.directory / "began"
    cluster.wait(lambda: began.exists() and len(began.read_text()) == 4)
    cluster.kill()
    cluster.up()
    (cluster.directory / "over").touch()
    cluster.idle()
    assert (cluster.directory / f"out-{job_id}").read_text().splitlines()[-2:] == ["4", "next"]
    assert _steps(cluster, job_id)[1:] == ["0|FAILED|4:0|2|2", "1|COMPLETED|0:0|1|2"]
    assert began.read_text().split() in (["0", "1"], ["1", "0"])


def test_tasks_of_a_step_whose_srun_is_killed_end(cluster: LiveCluster) -> None:
    job_id = _submit(cluster, "srun -n2 bash -c 'echo $$ >> pids; sleep 1000' & sleep 0.5; wait; sleep 1000", "-n2")
    pids = cluster.directory / "pids"
    cluster.wait(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    tasks = [int(pid) for pid in pids.read_text().split()]
    parent = int(Path(f"/proc/{tasks[0]}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(parent, signal.SIGKILL)
    cluster.wait(lambda: not any(Path(f"/proc/{pid}").exists() for pid in tasks))
    cluster.wait(lambda: _steps(cluster, job_id)[1:] == ["0|CANCELLED|0:9|2|2"])
    cluster.run("scancel", str(job_id))
    cluster.idle()


def test_a_job_that_is_cancelled_ends_its_steps(cluster: LiveCluster) -> None:
    job_id = _submit(cluster, "srun -n2 bash -c 'touch up-$SLURM_PROCID; sleep 1000'", "-n2")
    cluster.wait(lambda: all((cluster.directory / f"up-{task}").exists() for task in (0, 1)))
    cluster.run("scancel", str(job_id))
    cluster.idle()
    assert {line.split("|")[1] for line in _steps(cluster, job_id)} == {"CANCELLED"}


def test_a_step_that_has_too_much_memory(cluster: LiveCluster) -> None:
    greedy = "import time; x = bytearray(200_000_000); time.sleep(600)"
    job_id = cluster.submit("--mem=60", "-o", "/dev/null", "--wrap", f"srun python3 -c '{greedy}'")
    cluster.wait(lambda: job_id in cluster.ended())
    shown = cluster.run("sacct", "-n", "-P", "-j", str(job_id), "-o", "JobID,State,ExitCode").stdout
    # As Slurm shows the step; the memory of a job is one here, and so are its script and it.
    assert shown.splitlines() == [f"{job_id}{step}|OUT_OF_MEMORY|0:125" for step in ("", ".batch", ".0")]
    # So a Slurm 22.05.8 whose task/cgroup limited the memory.
    derived = cluster.run("sacct", "-nPXj", str(job_id), "-o", "DerivedExitCode").stdout
    assert derived == "0:125\n"


def test_scancel_of_a_step(cluster: LiveCluster) -> None:
    script = "srun -n1 bash -c 'touch stepped; sleep 1000'; echo $?; srun -n1 echo more"
    job_id = _submit(cluster, script)
    cluster.wait((cluster.directory / "stepped").exists)
    assert cluster.run("scancel", f"{job_id}.7", check=False).returncode == 225  # Slurm's
    cluster.run("scancel", f"{job_id}.0")
    cluster.idle()
    assert (cluster.directory / f"out-{job_id}").read_text().splitlines()[-2:] == ["137", "more"]
    assert _steps(cluster, job_id)[1:] == ["0|CANCELLED|0:9|1|1", "1|COMPLETED|0:0|1|1"]


def test_an_allocation_ends_with_its_salloc(cluster: LiveCluster) -> None:
    command = [str(cluster.state / "bin" / "salloc"), "-n1", "bash", "-c", "touch shell; sleep 1000"]
    with subprocess.Popen(command, cwd=cluster.directory, env=cluster.environment, start_new_session=True) as client:
        try:
            cluster.wait((cluster.directory / "shell").exists)
            assert cluster.run("squeue", "-h", "-o", "%T").stdout == "RUNNING\n"
        finally:
            os.killpg(client.pid, signal.SIGKILL)
    cluster.idle()


@pytest.mark.parametrize("background", [[], ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]], ids=["", "of-a-script"])
def test_a_client_that_gives_up_waiting_leaves_no_job(cluster: LiveCluster, background: list[str]) -> None:
    holding = _submit(cluster, "sleep 1000", "-N4", "--exclusive")
    command = [*background, str(cluster.state / "bin" / "srun"), "-n1", "true"]
    with subprocess.Popen(command, env=cluster.environment, stderr=subprocess.PIPE, text=True) as client:
        assert client.stderr is not None
        assert "queued and waiting for resources" in client.stderr.readline()
        client.send_signal(signal.SIGINT)
    cluster.wait(lambda: len(cluster.run("squeue", "-h").stdout.splitlines()) == 1)
    cluster.run("scancel", str(holding))
    cluster.idle()


def test_a_terminal(cluster: LiveCluster) -> None:
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(cluster.directory)
        srun = str(cluster.state / "bin" / "srun")
        os.execve(srun, [srun, "--pty", "bash", "--norc", "-i"], {**cluster.environment, "PS1": "ready> "})  # noqa: S606 - as a terminal would
    said = b""

    def reads(text: bytes) -> None:
        nonlocal said
        while text not in said:
            assert select.select([terminal], [], [], 60)[0], said
            said += os.read(terminal, 4096)

    try:
        reads(b"ready> ")
        os.write(terminal, b"tty && echo in=$SLURM_JOB_ID.$SLURM_STEP_ID\n")
        reads(b"in=")
        reads(b".0\r\n")
        assert b"/dev/pts/" in said
        os.write(terminal, b"bash -c 'echo $((6 * 7)); sleep 1000'\n")
        reads(b"42\r\n")
        said = b""
        os.write(terminal, b"\x03")  # Ctrl-C reaches the shell's foreground process
        reads(b"ready> ")
        os.write(terminal, b"exit 6\n")
        reads(b"Exited with exit code 6")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 6
    finally:
        os.close(terminal)  # nobody else has to wait for a job that is left
        cluster.run("scancel", "--me")
    cluster.idle()


def test_standard_input_of_any_size(cluster: LiveCluster) -> None:
    data = "x" * 3_000_000 + "\n"
    expected = cluster.run("md5sum", stdin=data).stdout.splitlines()
    for tasks in (1, 3):
        done = cluster.run("srun", "-n", str(tasks), "bash", "-c", "cat | md5sum", stdin=data)
        assert done.stdout.splitlines() == expected * tasks


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_standard_files_may_be_closed(cluster: LiveCluster, closed: str) -> None:
    # The launcher of MPICH 5.0.2 starts `srun` without a standard input, which Slurm's takes.
    cluster.run("sh", "-c", f"srun sh -c 'cat; echo ran > ran' {closed}")
    assert (cluster.directory / "ran").read_text() == "ran\n"
    (cluster.directory / "ran").unlink()


def test_output_in_whole_lines(cluster: LiveCluster) -> None:
    script = "for i in $(seq 300); do printf a; printf 'b\\n'; done"
    done = cluster.run("srun", "-n4", "bash", "-c", script)
    assert done.stdout.splitlines() == ["ab"] * 1200


def test_programs_by_task(cluster: LiveCluster) -> None:
    (cluster.directory / "programs").write_text(
        "# three\n0 echo first %t %o\n1-2 bash -c 'echo \"rest $0 $1\"' %t %o\n"
    )
    done = cluster.run("srun", "-n3", "-l", "--multi-prog", "programs")
    assert sorted(done.stdout.splitlines()) == ["0: first 0 0", "1: rest 1 0", "2: rest 2 1"]
    none = cluster.run("srun", "--multi-prog", "", check=False, stdin="0 true\n")
    assert none.stderr == "srun: error: Could not open multi_prog config file \n"  # as Slurm 22.05.8 said
    few = cluster.run("srun", "-n4", "--multi-prog", "programs", check=False)
    # Recorded from Slurm 22.05.8 for an empty file.
    assert "srun: error: Configuration file programs invalid, no record for task id 3" in few.stderr
    assert few.returncode == 1
    for text, why in (
        ("* true\n" * 10_000, "has more than 60000 bytes"),
        ("0-32767 x\n0 x\n", "more than 32,768 tasks"),
    ):
        (cluster.directory / "programs").write_text(text)
        many = cluster.run("srun", "-n4", "--multi-prog", "programs", check=False)
        assert (many.returncode, why in many.stderr) == (1, True), many.stderr


@pytest.mark.parametrize("option", ["--bcast=/tmp/x", "--x11", "--het-group=0", "-Z", "--container=c"])
def test_what_is_not_done_is_refused_by_name(cluster: LiveCluster, option: str) -> None:
    done = cluster.run("srun", option, "true", check=False)
    assert done.returncode == 255
    assert "is not supported by rota" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("line", ["srun -n1 echo a : -n1 echo b", "srun sh -c :", "salloc -n1 : -n1 echo a"])
def test_components_of_heterogeneous_jobs_are_refused(cluster: LiveCluster, line: str) -> None:
    # Slurm 22.05.8 takes each ":" of `srun` for the beginning of a component, and of `salloc` one before the command.
    command, *words = line.split()
    done = cluster.run(command, *words, check=False)
    said = f"{command}: error: heterogeneous jobs and steps are not supported by rota\n"
    assert (done.stdout, done.stderr, done.returncode) == ("", said, 1)
    assert cluster.run("salloc", "-Q", "-n1", "echo", ":").stdout == ":\n"


def _call(cluster: LiveCluster, *words: str) -> socket.socket:
    """Call the controller as a client does, but for what is said afterwards."""
    client = socket.socket(socket.AF_UNIX)
    before = os.open(".", os.O_PATH)
    os.chdir(cluster.state)
    client.connect("rota.sock")
    os.fchdir(before)
    os.close(before)
    message = "\0".join(["1", "22", "/", str(len(words)), *words, f"SLURM_JOB_ID={words[-1]}", ""]).encode()
    client.sendall(len(message).to_bytes(4, "big") + message)
    return client


@pytest.mark.parametrize(
    "said",
    [
        b"+\0\0\0\x02{}",
        b"+\0\0\0\x02[]",
        b"+\0\0\0\x01{",
        b"-",
        b"+\xff\xff\xff\xff",
        b'+\0\0\0\x41{"status": 1e400, "cancelled": 0, "usage": {"user_seconds": NaN}}',
        b'+\0\0\0\x2e{"status": 300, "cancelled": 0, "usage": {"a": 1}}'[:51],
    ],
)
def test_a_client_that_tells_nonsense_about_its_step(cluster: LiveCluster, said: bytes) -> None:
    job_id = _submit(cluster, "srun bash -c 'touch up-$SLURM_JOB_ID; sleep 1000'; sleep 1000")
    cluster.wait((cluster.directory / f"up-{job_id}").exists)
    with _call(cluster, "rota-call", "attach", str(job_id), "0") as client:
        client.sendall(said)
        client.shutdown(socket.SHUT_WR)
        cluster.wait(lambda: _steps(cluster, job_id)[1:] == ["0|CANCELLED|0:9|1|1"])
    cluster.run("scancel", str(job_id))
    cluster.idle()
    assert "this is a defect" not in (cluster.state / "controller.log").read_text()


def test_times_to_begin(cluster: LiveCluster) -> None:
    done = cluster.run("salloc", "--begin=2001-01-01T00:00", "-n1", "true")
    assert "Granted" in done.stderr
    done = cluster.run("srun", "--begin=now+1", "true")
    assert "queued and waiting for resources" in done.stderr
