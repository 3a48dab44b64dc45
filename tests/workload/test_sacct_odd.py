"""Odd values in files of ``sacct``: each costs one job, which is counted and named, and not the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.workload import read_workload

from .test_sacct import AGAIN, JOB, NOON, text_of, with_number

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
        "3: Submit: '2026-10-01T12:00:00' is no time: others are in Unix seconds",
    ),
    "a number of nodes that is none": (
        text_of(JOB, with_number(8, ReqTRES="cpu=8,mem")),
        "3: ReqTRES: 'cpu=8,mem' cannot be read: write it like cpu=8,mem=800M,node=2",
    ),
    "a time that does not exist": (
        text_of(JOB, with_number(8, Submit="2026-03-29T02:30:00")),
        "3: Submit: 2026-03-29T02:30:00 does not exist in Europe/Berlin, whose clocks go forward then: another --time-",
    ),
    "an id of a job that is too long": (
        text_of(JOB, with_number(9**30)),
        f"3: JobIDRaw: '{9**30}' is no job id such as 123 or 123_4",
    ),
    "a time limit of more than all time": (
        text_of(JOB, with_number(8, Timelimit="999999999999999-00:00:00")),
        "3: Timelimit: '999999999999999-00:00:00' is no length of time such as 1-12:00:00",
    ),
    "more processors than can be counted": (
        text_of(JOB, with_number(8, ReqTRES=f"cpu={9**30}")),
        f"3: ReqTRES: 'cpu={9**30}' cannot be read: write it like cpu=8,mem=800M,node=2",
    ),
    "fewer processors than none": (
        text_of(JOB, with_number(8, ReqTRES="cpu=-1")),
        "3: ReqTRES: 'cpu=-1' cannot be read: write it like cpu=8,mem=800M,node=2",
    ),
    "a run that is longer than it was": (
        text_of(JOB, with_number(8, ElapsedRaw="4294967295")),
        "3: ElapsedRaw: 4294967295 is longer than from Start to End",
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


#: Odd values of the first of twenty jobs, and what is said of it.
ODD_FIRST = {
    "no time": ({"Start": "NaN"}, "Start: 'NaN' is no time: write 2026-10-01T12:00:00, Unix seconds or Unknown"),
    "a time in Unix seconds": ({"Submit": "0"}, "Submit: '0' is no time: write 2026-10-01T12:00:00, Unix seconds or"),
    "another century": ({"Eligible": "2106-02-07T06:28:15"}, "Eligible: '2106-02-07T06:28:15' is 79 years from most"),
    "no user id": ({"UID": "x"}, "UID: 'x' is no user id, as the others are"),
}


@pytest.mark.parametrize("name", ODD_FIRST)
def test_the_first_job_can_be_the_odd_one(name: str, log_file: LogFile) -> None:
    values, expected = ODD_FIRST[name]
    log = read_workload(log_file(text_of(*_twenty(values))), "Europe/Berlin")
    assert len(log) == 19
    assert set(log.user_id.tolist()) == {1001}
    (note,) = (one for one in log.notes if "left out" in one)
    assert f":2: {expected}" in note


def test_a_job_of_another_cluster_is_left_out(log_file: LogFile) -> None:
    log = read_workload(log_file(text_of(*_twenty({"Cluster": "other"}))))
    assert len(log) == 19
    assert "warning: a job is left out that rig did not run: 1 of 'other' is the first" in log.notes


def test_a_job_that_names_no_cluster_is_of_that_of_the_others(log_file: LogFile) -> None:
    assert len(read_workload(log_file(text_of(*_twenty({"Cluster": ""}))))) == 20


def test_a_job_that_could_start_only_after_its_start_can_start_then(log_file: LogFile) -> None:
    log = read_workload(log_file(text_of(JOB, with_number(8, Eligible="2026-10-09T12:00:00"))))
    assert log.requests is not None
    assert [job.begin_time for job in log.requests] == [0, NOON + 600]
    assert "a job was eligible after its start, as recorded: it can start when it did" in log.notes


def _twenty(first: dict[str, str]) -> list[dict[str, str]]:
    """Make twenty jobs, of which the first has odd values."""
    return [with_number(number, **(first if number == 1 else {})) for number in range(1, 21)]


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
    assert note.startswith("warning: 2 lines are components of one heterogeneous job, the first of them 7+0")
    assert [log.number_of(name) for name in ("7+0", "7+1", "7+2")] == [7, 8, None]
