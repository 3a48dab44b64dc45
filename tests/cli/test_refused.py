"""Jobs that can never run: they are left out and counted, stop a strict replay, and are an error if they are all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .conftest import job_line

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Rota

MACHINE = "NodeName=n[1-4] CPUs=8\nPartitionName=main Nodes=ALL Default=YES\n"
TOO_MANY = "More processors requested than permitted"


def log_of(folder: Path, *procs: int) -> Path:
    path = folder / "log.swf"
    lines = (job_line(number, 0, 60, count, 60) for number, count in enumerate(procs, 1))
    path.write_text("\n".join(["; MaxProcs: 8", *lines, ""]))
    return path


def test_they_are_left_out_and_counted_with_their_reason(rota: Rota, tmp_path: Path) -> None:
    outcome = rota("replay", log_of(tmp_path, 4, 9, 8, 10), "--json")
    figures = json.loads(outcome.out)
    assert (figures["jobs"], figures["refused"]) == (2, 2)
    assert outcome.err.splitlines() == [
        f"rota: job 2 was refused: {TOO_MANY}: 9 requested, partition all has 8",
        f"rota: 2 of 4 jobs were refused: 2 × {TOO_MANY}",
    ]


def test_the_first_stops_a_strict_replay(rota: Rota, tmp_path: Path) -> None:
    log = log_of(tmp_path, 4, 9, 8, 10)
    told = rota("replay", log, "--strict").problem
    assert told == (
        f"{log}:3: field 8 (requested processors): job 2 cannot be replayed: {TOO_MANY}: 9 requested, "
        "partition all has 8; without --strict it is left out and counted"
    )


#: What slurm.conf and the request of all jobs say, and the end of the error.
CAUSES = {
    "partition": (MACHINE, "-p gone", "Invalid partition name specified; is --config the slurm.conf of this cluster"),
    "default partition": (
        MACHINE.replace(" Default=YES", ""),
        "",
        "No partition specified or system default partition; the workload names no partitions: give one of --config",
    ),
    "QOS": (
        f"AccountingStorageEnforce=associations,qos\n{MACHINE}",
        "--qos=fast",
        "Invalid qos specification; do --associations have the accounts and QOS of then?",
    ),
    "features": (MACHINE, "-C ib", "Invalid feature specification; does --config define the features of then?"),
    "size": (MACHINE, "-N5", "; is the machine smaller than that of the workload? See --config and --procs"),
    "reservation": (MACHINE, "--reservation=team", "Requested reservation is invalid; is --reservations missing?"),
}


@pytest.mark.parametrize("name", CAUSES)
def test_when_nothing_runs_the_likely_cause_is_told(name: str, rota: Rota, tmp_path: Path) -> None:
    machine, request, cause = CAUSES[name]
    (tmp_path / "slurm.conf").write_text(machine)
    log = tmp_path / "log.events"
    log.write_text(f"-dt 0 -e submit_batch_job | -sim-walltime 9 --uid=ann -t 1 {request} job\n" * 200)
    (tmp_path / "accounts").write_text("add cluster cluster\nadd account physics\n")
    files = ("--config", tmp_path / "slurm.conf", "--associations", tmp_path / "accounts")
    outcome = rota("replay", log, *files, "--priority", "priority/multifactor", "--out", tmp_path / "out")
    assert (outcome.status, outcome.out, (tmp_path / "out").exists()) == (2, "", False)
    told = outcome.err.splitlines()[-1]
    assert told.startswith("rota: error: no job has run: 200 of 200 jobs were refused: 200 × ")
    assert cause in told


def test_a_replay_in_which_hardly_any_job_runs_does_not_end_well(rota: Rota, tmp_path: Path) -> None:
    """Its figures are of the few that ran: they are told, and written, and so is that they say nothing of the log."""
    log = tmp_path / "log.events"
    line = "-dt 0 -e submit_batch_job | -sim-walltime 9 --uid=ann -t 1 -n {} job\n"
    log.write_text(line.format(1) * 6 + line.format(400) * 600)
    (tmp_path / "slurm.conf").write_text(MACHINE)
    outcome = rota("replay", log, "--config", tmp_path / "slurm.conf", "--out", tmp_path / "out", "--json")
    assert outcome.status == 2
    assert json.loads(outcome.out)["jobs"] == 6
    assert "rota: error: only 6 of 606 jobs have run to an end" in outcome.err.splitlines()[-1]
    assert "600 × " in outcome.err.splitlines()[-1]
    assert (tmp_path / "out" / "summary.json").exists()
