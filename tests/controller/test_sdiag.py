"""``sdiag``: what the controller has done since it was started, in the lines that Slurm 22.05.8 prints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from pathlib import Path

#: The lines of Slurm 22.05.8, without their values, of which rota has one; `sdiag` of a cluster with sched/backfill.
_LINES = """\
Server thread count
Agent queue size
Agent count
Agent thread count
DBD Agent queue size
Jobs submitted
Jobs started
Jobs completed
Jobs canceled
Jobs failed
Job states ts
Jobs pending
Jobs running
Main schedule statistics (microseconds)
Last cycle
Max cycle
Total cycles
Mean cycle
Mean depth cycle
Cycles per minute
Last queue length
Backfilling stats
Total backfilled jobs (since last slurm start)
Total backfilled jobs (since last stats cycle start)
Total backfilled heterogeneous job components
Total cycles
Last depth cycle
Last queue length
Last table size
""".splitlines()


def _counts(cluster: LiveCluster) -> dict[str, int]:
    shown = cluster.run("sdiag").stdout
    return {name: int(count) for name, count in re.findall(r"^Jobs (\w+): +(\d+)$", shown, re.MULTILINE)}


def test_what_the_controller_has_done(tmp_path: Path) -> None:
    with LiveCluster(tmp_path) as cluster:
        for script in ("true", "exit 3"):
            cluster.run("sbatch", "-W", "--wrap", script, check=False)
        cluster.run("scancel", str(cluster.submit("-H", "--wrap", "true")))
        cluster.submit("-H", "--wrap", "true")
        cluster.wait(lambda: _counts(cluster)["canceled"] == 1)
        assert _counts(cluster) == {
            "submitted": 4,
            "started": 2,
            "completed": 2,  # whatever their exit codes, as Slurm counts
            "canceled": 1,
            "failed": 0,
            "pending": 1,
            "running": 0,
        }
        lines = cluster.run("sdiag").stdout.splitlines()
        assert [line.strip().partition(":")[0] for line in lines[4:] if line.strip()] == _LINES
        times = {
            name: int(count) for name, count in re.findall(r"\t(\w+ cycle): +(\d+)$", "\n".join(lines), re.MULTILINE)
        }
        assert 0 < times["Mean cycle"] <= times["Max cycle"]
        cluster.kill()
        cluster.up()
        assert _counts(cluster)["submitted"] == 0  # of this controller
        assert _counts(cluster)["pending"] == 1
