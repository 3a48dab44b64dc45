"""What `rota up` says of a directory or supervisor that is not the one before, and what `rota recover` saves of it.

Everywhere holds: what runs goes on, its end is recorded as it was, nothing runs twice, and no number is given twice.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from rota.executor.traces import read_traces
from rota.testing.live import LiveCluster, virtual_nodes

from .ways import cut, daemons, flip, kill_all, let_go, recover, refused, start


def test_a_state_directory_that_was_removed_while_jobs_run(cluster: LiveCluster) -> None:
    job = start(cluster, code=7)
    cluster.kill()
    shutil.rmtree(cluster.state)
    said = refused(cluster)
    assert f"control of jobs {job}" in said
    assert recover(cluster)["jobs"]["found"] == [job]
    assert cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true") == job + 1
    assert let_go(cluster, job)["exit_code"] == 7


def test_a_copy_of_a_state_directory_that_is_in_use(cluster: LiveCluster, tmp_path: Path) -> None:
    job = start(cluster)
    (tmp_path / "other").mkdir()
    other = LiveCluster(tmp_path / "other", virtual_nodes(4))
    shutil.copytree(cluster.state, other.state, ignore=shutil.ignore_patterns("*.sock", "lock", "*.lock"))
    done = other.rota("up", "--config", str(other.conf), check=False)
    assert done.returncode == 2
    assert f"is a copy of {cluster.state}" in done.stderr
    assert let_go(cluster, job)["state"] == "COMPLETED"


def test_a_state_directory_that_was_moved_while_jobs_run(cluster: LiveCluster, tmp_path: Path) -> None:
    job = start(cluster, code=3)
    supervisor, _ = daemons(cluster)
    cluster.rota("down")
    (tmp_path / "else").mkdir()
    cluster.state.rename(tmp_path / "else" / "state")
    moved = LiveCluster(tmp_path / "else", virtual_nodes(4))
    os.kill(supervisor, signal.SIGKILL)
    moved.up()
    (tmp_path / f"go-{job}").touch()
    moved.wait(lambda: job in moved.ended())
    assert moved.ended()[job]["exit_code"] == 3
    moved.rota("down")
    shutil.move(moved.state, cluster.state)


def _become_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _become_link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("elsewhere"))


_SLOW_DAMAGES = [pytest.param(one, marks=pytest.mark.slow) for one in (cut, Path.unlink, _become_directory)]


@pytest.mark.parametrize("damage", [flip, _become_link_to_nothing, *_SLOW_DAMAGES])
def test_a_log_of_the_supervisor_that_is_damaged(cluster: LiveCluster, damage: Any) -> None:
    first, second = start(cluster, code=8), start(cluster, code=9)
    kill_all(cluster)
    damage(cluster.state / "supervisor.log")
    assert "supervisor.log" in refused(cluster)
    assert recover(cluster)["jobs"]["running"] == [first, second]
    for job, code in ((first, 8), (second, 9)):
        record = let_go(cluster, job)
        assert record.get("exit_code", 0) in (code, 0)  # after both were killed, the kernel tells it or not


def test_a_job_runs_on_where_a_supervisor_has_left_nothing(cluster: LiveCluster) -> None:
    job = start(cluster, code=8)
    kill_all(cluster)
    for name in ("supervisor.log", "supervisor.tail", "keeper.log"):
        (cluster.state / name).unlink(missing_ok=True)
    refused(cluster)
    assert recover(cluster)["jobs"]["running"] == [job]
    assert cluster.run("squeue", "-h", "-o", "%i %T").stdout == f"{job} RUNNING\n"
    assert let_go(cluster, job)["job_id"] == job


def test_a_run_that_ended_unseen_is_not_started_again(cluster: LiveCluster) -> None:
    job = start(cluster, code=8)
    kill_all(cluster)
    (cluster.directory / f"go-{job}").touch()
    time.sleep(0.3)
    for name in ("supervisor.log", "supervisor.tail", "keeper.log"):
        (cluster.state / name).unlink(missing_ok=True)
    refused(cluster)
    recover(cluster)
    cluster.wait(lambda: job in cluster.ended())
    assert (cluster.directory / f"ran-{job}").read_text() == "ran\n"


def _lose_log(cluster: LiveCluster, both: list[int]) -> None:
    """Kill supervisor and keeper, of which the next ones find no log."""
    for pid in both:
        os.kill(pid, signal.SIGSTOP)  # neither notices that the log is gone
    for name in ("supervisor.log", "supervisor.tail"):
        (cluster.state / name).unlink()
    for pid in both:
        os.kill(pid, signal.SIGKILL)


def test_runs_are_found_by_a_supervisor_that_finds_no_log(cluster: LiveCluster) -> None:
    job = start(cluster)
    both = daemons(cluster)
    _lose_log(cluster, both)
    cluster.wait(lambda: cluster.status()["supervisor_pid"] not in both)
    assert "supervisor.log was damaged" in (cluster.state / "controller.log").read_text()
    assert cluster.run("squeue", "-h", "-o", "%i %T").stdout == f"{job} RUNNING\n"
    assert let_go(cluster, job)["job_id"] == job


@pytest.mark.parametrize("at_once", [True, False], ids=["supervisor", "all"])
def test_a_job_that_is_being_ended_is_found_too(cluster: LiveCluster, *, at_once: bool) -> None:
    """Its resources are free when its script has ended, which heeds no SIGTERM here, and not before."""
    job = start(cluster, trap="trap '' TERM")
    cluster.run("scancel", str(job))
    cluster.wait(lambda: cluster.run("squeue", "-h", "-o", "%T").stdout == "COMPLETING\n")
    both = daemons(cluster)
    if not at_once:
        cluster.kill()
    _lose_log(cluster, both)
    if at_once:
        cluster.wait(lambda: cluster.status()["supervisor_pid"] not in both)
    else:
        refused(cluster)
        recover(cluster)
    time.sleep(1)
    assert cluster.run("squeue", "-h", "-o", "%i %T").stdout == f"{job} COMPLETING\n"
    assert let_go(cluster, job)["state"] == "CANCELLED"


def test_a_supervisor_writes_its_log_again_that_somebody_removed(cluster: LiveCluster) -> None:
    job = start(cluster, code=2)
    (cluster.state / "supervisor.log").unlink()
    cluster.wait((cluster.state / "supervisor.log").exists)
    assert [key[0] for key in read_traces(cluster.state).runs] == [job]
    cluster.kill()
    cluster.up()
    assert let_go(cluster, job)["exit_code"] == 2


def test_a_script_in_the_spool_that_was_altered(cluster: LiveCluster) -> None:
    job = start(cluster)
    cluster.rota("down")
    script = cluster.state / "spool" / f"job{job:05}" / "slurm_script"
    whole = script.read_text()
    script.write_text("exit 0\n")
    done = cluster.rota("up", "--config", str(cluster.conf))
    assert f"job {job}, which runs, may have read it so" in done.stderr
    cluster.wait(lambda: script.read_text() == whole)


def test_a_link_to_a_state_directory_in_use(cluster: LiveCluster, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(cluster.state)
    for words in (("up", "--state", str(tmp_path / "link")), ("recover", "--yes", "--state", str(tmp_path / "link"))):
        done = cluster.rota(*words, check=False)
        assert done.returncode == 2
        assert "a controller runs there already" in done.stderr
