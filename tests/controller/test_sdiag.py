"""``sdiag``: what the controller has done since it was started, in the lines that Slurm 22.05.8 prints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota.testing.live import LiveCluster, virtual_nodes

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
Last cycle when
Last cycle
Max cycle
Mean cycle
Last depth cycle
Last depth cycle (try sched)
Depth Mean
Depth Mean (try depth)
Last queue length
Queue length mean
Last table size
Mean table size
Remote Procedure Call statistics by message type
Remote Procedure Call statistics by user
Pending RPC statistics
No pending RPCs
""".splitlines()
#: Lines of messages and users, and what is left of them when they are told without their values.
_CALLS = re.compile(r"\t(\w+) +\( *(\d+)\) count:(\d+) +ave_time:(\d+) +total_time:(\d+)")


def _counts(cluster: LiveCluster) -> dict[str, int]:
    shown = cluster.run("sdiag").stdout
    return {name: int(count) for name, count in re.findall(r"^Jobs (\w+): +(\d+)$", shown, re.MULTILINE)}


def test_what_the_controller_has_done(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, f"{virtual_nodes(1)}SchedulerParameters=bf_interval=1\n") as cluster:
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
        # Cycles of backfill are made while something waits.
        cluster.wait(lambda: "Mean table size" in cluster.run("sdiag").stdout)
        lines = cluster.run("sdiag").stdout.splitlines()
        others = [line for line in lines[4:] if line.strip() and not _CALLS.fullmatch(line)]
        assert [line.strip().partition(":")[0] for line in others] == _LINES
        times = {
            name: int(count) for name, count in re.findall(r"\t(\w+ cycle): +(\d+)$", "\n".join(lines), re.MULTILINE)
        }
        assert 0 < times["Mean cycle"] <= times["Max cycle"]
        cluster.kill()
        cluster.up()
        assert _counts(cluster)["submitted"] == 0  # of this controller
        assert _counts(cluster)["pending"] == 1


def test_counts_begin_anew_after_a_reset(tmp_path: Path) -> None:
    """The lines are those of Slurm 22.05.8 after ``sdiag --reset``, as far as rota has them."""
    with LiveCluster(tmp_path, f"{virtual_nodes(1)}SchedulerParameters=bf_interval=1\n") as cluster:
        cluster.run("sbatch", "-W", "--wrap", "true")
        cluster.submit("-o", "/dev/null", "--wrap", "sleep 600")
        cluster.submit("-H", "--wrap", "true")
        cluster.wait(lambda: "Mean table size" in cluster.run("sdiag").stdout)
        assert cluster.run("sdiag", "-r").stdout == "Reset scheduling statistics\n"
        shown = cluster.run("sdiag").stdout
        now, since = re.findall(r"^(?:sdiag output at|Data since) .*\((\d+)\)$", shown, re.MULTILINE)
        assert int(now) - int(since) <= 5
        assert _counts(cluster) == {
            **dict.fromkeys(("submitted", "started", "completed", "canceled", "failed"), 0),
            "pending": 1,
            "running": 1,
        }
        assert re.findall(r"^\t(?:REQUEST|root)\S* .* count:(\d+)", shown, re.MULTILINE) == ["1", "1"]  # that asked
        assert [line.strip() for line in shown.splitlines() if re.match(r"\t.*(?:Mean|Cycles per)", line)] == []
        main, backfill = shown.split("Backfilling stats")
        assert re.findall(r"\t(?:Max|Total) cycles?: +(\d+)", main) == ["0", "0"]
        assert re.findall(r"\t(?:Total|Last depth|Last queue)[^\n]*: +(\d+)", backfill) == ["0"] * 7
        cluster.wait(lambda: "Mean table size" in cluster.run("sdiag").stdout or cluster.submit("-H", "--wrap", "true"))


def test_calls_are_counted_as_the_messages_of_slurm(tmp_path: Path) -> None:
    """The messages are those that a Slurm 22.05.8 counted for the same commands, the first of each."""
    with LiveCluster(tmp_path) as cluster:
        job = str(cluster.submit("-H", "--wrap", "true"))
        for words in (
            "squeue", "squeue", "sinfo", "sprio", "sshare", "sacct", "sacctmgr show qos", f"scontrol show job {job}",
            "scontrol show node", "scontrol ping", f"scontrol update jobid={job} nice=3", f"scontrol release {job}",
            "scontrol create partitionname=x", "scontrol update partitionname=x state=down",
            "scontrol delete partitionname=x", f"scancel {job}",
        ):  # fmt: skip
            cluster.run(*words.split())

        def shown(*options: str) -> list[tuple[str, ...]]:
            return [
                match.groups()
                for match in map(_CALLS.fullmatch, cluster.run("sdiag", *options).stdout.splitlines())
                if match
            ]

        counts = {name: (int(number), int(count)) for name, number, count, *_ in shown()}
        assert counts.pop("root")[0] == 0
        assert counts == {
            "REQUEST_JOB_INFO": (2003, 3),
            "REQUEST_PARTITION_INFO": (2009, 1),
            "REQUEST_PRIORITY_FACTORS": (2026, 1),
            "REQUEST_SHARE_INFO": (2022, 1),
            "REQUEST_SUBMIT_BATCH_JOB": (4003, 1),
            "REQUEST_KILL_JOB": (5032, 1),
            "REQUEST_NODE_INFO": (2007, 1),
            "REQUEST_PING": (1008, 1),
            "REQUEST_UPDATE_JOB": (3001, 2),
            "REQUEST_CREATE_PARTITION": (3003, 1),
            "REQUEST_DELETE_PARTITION": (3004, 1),
            "REQUEST_UPDATE_PARTITION": (3005, 1),
        }
        numbers = [int(number) for name, number, *_ in shown("-i") if name.startswith("REQUEST")]
        assert numbers == sorted(numbers)
        totals = [int(total) for name, *_, total in shown("-t") if name.startswith("REQUEST")]
        assert totals == sorted(totals, reverse=True)
        assert all(int(mean) == int(total) // int(count) for _, _, count, mean, total in shown("-T"))
