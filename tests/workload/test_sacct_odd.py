"""Odd values in files of ``sacct``: each costs one job, which is counted and named, and not the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.workload import read_workload

from .test_sacct import AGAIN, JOB, text_of, with_number

if TYPE_CHECKING:
    from .test_sacct import LogFile

#: Two jobs of which one is odd, and what is said of it.
ODD = {
    "a cut line": (
        text_of(JOB)[:-60] + "\n" + text_of(JOB).splitlines()[1],
        f"2: ReqTRES: 17 fields instead of 21: {AGAIN}",
    ),
    "an end that is not known": (
        text_of(JOB, with_number(8, End="Unknown", ElapsedRaw="")),
        "3: End: Unknown, but the job is COMPLETED: write its end, or take out the line",
    ),
    "no time": (
        text_of(JOB, {"Start": "yesterday"}),
        "3: Start: 'yesterday' is no time: write 2026-10-01T12:00:00, Unix seconds or Unknown",
    ),
    "no such day": (
        text_of(JOB, {"Start": "2026-02-30T12:00:00"}),
        "3: Start: '2026-02-30T12:00:00' is no time: write 2026-10-01T12:00:00, Unix seconds or Unknown",
    ),
    "two kinds of times": (
        "JobID|Submit|ElapsedRaw|NCPUS\n7|1790856000|60|8\n8|2026-10-01T12:00:00|60|8\n",
        "3: Submit: '2026-10-01T12:00:00' is no time: the first one is in Unix seconds",
    ),
    "a number of nodes that is none": (
        text_of(JOB, with_number(8, ReqTRES="cpu=8,mem")),
        "3: ReqTRES: 'cpu=8,mem' cannot be read: write it like cpu=8,mem=800M,node=2",
    ),
    "a time that does not exist": (
        text_of(JOB, with_number(8, Submit="2026-03-29T02:30:00")),
        "3: Submit: 2026-03-29T02:30:00 does not exist in Europe/Berlin, whose clocks go forward then: another --time-",
    ),
    "two texts of users, of which either may have the delimiter": (
        "JobID|JobName|Submit|ElapsedRaw|ReqCPUS|Comment\n7|a|1790856000|60|8|x\n8|a|b|1790856000|60|8|x\n",
        "3: JobName: 7 fields instead of 6: a delimiter or a line break in JobName or Comment?",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_one_odd_value_costs_one_job_and_not_the_file(name: str, log_file: LogFile) -> None:
    text, expected = ODD[name]
    path = log_file(text)
    log = read_workload(path, "Europe/Berlin")
    assert len(log) == 1
    (note,) = (one for one in log.notes if "left out" in one)
    assert note.startswith(f"warning: a job is left out, of 2 lines: {path}:{expected}")


def test_odd_values_are_counted_and_the_first_is_named(log_file: LogFile) -> None:
    jobs = [with_number(number, Timelimit="soon" if number % 3 == 0 else "1:00:00") for number in range(1, 301)]
    log = read_workload(log_file(text_of(*jobs)))
    assert len(log) == 200
    assert "warning: 100 jobs are left out, of 300 lines: " in log.notes[0]
    assert ":4: Timelimit: 'soon'" in log.notes[0]


def test_a_delimiter_in_the_only_text_of_users_is_put_back(log_file: LogFile) -> None:
    """Command of docs/workloads.md, and one job of the month with ``-C 'virt|gpu'``."""
    others = with_number(8, Constraints="virt|gpu"), with_number(9, Constraints="[a|b|c]")
    log = read_workload(log_file(text_of(JOB, *others)))
    assert log.requests is not None
    assert [one.constraint for one in log.requests] == [JOB.get("Constraints", ""), "virt|gpu", "[a|b|c]"]
    named = read_workload(log_file("JobID|JobName|Submit|ElapsedRaw|ReqCPUS\n7|a|b|1790856000|60|8\n"))
    assert named.requested_procs.tolist() == [8]


def test_what_older_versions_print_of_memory_and_nodes(log_file: LogFile) -> None:
    """2**31 + 3000 is memory for each processor in the number that Slurm keeps; 0.00K is no node."""
    jobs = "1|1790856000|60|8|2147486648Mn\n2|1790856000|60|8|3000Mc\n"
    log = read_workload(log_file(f"JobID|Submit|ElapsedRaw|ReqCPUS|ReqMem\n{jobs}"))
    assert log.requests is not None
    assert [(one.mem_per_cpu, one.mem_per_node) for one in log.requests] == [(3000, 0)] * 2
    counts = "JobID|Submit|ElapsedRaw|ReqCPUS|ReqNodes\n1|1790856000|60|8|0.00K\n2|1790856000|60|2K|1.5K\n"
    nodes = read_workload(log_file(counts))
    assert nodes.requests is not None
    assert [(one.num_cpus, one.min_nodes) for one in nodes.requests] == [(8, 0), (2048, 1536)]


def test_a_job_that_was_resized_is_a_job_for_each_size(log_file: LogFile) -> None:
    first = with_number(7, State="RESIZING")
    whole, part = (read_workload(log_file(text_of(one))).run_time.tolist() for one in (JOB, first))
    assert part == whole


def test_components_of_heterogeneous_jobs_are_told(log_file: LogFile) -> None:
    log = read_workload(log_file(text_of(with_number(7, JobID="7+0"), with_number(8, JobID="7+1"))))
    (note,) = (one for one in log.notes if "heterogeneous" in one)
    assert note.startswith("warning: 2 lines are components of 1 heterogeneous jobs, the first of them 7+0")
