"""A cluster that a wrong clock has taken years ahead, and how it comes back."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

from rota.store.sums import sum_of
from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from pathlib import Path

_YEARS = 10 * 365 * 86_400


def _take_ahead(cluster: LiveCluster) -> None:
    """Take the cluster along with a clock that is years ahead, while there is no controller."""
    with closing(sqlite3.connect(cluster.state / "rota.db")) as database, database:
        (text,) = database.execute("select value from facts where name = 'clock'").fetchone()
        clock = json.loads(text)
        clock["offset"] += _YEARS
        text = json.dumps(clock)
        row = {"value": text, "sum": sum_of("facts", "clock", text)}
        database.execute("update facts set value = :value, sum = :sum where name = 'clock'", row)


def _log(cluster: LiveCluster) -> str:
    return (cluster.state / "controller.log").read_text()


def test_a_cluster_that_is_years_ahead_says_so_and_comes_back_when_no_job_runs(tmp_path: Path) -> None:
    wait = "while [ ! -e end ]; do sleep 0.05; done"
    with LiveCluster(tmp_path, virtual_nodes(1)) as cluster:
        submit = cluster.submit
        before = submit("-o", "/dev/null", "-H", "--wrap", "exit 0")
        runs = submit("-o", "/dev/null", "-t", "9000-0", "--wrap", wait)
        cluster.wait(lambda: cluster.status()["jobs"].get("RUNNING"))
        cluster.kill()
        _take_ahead(cluster)
        cluster.up()
        assert cluster.status()["clock_ahead"] > _YEARS - 60
        assert "`rota down; rota up` puts it right" in cluster.rota("status").stdout
        held = submit("-o", "/dev/null", "-H", "--wrap", "exit 0")
        later = submit("-o", "/dev/null", "--begin=now+1hour", "--wrap", "exit 0")
        soon = submit("-o", "/dev/null", "--begin=now+5", "--wrap", "exit 0")
        array = submit("-o", "/dev/null", "-H", "-a", "1-3", "--wrap", "exit 0")
        cluster.rota("down")
        cluster.up()  # a job runs: it goes on
        assert cluster.status()["clock_ahead"] > _YEARS - 60
        (tmp_path / "end").touch()
        cluster.wait(lambda: not cluster.status()["jobs"].get("RUNNING"))

        cluster.rota("down")
        cluster.up()
        found = cluster.status()
        assert abs(found["clock_ahead"]) < 60
        assert abs(found["now"] - time.time()) < 60
        assert "has gone back" in _log(cluster)
        assert "clock" not in cluster.rota("status").stdout
        zone = {"SLURM_TIME_FORMAT": "%s"}
        shown = cluster.run("squeue", "-h", "-r", "-o", "%A|%V|%S", environment=zone).stdout
        submitted = {int(line.split("|")[0]): int(line.split("|")[1]) for line in shown.splitlines()}
        assert set(submitted) >= {before, held, later}
        assert all(abs(one - time.time()) < 300 for one in submitted.values()), shown
        cluster.wait(lambda: soon in cluster.ended())
        begin = cluster.run("scontrol", "show", "job", str(later)).stdout
        assert f"EligibleTime={time.strftime('%Y-%m-%dT')}" in begin or time.localtime().tm_hour >= 23
        cluster.run("scontrol", "release", str(before), str(held), str(array))
        cluster.run("scancel", str(later))
        cluster.idle()
        ended = cluster.ended()
        for job in (before, held, soon):
            assert abs(ended[job]["end_time"] - time.time()) < 120
            assert ended[job]["start_time"] >= ended[job]["submit_time"]
        assert ended[runs]["end_time"] > time.time() + _YEARS - 300  # it is what it was
        cluster.kill()  # what was written since leads to the same time
        cluster.up()
        assert abs(cluster.status()["clock_ahead"]) < 60
        assert submit("-o", "/dev/null", "--wait", "--wrap", "exit 0") > array
