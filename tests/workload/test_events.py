"""Event files: real lines option by option, whole files against what others made of the same jobs, and bad lines.

What an option means is from sbatch's manual; the lines are UB CCR's, see data/README.md.
"""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rota.model import YEAR, InputError, JobSpec
from rota.replays.trace import make_trace
from rota.workload import FILTERS, Workload, read_workload
from rota.workload.events import is_event_file, read_events

if TYPE_CHECKING:
    from collections.abc import Callable

    LogFile = Callable[..., Path]

DATA = Path(__file__).parent / "data"
HEAD = "-dt 0 -e submit_batch_job |"
GOOD = f"{HEAD} -sim-walltime 5 --uid=ann -n 2 job"


def read(log_file: LogFile, *options: str) -> JobSpec:
    """Give the request of one job."""
    log = read_events(log_file(f"{HEAD} -sim-walltime 5 {' '.join(options)}\n"))
    assert log.requests is not None
    return log.requests[0]


# ---- real lines -------------------------------------------------------------------------------------------------


def test_lines_of_a_production_cluster() -> None:
    log = read_events(DATA / "ubccr.events")
    assert log.requests is not None
    assert (log.name, log.header, log.procs) == ("ubccr.events", (), None)
    # As written after -dt, -sim-walltime, -n and -t; fractions of a second are cut off.
    assert log.line.tolist() == log.job_number.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert log.submit_time.tolist() == [10, 10, 38, 38, 60, 10466, 81546, 144592]
    assert log.run_time.tolist() == [84805, 12688, 12, 18, 173, 0, 93179, 3602]
    assert log.requested_procs.tolist() == log.allocated_procs.tolist() == [32, 32, 80, 32, 128, 40, 20, 8]
    assert log.requested_time.tolist() == [259200, 259200, 259200, 259200, 240, 86400, 108000, 3600]
    # KiB a processor of --mem: 500 GiB for 32, 187,000 MiB for 32, 2 * 180 GiB for 80, and so on; -1 without it.
    gib, mib = 2**20, 2**10
    expected = [500 * gib / 32, 187000 * mib / 32, 360 * gib / 80, 62 * gib / 32, 720 * gib / 128, 180000 * mib / 40]
    assert log.requested_memory.tolist() == [int(np.ceil(size)) for size in expected] + [-1, -1]
    # Names are numbered in the order in which they come; none has an account.
    assert log.user_id.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert log.group_id.tolist() == [-1] * 8
    assert log.queue.tolist() == [1, 1, 1, 2, 1, 1, 1, 3]
    assert log.partition.tolist() == [1, 1, 1, 1, 1, 1, 1, 2]
    assert [one.user for one in log.requests] == [f"user{n:03}" for n in [1, 2, 5, 6, 10, 7, 31, 38]]
    assert [one.min_nodes for one in log.requests] == [1, 1, 2, 1, 4, 1, 1, 1]
    assert [one.gres for one in log.requests] == ["", "", "gpu:2", "", "", "", "", "gpu:1"]
    features = ["", "", "", "", "CPU-Gold-6130", "CPU-Gold-6230", "", ""]
    assert [one.constraint for one in log.requests] == features
    assert [one.exclusive for one in log.requests] == [False, False, False, True, True, False, False, False]
    assert log.requests[0] == JobSpec(
        num_cpus=32,
        time_limit=259200,
        min_nodes=1,
        max_nodes=1,
        num_tasks=32,
        user_id=1,
        partition="general-compute",
        qos="general-compute",
        name="jobid_00001",
        user="user001",
        mem_per_node=512000,
    )


def test_lines_of_a_test_cluster() -> None:
    log = read_events(DATA / "ubccr-micro.events")
    assert log.requests is not None
    assert log.submit_time.tolist() == [0, 49, 60, 594, 871]
    # The fourth has -sim-walltime -1: it runs until its limit of 25 minutes.
    assert log.run_time.tolist() == [15, 1201, 155, 1500, 0]
    assert log.requested_time.tolist() == [420, 1800, 960, 1500, 1800]
    assert log.requested_procs.tolist() == [12, 1, 1, 24, 1]
    # 24 tasks with at most 12 on a node: two nodes.
    assert [(one.num_tasks, one.ntasks_per_node) for one in log.requests][3] == (24, 12)
    assert [one.mem_per_node for one in log.requests] == [0, 0, 500_000, 0, 0]
    assert [one.account for one in log.requests] == ["account2", "account1", "account2", "account2", "account2"]
    # user5, user1 and user4, account2 and account1, in the order in which they come.
    assert log.user_id.tolist() == [1, 2, 3, 3, 3]
    assert log.group_id.tolist() == [1, 2, 1, 1, 1]


def test_the_whole_log_of_the_production_cluster(traces: Path) -> None:
    path = traces / "slurm" / "ubccr_workload_5k.events.gz"
    log = read_workload(path)
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    assert log.requests is not None
    assert len(log) == len(lines) == 5000
    # The same once more with nothing but the places of words: each line has these options in this order.
    words = [line.split() for line in lines]
    assert log.submit_time.tolist() == [int(float(row[1])) for row in words]
    assert log.run_time.tolist() == [int(float(row[6])) for row in words]
    assert [f"--uid={one.user}" for one in log.requests] == [row[7] for row in words]
    assert [one.name for one in log.requests] == [row[9] for row in words]
    assert [str(one.min_nodes) for one in log.requests] == [row[11] for row in words]
    assert [str(one.num_cpus) for one in log.requests] == [row[13] for row in words]
    assert [one.qos for one in log.requests] == [row[17] for row in words]
    assert [one.partition for one in log.requests] == [row[19] for row in words]
    assert sum(one.exclusive for one in log.requests) == sum("--exclusive" in line for line in lines) == 99
    assert sum(bool(one.gres) for one in log.requests) == sum("--gres=" in line for line in lines) == 44
    assert sum(bool(one.constraint) for one in log.requests) == sum("--constraint=" in line for line in lines) == 1210


def test_the_whole_log_of_the_test_cluster_against_tables_of_the_same_jobs(traces: Path) -> None:
    folder = traces / "slurm"
    log = read_workload(folder / "ubccr_jobs500.events.gz")
    assert log.requests is not None
    with gzip.open(folder / "ubccr_micro_jobs500.csv.gz", "rt", newline="") as text:
        table = list(csv.DictReader(text, delimiter=";"))
    # The fields of SWF in their places, save that names stand for numbers and semicolons for blanks.
    with gzip.open(folder / "ubccr_micro_jobs500.swf.gz", "rt") as text:
        swf = [line.split(";") for line in text]
    assert len(log) == len(table) == len(swf) == 500
    for submit, run, one, row, fields in zip(log.submit_time, log.run_time, log.requests, table, swf, strict=True):
        limit = int(row["wall_limit"]) * 60
        assert one.name == f"jobid_{row['job_id']}"
        assert submit == int(row["dt"]) == int(fields[1])
        assert row["wall_time"] == fields[3]
        assert run == (limit if fields[3] == "-1" else int(fields[3]))
        assert one.num_cpus == int(row["n_tasks"]) == int(fields[4])
        assert one.ntasks_per_node == int(row["ntasks_per_node"])
        assert one.mem_per_node == int(row["mem"] or 0) == max(int(fields[6]), 0)
        assert one.time_limit == limit == int(fields[8])
        assert one.user == row["user"] == fields[11]
        assert one.account == row["account"] == fields[12]
        assert one.partition == row["partition"] == fields[14]
        assert one.qos == row["qos"] == fields[15]
        assert one.constraint == row["constraint"]
        assert one.gres == row["gres"]


# ---- option by option -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", {"num_cpus": 1, "time_limit": None, "min_nodes": 0}),
        ("-n 6", {"num_cpus": 6}),
        ("-n6 -c2", {"num_cpus": 12}),
        ("--ntasks 6", {"num_cpus": 6}),
        ("-N 3", {"num_cpus": 3, "min_nodes": 3}),
        ("-N 2-4 --ntasks-per-node=4", {"num_cpus": 8, "min_nodes": 2}),
        ("-n 9 --ntasks-per-node=4", {"num_cpus": 9, "ntasks_per_node": 4}),
        ("-N 4 -n 9 --ntasks-per-node=4", {"num_cpus": 9, "min_nodes": 4}),
        ("-t 5", {"time_limit": 300}),
        ("-t 0:30", {"time_limit": 60}),
        ("-t 1:30", {"time_limit": 120}),
        ("--time=1-2", {"time_limit": 93600}),
        ("--time 1-2:03:04", {"time_limit": 93840}),
        ("-t UNLIMITED", {"time_limit": YEAR}),
        ("-t 0", {"time_limit": YEAR}),
        ("--mem=2G", {"mem_per_node": 2048}),
        ("--mem=2g", {"mem_per_node": 2048}),
        ("--mem=1T", {"mem_per_node": 2**20}),
        ("--mem=500", {"mem_per_node": 500}),
        ("--mem=1025K", {"mem_per_node": 2}),
        ("--mem-per-cpu=300MB", {"mem_per_cpu": 300}),
        ("--nice", {"nice": 100}),
        ("--nice=-5", {"nice": -5}),
        ("--hold", {"hold": True}),
        ("-H", {"hold": True}),
        ("--requeue --no-requeue", {"requeue": False}),
        ("--priority=7", {"priority": 7}),
        ("-A chem -q high -p long -C 'a&b' -J \"two words\"", {"account": "chem", "qos": "high", "partition": "long"}),
        ("-C 'a&b' -J \"two words\"", {"constraint": "a&b", "name": "two words"}),
        ("--exclusive -n 2", {"exclusive": True, "num_cpus": 2}),
        ("--gres=gpu:a100:2,shard:1", {"gres": "gpu:a100:2,shard:1"}),
        ("-n 2 job.sh -n 9 --nonsense", {"num_cpus": 2}),
    ],
)
def test_option(log_file: LogFile, options: str, expected: dict[str, object]) -> None:
    found = read(log_file, options)
    assert {key: getattr(found, key) for key in expected} == expected


@pytest.mark.parametrize(
    ("options", "run"),
    [
        ("-sim-walltime 7.99", 7),
        ("-sim-walltime 0", 0),
        ("-sim-walltime -1 -t 5", 300),
        ("-sim-walltime -1", YEAR),
        ("-t 5 -sim-walltime 301", 301),
    ],
)
def test_run_time(log_file: LogFile, options: str, run: int) -> None:
    assert read_events(log_file(f"{HEAD} {options} job")).run_time.tolist() == [run]


def test_blank_lines_comments_and_line_ends(log_file: LogFile) -> None:
    log = read_events(log_file(f"# a comment\r\n\r\n{GOOD}\r\n  # another\r\n{GOOD}"))
    assert log.line.tolist() == [3, 5]
    assert log.job_number.tolist() == [1, 2]


# ---- which format it is -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["-dt 0", "\n\n# a\n -dt 0", "# -dt\n-dt"])
def test_an_event_file_is_known_by_its_first_line(start: str) -> None:
    assert is_event_file(start.encode())


@pytest.mark.parametrize("start", ["", "# -dt", "; -dt\n1 2 3", "1 2 3\n-dt 0", "\x1f\x8b"])
def test_other_files_are_not_taken_for_one(start: str) -> None:
    assert not is_event_file(start.encode())


@pytest.mark.parametrize("name", ["log.events", "log.swf", "log"])
def test_gzip_and_plain_whatever_the_name(log_file: LogFile, name: str) -> None:
    text = f"# a comment\n{GOOD}\n".encode()
    plain, packed = read_workload(log_file(text, name)), read_workload(log_file(gzip.compress(text), name))
    assert plain.requests == packed.requests != None  # noqa: E711 - neither is
    assert [column.tolist() for column in plain.columns()] == [column.tolist() for column in packed.columns()]


def test_swf_has_no_requests(log_file: LogFile) -> None:
    log = read_workload(log_file("; MaxProcs: 4\n1 0 -1 60 4 -1 -1 4 120 -1 1 7 2 -1 1 1 -1 -1\n"))
    assert log.requests is None
    assert log.procs == 4


# ---- rows are taken with their requests -------------------------------------------------------------------------


def names(log: Workload) -> list[str]:
    assert log.requests is not None
    assert len(log.requests) == len(log)
    return [one.name for one in log.requests]


def test_rows_keep_their_requests() -> None:
    log = read_events(DATA / "ubccr.events")
    assert names(log.take(log.requested_procs > 32)) == ["jobid_00111", "jobid_00199", "jobid_00249"]
    assert names(log.take(np.array([7, 0]))) == ["jobid_02310", "jobid_00001"]
    assert names(log.take(log.run_time < 0)) == []
    assert names(log.with_columns(run_time=log.run_time + 1)) == names(log)
    assert names(log.whole_jobs()) == names(log)


def test_a_filter_keeps_requests_with_their_jobs() -> None:
    log = read_events(DATA / "ubccr.events")
    # Of more than 79 processors are 111 and 199, without run time is 249.
    kept = FILTERS["sc15"](log, 79)
    assert names(kept) == ["jobid_00001", "jobid_00002", "jobid_00113", "jobid_02139", "jobid_02310"]
    assert kept.line.tolist() == [1, 2, 4, 7, 8]


def test_requests_must_be_as_many_as_jobs() -> None:
    with pytest.raises(ValueError, match="one request a row"):
        Workload.build("made", {"run_time": [1, 2]}, requests=(JobSpec(1, None),))


def test_a_trace_plays_requests_in_order_of_submission(log_file: LogFile) -> None:
    late = GOOD.replace("-dt 0", "-dt 9").replace("--uid=ann", "--uid=bob -A chem -t 3")
    trace = make_trace(read_events(log_file(f"{late}\n{GOOD}\n")))
    assert (trace.job_id, trace.submit) == ([2, 1], [0, 9])
    assert (trace.user, trace.account) == (["ann", "bob"], ["", "chem"])
    assert trace.charged() == {("ann", ""), ("bob", "chem")}
    assert trace.spec(0) == JobSpec(2, None, 0, 2, user="ann", num_tasks=2)
    assert trace.spec(1) == JobSpec(2, 180, 0, 1, account="chem", user="bob", num_tasks=2)


def test_actual_run_times_become_the_limits_of_requests(log_file: LogFile) -> None:
    trace = make_trace(read_events(log_file(f"{GOOD} -t 3\n")), "actual")
    assert trace.spec(0).time_limit == 5


def test_a_trace_names_the_users_of_a_log_of_numbers() -> None:
    columns = {"submit_time": [0, 0], "run_time": [60, 60], "requested_procs": [4, 1], "requested_time": [120, -1]}
    trace = make_trace(Workload.build("made", {**columns, "user_id": [7, -1], "group_id": [2, -1]}))
    assert trace.charged() == {("user7", "group2"), ("", "")}
    assert trace.spec(0) == JobSpec(4, 120, 0, 7, 2, account="group2", user="user7")
    assert trace.spec(1) == JobSpec(1, None, 0, -1, -1)


# ---- bad input --------------------------------------------------------------------------------------------------

#: The second line, and what is said of it after file and line.
BAD: dict[str, tuple[str, str]] = {
    "no bar": ("-dt 0 -e submit_batch_job", "not an event: write -dt SECONDS -e submit_batch_job | sbatch options"),
    "text": ("Dear all,", "not an event: "),
    "no time": ("-e submit_batch_job | -sim-walltime 5", "-dt: is missing"),
    "no event": ("-dt 5 | -sim-walltime 5", "-e: is missing"),
    "an event without name": ("-dt 5 -e | -sim-walltime 5", "-e: is missing"),
    "another event": ("-dt 5 -e cancel_job | 3", "-e: event 'cancel_job' is not known: only submit_batch_job is"),
    "a time in letters": ("-dt x -e submit_batch_job | -sim-walltime 5", "-dt: 'x' is no number of seconds"),
    "a negative time": ("-dt -5 -e submit_batch_job | -sim-walltime 5", "-dt: '-5' is no number of seconds"),
    "no number": ("-dt nan -e submit_batch_job | -sim-walltime 5", "-dt: 'nan' is no number of seconds"),
    "a time beyond reason": ("-dt 1e300 -e submit_batch_job | -sim-walltime 5", "-dt: '1e300' is no number of seconds"),
    "no run time": (f"{HEAD} -n 1 job", "-sim-walltime: is missing, or has no value"),
    "a run time without value": (f"{HEAD} -n 1 -sim-walltime", "-sim-walltime: is missing, or has no value"),
    "an option as run time": (f"{HEAD} -sim-walltime -n 1", "-sim-walltime: '-n' is no number of seconds"),
    "an endless run time": (f"{HEAD} -sim-walltime inf", "-sim-walltime: 'inf' is no number of seconds"),
    "an unknown option": (f"{GOOD.removesuffix('job')} --foo=1", "--foo=1: no option that rota knows"),
    "an unknown letter": (f"{GOOD.removesuffix('job')} -Z1", "-Z: no option that rota knows"),
    "no value": (f"{GOOD.removesuffix('job')} --mem", "--mem: has no value"),
    "an empty value": (f"{GOOD.removesuffix('job')} --uid=", "--uid: has no value"),
    "letters in a count": (f"{HEAD} -sim-walltime 5 -n 1o", '-n: Invalid numeric value "1o" for --ntasks.'),
    "no task": (f"{HEAD} -sim-walltime 5 --ntasks=0", '--ntasks: Invalid numeric value "0" for --ntasks.'),
    "too many tasks": (f"{HEAD} -sim-walltime 5 -n 4294967296", '-n: Invalid numeric value "4294967296" for --ntasks.'),
    "too many CPUs": (f"{HEAD} -sim-walltime 5 -n 65536 -c 65536", "--ntasks: 4294967296 CPUs are too many"),
    "nodes the wrong way round": (
        f"{HEAD} -sim-walltime 5 -N 3-2",
        "-N: Maximum node count 2 is less than minimum node count 3",
    ),
    "a limit in words": (f"{HEAD} -sim-walltime 5 -t soon", "-t: 'soon' is not a time: "),
    "a limit beyond reason": (f"{HEAD} -sim-walltime 5 -t 9999999999", "-t: '9999999999' is too large"),
    "a size in words": (f"{HEAD} -sim-walltime 5 --mem=all", "--mem: 'all' is no size: write a number with K, M, G"),
    "a size beyond reason": (
        f"{HEAD} -sim-walltime 5 --mem=99999999T",
        "--mem: Memory specification can not be satisfied",
    ),
    "a nice value beyond reason": (f"{HEAD} -sim-walltime 5 --nice=9999999999", "--nice: Invalid --nice value, out of"),
    "a bad gres": (f"{HEAD} -sim-walltime 5 --gres=:", "--gres: "),
    "an open quote": (f"{HEAD} -sim-walltime 5 -J 'a", "No closing quotation: close the quotes"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line(log_file: LogFile, name: str) -> None:
    line, expected = BAD[name]
    path = log_file(f"{GOOD}\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_workload(path)
    assert str(caught.value).startswith(f"{path}:2: {expected}")
    assert "\n" not in str(caught.value)


def test_the_largest_values_that_are_taken(log_file: LogFile) -> None:
    most = 2**32 - 1
    found = read(log_file, f"-n {most} -N {most} --mem={most} -t {most}")
    assert (found.num_cpus, found.min_nodes, found.mem_per_node, found.time_limit) == (most, most, most, most * 60)


def test_no_jobs(log_file: LogFile) -> None:
    path = log_file("# nothing\n")
    with pytest.raises(InputError, match=r"log\.swf: no jobs: a line for each is needed"):
        read_events(path)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.events: no such file: check the name"):
        read_workload(tmp_path / "none.events")
