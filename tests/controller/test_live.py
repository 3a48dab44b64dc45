"""A live cluster with real processes, from the command line."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow.parquet
import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FOUR_NODES = """
ClusterName=four
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[1-4] CPUs=4 Sockets=1 CoresPerSocket=4 RealMemory=2000
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """A cluster of four virtual nodes."""
    with LiveCluster(tmp_path_factory.mktemp("live"), _FOUR_NODES) as found:
        yield found


def _output(cluster: LiveCluster, script: str, *options: str) -> str:
    """Run a script to its end; give its output."""
    job_id = cluster.submit("--wait", *options, "-o", "out-%j", stdin=f"#!/bin/bash\n{script}\n")
    return (cluster.directory / f"out-{job_id}").read_text()


def test_a_job_runs_and_its_output_is_where_it_was_submitted(cluster: LiveCluster) -> None:
    job_id = cluster.submit("--wait", "--wrap", "echo $SLURM_JOB_ID; pwd; echo oops >&2")
    text = (cluster.directory / f"slurm-{job_id}.out").read_text()
    assert text.split() == [str(job_id), str(cluster.directory), "oops"]


@pytest.mark.parametrize(("script", "status"), [("exit 0", 0), ("exit 3", 3), ("kill -TERM $$", 1)])
def test_wait_gives_the_exit_status(cluster: LiveCluster, script: str, status: int) -> None:
    done = cluster.run("sbatch", "--wait", "-o", "/dev/null", "--wrap", script, check=False)
    assert done.returncode == status


def test_each_task_of_an_array_knows_which_it_is(cluster: LiveCluster) -> None:
    job_id = cluster.submit("--wait", "-a", "1-7:2%2", "-o", "task-%A_%a", "--wrap", "env | grep SLURM_ARRAY | sort")
    for task in (1, 3, 5, 7):
        assert (cluster.directory / f"task-{job_id}_{task}").read_text().splitlines() == [
            "SLURM_ARRAY_JOB_ID=" + str(job_id),
            "SLURM_ARRAY_TASK_COUNT=4",
            f"SLURM_ARRAY_TASK_ID={task}",
            "SLURM_ARRAY_TASK_MAX=7",
            "SLURM_ARRAY_TASK_MIN=1",
            "SLURM_ARRAY_TASK_STEP=2",
        ]


def test_a_job_waits_for_the_one_on_which_it_depends(cluster: LiveCluster) -> None:
    first = cluster.submit("-o", "/dev/null", "--wrap", "sleep 0.3; echo 1 > first")
    cluster.run("sbatch", "--wait", "-d", f"afterok:{first}", "-o", "second", "--wrap", "cat first")
    assert (cluster.directory / "second").read_text() == "1\n"


def test_a_job_that_ends_within_its_own_submission_has_an_id_of_its_own(cluster: LiveCluster) -> None:
    failed = cluster.submit("-o", "/dev/null", "--wrap", "exit 1")
    cluster.wait(lambda: failed in cluster.ended())
    never = cluster.submit("-d", f"afterok:{failed}", "--kill-on-invalid-dep=yes", "--wrap", "true")
    tasks = cluster.submit("-a", "0-2", "-d", f"afterok:{failed}", "--kill-on-invalid-dep=yes", "--wrap", "true")
    after = cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
    assert (failed < never < tasks, after) == (True, tasks + 3)
    shown = cluster.run("sacct", "-n", "-X", "-P", "-j", f"{never},{tasks}", "-o", "State").stdout.split("\n")
    assert {state.partition(" ")[0] for state in shown if state} == {"CANCELLED"}


def test_directives_count_less_than_the_environment_and_this_less_than_options(cluster: LiveCluster) -> None:
    script = "#!/bin/bash\n#SBATCH -J script -c2\n#SBATCH --comment='two words'\necho $SLURM_JOB_NAME\n"
    for environment, options, name in (
        ({}, (), "script"),
        ({"SBATCH_JOB_NAME": "env"}, (), "env"),
        ({"SBATCH_JOB_NAME": "env"}, ("-J", "option"), "option"),
    ):
        words = ("sbatch", "--wait", "-o", "name", *options)
        cluster.run(*words, stdin=script, environment=environment)
        assert (cluster.directory / "name").read_text().strip() == name


def test_the_environment_is_that_of_the_submission_without_an_outer_job(cluster: LiveCluster) -> None:
    environment = {"MINE": "a b", "SLURM_JOB_ID": "77", "SLURM_NTASKS": "9"}
    cluster.run("sbatch", "--wait", "-o", "env", "--wrap", 'echo "$MINE/$SLURM_NTASKS"', environment=environment)
    assert (cluster.directory / "env").read_text() == "a b/\n"
    cluster.run("sbatch", "--wait", "-o", "env", "--export=A=1,MINE", "--wrap", "env", environment=environment)
    assert {"A=1", "MINE=a b"} <= set((cluster.directory / "env").read_text().splitlines())
    assert "ROTA_STATE" not in (cluster.directory / "env").read_text()


def test_several_nodes_and_tasks(cluster: LiveCluster) -> None:
    found = _output(cluster, "env | grep '^SLURM' | sort", "-N2", "--ntasks-per-node=2", "-c1")
    # Recorded from Slurm 22.05.8 for the same options.
    for line in (
        "SLURM_JOB_CPUS_PER_NODE=2(x2)",
        "SLURM_JOB_NODELIST=n[1-2]",
        "SLURM_JOB_NUM_NODES=2",
        "SLURM_MEM_PER_CPU=100",
        "SLURM_NPROCS=4",
        "SLURM_NTASKS=4",
        "SLURM_NTASKS_PER_NODE=2",
        "SLURM_CPUS_PER_TASK=1",
        "SLURM_TASKS_PER_NODE=2(x2)",
        "SLURM_CPUS_ON_NODE=2",
        "SLURMD_NODENAME=n1",
    ):
        assert line in found.splitlines()


def test_limits_umask_and_directory_are_those_of_the_submission(cluster: LiveCluster) -> None:
    (cluster.directory / "sub").mkdir()
    script = "umask; ulimit -n; pwd"
    words = ("bash", "-c", f"umask 027; ulimit -n 100; sbatch --wait -D sub -o out --wrap '{script}'")
    cluster.run(*words)
    assert (cluster.directory / "sub" / "out").read_text().split() == ["0027", "100", str(cluster.directory / "sub")]


def test_a_signal_comes_before_the_time_limit(cluster: LiveCluster) -> None:
    script = "trap 'echo warned; exit 5' USR1\nfor i in {1..400}; do sleep 0.1; done"
    done = cluster.run(
        "sbatch", "--wait", "-t1", "--signal=B:USR1@58", "-o", "warned", check=False, stdin=f"#!/bin/bash\n{script}\n"
    )
    assert done.returncode == 5
    assert (cluster.directory / "warned").read_text() == "warned\n"


_TRY = 'Try "sbatch --help" for more information'


# The messages are recorded from Slurm 22.05.8.
@pytest.mark.parametrize(
    ("words", "status", "lines"),
    [
        ("nofile.sh", 1, ["error: Unable to open file nofile.sh"]),
        ("--bogus x", 255, ["unrecognized option '--bogus'", _TRY]),
        ("--requeue=1 x", 255, ["option '--requeue' doesn't allow an argument", _TRY]),
        (
            "-p nopart --wrap true",
            1,
            [
                "error: invalid partition specified: nopart",
                "error: Batch job submission failed: Invalid partition name specified",
            ],
        ),
    ],
)
def test_bad_requests(cluster: LiveCluster, words: str, status: int, lines: list[str]) -> None:
    done = cluster.run("sbatch", *words.split(), check=False)
    shown = "".join(f"{line}\n" if line == _TRY else f"sbatch: {line}\n" for line in lines)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", shown)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo no interpreter\n", "This does not look like a batch script.  The first"),
        ("", "Batch script is empty!"),
        (" \n", "Batch script contains only whitespace!"),
        ("#!/bin/sh\r\ntrue\r\n", "Batch script contains DOS line breaks"),
        ("#!/bin/sh\n#SBATCH --time=bogus\n", "Invalid --time specification"),
        ("#!/bin/sh\n#SBATCH --comment='open\n", "line 2: Unmatched"),
    ],
)
def test_bad_scripts(cluster: LiveCluster, script: str, message: str) -> None:
    (cluster.directory / "bad.sh").write_text(script, newline="")
    done = cluster.run("sbatch", "bad.sh", check=False)
    assert done.returncode in {1, 255}
    assert message in done.stderr


def test_a_large_script_and_many_arguments(cluster: LiveCluster) -> None:
    script = "#!/bin/bash\necho $#\n" + "# a comment that makes it long\n" * 100_000
    (cluster.directory / "large.sh").write_text(script)
    cluster.run("sbatch", "--wait", "-o", "count", "large.sh", *["argument"] * 6_000)
    assert (cluster.directory / "count").read_text() == "6000\n"


def test_a_script_that_is_too_large(cluster: LiveCluster) -> None:
    (cluster.directory / "huge.sh").write_text("#!/bin/sh\n" + "# nothing\n" * 1_000_000)
    done = cluster.run("sbatch", "huge.sh", check=False)
    assert done.returncode == 1
    assert "Pathname of a file, directory or other parameter too long" in done.stderr


def test_a_running_job_is_found_again(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, _FOUR_NODES) as cluster:
        job_id = cluster.submit(
            "-o", "out", "--wrap", "echo begun; until [ -e go ]; do sleep 0.05; done; echo ended; exit 6"
        )
        cluster.wait(lambda: (tmp_path / "out").exists() and (tmp_path / "out").read_text() == "begun\n")
        cluster.kill()
        assert cluster.run("sbatch", "--wrap", "true", check=False).returncode == 1
        cluster.up()
        assert cluster.status()["jobs"] == {"RUNNING": 1}
        (tmp_path / "go").touch()
        cluster.idle()
        assert (tmp_path / "out").read_text() == "begun\nended\n"
        record = cluster.ended()[job_id]
        assert (record["state"], record["exit_code"]) == ("FAILED", 6)


def _fill(path: Path) -> None:
    """Fill the disk."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1024))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", small], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    cluster = LiveCluster(small)
    try:
        with cluster:
            running = cluster.submit("-o", str(tmp_path / "out"), "--wrap", "echo begun; sleep 1; echo ended; exit 4")
            cluster.wait((tmp_path / "out").exists)
            _fill(small / "fill")
            refused = cluster.run("sbatch", "--wrap", "true", check=False)
            assert refused.returncode == 1
            assert "cannot write its state" in refused.stderr
            cluster.wait(lambda: (tmp_path / "out").read_text() == "begun\nended\n")
            (small / "fill").unlink()
            cluster.wait(lambda: not cluster.status()["trouble"])
            cluster.run("sbatch", "--wait", "-o", "/dev/null", "--wrap", "true")
            cluster.idle()
            assert {job: (one["state"], one.get("exit_code", 0)) for job, one in cluster.ended().items()} == {
                running: ("FAILED", 4),
                running + 1: ("COMPLETED", 0),
            }
    finally:
        # The supervisor ends a little after the controller; what stays mounted pytest cannot remove later.
        cluster.wait(lambda: subprocess.run(["umount", small], check=False).returncode == 0)


def test_a_socket_that_was_removed_is_made_again(tmp_path: Path) -> None:
    with LiveCluster(tmp_path) as cluster:
        (cluster.state / "rota.sock").unlink()
        done = cluster.run("sbatch", "--wrap", "true", check=False)
        assert "Unable to contact slurm controller" in done.stderr or done.returncode == 0  # it is there again
        cluster.wait((cluster.state / "rota.sock").exists)
        cluster.run("sbatch", "--wait", "-o", "/dev/null", "--wrap", "true")


def test_without_its_state_directory_a_cluster_takes_no_work(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, _FOUR_NODES) as cluster:
        job_id = cluster.submit("-o", "out", "--wrap", "echo begun; sleep 1; echo ended; exit 2")
        cluster.wait(lambda: (tmp_path / "out").exists() and (tmp_path / "out").read_text())
        cluster.state.rename(tmp_path / "elsewhere")
        environment = {"ROTA_STATE": str(tmp_path / "elsewhere")}
        words = (str(tmp_path / "elsewhere" / "bin" / "sbatch"), "--wrap", "true")
        refused = cluster.run(*words, check=False, environment=environment)
        assert refused.returncode == 1
        assert "is gone" in refused.stderr
        (tmp_path / "elsewhere").rename(cluster.state)
        cluster.wait(lambda: not cluster.status()["trouble"])
        cluster.idle()
        assert (tmp_path / "out").read_text() == "begun\nended\n"
        assert cluster.ended()[job_id]["exit_code"] == 2


@pytest.mark.slow
def test_a_replay_starts_the_jobs_in_the_same_order(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, _FOUR_NODES) as cluster:
        for number, (tasks, seconds) in enumerate(((12, 2), (8, 1), (4, 2), (16, 1), (2, 1), (6, 2)), 1):
            assert (
                cluster.submit("-n", str(tasks), "-t", "1", "-o", "/dev/null", "--wrap", f"sleep {seconds}") == number
            )
        cluster.idle()
        live = cluster.ended()
    done = cluster.rota("replay", str(cluster.state), "--out", str(tmp_path / "replay"), "--json")
    assert json.loads(done.stdout)["jobs"] == len(live)
    table = pyarrow.parquet.read_table(tmp_path / "replay" / "jobs.parquet").to_pylist()
    assert [one["job_id"] for one in sorted(table, key=lambda one: (one["start"], one["job_id"]))] == [
        one["job_id"] for one in sorted(live.values(), key=lambda one: (one["start_time"], one["job_id"]))
    ]


@pytest.mark.slow
def test_it_goes_down_and_up_with_nothing_done_between(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, _FOUR_NODES) as cluster:
        for _ in range(2):
            cluster.rota("down")
            cluster.up()
        cluster.conf.write_text(_FOUR_NODES.replace("n[1-4]", "n[1-5]"))
        cluster.kill()
        cluster.up()
        assert cluster.run("sinfo", "-h", "-o", "%N").stdout == "n[1-5]\n"
        assert "error" not in (cluster.state / "controller.log").read_text()


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        ("NodeName=n1 CPUs=x\n", "slurm.conf:1: CPUs: 'x' is not a whole number"),
        (
            "SchedulerType=sched/nosuch\nNodeName=n1\nPartitionName=p Nodes=n1\n",
            "slurm.conf:1: SchedulerType: there is no",
        ),
        (
            "NodeName=n1\nPartitionName=p Nodes=n1\nSchedulerType=priority/basic\n",
            "slurm.conf:3: SchedulerType: priority/basic is a plugin of type priority",
        ),
    ],
)
def test_a_configuration_that_cannot_be_used(tmp_path: Path, conf: str, message: str) -> None:
    cluster = LiveCluster(tmp_path, conf)
    done = cluster.rota("up", "--config", str(cluster.conf), check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    cluster.wait(lambda: cluster.pid() is None)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    cluster = LiveCluster(tmp_path)
    cluster.state.mkdir()
    (cluster.state / "rota.db").write_bytes(b"junk" * 10_000)
    done = cluster.rota("up", check=False)
    assert done.returncode == 2
    assert "rota.db: file is not a database: see what can be saved with `rota recover`" in done.stderr
    assert (cluster.state / "rota.db").read_bytes() == b"junk" * 10_000


_BY_A_FILE = """
from pathlib import Path

from rota.interfaces.stubs.priority import *

plugin_name = "Decides by something else than what happens"
plugin_type = "priority/moody"
plugin_version = 100


def priority_p_set(last_prio, job_ptr):
    return 1000 + job_ptr.job_id * (1 if Path({path!r}).exists() else -1)
"""


def test_a_plugin_that_decides_otherwise_after_a_crash_is_noticed(tmp_path: Path) -> None:
    mood = tmp_path / "mood"
    (tmp_path / "priority_moody.py").write_text(_BY_A_FILE.format(path=str(mood)))
    conf = f"PluginDir={tmp_path}\nPriorityType=priority/moody\n"
    with LiveCluster(tmp_path, conf + "NodeName=n1 CPUs=1\nPartitionName=p Nodes=n1 Default=YES\n") as cluster:
        job = "echo begun >> ran-$SLURM_JOB_ID; while [ ! -e end-$SLURM_JOB_ID ]; do sleep 0.02; done"
        first, second, third = (cluster.submit("-o", "/dev/null", "--wrap", job) for _ in range(3))
        (tmp_path / f"end-{first}").touch()
        cluster.wait((tmp_path / f"ran-{second}").exists)
        cluster.kill()
        mood.touch()
        cluster.up()
        cluster.wait((tmp_path / f"ran-{third}").exists)
        log = (cluster.state / "controller.log").read_text()
        assert f"error: job {second} was started, and now is not to run: a plugin decides by something else" in log
        assert f"error: job {third} was not started, and now is to run: a plugin decides by something else" in log
        for job_id in (second, third):
            (tmp_path / f"end-{job_id}").touch()
        cluster.idle()
        assert [(one["job_id"], one["state"]) for one in cluster.records()] == [
            (job_id, "COMPLETED") for job_id in (first, third, second)
        ]


def test_where_memory_is_not_given_it_is_not_limited(tmp_path: Path) -> None:
    """Slurm counts such a node as one of 1 MiB, and kills no job for that."""
    with LiveCluster(tmp_path, "NodeName=n[1-2] CPUs=4\nPartitionName=main Nodes=ALL Default=YES\n") as cluster:
        assert cluster.run("srun", "-N2", "python3", "-c", "print(len(bytearray(40 << 20)))").stdout.split() == 2 * [
            str(40 << 20)
        ]
