"""Reading SWF: everything that real logs do and a strict reader would trip over."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rota.workload import FIELDS, read_swf

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    LogFile = Callable[..., Path]


JOB_1 = "1 0 5 60 4 -1 -1 4 120 -1 1 7 2 3 0 1 -1 -1"
JOB_2 = "2 10 0 30 8 12.5 100.25 8 60 512 0 8 2 3 1 1 1 15"


def test_every_field_arrives_under_its_own_name(log_file: LogFile) -> None:
    line = " ".join(str(place) for place in range(1, 19))
    log = read_swf(log_file(f"{line}\n"))
    assert [int(column[0]) for column in log.columns()] == list(range(1, 19))
    assert [field.name for field in FIELDS] == [
        "job_number",
        "submit_time",
        "wait_time",
        "run_time",
        "allocated_procs",
        "avg_cpu_time",
        "used_memory",
        "requested_procs",
        "requested_time",
        "requested_memory",
        "status",
        "user_id",
        "group_id",
        "executable",
        "queue",
        "partition",
        "preceding_job",
        "think_time",
    ]
    assert (log.submit_time[0], log.run_time[0], log.requested_procs[0], log.think_time[0]) == (2, 4, 8, 18)


def test_columns_are_whole_numbers_where_no_job_has_a_fraction(log_file: LogFile) -> None:
    log = read_swf(log_file(f"{JOB_1}\n{JOB_2}\n"))
    kinds = {field.name: getattr(log, field.name).dtype for field in FIELDS}
    assert {name for name, kind in kinds.items() if kind == np.float64} == {"avg_cpu_time", "used_memory"}
    assert log.avg_cpu_time.tolist() == [-1.0, 12.5]
    assert read_swf(log_file(f"{JOB_1}\n")).avg_cpu_time.dtype == np.int64


def test_fractions_of_a_second_are_rounded(log_file: LogFile) -> None:
    """As Batsim and OAR write them: a job holds its processors for as long as it ran, or a little longer."""
    words = JOB_1.split()
    for place, value in {2: "7.9", 3: "3.2", 4: "88.51", 9: "100.01", 18: "0.5"}.items():
        words[place - 1] = value
    path = log_file(f"{JOB_2.replace(' 10 ', ' 5 ', 1)}\n{' '.join(words)}\n")
    log = read_swf(path)
    times = (log.submit_time, log.wait_time, log.run_time, log.requested_time, log.think_time)
    assert [int(one[1]) for one in times] == [7, 3, 89, 101, 0]
    assert log.run_time.dtype == np.int64
    told = "a job has times with fractions of a second: run times and limits are rounded up"
    assert log.notes == (f"{told}; the first: {path}:2: field 2 (submit time)",)


def test_columns_cannot_be_written_to(log_file: LogFile) -> None:
    log = read_swf(log_file(JOB_1))
    with pytest.raises(ValueError, match="read-only"):
        log.run_time[0] = 1


def test_name_and_source(log_file: LogFile) -> None:
    path = log_file(JOB_1, "month.swf")
    log = read_swf(path)
    assert (log.name, log.source, len(log)) == ("month.swf", path, 1)


@pytest.mark.parametrize("name", ["log.swf.gz", "log.swf"])
def test_gzip_is_known_by_content(log_file: LogFile, name: str) -> None:
    assert len(read_swf(log_file(gzip.compress(JOB_1.encode()), name))) == 1


def test_plain_text_named_gz(log_file: LogFile) -> None:
    assert len(read_swf(log_file(JOB_1, "log.swf.gz"))) == 1


def test_several_gzip_members_are_one_file(log_file: LogFile) -> None:
    assert len(read_swf(log_file(gzip.compress(f"{JOB_1}\n".encode()) + gzip.compress(JOB_2.encode())))) == 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{JOB_1}\n{JOB_2}\n", id="plain"),
        pytest.param(f"{JOB_1}\n{JOB_2}", id="no newline at the end"),
        pytest.param(f"{JOB_1}\r\n{JOB_2}\r\n", id="carriage returns"),
        pytest.param(f"\n\n{JOB_1}\n  \n\t\n{JOB_2}\n\n\n", id="blank lines"),
        pytest.param(f"  {JOB_1}   \n\t{JOB_2}\t\n".replace(" ", "\t  "), id="tabs and indentation"),
        pytest.param(f"\ufeff{JOB_1}\n{JOB_2}\n", id="byte order mark"),
        pytest.param(f"{JOB_1}\n; in between\n{JOB_2}\n ; after\n", id="comments anywhere"),
        pytest.param(f"{JOB_1}\n{JOB_2}\n".replace("60", "60.0").replace(" 4 ", " +4 "), id="60.0 and +4"),
        pytest.param(f"{JOB_1}\n{JOB_2}\n".replace("120", "1.2e2"), id="exponent"),
    ],
)
def test_layouts(log_file: LogFile, text: str) -> None:
    log = read_swf(log_file(text))
    want = read_swf(log_file(f"{JOB_1}\n{JOB_2}\n", "want.swf"))
    for field in FIELDS:
        column = getattr(log, field.name)
        assert column.dtype == getattr(want, field.name).dtype
        assert column.tolist() == getattr(want, field.name).tolist()


def test_lines_are_those_of_the_file(log_file: LogFile) -> None:
    plain = read_swf(log_file(f"; one\n;\n\n{JOB_1}\n{JOB_2}\n"))
    assert plain.line.tolist() == [4, 5]
    mixed = read_swf(log_file(f"; one\n{JOB_1}\n\n; four\n{JOB_2}\n"))
    assert mixed.line.tolist() == [2, 5]


def test_comments_are_kept_as_they_stand(log_file: LogFile) -> None:
    content = "; Version: 2.2 \n;\n  ;\tå\n".encode() + b"; \xe5 in Latin-1\r\n" + f"{JOB_1}\n;late\n".encode()
    log = read_swf(log_file(content))
    assert log.header == ("; Version: 2.2 ", ";", "  ;\tå", "; \udce5 in Latin-1", ";late")


def test_a_comment_of_several_lines_is_header(log_file: LogFile) -> None:
    text = f"; Note: options: (c) a\nAll rights reserved.\n\n  ever, since 1991 'x'\n; Note: more\n{JOB_1}\n"
    log = read_swf(log_file(text))
    assert log.header == (
        "; Note: options: (c) a",
        "; All rights reserved.",
        ";   ever, since 1991 'x'",
        "; Note: more",
    )
    assert log.line.tolist() == [6]


@pytest.mark.parametrize(
    ("header", "facts"),
    [
        pytest.param(
            "; MaxProcs: 100\n; MaxNodes: 50\n; UnixStartTime: 843480031\n", (100, 50, 843480031, 100), id="all"
        ),
        pytest.param("; MaxNodes: 70  (dual)\n;   MaxProcs: 140\n", (140, 70, None, 140), id="remark and indentation"),
        pytest.param("; MaxProcs: 64.0\n; UnixStartTime: 9.\n", (64, None, 9, 64), id="as written with fractions"),
        pytest.param("; MaxNodes: -1\n; MaxProcs: 100\n", (100, None, None, 100), id="-1"),
        pytest.param(";MaxNodes:256\n", (None, 256, None, 256), id="nodes only"),
        pytest.param("; UnixStartTime: 0\n", (None, None, 0, None), id="start at 0"),
        pytest.param("; UnixStartTime: 3600\t # a remark\r\n", (None, None, 3600, None), id="tab, remark, CR"),
        pytest.param(
            "; MaxProcs: many\n; MaxProcs: 1x\n; maxprocs: 8\n", (8, None, None, 8), id="first that is a number"
        ),
        pytest.param("; MaxProcsPerNode: 4\n; Note: MaxProcs: 9\n", (None, None, None, None), id="other keys"),
        pytest.param("", (None, None, None, None), id="none"),
    ],
)
def test_header_facts(log_file: LogFile, header: str, facts: tuple[int | None, ...]) -> None:
    log = read_swf(log_file(header + JOB_1))
    assert (log.max_procs, log.max_nodes, log.unix_start_time, log.procs) == facts


def test_a_job_may_be_submitted_before_second_0(log_file: LogFile) -> None:
    assert read_swf(log_file(JOB_1.replace("1 0 ", "1 -300 ", 1))).submit_time.tolist() == [-300]


def test_partial_executions_share_the_number_of_their_job(log_file: LogFile) -> None:
    def line(status: int) -> str:
        return JOB_1.replace("-1 1 7", f"-1 {status} 7")

    log = read_swf(log_file("\n".join([line(1), line(2), line(3), JOB_2])))
    assert log.job_number.tolist() == [1, 1, 1, 2]
    assert log.whole_jobs().line.tolist() == [1, 4]
