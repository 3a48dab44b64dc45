"""Files of ``sacct`` as workloads.

Values that Slurm 22.05.8 gives, such as ``None assigned`` and ``billing=8,cpu=8,mem=800M,node=2``, are as recorded.
"""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

import pytest

from rota.model import YEAR, InputError
from rota.workload import read_events, read_workload

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rota.workload import Workload

    LogFile = Callable[..., Path]

#: The columns that docs/workloads.md asks for, and a job.
HEADER = (
    "JobID|JobIDRaw|Cluster|User|UID|Account|Partition|QOS|State|Submit|Eligible|Start|End|ElapsedRaw|Timelimit"
    "|ReqCPUS|ReqTRES|AllocTRES|NodeList|Constraints|Reservation"
)
JOB = {
    "JobID": "7",
    "JobIDRaw": "7",
    "Cluster": "rig",
    "User": "alice",
    "UID": "1001",
    "Account": "phys",
    "Partition": "debug",
    "QOS": "normal",
    "State": "COMPLETED",
    "Submit": "2026-10-01T12:00:00",
    "Eligible": "2026-10-01T12:00:00",
    "Start": "2026-10-01T12:10:00",
    "End": "2026-10-01T13:10:00",
    "ElapsedRaw": "3600",
    "Timelimit": "1-12:00:00",
    "ReqCPUS": "8",
    "ReqTRES": "billing=8,cpu=8,mem=800M,node=2",
    "AllocTRES": "billing=8,cpu=8,mem=800M,node=2",
    "NodeList": "n[01-02]",
    "Constraints": "virt",
    "Reservation": "",
}
#: 2026-10-01T12:00:00 UTC.
NOON = 1790856000


def text_of(*jobs: dict[str, str], without: tuple[str, ...] = ()) -> str:
    names = [name for name in JOB if name not in without]
    rows = [{**JOB, **job} for job in jobs]
    return "\n".join(["|".join(names), *("|".join(row[name] for name in names) for row in rows), ""])


def with_number(number: int, **changes: str) -> dict[str, str]:
    return {"JobID": str(number), "JobIDRaw": str(number), **changes}


def columns_of(log: Workload, *names: str) -> list[tuple[int, ...]]:
    return list(zip(*(getattr(log, name).tolist() for name in names), strict=True))


def test_a_job(log_file: LogFile) -> None:
    log = read_workload(log_file(text_of(JOB)))
    assert (log.unix_start_time, log.notes) == (NOON, ())
    assert columns_of(log, "line", "job_number", "submit_time", "wait_time", "run_time", "requested_time") == [
        (2, 7, 0, 600, 3600, 36 * 3600)
    ]
    assert log.requests is not None
    (job,) = log.requests
    assert (job.user, job.user_id, job.account, job.partition, job.qos) == ("alice", 1001, "phys", "debug", "normal")
    # 800 MiB of eight processors, on two nodes at least.
    assert (job.num_cpus, job.min_nodes, job.mem_per_cpu, job.constraint) == (8, 2, 100, "virt")
    assert (job.begin_time, job.reservation, job.gres) == (0, "", "")


def test_the_columns_may_be_in_any_order_and_case_and_have_another_delimiter(log_file: LogFile) -> None:
    expected = read_workload(log_file(text_of(JOB)))
    lines = [line.split("|") for line in text_of(JOB).splitlines()]
    lines[0] = [name.upper() for name in lines[0]]
    turned = ["^|^".join(reversed(line)) + "^|^" for line in lines]  # as with --parsable
    for name, data in {
        "a.txt": "\r\n".join(turned).encode(),
        "b.gz": gzip.compress(text_of(JOB).encode()),
        "c.csv": "\n".join(",".join(f'"{one}"' for one in line) for line in lines).encode(),
    }.items():
        log = read_workload(log_file(data, name))
        assert log.requests == expected.requests, name
        assert [one.tolist() for one in log.columns()] == [one.tolist() for one in expected.columns()]


def test_csv_with_quotes_and_blank_lines(log_file: LogFile) -> None:
    text = 'job_id,name,submit_time,run_time,processors_req\n\n7,"a, b\nc",1790856000,60,8\n8,d,1790856001,60,4\n\n'
    log = read_workload(log_file(text))
    assert columns_of(log, "line", "job_number", "run_time", "requested_procs") == [(4, 7, 60, 8), (5, 8, 60, 4)]


#: Changes of the job, and what of the request is then otherwise.
REQUESTS: dict[str, tuple[dict[str, str], dict[str, object]]] = {
    "older memory for a CPU": ({"ReqTRES": "", "ReqMem": "4Gc"}, {"mem_per_cpu": 4096}),
    "older memory for a node": ({"ReqTRES": "", "ReqMem": "500Mn"}, {"mem_per_cpu": 0, "mem_per_node": 500}),
    # Rounded down: a job that asks for a whole node's memory must still fit on it.
    "memory that cannot be divided": ({"ReqTRES": "cpu=8,mem=1.17G,node=2"}, {"mem_per_cpu": 149}),
    "GPUs": (
        {"ReqTRES": "cpu=8,gres/gpu=4,gres/gpu:a100=4,mem=800M,node=2"},
        {"gres": "gpu:a100:2", "gres_per_job": ""},
    ),
    "GPUs that cannot be divided": (
        {"ReqTRES": "cpu=8,gres/gpu=3,mem=800M,node=2"},
        {"gres": "", "gres_per_job": "gpu:3"},
    ),
    "licences": ({"ReqTRES": "cpu=8,license/matlab=2,mem=800M,node=2"}, {"licenses": "matlab:2"}),
    # --exclusive -n1 -N2 on nodes of four: what was given is what the machine lacked.
    "whole nodes": (
        {"ReqTRES": "cpu=2,mem=800M,node=2", "AllocTRES": "cpu=8,gres/gpu=4,mem=800M,node=2"},
        {"num_cpus": 8, "min_nodes": 2, "gres": ""},
    ),
    "only what was given": (
        {"ReqTRES": "", "ReqCPUS": "", "AllocTRES": "cpu=8,gres/gpu=4,mem=800M,node=2"},
        {"num_cpus": 8, "min_nodes": 2, "gres": "gpu:2"},
    ),
    "eligible later": ({"Eligible": "2026-10-01T12:05:00"}, {"begin_time": NOON + 300}),
    "a reservation": ({"Reservation": "team"}, {"reservation": "team"}),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_requests(name: str, log_file: LogFile) -> None:
    changes, expected = REQUESTS[name]
    text = text_of({**JOB, "ReqMem": "", **changes}, without=())
    header, row = text.splitlines()
    more = f"{header}|ReqMem\n{row}|{changes.get('ReqMem', '')}\n"
    log = read_workload(log_file(more))
    assert log.requests is not None
    found = log.requests[0]._asdict()
    assert {key: found[key] for key in expected} == expected


LIMITS = {"UNLIMITED": YEAR, "Partition_Limit": -1, "": -1, "00:05:00": 300, "10-00:00:30": 864_030}


@pytest.mark.parametrize("text", LIMITS)
def test_limits(text: str, log_file: LogFile) -> None:
    assert read_workload(log_file(text_of({"Timelimit": text}))).requested_time.tolist() == [LIMITS[text]]


def test_steps_are_skipped(log_file: LogFile) -> None:
    batch = {"JobID": "7.batch", "JobIDRaw": "7.batch", "User": "", "Timelimit": "", "Submit": "Unknown"}
    log = read_workload(log_file(text_of(JOB, batch, with_number(8))))
    assert columns_of(log, "line", "job_number") == [(2, 7), (4, 8)]


def test_jobs_that_did_not_start_have_no_run_time(log_file: LogFile) -> None:
    nothing = {"Start": "Unknown", "End": "Unknown", "ElapsedRaw": "0", "AllocTRES": "", "NodeList": "None assigned"}
    jobs = (
        with_number(7, State="PENDING", **nothing),
        {"JobID": "8_[3-6%2]", "JobIDRaw": "8", **nothing, "State": "PENDING"},
        # As Slurm has a job that is cancelled before it starts: it started when it was cancelled.
        with_number(9, **{**nothing, "State": "CANCELLED by 0", "Start": JOB["End"], "End": JOB["End"]}),
        with_number(10, **{**nothing, "State": "CANCELLED by 0", "End": JOB["End"]}),
        with_number(11, State="CANCELLED by 1001"),
        # As Slurm has one that it refused with "Requested node configuration is not available".
        with_number(12, **{**nothing, "State": "FAILED", "Start": JOB["Submit"], "End": JOB["Submit"]}),
    )
    log = read_workload(log_file(text_of(*jobs)))
    assert columns_of(log, "job_number", "wait_time", "run_time", "status") == [
        (7, -1, -1, -1),
        (8, -1, -1, -1),
        # Withdrawn 70 minutes after they were submitted.
        (9, 4200, -1, 5),
        (10, 4200, -1, 5),
        (11, 600, 3600, 5),
        (12, -1, -1, 0),
    ]
    assert log.withdrawn.tolist() == [False, False, True, True, False, False]


def test_jobs_that_have_not_ended_run_to_their_limit(log_file: LogFile) -> None:
    running = {"State": "RUNNING", "End": "Unknown", "ElapsedRaw": "60"}
    jobs = (JOB, with_number(8, **running), with_number(9, **running, Timelimit="Partition_Limit"))
    log = read_workload(log_file(text_of(*jobs)))
    # The last time in the file is an hour after their start.
    assert columns_of(log, "job_number", "run_time") == [(7, 3600), (8, 36 * 3600), (9, 3600)]
    assert log.notes == ("2 jobs had not ended: each runs to its time limit, or else to the last time recorded",)


def test_tasks_of_arrays_are_jobs(log_file: LogFile) -> None:
    tasks = ({"JobID": "5_1", "JobIDRaw": "5"}, {"JobID": "5_2", "JobIDRaw": "6"}, with_number(9))
    with_raw = read_workload(log_file(text_of(*tasks)))
    assert with_raw.job_number.tolist() == [5, 6, 9]
    assert with_raw.requests is not None
    assert {one.array for one in with_raw.requests} == {""}
    without = read_workload(log_file(text_of(*tasks, without=("JobIDRaw",)), "b.txt"))
    assert columns_of(without, "line", "job_number") == [(4, 9), (2, 10), (3, 11)]


def test_each_run_of_a_requeued_job_is_a_job(log_file: LogFile) -> None:
    again = {"Submit": "2026-10-01T12:20:00", "Start": "2026-10-01T12:30:00", "End": "2026-10-01T13:30:00"}
    first = {"State": "REQUEUED"}
    log = read_workload(log_file(text_of(first, {**again, "Eligible": again["Submit"]}, with_number(8))))
    assert columns_of(log, "line", "job_number", "wait_time", "run_time") == [
        (2, 7, 600, 3600),
        (4, 8, 600, 3600),
        (3, 9, 600, 3600),
    ]
    assert log.notes == ("a line has the number of another job: it is a job of its own, with the number 9 here",)


def test_a_folder_of_files_that_overlap(tmp_path: Path) -> None:
    running = with_number(8, State="RUNNING", End="Unknown", ElapsedRaw="60")
    (tmp_path / "2026-09.txt").write_text(text_of(JOB, running))
    (tmp_path / "2026-10.txt.gz").write_bytes(gzip.compress(text_of(with_number(8), with_number(9)).encode()))
    log = read_workload(tmp_path)
    assert columns_of(log, "job_number", "run_time") == [(7, 3600), (8, 3600), (9, 3600)]
    assert (log.notes, log.source, log.name) == ((), tmp_path, tmp_path.name)


def test_files_that_overlap_and_were_joined(log_file: LogFile) -> None:
    """As by cat: the header comes again, and a job that ran from one month to the next is in both."""
    running = with_number(8, State="RUNNING", End="Unknown", ElapsedRaw="60")
    pending = with_number(9, State="PENDING", Start="Unknown", End="Unknown", ElapsedRaw="0")
    first, second = text_of(JOB, running, pending), text_of(JOB, with_number(8), with_number(9))
    for text in (f"{first}{second}", f"{second}{first}"):
        log = read_workload(log_file(text, f"{text.index('RUNNING')}.txt"))
        ran = log.take(log.run_time >= 0)
        assert sorted(columns_of(ran, "job_number", "run_time"))[:2] == [(7, 3600), (8, 3600)]
        assert len(ran) == 3  # the one that waited has run, too


def test_without_columns_that_need_not_be_there(log_file: LogFile) -> None:
    text = "JobID|Submit|Start|End|NCPUS\n7|1790856000|1790856600|1790860200|8\n"
    log = read_workload(log_file(text))
    assert columns_of(log, "job_number", "wait_time", "run_time", "requested_time", "requested_procs") == [
        (7, 600, 3600, -1, 8)
    ]


# ---- local times ----------------------------------------------------------------------------------------------------

#: In Berlin clocks went back at 2025-10-26T01:00:00 UTC: from 02:00 to 03:00 local time came twice.
BERLIN = "Europe/Berlin"
BACK = 1761440400


def moved(submit: str, start: str, end: str, elapsed: int) -> dict[str, str]:
    times = {"Submit": submit, "Eligible": submit, "Start": start, "End": end}
    return {name: f"2025-10-26T{time}" for name, time in times.items()} | {"ElapsedRaw": str(elapsed)}


#: Submission, start and end, how long it ran, and start and end in seconds after the change.
TWICE = {
    "before": (("01:10:00", "01:20:00", "01:50:00", 1800), (-6000, -4200)),
    "over it": (("01:10:00", "01:50:00", "03:10:00", 8400), (-4200, 4200)),
    "ends the second time": (("01:10:00", "01:50:00", "02:30:00", 6000), (-4200, 1800)),
    "ends the first time": (("01:10:00", "01:50:00", "02:30:00", 2400), (-4200, -1800)),
    "starts the second time": (("01:10:00", "02:30:00", "03:30:00", 3600), (1800, 5400)),
    "starts the first time": (("01:10:00", "02:30:00", "03:30:00", 7200), (-1800, 5400)),
    "starts earlier on the clock than it was submitted": (("02:50:00", "02:10:00", "03:10:00", 3600), (600, 4200)),
}


@pytest.mark.parametrize("name", TWICE)
def test_of_a_time_that_comes_twice_the_one_is_taken_that_fits(name: str, log_file: LogFile) -> None:
    times, expected = TWICE[name]
    log = read_workload(log_file(text_of(moved(*times))), BERLIN)
    assert log.unix_start_time is not None
    start = log.unix_start_time + int(log.wait_time[0]) - BACK
    assert (start, start + int(log.run_time[0])) == expected
    assert bool(log.notes) == ("02:" in "".join(times[:3]))


def test_times_that_come_twice_are_told(log_file: LogFile) -> None:
    path = log_file(text_of(JOB, {**moved("02:10:00", "02:20:00", "02:50:00", 1800), **with_number(8)}))
    (note,) = read_workload(path, BERLIN).notes
    assert note.startswith(
        f"warning: {path}:3: Eligible: 2025-10-26T02:10:00 comes twice in {BERLIN} (as do 3 others): the first is taken"
    )


# ---- what is wrong --------------------------------------------------------------------------------------------------

AGAIN = "run sacct again as docs/workloads.md says"
#: The text, and the end of the message.
WRONG = {
    "no header": (
        text_of(JOB).partition("\n")[2],
        "1: no header: the first line must name the columns, but is '7|7|rig|alice|1001|phys|debug|normal|COM",
    ),
    "columns of fixed width": (
        "JobID           JobName  Partition\n------------ ---------- ----------\n1              alicejob      debug\n",
        f"1: columns of fixed width, in which values are cut off: {AGAIN}, with -P",
    ),
    "no jobs": (HEADER + "\n", f" no jobs in it: only a header; {AGAIN}"),
    "no JobID": (text_of(JOB, without=("JobID", "JobIDRaw")), f"1: the column JobID or JobIDRaw is missing: {AGAIN}"),
    "no Submit": (text_of(JOB, without=("Submit",)), f"1: the column Submit is missing: {AGAIN}"),
    "no End": (
        text_of(JOB, without=("End", "ElapsedRaw")),
        f"1: run times are missing: the columns Start and End, or ElapsedRaw: {AGAIN}",
    ),
    "no size": (
        text_of(JOB, without=("ReqCPUS", "ReqTRES", "AllocTRES")),
        "1: a size is missing: one of the columns ReqTRES, AllocTRES, ReqCPUS, AllocCPUS, ReqNodes, NNodes",
    ),
    "a cut line at the end": (
        text_of(JOB, with_number(8))[:-60],
        "3: ReqTRES: the file is cut off here (17 fields instead of 21): get it again",
    ),
    "a line break in a name": (
        "JobID|JobName|Submit|ElapsedRaw|ReqCPUS\n7|a\nb|1790856000|60|8\n",
        f"2: JobName: 2 fields instead of 5: a delimiter or a line break in JobName? {AGAIN}, without JobName",
    ),
    "a submission that is not known": (
        text_of({"Submit": "Unknown"}),
        "2: Submit: 'Unknown': every job has a time of submission",
    ),
    "an end before the start": (
        text_of({"End": "2026-10-01T12:09:00"}),
        "2: End: 2026-10-01T12:09:00 is before Start: name the time zone of the file with --time-zone",
    ),
    "a limit that is none": (text_of({"Timelimit": "soon"}), "2: Timelimit: 'soon' is no length of time such as"),
    "TRES that are none": (
        text_of({"ReqTRES": "cpu=8,mem"}),
        "2: ReqTRES: 'cpu=8,mem' cannot be read: write it like cpu=8,mem=800M,node=2",
    ),
    "a job id that is none": (text_of({"JobIDRaw": "x7"}), "2: JobIDRaw: 'x7' is no job id such as 123 or 123_4"),
    "several clusters": (
        text_of(JOB, with_number(8, Cluster="other")),
        " jobs of several clusters (other, rig): run sacct with -M and one of them",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_line_with_its_place(name: str, log_file: LogFile) -> None:
    text, expected = WRONG[name]
    path = log_file(text)
    with pytest.raises(InputError, match=re.escape(f"{path}:{expected}")) as caught:
        read_workload(path)
    assert "\n" not in str(caught.value)


def test_a_folder_with_something_else(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text_of(JOB))
    (tmp_path / "slurm.conf").write_text("ClusterName=rig\n")
    with pytest.raises(InputError, match=r"is a folder with slurm\.conf, which is no file of sacct: name the one file"):
        read_workload(tmp_path)


# ---- published traces -----------------------------------------------------------------------------------------------


def test_the_workload_of_buffalo_is_that_of_its_event_file(traces: Path) -> None:
    folder = traces / "slurm"
    log, events = read_workload(folder / "ubccr_micro_jobs500.csv.gz"), read_events(folder / "ubccr_jobs500.events.gz")
    for name in ("submit_time", "run_time", "requested_time", "requested_procs", "user_id"):
        assert getattr(log, name).tolist() == getattr(events, name).tolist(), name
    assert log.requests is not None
    assert events.requests is not None
    for one, other in zip(log.requests, events.requests, strict=True):
        for field in ("user", "account", "partition", "qos", "constraint", "gres", "mem_per_node", "ntasks_per_node"):
            assert getattr(one, field) == getattr(other, field), field


def test_the_sample_of_eagle(traces: Path) -> None:
    log = read_workload(traces / "slurm" / "nrel_eagle_sample1000.csv.gz")
    assert len(log) == 1000
    # Counted in the file with awk: waits from its own columns, and jobs that have the number of another.
    assert (int(log.wait_time.sum()), len(set(log.job_number.tolist()))) == (345_419, 1000)
    assert "451 lines have the number of another job" in log.notes[0]
