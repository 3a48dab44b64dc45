"""Files that ``sacct`` of a real Slurm 22.05.8 wrote: see ``data/README.md``. Counts are from the files with awk."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rota.model import InputError
from rota.workload import read_workload

DATA = Path(__file__).parent / "data" / "sacct-22.05"


def test_all_jobs() -> None:
    log = read_workload(DATA / "jobs.txt")
    # 250 completed, 9 ran into their limits, 12 run, 28 wait, and 6 were cancelled before they started.
    assert len(log) == 305
    assert Counter((log.run_time >= 0).tolist()) == {True: 250 + 9 + 12, False: 28 + 6}
    assert log.notes == ("12 jobs had not ended: each runs to its time limit, or else to the last time recorded",)
    assert len(set(log.job_number.tolist())) == 305
    assert log.requests is not None
    asked = {int(number): one for number, one in zip(log.job_number, log.requests, strict=True)}
    assert (asked[1].num_cpus, asked[1].min_nodes, asked[1].mem_per_cpu, asked[1].user) == (8, 2, 100, "alice")
    # 11_1 is job 13: Slurm numbers tasks when they start.
    assert (asked[13].name, asked[13].array, asked[13].num_cpus) == ("", "", 1)
    assert {one.gres for one in log.requests} >= {"", "gpu:1", "gpu:2"}


def test_while_jobs_ran_and_waited() -> None:
    log = read_workload(DATA / "unfinished.txt")
    assert (len(log), int((log.run_time >= 0).sum())) == (286, 180)


@pytest.mark.parametrize("name", ["epoch.txt", "csv.txt"])
def test_other_forms_of_the_same_jobs(name: str) -> None:
    log, whole = read_workload(DATA / name), read_workload(DATA / "jobs.txt")
    assert len(log) == 11
    rows = dict(zip(whole.job_number.tolist(), range(len(whole)), strict=True))
    for row in range(9):  # those after are tasks of an array, of which these files have no numbers
        other = rows[int(log.job_number[row])]
        for column in ("wait_time", "run_time", "requested_time", "requested_procs"):
            assert getattr(log, column)[row] == getattr(whole, column)[other], (name, row, column)


def test_steps() -> None:
    log = read_workload(DATA / "steps.txt")
    assert len(log) == sum("." not in line.split("|")[0] for line in (DATA / "steps.txt").read_text().splitlines()[1:])
    assert log.job_number.tolist()[:3] == [1, 2, 3]


def test_names_with_a_pipe() -> None:
    """Several columns can have one, so their jobs are left out."""
    log = read_workload(DATA / "names.txt")
    (note,) = (one for one in log.notes if "left out" in one)
    assert "names.txt:4: JobName: 40 fields instead of 38: a delimiter or a line break" in note
    assert 4 not in log.line
    assert len(log) > 1


def test_columns_of_fixed_width() -> None:
    with pytest.raises(InputError, match=r"fixed-width\.txt:1: columns of fixed width, in which values are cut off"):
        read_workload(DATA / "fixed-width.txt")
