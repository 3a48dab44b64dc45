"""What `rota up` says of a database that is not the one before, and what `rota recover` saves of it.

Everywhere holds: what runs goes on, its end is recorded as it was, nothing runs twice, and no number is given twice.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rota.controller.recovery import inspect
from rota.controller.recovery.inspection import CLUSTER, begin_generation
from rota.store import Database, make_or_upgrade
from rota.store.heads import Head, Heads
from rota.store.location import database_url
from rota.store.writes import set_fact

from .ways import SCRIPT, cut, flip, let_go, recover, refused, start

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster


def _database(cluster: LiveCluster) -> list[Path]:
    return sorted(cluster.state.glob("rota.db*"))


@pytest.mark.parametrize("how", ["down", pytest.param("kill", marks=pytest.mark.slow)])
def test_a_database_that_was_moved_away_while_jobs_run(cluster: LiveCluster, how: str) -> None:
    ended = cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
    job = start(cluster, code=3)
    cluster.rota("down") if how == "down" else cluster.kill()
    for path in _database(cluster):
        path.rename(cluster.directory / path.name)
    said = refused(cluster)
    assert "the database is gone" in said
    assert f"jobs up to {job}" in said
    done = recover(cluster)
    assert done["jobs"]["found"] == [job]
    assert done["next_job_id"] == job + 1
    assert cluster.run("squeue", "-h", "-o", "%i %T %N").stdout == f"{job} RUNNING n1\n"
    assert cluster.submit("--wait", "-o", "/dev/null", "--wrap", "exit 0") == job + 1
    record = let_go(cluster, job)
    assert (record["state"], record["exit_code"]) == ("FAILED", 3)
    assert ended not in cluster.ended()


def test_an_older_copy_that_was_put_back_while_jobs_run(cluster: LiveCluster) -> None:
    before = cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
    waits = cluster.submit("-o", "/dev/null", "-H", "--wrap", f"echo ran >> {cluster.directory}/ran-held")
    later = cluster.submit("-o", "/dev/null", "-H", stdin=SCRIPT.format(code=5, trap=""))
    cluster.rota("down")
    copy = (cluster.state / "rota.db").read_bytes()
    cluster.up()
    cluster.run("scontrol", "release", str(waits))
    cluster.wait(lambda: waits in cluster.ended())
    cluster.run("scontrol", "release", str(later))
    cluster.wait((cluster.directory / f"ran-{later}").exists)
    new = start(cluster, code=6)
    cluster.rota("down")
    (cluster.state / "rota.db").write_bytes(copy)
    assert "the database has come to event" in refused(cluster)
    done = recover(cluster)
    assert done["jobs"]["found"] == [later, new]
    assert done["jobs"]["ended"] == [waits]
    assert cluster.submit("-H", "--wrap", "true") == new + 1
    assert let_go(cluster, later)["exit_code"] == 5
    assert let_go(cluster, new)["exit_code"] == 6
    assert (cluster.directory / "ran-held").read_text() == "ran\n"
    assert {before, waits} < cluster.ended().keys()
    assert len([one for one in cluster.records() if one["job_id"] == waits]) == 1


def test_pending_jobs_that_may_have_run_since_are_held(cluster: LiveCluster) -> None:
    blocker = start(cluster)
    pending = cluster.submit("-o", "/dev/null", "-d", f"afterany:{blocker}", "--wrap", "true")
    cluster.rota("down")
    copy = (cluster.state / "rota.db").read_bytes()
    cluster.up()
    for _ in range(3):
        cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
    cluster.rota("down")
    (cluster.state / "rota.db").write_bytes(copy)
    refused(cluster)
    assert recover(cluster)["jobs"]["held"] == [pending]
    let_go(cluster, blocker)
    assert cluster.run("squeue", "-h", "-o", "%i %r").stdout == f"{pending} JobHeldAdmin\n"
    cluster.run("scontrol", "release", str(pending))
    cluster.wait(lambda: pending in cluster.ended())


@pytest.mark.parametrize("damage", [flip, *(pytest.param(one, marks=pytest.mark.slow) for one in (cut, Path.unlink))])
def test_a_log_of_changes_that_is_cut_flipped_or_gone(cluster: LiveCluster, damage: Any) -> None:
    job = start(cluster, code=4)
    for _ in range(3):
        cluster.submit("-H", "--wrap", "true")
    cluster.kill()
    damage(cluster.state / "rota.db-wal")
    refused(cluster)
    done = recover(cluster)
    assert job in done["jobs"]["running"]
    assert cluster.submit("-H", "--wrap", "true") == job + 4
    assert let_go(cluster, job)["exit_code"] == 4


def test_a_database_that_was_emptied(cluster: LiveCluster) -> None:
    job = cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
    cluster.rota("down")
    (cluster.state / "rota.db").write_bytes(b"")
    assert "gone, or empty" in refused(cluster)
    assert recover(cluster)["next_job_id"] == job + 1


def test_a_bit_of_the_header_by_which_the_database_has_another_format(cluster: LiveCluster) -> None:
    job = start(cluster, code=3)
    cluster.kill()
    for path in _database(cluster):
        path.unlink() if path.name != "rota.db" else None
    data = bytearray((cluster.state / "rota.db").read_bytes())
    data[47] ^= 1
    (cluster.state / "rota.db").write_bytes(data)
    assert "unsupported file format" in refused(cluster)
    assert recover(cluster)["next_job_id"] == job + 1


def test_a_job_whose_script_is_gone_does_not_run_without_it(cluster: LiveCluster) -> None:
    job = cluster.submit("-H", "-o", "/dev/null", "--wrap", "true")
    cluster.rota("down")
    with closing(sqlite3.connect(cluster.state / "rota.db", isolation_level=None)) as database:
        assert database.execute("DELETE FROM submissions").rowcount == 1
    cluster.up()
    assert cluster.run("squeue", "-h", "-o", "%i").stdout == f"{job}\n"
    cluster.run("scontrol", "release", str(job))
    log = cluster.state / "controller.log"
    cluster.wait(lambda: f"job {job} cannot be launched: its script is not in the database" in log.read_text())
    cluster.wait(lambda: cluster.run("squeue", "-h", "-t", "R").stdout == "")
    cluster.run("scancel", str(job), check=False)


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


_CHANGES = (
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
)


def test_altered_records_are_named(cluster: LiveCluster) -> None:
    cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
    job = start(cluster)
    cluster.kill()
    whole = {path: path.read_bytes() for path in _database(cluster)}
    for change in _CHANGES:
        for path, data in whole.items():
            path.write_bytes(data)
        with closing(sqlite3.connect(cluster.state / "rota.db", isolation_level=None)) as database:
            assert database.execute(change).rowcount
        table = change.split()[2 if "FROM" in change else 1]
        assert f"table {table}: record" in str(inspect(cluster.state).losses), change
    assert "table submissions: record" in refused(cluster)
    recover(cluster)
    assert let_go(cluster, job)["state"] == "COMPLETED"


def test_one_of_the_heads_is_enough_and_none_is_not(cluster: LiveCluster) -> None:
    cluster.submit("-H", "--wrap", "true")
    cluster.rota("down")
    (cluster.state / "journal.head").unlink()
    done = cluster.rota("up", "--config", str(cluster.conf))
    assert "journal.head is gone" in done.stderr
    cluster.rota("down")
    (cluster.state / "journal.head").unlink()
    flip(cluster.state / "spool" / "journal.head")
    assert "say how far the database had come" in refused(cluster)
    assert recover(cluster)["jobs"]["held"] == []  # it is held already


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


def test_a_recovery_that_fails_leaves_all_as_it_was(cluster: LiveCluster) -> None:
    job = start(cluster, code=3)
    cluster.kill()
    (cluster.state / "journal.head").unlink()
    (cluster.state / "spool" / "journal.head").unlink()
    refused(cluster)
    before = {path: path.read_bytes() for path in _database(cluster)}
    program = [sys.executable, str(Path(__file__).with_name("fails.py")), str(cluster.state)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "rota: error: the disk is full\n")
    assert before.items() <= {path: path.read_bytes() for path in _database(cluster)}.items()
    assert not [*cluster.state.glob("damaged-*")]
    refused(cluster)
    assert recover(cluster)["jobs"]["running"] == [job]
    assert let_go(cluster, job)["exit_code"] == 3


def test_empty_tables_where_jobs_have_been(tmp_path: Path) -> None:
    """As a recovery leaves them that is killed before it has written what is saved."""
    make_or_upgrade(database_url(tmp_path), lambda _: None)
    assert not inspect(tmp_path).losses
    (tmp_path / "spool" / "job00007").mkdir(parents=True)
    assert [one.what for one in inspect(tmp_path).losses] == ["the database is empty, and the spool has job 7"]
