"""A file of ``sacct``, through the commands: replayed, cut to a stretch, written, and read in again.

The machine has two nodes of four processors. Jobs 1 and 2 run when the stretch begins, at second 1000: job 1 on the
second node until 4000, job 2 on half of the first until 2500.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rota.model import JobState
from rota.results.sacct_file import write_sacct
from rota.results.schedule import STATES, Schedule
from rota.results.store import read_result
from rota.workload import Workload, read_workload

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Rota

MACHINE = """NodeName=n[1-2] CPUs=4
PartitionName=main Nodes=ALL Default=YES
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
"""
JOBS = """JobID|User|Account|Partition|QOS|State|Submit|Start|End|Timelimit|ReqTRES|NodeList
1|ann|phys|main|normal|COMPLETED|90000|90100|94000|02:00:00|cpu=4,node=1|n2
2|bob|chem|main|normal|COMPLETED|90200|90200|92500|02:00:00|cpu=2,node=1|n1
3|ann|phys|main|normal|COMPLETED|90300|92500|92600|00:10:00|cpu=4,node=1|n1
4|bob|chem|main|normal|COMPLETED|91100|91100|91200|00:10:00|cpu=2,node=1|n1
5|bob|chem|main|normal|CANCELLED by 7|91200|91300|91300|00:10:00|cpu=2,node=1|None assigned
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[object, ...]:
    (tmp_path / "jobs.txt").write_text(JOBS)
    (tmp_path / "slurm.conf").write_text(MACHINE)
    return tmp_path / "jobs.txt", "--config", tmp_path / "slurm.conf", "--scheduler", "sched/easy"


def starts(folder: Path) -> list[tuple[int, int, int | None, str]]:
    schedule = read_result(folder).schedule
    assert schedule.recorded_wait is not None
    assert schedule.nodes is not None
    columns = (schedule.job_id.tolist(), schedule.start.tolist(), schedule.recorded_wait.tolist(), schedule.nodes)
    return list(zip(*columns, strict=True))


def test_real_ids_and_dates_and_waits_beside(rota: Rota, files: tuple[object, ...], tmp_path: Path) -> None:
    outcome = rota("replay", *files, "--out", tmp_path / "out")
    assert outcome.status == 0, outcome.err
    # Without what the real machine had to do besides, job 1 starts at once, on the first node.
    assert starts(tmp_path / "out") == [
        (1, 90000, 100, "n1"),
        (2, 90200, 0, "n2"),
        (3, 92500, 2200, "n2"),
        (4, 91100, 0, "n2"),
    ]
    assert "  as recorded          575 s, here 550 s, of 4 jobs\n" in outcome.out
    told = "a job was withdrawn while it waited: it is in the queue until then, and in no figure"
    untold, said = outcome.err.splitlines()
    assert "jobs that had whole nodes (--exclusive) ask for what they named alone (AllocTRES)" in untold
    assert said == f"rota: {told}"


def test_what_ran_at_the_start_keeps_its_nodes(rota: Rota, files: tuple[object, ...], tmp_path: Path) -> None:
    outcome = rota("replay", *files, "--from", "1970-01-02T01:16:40", "--to", "91150", "--out", tmp_path / "out")
    assert outcome.status == 0, outcome.err
    # Job 3 waits for the first node; its wait counts from the beginning.
    assert starts(tmp_path / "out") == [(3, 92500, 1500, "n1"), (4, 91100, 0, "n1")]
    assert "rota: 2 jobs ran at --from: they hold their places, and are in no figure" in outcome.err
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["summary"]["jobs"] == 2


def test_what_ran_there_and_cannot_be_placed_is_told(rota: Rota, files: tuple[object, ...], tmp_path: Path) -> None:
    # Job 2 ran where job 1 has all processors, on a machine that was another one then.
    (tmp_path / "jobs.txt").write_text(JOBS.replace("cpu=2,node=1|n1\n3", "cpu=2,node=1|n2\n3"))
    outcome = rota("replay", *files, "--from", "1000", "--to", "1150", "--out", tmp_path / "out")
    assert "2 jobs ran at --from: they hold their places, and are in no figure, but 1 of 2 could" in outcome.err
    assert [one[:2] for one in starts(tmp_path / "out")] == [(3, 91000), (4, 91100)]


@pytest.mark.parametrize("command", ["explain", "plan"])
def test_for_every_command(command: str, rota: Rota, files: tuple[object, ...]) -> None:
    log, *options = files
    arguments = ("3", log, *options) if command == "explain" else (log, *options, "--at", "1970-01-02T01:18:30")
    outcome = rota(command, *arguments)
    assert outcome.status == 0, outcome.err
    assert "3" in outcome.out


def test_the_schedule_is_written_as_a_file_of_sacct_and_replayed_again(
    rota: Rota, files: tuple[object, ...], tmp_path: Path
) -> None:
    assert rota("replay", *files, "--out", tmp_path / "out").status == 0
    written = tmp_path / "out" / "sacct.txt.gz"
    text = gzip.decompress(written.read_bytes()).decode()
    names, first, *_ = text.splitlines()
    assert names.startswith("JobID|JobIDRaw|User|UID|Account|Partition|QOS|State|Submit|Eligible|Start|End|ElapsedRaw")
    assert names.endswith("|Timelimit|ReqCPUS|ReqMem|ReqTRES|AllocTRES|NodeList|Constraints|Reservation")
    assert first.startswith("1|1|ann|1|phys|main|normal|COMPLETED|90000|90000|90000|93900|3900|02:00:00|4||")
    assert first.endswith("||cpu=4,node=1|cpu=4,node=1|n1||")
    _, *options = files
    assert rota("replay", written, *options, "--out", tmp_path / "again").status == 0
    # Now what was replayed is what is recorded.
    assert [one[:2] + one[3:] for one in starts(tmp_path / "again")] == [
        one[:2] + one[3:] for one in starts(tmp_path / "out")
    ]
    schedule = read_result(tmp_path / "again").schedule
    assert schedule.recorded_wait is not None
    assert schedule.recorded_wait.tolist() == schedule.wait.tolist()


#: Requests of sbatch that a file of sacct can tell.
TOLD = ("-n 8 -N 2 --mem=500", "-n 3 --mem-per-cpu=300 -C ib", "-N2 --gres=gpu:a100:2", "-n 4 -L matlab:2")


def test_requests_are_the_same_when_read_in_again(tmp_path: Path) -> None:
    events = tmp_path / "log.events"
    always = "-e submit_batch_job | -sim-walltime 9 --uid=ann -A phys -t 1 -p main --qos=normal"
    lines = [f"-dt {9 * place} {always} {text} job" for place, text in enumerate(TOLD)]
    events.write_text("\n".join(lines))
    log = read_workload(events)
    assert log.requests is not None
    written = tmp_path / "sacct.txt"
    write_sacct(schedule_of(log), log, written)
    again = read_workload(written)
    assert again.requests is not None
    names = (
        *("num_cpus", "min_nodes", "mem_per_node", "mem_per_cpu", "gres", "gres_per_job", "licenses", "constraint"),
        *("user", "account", "partition", "qos"),
    )
    for one, other in zip(log.requests, again.requests, strict=True):
        assert [getattr(other, name) for name in names] == [getattr(one, name) for name in names]


def schedule_of(log: Workload) -> Schedule:
    """Start each job when it is submitted."""
    start = log.submit_time
    return Schedule(
        job_id=log.job_number,
        user_id=log.user_id,
        submit=start,
        start=start,
        end=start + log.run_time,
        procs=log.requested_procs,
        time_limit=log.requested_time,
        state=np.full(len(log), STATES.index(JobState.COMPLETED), np.int8),
    )
