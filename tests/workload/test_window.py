"""``--from`` and ``--to``: which jobs a stretch of a workload has, and what of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.model import InputError, JobSpec
from rota.workload import Workload, window
from rota.workload.window import LEAD

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Number, submission, wait, run time and limit. The stretch is from 1000 to 2000.
JOBS = (
    (1, 0, 100, 200, 300),  # over
    (2, 0, 100, 900, 900),  # ends when the stretch begins
    (3, 100, 400, 1500, 1800),  # runs: 500 of 1500 s are over
    (4, 200, 800, 50, 60),  # starts when the stretch begins
    (5, 300, 1700, 50, 60),  # waits: starts at 2000
    (6, 400, -1, -1, 60),  # never started
    (7, 1000, 5, 50, -1),
    (8, 1999, 5, 50, 60),
    (9, 2000, 5, 50, 60),
)


def log_of(jobs: Sequence[tuple[int, ...]] = JOBS, *header: str, nodes: bool = False) -> Workload:
    names = ("job_number", "submit_time", "wait_time", "run_time", "requested_time")
    columns = dict(zip(names, map(list, zip(*jobs, strict=True)), strict=True))
    columns["requested_procs"] = [1] * len(jobs)
    requests = tuple(JobSpec(begin_time=number) for number, *_ in jobs) if nodes else None
    places = tuple(f"n{number}" for number, *_ in jobs) if nodes else None
    return Workload.build("log", columns, header=header, requests=requests, nodes=places)


def rows_of(log: Workload) -> list[tuple[int, ...]]:
    columns = (log.job_number, log.submit_time, log.wait_time, log.run_time, log.requested_time)
    return list(zip(*(one.tolist() for one in columns), strict=True))


def test_what_ran_and_what_waited_is_taken() -> None:
    found = window(log_of(), 1000, 2000)
    assert rows_of(found) == [
        (3, 1000 - LEAD, -1, LEAD + 1000, LEAD + 1300),
        (4, 1000, 0, 50, 60),
        (5, 1000, 1000, 50, 60),
        (7, 1000, 5, 50, -1),
        (8, 1999, 5, 50, 60),
    ]
    assert found.carried == {3}


def test_with_dates_the_log_begins_then() -> None:
    found = window(log_of(JOBS, "; UnixStartTime: 5000", "; MaxProcs: 8"), 1000, 2000)
    assert (found.unix_start_time, found.procs) == (6000, 8)
    assert found.submit_time.tolist() == [-LEAD, 0, 0, 0, 999]


def test_what_ran_asks_for_its_nodes() -> None:
    found = window(log_of(nodes=True), 1000, 2000)
    assert found.requests is not None
    assert [(one.required_nodes, one.begin_time) for one in found.requests] == [
        ("n3", 0),
        ("", 4),
        ("", 5),
        ("", 7),
        ("", 8),
    ]


def test_only_to() -> None:
    found = window(log_of(), None, 1000)
    assert rows_of(found) == list(JOBS[:6])
    assert found.carried == frozenset()


def test_from_the_beginning_needs_no_waits() -> None:
    assert rows_of(window(log_of([(1, 0, -1, 10, 60)]), 0, None)) == [(1, 0, -1, 10, 60)]


@pytest.mark.parametrize(
    ("jobs", "begin", "end", "problem"),
    [
        (JOBS, 3000, None, "--from and --to: no job of the log was submitted then"),
        (JOBS, None, 0, "--to: no job of the log was submitted then"),
        ([(1, 0, -1, 10, 60), (2, 50, -1, 10, 60)], 20, None, "--from: the log has no waits, which tell what ran then"),
    ],
)
def test_what_cannot_be_taken(
    jobs: Sequence[tuple[int, ...]], begin: int | None, end: int | None, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        window(log_of(jobs), begin, end)
