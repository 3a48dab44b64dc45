"""What `rota up` says of a state that does not fit together, and what `rota recover` saves of it.

Everywhere holds: what runs goes on, its end is recorded as it was, nothing runs twice, and no number is given twice.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rota.controller.recovery import inspect
from rota.controller.recovery.inspection import CLUSTER, begin_generation
from rota.executor.traces import read_traces
from rota.store import Database, make_or_upgrade
from rota.store.heads import Head, Heads
from rota.store.location import database_url
from rota.store.writes import set_fact
from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Says that it runs, waits until it is let go, and ends with its code.
_SCRIPT = """#!/bin/bash
echo ran >> ran-$SLURM_JOB_ID
while [ ! -e go-$SLURM_JOB_ID ]; do sleep 0.05; done
exit {code}
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path, virtual_nodes(4)) as found:
        yield found


def _start(cluster: LiveCluster, code: int = 0) -> int:
    """Submit a job that runs until it is let go, and ends with a code; wait until it runs."""
    job = cluster.submit("-o", "/dev/null", stdin=_SCRIPT.format(code=code))
    cluster.wait((cluster.directory / f"ran-{job}").exists)
    return job


def _let_go(cluster: LiveCluster, job: int) -> dict[str, Any]:
    """Let a job go, and give its record."""
    (cluster.directory / f"go-{job}").touch()
    cluster.wait(lambda: job in cluster.ended())
    assert (cluster.directory / f"ran-{job}").read_text() == "ran\n"
    return cluster.ended()[job]


def _kill_all(cluster: LiveCluster) -> None:
    """End controller, supervisor and keeper at once."""
    pids = _daemons(cluster)
    cluster.kill()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    cluster.wait(lambda: not any(Path(f"/proc/{pid}/cwd").exists() for pid in pids))


def _daemons(cluster: LiveCluster) -> list[int]:
    """Give the supervisor and the keeper."""
    found = cluster.status()["supervisor_pid"]
    return [found, int(Path(f"/proc/{found}/stat").read_text().split()[3])]


def _refused(cluster: LiveCluster) -> str:
    """See that the controller does not begin, and give what it says."""
    conf = ["--config", str(cluster.conf)]
    done = cluster.rota("up", *conf, check=False)
    assert done.returncode == 2, done.stdout
    assert f"`rota recover --state {cluster.state}`" in done.stderr
    return done.stderr


def _recover(cluster: LiveCluster) -> dict[str, Any]:
    """See that looking changes nothing, then recover, and begin again; give what is said."""
    before = _files(cluster.state)
    shown = json.loads(cluster.rota("recover", "--json").stdout)
    assert not shown["done"]
    assert _files(cluster.state) == before
    done: dict[str, Any] = json.loads(cluster.rota("recover", "--json", "--yes").stdout)
    assert done["done"]
    assert {**shown, "done": True, "aside": done["aside"]} == done
    cluster.up()
    return done


def _files(state: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(state)): path.read_bytes()
        for path in state.rglob("*")
        if path.is_file() and not path.name.endswith("-shm") and path.name != "lock"
    }


def _database(cluster: LiveCluster) -> list[Path]:
    return sorted(cluster.state.glob("rota.db*"))


@pytest.mark.parametrize("how", ["down", "kill"])
def test_a_database_that_was_moved_away_while_jobs_run(cluster: LiveCluster, how: str) -> None:
    ended = cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
    job = _start(cluster, code=3)
    cluster.rota("down") if how == "down" else cluster.kill()
    for path in _database(cluster):
        path.rename(cluster.directory / path.name)
    said = _refused(cluster)
    assert "the database is gone" in said
    assert f"jobs up to {job}" in said
    done = _recover(cluster)
    assert done["jobs"]["found"] == [job]
    assert done["next_job_id"] == job + 1
    assert cluster.run("squeue", "-h", "-o", "%i %T %N").stdout == f"{job} RUNNING n1\n"
    assert cluster.submit("--wait", "-o", "/dev/null", "--wrap", "exit 0") == job + 1
    record = _let_go(cluster, job)
    assert (record["state"], record["exit_code"]) == ("FAILED", 3)
    assert ended not in cluster.ended()


def test_an_older_copy_that_was_put_back_while_jobs_run(cluster: LiveCluster) -> None:
    before = cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
    waits = cluster.submit("-o", "/dev/null", "-H", "--wrap", f"echo ran >> {cluster.directory}/ran-held")
    later = cluster.submit("-o", "/dev/null", "-H", stdin=_SCRIPT.format(code=5))
    cluster.rota("down")
    copy = (cluster.state / "rota.db").read_bytes()
    cluster.up()
    cluster.run("scontrol", "release", str(waits))
    cluster.wait(lambda: waits in cluster.ended())
    cluster.run("scontrol", "release", str(later))
    cluster.wait((cluster.directory / f"ran-{later}").exists)
    new = _start(cluster, code=6)
    cluster.rota("down")
    (cluster.state / "rota.db").write_bytes(copy)
    assert "the database has come to event" in _refused(cluster)
    done = _recover(cluster)
    assert done["jobs"]["found"] == [later, new]
    assert done["jobs"]["ended"] == [waits]
    assert cluster.submit("-H", "--wrap", "true") == new + 1
    assert _let_go(cluster, later)["exit_code"] == 5
    assert _let_go(cluster, new)["exit_code"] == 6
    assert (cluster.directory / "ran-held").read_text() == "ran\n"
    assert {before, waits} < cluster.ended().keys()
    assert len([one for one in cluster.records() if one["job_id"] == waits]) == 1


def test_pending_jobs_that_may_have_run_since_are_held(cluster: LiveCluster) -> None:
    blocker = _start(cluster)
    pending = cluster.submit("-o", "/dev/null", "-d", f"afterany:{blocker}", "--wrap", "true")
    cluster.rota("down")
    copy = (cluster.state / "rota.db").read_bytes()
    cluster.up()
    for _ in range(3):
        cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
    cluster.rota("down")
    (cluster.state / "rota.db").write_bytes(copy)
    _refused(cluster)
    assert _recover(cluster)["jobs"]["held"] == [pending]
    _let_go(cluster, blocker)
    assert cluster.run("squeue", "-h", "-o", "%i %r").stdout == f"{pending} JobHeldAdmin\n"
    cluster.run("scontrol", "release", str(pending))
    cluster.wait(lambda: pending in cluster.ended())


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [_cut, _flip, Path.unlink])
def test_a_log_of_changes_that_is_cut_flipped_or_gone(cluster: LiveCluster, damage: Any) -> None:
    job = _start(cluster, code=4)
    for _ in range(3):
        cluster.submit("-H", "--wrap", "true")
    cluster.kill()
    damage(cluster.state / "rota.db-wal")
    _refused(cluster)
    done = _recover(cluster)
    assert job in done["jobs"]["running"]
    assert cluster.submit("-H", "--wrap", "true") == job + 4
    assert _let_go(cluster, job)["exit_code"] == 4


def test_a_database_that_was_emptied(cluster: LiveCluster) -> None:
    job = cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
    cluster.rota("down")
    (cluster.state / "rota.db").write_bytes(b"")
    assert "gone, or empty" in _refused(cluster)
    assert _recover(cluster)["next_job_id"] == job + 1


def test_a_state_directory_that_was_removed_while_jobs_run(cluster: LiveCluster) -> None:
    job = _start(cluster, code=7)
    cluster.kill()
    shutil.rmtree(cluster.state)
    said = _refused(cluster)
    assert f"control of jobs {job}" in said
    assert _recover(cluster)["jobs"]["found"] == [job]
    assert cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true") == job + 1
    assert _let_go(cluster, job)["exit_code"] == 7


def test_a_copy_of_a_state_directory_that_is_in_use(cluster: LiveCluster, tmp_path: Path) -> None:
    job = _start(cluster)
    (tmp_path / "other").mkdir()
    other = LiveCluster(tmp_path / "other", virtual_nodes(4))
    shutil.copytree(cluster.state, other.state, ignore=shutil.ignore_patterns("*.sock", "lock", "*.lock"))
    done = other.rota("up", "--config", str(other.conf), check=False)
    assert done.returncode == 2
    assert f"is a copy of {cluster.state}" in done.stderr
    assert _let_go(cluster, job)["state"] == "COMPLETED"


def test_a_state_directory_that_was_moved_while_jobs_run(cluster: LiveCluster, tmp_path: Path) -> None:
    job = _start(cluster, code=3)
    supervisor, _ = _daemons(cluster)
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


def test_a_damaged_snapshot_names_itself_and_the_one_before_is_used(cluster: LiveCluster) -> None:
    jobs = []
    for _ in range(2):
        jobs.append(str(cluster.submit("-H", "--wrap", "true")))
        cluster.rota("down")
        cluster.up()
    cluster.rota("down")
    with closing(sqlite3.connect(cluster.state / "rota.db", isolation_level=None)) as database:
        (seq, state), *_ = database.execute("SELECT seq, state FROM snapshots ORDER BY seq DESC")
        damaged = state[:40] + bytes([state[40] ^ 1]) + state[41:]
        database.execute("UPDATE snapshots SET state = ? WHERE seq = ?", (damaged, seq))
    done = cluster.rota("up", "--config", str(cluster.conf))
    assert f"table snapshots: record {seq} is not as it was written" in done.stderr
    assert sorted(cluster.run("squeue", "-h", "-o", "%i").stdout.split()) == jobs
    cluster.rota("down")
    assert not cluster.rota("up", "--config", str(cluster.conf)).stderr


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM journal WHERE seq = (SELECT max(seq) - 1 FROM journal)",
        "UPDATE journal SET event = replace(event, 'Submit', 'Cancel')",
        "UPDATE runs SET data = replace(data, '1', '2')",
        "UPDATE jobs SET state = 'FAILED'",
        "UPDATE jobs SET record = replace(record, '/dev/null', '/dev/zero')",
        "UPDATE forms SET text = replace(text, 'COMPLETED', 'CANCELLED')",
        "DELETE FROM forms WHERE form != 0",
        "UPDATE facts SET value = '' WHERE name = 'slurm_conf'",
        "UPDATE submissions SET data = x'00'",
        "UPDATE submissions SET payload = payload || 'a'",
    ],
)
def test_altered_records_are_named(cluster: LiveCluster, change: str) -> None:
    cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
    job = _start(cluster)
    cluster.kill()
    with closing(sqlite3.connect(cluster.state / "rota.db", isolation_level=None)) as database:
        assert database.execute(change).rowcount
    assert f"table {change.split()[2 if 'FROM' in change else 1]}: record" in _refused(cluster)
    _recover(cluster)
    assert _let_go(cluster, job)["state"] == "COMPLETED"


def test_one_of_the_heads_is_enough_and_none_is_not(cluster: LiveCluster) -> None:
    cluster.submit("-H", "--wrap", "true")
    cluster.rota("down")
    (cluster.state / "journal.head").unlink()
    done = cluster.rota("up", "--config", str(cluster.conf))
    assert "journal.head is gone" in done.stderr
    cluster.rota("down")
    (cluster.state / "journal.head").unlink()
    _flip(cluster.state / "spool" / "journal.head")
    assert "say how far the database had come" in _refused(cluster)
    assert _recover(cluster)["jobs"]["held"] == []  # it is held already


@pytest.mark.parametrize("damage", [_cut, _flip, Path.unlink])
def test_a_log_of_the_supervisor_that_is_damaged(cluster: LiveCluster, damage: Any) -> None:
    first, second = _start(cluster, code=8), _start(cluster, code=9)
    _kill_all(cluster)
    damage(cluster.state / "supervisor.log")
    assert "supervisor.log" in _refused(cluster)
    assert _recover(cluster)["jobs"]["running"] == [first, second]
    for job, code in ((first, 8), (second, 9)):
        record = _let_go(cluster, job)
        assert record.get("exit_code", 0) in (code, 0)  # after both were killed, the kernel tells it or not


def test_a_run_that_ended_unseen_is_not_started_again(cluster: LiveCluster) -> None:
    job = _start(cluster, code=8)
    _kill_all(cluster)
    (cluster.directory / f"go-{job}").touch()
    time.sleep(0.3)
    for name in ("supervisor.log", "supervisor.tail", "keeper.log"):
        (cluster.state / name).unlink(missing_ok=True)
    _refused(cluster)
    _recover(cluster)
    cluster.wait(lambda: job in cluster.ended())
    assert (cluster.directory / f"ran-{job}").read_text() == "ran\n"


def test_runs_are_found_by_a_supervisor_that_finds_no_log(cluster: LiveCluster) -> None:
    job = _start(cluster)
    daemons = _daemons(cluster)
    for pid in daemons:
        os.kill(pid, signal.SIGSTOP)  # neither notices that the log is gone
    for name in ("supervisor.log", "supervisor.tail"):
        (cluster.state / name).unlink()
    for pid in daemons:
        os.kill(pid, signal.SIGKILL)
    cluster.wait(lambda: cluster.status()["supervisor_pid"] not in daemons)
    assert "supervisor.log was damaged" in (cluster.state / "controller.log").read_text()
    assert cluster.run("squeue", "-h", "-o", "%i %T").stdout == f"{job} RUNNING\n"
    assert _let_go(cluster, job)["job_id"] == job


def test_a_supervisor_writes_its_log_again_that_somebody_removed(cluster: LiveCluster) -> None:
    job = _start(cluster, code=2)
    (cluster.state / "supervisor.log").unlink()
    cluster.wait((cluster.state / "supervisor.log").exists)
    assert [key[0] for key in read_traces(cluster.state).runs] == [job]
    cluster.kill()
    cluster.up()
    assert _let_go(cluster, job)["exit_code"] == 2


def test_a_script_in_the_spool_that_was_altered(cluster: LiveCluster) -> None:
    job = _start(cluster)
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


def test_what_recover_says(cluster: LiveCluster) -> None:
    cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
    pending = cluster.submit("-o", "/dev/null", "-b", "now+1hour", "--wrap", "true")
    cluster.kill()
    (cluster.state / "rota.db-wal").unlink()
    said = cluster.rota("recover").stdout
    assert "the database has come to event" in said
    assert f"with jobs up to {pending}" in said
    assert f"the next job gets the id {pending + 1}" in said
    assert "Nothing has been changed: `rota recover --yes` does it." in said
    assert "`rota up` starts the cluster." in cluster.rota("recover", "--yes").stdout


def test_a_start_that_was_killed_is_no_damage(tmp_path: Path) -> None:
    def is_whole() -> bool:
        return not inspect(tmp_path).findings

    url = database_url(tmp_path)
    make_or_upgrade(url, lambda _: None)
    assert is_whole()
    database, heads = Database(url), Heads(tmp_path)
    database.write(set_fact(CLUSTER, "c"))
    assert is_whole()
    for _ in range(3):
        with pytest.raises(OSError, match="killed"):
            begin_generation(database, _Killed(tmp_path), Head(cluster="c"))
        assert is_whole()
    begin_generation(database, heads, Head(cluster="c"))
    assert is_whole()
    heads.close()
    database.close()


class _Killed(Heads):
    """Of a controller that is killed after it has written to the database, and not beside it."""

    def write(self, head: Head, *, sync: bool = False) -> None:
        if sync:
            raise OSError("killed")
        super().write(head)


def test_nothing_to_recover(cluster: LiveCluster) -> None:
    cluster.rota("down")
    assert "There is nothing to recover" in cluster.rota("recover", "--yes").stdout
    assert not [*cluster.state.glob("damaged-*")]
