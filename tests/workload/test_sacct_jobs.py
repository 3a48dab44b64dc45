"""What jobs of ``sacct`` ask for, which of them come first, and which were withdrawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.workload import read_workload
from workload.test_sacct import JOB, NOON, columns_of, text_of, with_number

if TYPE_CHECKING:
    from workload.test_sacct import LogFile


@pytest.mark.parametrize(
    ("asked", "given", "expected"),
    [
        # --nodes=2 --ntasks-per-node=4
        ("cpu=8,mem=800M,node=2", "cpu=8,mem=800M,node=2", (2, 2, 8, 4)),
        # --ntasks=8, which got the last processors of two nodes, or all of one
        ("cpu=8,mem=800M,node=1", "cpu=8,mem=800M,node=2", (1, 2, 0, 0)),
        ("cpu=8,mem=800M,node=1", "cpu=8,mem=800M,node=1", (1, 1, 0, 0)),
        # --nodes=2-4, --nodes=3 --ntasks=8, and --nodes=2 --exclusive on nodes of eight
        ("cpu=8,mem=800M,node=2", "cpu=8,mem=800M,node=4", (2, 4, 0, 0)),
        ("cpu=8,mem=800M,node=3", "cpu=8,mem=800M,node=3", (3, 3, 0, 0)),
        ("cpu=2,mem=800M,node=2", "cpu=16,mem=800M,node=2", (2, 2, 0, 0)),
        # one that has not started
        ("cpu=8,mem=800M,node=1", "", (1, 0, 0, 0)),
        ("cpu=8,mem=800M,node=2", "", (2, 2, 8, 4)),
    ],
)
def test_how_many_nodes_a_job_may_have(asked: str, given: str, expected: tuple[int, ...], log_file: LogFile) -> None:
    sizes = {"ReqTRES": f"billing=8,{asked}", "AllocTRES": given and f"billing=8,{given}"}
    log = read_workload(log_file(text_of(sizes, without=("ReqCPUS",))))
    assert log.requests is not None
    (job,) = log.requests
    assert (job.min_nodes, job.max_nodes, job.num_tasks, job.ntasks_per_node) == expected


def test_tasks_of_an_array_are_numbered_in_their_order(log_file: LogFile) -> None:
    """As recorded from 22.05.8: the last task that starts keeps the number of the array, which is the lowest."""
    ids = (("5_1", "6"), ("5_2", "8"), ("5_10", "9"), ("5_11", "5"), ("7", "7"), ("5_2", "8"))
    log = read_workload(log_file(text_of(*({"JobID": name, "JobIDRaw": number} for name, number in ids))))
    # The second run of task 2 has a number above all others.
    assert columns_of(log, "line", "job_number") == [(2, 5), (3, 6), (6, 7), (4, 8), (5, 9), (7, 10)]


def test_who_could_never_have_started_stood_in_nobodys_way(log_file: LogFile) -> None:
    nothing = {"Start": "None", "ElapsedRaw": "0", "AllocTRES": "", "NodeList": "None assigned", "State": "CANCELLED"}
    held = {**nothing, "Eligible": "Unknown"}
    later = {**nothing, "Eligible": "2026-10-01T13:00:00"}
    log = read_workload(log_file(text_of(JOB, with_number(8, **held), with_number(9, **later))))
    assert log.withdrawn.tolist() == [False, False, True]
    assert log.requests is not None
    assert log.requests[2].begin_time == NOON + 3600
