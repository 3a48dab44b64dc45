"""A job that can no longer meet its ``--deadline``, as Slurm 22.05.8 told of one that waited for nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from pathlib import Path


def test_a_job_that_waits_too_long_is_told_as_by_slurm(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, virtual_nodes(1)) as cluster:
        cluster.submit("--exclusive", "-o", "/dev/null", "--wrap", "sleep 600")
        late = str(cluster.submit("--exclusive", "-t", "1", "--deadline=now+62", "--wrap", "true"))
        cluster.wait(lambda: cluster.run("squeue", "-h", "-t", "all", "-j", late, "-o", "%T").stdout != "PENDING\n")
        told = cluster.run("squeue", "-h", "-t", "all", "-j", late, "-o", "%T %t %r %l").stdout
        assert told == "DEADLINE DL DeadLine 1:00\n"
        form = "State,ExitCode,DerivedExitCode,Start,Elapsed,Timelimit"
        told = cluster.run("sacct", "-n", "-P", "-j", late, "-o", form).stdout
        assert told == "DEADLINE|1:0|0:0|None|00:00:00|00:01:00\n"
        shown = dict(re.findall(r"(\w+)=(\S*)", cluster.run("scontrol", "show", "job", late).stdout))
        said = ("JobState", "Reason", "ExitCode", "RunTime", "Restarts")
        assert [shown[one] for one in said] == ["DEADLINE", "DeadLine", "0:1", "00:00:00", "0"]
        assert shown["StartTime"] == shown["EndTime"]
