"""Slurm's commands on a live cluster: what they change, and what they answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CONF = """
ClusterName=four
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
KillWait=1
NodeName=n[1-4] CPUs=4 Sockets=1 CoresPerSocket=4 RealMemory=2000
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100
PartitionName=other Nodes=n4
"""
_SLEEP = "sleep 60"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """A cluster of four virtual nodes."""
    with LiveCluster(tmp_path_factory.mktemp("commands"), _CONF) as found:
        yield found


@pytest.fixture(autouse=True)
def _no_jobs(cluster: LiveCluster) -> Iterator[None]:
    """Cancel what a test leaves."""
    yield
    cluster.run("scancel", "-u", cluster.run("id", "-un").stdout.strip())
    cluster.idle()


def _submit(cluster: LiveCluster, *words: str, script: str = _SLEEP) -> int:
    return cluster.submit("-o", "/dev/null", *words, "--wrap", script)


def _field(cluster: LiveCluster, job_id: int | str, letter: str) -> str:
    return cluster.run("squeue", "-h", "-t", "all", "-j", str(job_id), "-o", f"%{letter}").stdout.strip()


def _state(cluster: LiveCluster, job_id: int | str) -> str:
    return _field(cluster, job_id, "T")


def test_documents(cluster: LiveCluster) -> None:
    job_id = _submit(cluster, "-n3", "-N2", "-J", 'a "name" \\ ü')
    cluster.wait(lambda: _state(cluster, job_id) == "RUNNING")
    (job,) = json.loads(cluster.run("squeue", "-j", str(job_id), "--json").stdout)["jobs"]
    assert (job["name"], job["job_state"], job["node_count"]) == ('a "name" \\ ü', "RUNNING", 2)
    memory = [one["memory_allocated"] for one in job["job_resources"]["allocated_nodes"]]
    assert sorted(memory) == [100, 200]  # 100 MiB for each of three processors
    shown = yaml.safe_load(cluster.run("scontrol", "show", "job", str(job_id), "--yaml").stdout)
    assert shown["jobs"] == [job]
    nodes = json.loads(cluster.run("sinfo", "--json").stdout)["nodes"]
    assert {one["name"]: one["alloc_memory"] for one in nodes if one["alloc_memory"]} == dict(
        zip([one["nodename"] for one in job["job_resources"]["allocated_nodes"]], memory, strict=True)
    )
    cluster.run("scancel", str(job_id))
    cluster.idle()
    (ended,) = json.loads(cluster.run("sacct", "-j", str(job_id), "--json").stdout)["jobs"]
    assert ended["state"]["current"] == "CANCELLED"
    assert ended["kill_request_user"] == cluster.run("id", "-un").stdout.strip()
    assert [one["step"]["id"] for one in ended["steps"]] == ["batch"]
    everything = json.loads(cluster.run("squeue", "--json").stdout)["jobs"]
    assert job_id in [one["job_id"] for one in everything]  # as it ended a moment ago


def test_cancel(cluster: LiveCluster) -> None:
    running, pending = _submit(cluster, "-n16"), _submit(cluster)
    cluster.wait(lambda: _state(cluster, running) == "RUNNING")
    assert _state(cluster, pending) == "PENDING"
    done = cluster.run("scancel", "-v", str(running), str(pending), "999999")
    assert done.stderr.count("Terminating job") == 3
    assert "Kill job error on job id 999999: Invalid job id specified" in done.stderr
    cluster.idle()
    rows = cluster.run("sacct", "-X", "-n", "-P", "-j", f"{running},{pending}", "-o", "JobID,State,ExitCode").stdout
    assert rows.splitlines() == [
        f"{running}|CANCELLED by {_uid(cluster)}|0:0",
        f"{pending}|CANCELLED by {_uid(cluster)}|0:0",
    ]


def _uid(cluster: LiveCluster) -> str:
    return cluster.run("id", "-u").stdout.strip()


def test_a_job_that_ignores_sigterm_gets_sigkill(cluster: LiveCluster) -> None:
    job_id = _submit(cluster, script="trap '' TERM; touch ready; while :; do sleep 0.1; done")
    cluster.wait((cluster.directory / "ready").exists)
    cluster.run("scancel", str(job_id))
    assert _field(cluster, job_id, "t") in {"CG", "CA"}
    cluster.idle()
    assert cluster.ended()[job_id]["signal"] == 9


def test_processes_that_leave_the_job_are_ended_with_it(cluster: LiveCluster) -> None:
    # A daemon: another session, no parent, no terminal.
    daemon = "setsid setsid sh -c 'echo $$ > daemon; exec sleep 1000' </dev/null >/dev/null 2>&1 &"
    script = f"{daemon} until [ -s daemon ]; do sleep 0.05; done"
    job_id = _submit(cluster, script=script)
    cluster.idle()
    assert cluster.ended()[job_id]["state"] == "COMPLETED"
    pid = (cluster.directory / "daemon").read_text().strip()
    cluster.wait(lambda: cluster.run("kill", "-0", pid, check=False).returncode)


def test_signals(cluster: LiveCluster) -> None:
    script = "trap 'echo one >> got' USR1; trap 'echo two >> got; exit 3' USR2; touch up; while :; do sleep 0.1; done"
    job_id = _submit(cluster, script=script)
    cluster.wait((cluster.directory / "up").exists)
    cluster.run("scancel", "-b", "-s", "USR1", str(job_id))
    cluster.wait((cluster.directory / "got").exists)
    cluster.run("scancel", "--batch", str(job_id), "--signal", "SIGUSR2")
    cluster.idle()
    assert (cluster.directory / "got").read_text() == "one\ntwo\n"
    assert cluster.ended()[job_id]["exit_code"] == 3


@pytest.mark.parametrize(
    ("words", "got"), [("-b", "script\n"), ("-b -f", "child\nscript\n"), ("-f", "child\nscript\n")]
)
def test_whom_a_signal_reaches(cluster: LiveCluster, words: str, got: str) -> None:
    """As in Slurm 22.05.8, where the second option counts."""
    wait = "while :; do sleep 0.1; done"
    child = f"bash -c 'trap \"echo child >> got\" USR1; touch child; {wait}' &"
    script = f"rm -f got child up; trap 'echo script >> got' USR1; {child} touch up; {wait}"
    job_id = _submit(cluster, script=script)
    cluster.wait(lambda: all((cluster.directory / name).exists() for name in ("up", "child")))
    cluster.run("scancel", *words.split(), "-s", "USR1", str(job_id))
    cluster.wait(lambda: _lines(cluster, "got") >= got.count("\n"))
    cluster.run("scancel", str(job_id))
    cluster.idle()
    assert "".join(sorted((cluster.directory / "got").read_text().splitlines(keepends=True))) == got
    for name in ("up", "child"):
        (cluster.directory / name).unlink()


def _lines(cluster: LiveCluster, name: str) -> int:
    path = cluster.directory / name
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_a_signal_for_a_step_that_is_not_there_is_no_error(cluster: LiveCluster) -> None:
    """As in Slurm 22.05.8; to end such a step is one."""
    job_id = _submit(cluster)
    cluster.wait(lambda: _state(cluster, job_id) == "RUNNING")
    done = [cluster.run("scancel", *words, f"{job_id}.7", check=False) for words in (("-s", "USR1"), ())]
    assert [(one.returncode, one.stderr) for one in done] == [
        (0, ""),
        (225, f"scancel: error: Kill job error on job step id {job_id}: Invalid job id specified\n"),
    ]
    done = [cluster.run("scancel", "-s", "0", str(job_id), check=False)]
    assert [(one.returncode, one.stderr) for one in done] == [(1, "Unknown job signal: 0\n")]


def test_tasks_of_an_array(cluster: LiveCluster) -> None:
    job_id = _submit(cluster, "-a", "1-5%2")
    cluster.wait(lambda: _state(cluster, f"{job_id}_2") == "RUNNING")
    cluster.run("scancel", f"{job_id}_[1,4]", f"{job_id}_5")
    cluster.wait(lambda: _state(cluster, f"{job_id}_3") == "RUNNING")
    shown = cluster.run("squeue", "-h", "-r", "-o", "%i").stdout.split()
    assert sorted(shown) == [f"{job_id}_2", f"{job_id}_3"]
    # As recorded (recorded/arrays.txt): tasks that have ended are a problem, and the others are changed.
    done = cluster.run("scontrol", "update", f"jobid={job_id}", "arraytaskthrottle=0", check=False)
    assert f"{job_id}_2-3: No error\n" in done.stderr


def test_filters(cluster: LiveCluster) -> None:
    one, two = _submit(cluster, "-J", "one", "-H"), _submit(cluster, "-J", "two", "-H", "-p", "other")
    cluster.run("scancel", "-n", "one")
    assert (_state(cluster, one), _state(cluster, two)) == ("CANCELLED", "PENDING")
    cluster.run("scancel", "-p", "other", "-t", "PD")
    assert _state(cluster, two) == "CANCELLED"


def test_what_is_not_there_is_said_of_jobs_that_are_looked_for(cluster: LiveCluster) -> None:
    """As Slurm 22.05.8 does."""
    job = _submit(cluster, "-J", "one", "-H")
    unknown = "scancel: error: Kill job error on {}: Invalid job id specified\n"
    for words, err, status in (
        ("999999", "", 0),
        ("-f 999999", "", 0),
        ("-n x 999999", unknown.format("job id 999999"), 1),
        ("-s INT 999999", unknown.format("job id 999999"), 1),
        ("-b 999999_3", unknown.format("job id 999999_3"), 1),
        ("-Q -n x 999999", "", 1),
        ("-t R 999999.0", unknown.format("job step id 999999.0"), 1),
        (f"-n x 999999 {job}", unknown.format("job id 999999"), 1),
        (f"-n x {job} {job}.0", "", 0),
        (f"-v -n x {job}", "scancel: error: No active jobs match ALL job filters, including: job_name=x \n", 0),
    ):
        done = cluster.run("scancel", *words.split(), check=False)
        assert (done.stderr, done.returncode) == (err, status), words
    assert _state(cluster, job) == "PENDING"


def test_hold_release_requeue(cluster: LiveCluster) -> None:
    job_id = _submit(cluster, "-H")
    assert _field(cluster, job_id, "r") == "JobHeldUser"
    cluster.run("scontrol", "release", str(job_id))
    cluster.wait(lambda: _state(cluster, job_id) == "RUNNING")
    cluster.run("scontrol", "requeue", str(job_id))
    cluster.wait(lambda: _state(cluster, job_id) == "RUNNING" and "Restarts=1" in _show(cluster, job_id))
    cluster.run("scontrol", "requeuehold", str(job_id))
    cluster.wait(lambda: _state(cluster, job_id) == "PENDING")
    done = cluster.run("scontrol", "requeue", str(job_id), check=False)
    assert (done.returncode, done.stderr) == (1, f"Job is pending execution for job {job_id}\n")  # as recorded


def _show(cluster: LiveCluster, job_id: int) -> str:
    return cluster.run("scontrol", "show", "job", str(job_id)).stdout


def test_suspend_and_resume(cluster: LiveCluster) -> None:
    job_id = _submit(cluster, script="while :; do echo x >> ticks; sleep 0.05; done")
    cluster.wait((cluster.directory / "ticks").exists)
    cluster.run("scontrol", "suspend", str(job_id))
    assert _state(cluster, job_id) == "SUSPENDED"
    ticks = cluster.directory / "ticks"

    def stands_still() -> bool:
        before = ticks.stat().st_size
        cluster.run("sleep", "0.3")
        return ticks.stat().st_size == before

    cluster.wait(stands_still)
    before = ticks.stat().st_size
    cluster.run("scontrol", "resume", str(job_id))
    cluster.wait(lambda: ticks.stat().st_size > before + 10)


def test_updates(cluster: LiveCluster) -> None:
    job_id = _submit(cluster, "-H", "-t", "10")
    cluster.run("scontrol", "update", f"JobId={job_id}", "TimeLimit=+5", "JobName=new", "NumTasks=2", "Partition=other")
    assert [_field(cluster, job_id, letter) for letter in "ljP"] == ["15:00", "new", "other"]
    done = cluster.run("scontrol", "update", f"jobid={job_id}", "partition=nosuch", check=False)
    assert done.returncode == 1
    assert "Invalid partition name specified" in done.stderr
    assert _field(cluster, job_id, "P") == "other"


def test_nodes_are_drained_and_fail(cluster: LiveCluster) -> None:
    job_id = _submit(cluster, "-w", "n2")
    cluster.wait(lambda: _state(cluster, job_id) == "RUNNING")
    denied = cluster.run("scontrol", "update", "nodename=n2", "state=drain", check=False)
    assert "You must specify a reason when DOWNING or DRAINING a node" in denied.stderr
    cluster.run("scontrol", "update", "nodename=n2", "state=down", "reason=burnt")
    cluster.wait(lambda: _state(cluster, job_id) == "PENDING")
    assert "Restarts=1" in _show(cluster, job_id)
    assert cluster.run("sinfo", "-h", "-R", "-o", "%E %N").stdout == "burnt n2\n"
    cluster.run("scontrol", "update", "nodename=n2", "state=resume")
    cluster.wait(lambda: _state(cluster, job_id) == "RUNNING")


def test_an_update_of_a_partition_is_made_whole_or_refused_and_outlives_the_controller(cluster: LiveCluster) -> None:
    def shown() -> str:
        return cluster.run("sinfo", "-h", "-o", "%R %a %l %N").stdout

    before = shown()
    words = ("scontrol", "update", "partitionname=other", "state=down", "maxtime=10")
    assert cluster.run(*words, "qos=nosuch", check=False).stderr == "slurm_update error: Invalid qos specification\n"
    assert shown() == before
    cluster.run(*words, "nodes=n[1-2]")
    cluster.run("scontrol", "create", "partitionname=new", "nodes=n1")
    assert shown() == before.replace("other up infinite n4", "other down 10:00 n[1-2]") + "new up infinite n1\n"
    cluster.kill()
    cluster.up()
    assert shown() == before.replace("other up infinite n4", "other down 10:00 n[1-2]") + "new up infinite n1\n"
    cluster.run("scontrol", "reconfigure")
    assert shown() == before


def test_slurm_conf_is_read_again_whole_or_not_at_all(cluster: LiveCluster) -> None:
    for mistake in (
        _CONF.replace("PartitionName=other Nodes=n4", "PartitionName=other Nodes=n9"),
        f"{_CONF}PrologEpilogTimeout=soon\n",
    ):
        cluster.conf.write_text(mistake)
        done = cluster.run("scontrol", "reconfigure", check=False)
        assert done.returncode == 1
        assert "slurm.conf" in done.stderr
    assert cluster.run("sinfo", "-h", "-o", "%R %N").stdout == "debug n[1-4]\nother n4\n"
    cluster.conf.write_text(_CONF + "PartitionName=third Nodes=n[1-2]\n")
    cluster.run("scontrol", "reconfigure")
    assert cluster.run("sinfo", "-h", "-o", "%R %N").stdout == "debug n[1-4]\nother n4\nthird n[1-2]\n"
    cluster.conf.write_text(_CONF)
    cluster.run("scontrol", "reconfigure")


def test_reservations(cluster: LiveCluster) -> None:
    words = ("StartTime=now", "Duration=60", "Nodes=n1", "Users=root", "Flags=ignore_jobs,maint")
    cluster.run("scontrol", "create", "reservation", "ReservationName=maint", *words)
    # As Slurm 22.05.8 shows them.
    assert " Flags=MAINT,IGNORE_JOBS,SPEC_NODES" in cluster.run("scontrol", "show", "reservation", "maint").stdout
    assert "State=IDLE+MAINTENANCE+RESERVED " in cluster.run("scontrol", "show", "node", "n1").stdout
    cluster.run("scontrol", "delete", "ReservationName=maint")
    assert cluster.run("scontrol", "show", "reservation").stdout == "No reservations in the system\n"


def test_no_job_is_missed_or_listed_twice_while_its_end_is_written_down(cluster: LiveCluster) -> None:
    jobs = ",".join(str(_submit(cluster, "--mem=10", script="sleep 0.5")) for _ in range(40))
    listings = (("squeue", "-h", "-t", "all", "-o", "%i %T"), ("sacct", "-X", "-n", "-P", "-o", "JobID,State"))
    while True:
        told = [cluster.run(*words, "-j", jobs).stdout for words in listings]
        assert [len(one.splitlines()) for one in told] == [40, 40]
        if "PENDING" not in told[0] and "RUNNING" not in told[0]:
            break


def test_explain_and_plan(cluster: LiveCluster, tmp_path: Path) -> None:
    _submit(cluster, "-n16", "-t", "1")
    waiting = _submit(cluster, "-n16", "-t", "1")
    cluster.wait(lambda: _field(cluster, waiting, "r") == "Resources")
    found = cluster.rota("explain", str(waiting)).stdout
    assert f"Job {waiting} of user" in found
    assert "It waits for job" in found
    assert '"state": "PENDING"' in cluster.rota("explain", str(waiting), "--json").stdout
    assert str(waiting) in cluster.rota("plan").stdout
    assert cluster.rota("explain", f"{waiting}_1", check=False).returncode == 2  # and not 31, as Python reads 3_1
    unknown = cluster.rota("explain", "999999", check=False)
    assert unknown.returncode == 2
    assert "999999" in unknown.stderr
    here = "--state", str(cluster.state)
    elsewhere = LiveCluster(tmp_path)
    assert elsewhere.rota("plan", check=False).returncode == 2
    assert str(waiting) in elsewhere.rota("plan", *here).stdout
    assert f"Job {waiting} of user" in elsewhere.rota("explain", str(waiting), *here).stdout


def test_what_an_unknown_job_gets(cluster: LiveCluster) -> None:
    # As recorded from Slurm 22.05.8.
    done = cluster.run("squeue", "-j", "999999", check=False)
    assert (done.returncode, done.stderr) == (1, "slurm_load_jobs error: Invalid job id specified\n")
    assert cluster.run("scancel", "999999").stderr == ""


def test_several_clusters_side_by_side(cluster: LiveCluster, tmp_path: Path) -> None:
    with LiveCluster(tmp_path) as other:
        assert other.submit("-H", "--wrap", "true") == 1
        assert len(other.run("squeue", "-h").stdout.splitlines()) == 1
        assert cluster.run("squeue", "-h").stdout == ""
        again = other.rota("up", check=False)
        assert again.returncode == 2
        assert "a controller runs there already" in again.stderr


def test_prolog_and_epilog(tmp_path: Path) -> None:
    for name in ("prolog", "epilog"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho {name} $SLURM_JOB_ID >> {tmp_path}/trail\ntest ! -e {tmp_path}/fail\n")
        program.chmod(0o755)
    with LiveCluster(
        tmp_path, f"{_CONF}\nFirstJobId=70\nProlog={tmp_path}/prolog\nEpilog={tmp_path}/epilog\n"
    ) as cluster:
        cluster.run("sbatch", "--wait", "-o", "/dev/null", "--wrap", f"echo job >> {tmp_path}/trail")
        assert (tmp_path / "trail").read_text() == "prolog 70\njob\nepilog 70\n"
        (tmp_path / "fail").touch()
        job_id = cluster.submit("-w", "n1", "-o", "/dev/null", "--wrap", "true")
        cluster.wait(lambda: cluster.run("sinfo", "-h", "-R", "-o", "%E %N").stdout == "Prolog error n1\n")
        assert cluster.run("squeue", "-h", "-o", "%i %T").stdout == f"{job_id} PENDING\n"


def test_an_epilog_that_hangs(tmp_path: Path) -> None:
    # As tried with Slurm 22.05.8: the epilog is killed, the node drained, and the job has ended as its script has.
    epilog = tmp_path / "epilog"
    epilog.write_text("#!/bin/sh\nsleep 1000\n")
    epilog.chmod(0o755)
    with LiveCluster(tmp_path, f"{_CONF}\nEpilog={epilog}\nPrologEpilogTimeout=1\n") as cluster:
        done = cluster.run("sbatch", "--wait", "-w", "n1", "-o", "/dev/null", "--wrap", "exit 3", check=False)
        assert done.returncode == 3
        cluster.wait(lambda: cluster.run("sinfo", "-h", "-R", "-o", "%E %N").stdout == "Epilog error n1\n")
        assert "PrologEpilogTimeout     = 1\n" in cluster.run("scontrol", "show", "config").stdout


def test_other_clusters(cluster: LiveCluster) -> None:
    for words in (("sbatch", "--wrap", "true"), ("scancel", "999"), ("squeue",)):
        done = cluster.run(*words, "-M", "nosuch", check=False)
        assert done.returncode == 1
        assert done.stderr.startswith(f"{words[0]}: error: No cluster 'nosuch' known by database.\n")
    submitted = cluster.run("sbatch", "-H", "-M", "all", "--wrap", "true").stdout
    assert submitted.endswith(" on cluster four\n")
    assert cluster.run("sbatch", "-H", "--parsable", "-M", "four", "--wrap", "true").stdout.strip().endswith(";four")


@pytest.mark.parametrize("name", ["sattach", "sbcast", "scrontab", "strigger"])
def test_commands_that_rota_does_not_have_are_refused_by_name(cluster: LiveCluster, name: str) -> None:
    done = cluster.run(name, "1.0", check=False)
    assert (done.returncode, done.stderr) == (1, f"{name}: error: {name} is not supported by rota\n")
    assert cluster.run(name, "--version").stdout == "slurm 22.05.8\n"
