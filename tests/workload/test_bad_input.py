"""Bad input: one line that names file, line and field, and says what to do."""

from __future__ import annotations

import gzip
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis.strategies as st
import pytest
from hypothesis import given

from rota.model import InputError
from rota.workload import FIELDS, read_swf

if TYPE_CHECKING:
    from collections.abc import Callable

    LogFile = Callable[..., Path]


JOB = "1 0 5 60 4 -1 -1 4 120 -1 1 7 2 3 0 1 -1 -1"
JOB_2 = f"2{JOB[1:]}"


def problem(path: Path) -> str:
    """Read what cannot be read and give the message without the folder."""
    with pytest.raises(InputError) as caught:
        read_swf(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}:")
    assert caught.value.path == path
    return message.removeprefix(f"{path.parent}{os.sep}")


def left_out(path: Path) -> str:
    """Read what has one wrong job, and give what is told of it without the folder."""
    (note,) = read_swf(path).notes
    assert "\n" not in note
    start, found, message = note.partition(f" lines: {path.parent}{os.sep}")
    assert start.startswith("warning: a job is left out, of ")
    assert found
    return message


def with_value(place: int, value: str) -> str:
    """Give the job line with another value at ``place``, from 1."""
    words = JOB_2.split()
    words[place - 1] = value
    return " ".join(words)


def test_no_such_file(tmp_path: Path) -> None:
    assert problem(tmp_path / "log.swf") == "log.swf: no such file: check the name"


def test_directory(tmp_path: Path) -> None:
    assert problem(tmp_path).endswith(": is a directory: name a file in it")


def test_unreadable(log_file: LogFile, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not by chmod: the tests may run as root.
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    path = log_file(JOB)
    monkeypatch.setattr(type(path), "read_bytes", refuse)
    assert problem(path) == "log.swf: cannot be read: Permission denied"


@pytest.mark.parametrize("content", ["", "\n \n", "; MaxProcs: 4\n", "; a\n\n; b", gzip.compress(b"", mtime=0)])
def test_no_jobs(log_file: LogFile, content: str | bytes) -> None:
    assert problem(log_file(content)) == "log.swf: no jobs in it: check that it is the right file, and whole"


@pytest.mark.parametrize("content", [b"\x7fELF\x02\0\0\0", JOB.encode("utf-16")])
def test_binary(log_file: LogFile, content: bytes) -> None:
    assert problem(log_file(content)) == "log.swf: not SWF: binary data"


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("job,submit\n1,2\n", 1, "'job,submit'"),
        ('; a\n{"jobs": []}\n', 2, "'{\"jobs\": []}'"),
        ("; a\nplain prose, no comment\n1 2 3\n", 2, "'plain prose, no comment'"),
        ("; a\nprose " + "word " * 20, 2, "'prose word word word word word word word"),
        ("prose of just as many words as a job line has numbers in it makes no job line of it\n", 1, "'prose of"),
        ("\xe5\xe4\xf6 \x1b[31m", 1, "'\\xc3\\xa5"),
    ],
)
def test_other_text(log_file: LogFile, text: str, line: int, found: str) -> None:
    start = f"log.swf:{line}: not SWF: expected a comment (;) or a job of 18 numbers, found {found}"
    assert problem(log_file(text)).startswith(start)


@pytest.mark.parametrize(
    ("bad", "problem_text"),
    [
        (JOB_2.rsplit(" ", 1)[0], "17 fields instead of 18: write -1 for each one missing"),
        (f"{JOB_2} 0", "19 fields instead of 18: take out what does not belong"),
        (f"{JOB_2} ; remark", "20 fields instead of 18: take out what does not belong"),
        ("2", "1 field instead of 18: write -1 for each one missing"),
        ("END OF LOG", "3 fields instead of 18: write -1 for each one missing"),
        (f"{JOB_2}\r{JOB_2}", "36 fields instead of 18: take out what does not belong"),
    ],
)
@pytest.mark.parametrize("before", [f"{JOB}\n", f"; c\n{JOB}\n\n; d\n"])
def test_wrong_number_of_fields(log_file: LogFile, before: str, bad: str, problem_text: str) -> None:
    line = before.count("\n") + 1
    assert left_out(log_file(f"{before}{bad}\n3{JOB[1:]}\n")) == f"log.swf:{line}: {problem_text}"


def test_all_lines_with_17_fields(log_file: LogFile) -> None:
    assert problem(log_file(f"{JOB[2:]}\n{JOB[2:]}\n")).startswith("log.swf:1: 17 fields instead of 18")


@pytest.mark.parametrize(
    "value", ["abc", "6O", "0x10", "1_000", "12-3", "1,5", "nan", "inf", "-inf", "--1", "1e", "'7'", "٣"]
)
@pytest.mark.parametrize("place", [1, 4, 6, 18])
def test_not_a_number(log_file: LogFile, place: int, value: str) -> None:
    message = left_out(log_file(f"; c\n{JOB}\n{with_value(place, value)}\n"))
    field = f"field {place} ({FIELDS[place - 1].title})"
    assert message.startswith(f"log.swf:3: {field}: ")
    assert message.endswith(" is not a number: correct it, or write -1 for unknown")
    if value.isascii():
        assert repr(value) in message


def test_a_slip_in_the_first_job_is_not_taken_for_a_comment(log_file: LogFile) -> None:
    text = f"; c\nx{JOB}\n; late\n{JOB_2}\n"
    assert left_out(log_file(text)).startswith("log.swf:2: field 1 (job number): 'x1' is not a number")


@pytest.mark.parametrize("place", [place for place in range(1, 19) if place not in {2, 3, 4, 6, 7, 9, 18}])
def test_fraction_where_a_whole_number_belongs(log_file: LogFile, place: int) -> None:
    want = f"log.swf:2: field {place} ({FIELDS[place - 1].title}): '1.5' is not a whole number: round it"
    assert left_out(log_file(f"{JOB}\n{with_value(place, '1.5')}\n")) == want


@pytest.mark.parametrize("place", range(3, 19))
@pytest.mark.parametrize("value", ["-2", "-60"])
def test_negative(log_file: LogFile, place: int, value: str) -> None:
    field = f"field {place} ({FIELDS[place - 1].title})"
    want = f"log.swf:2: {field}: '{value}' is negative: correct it, or write -1 for unknown"
    assert left_out(log_file(f"{JOB}\n{with_value(place, value)}\n")) == want


def test_negative_fraction(log_file: LogFile) -> None:
    message = problem(log_file(with_value(6, "-0.5")))
    assert message.startswith("log.swf:1: field 6 (average CPU time): '-0.5' is negative")


def test_negative_job_number(log_file: LogFile) -> None:
    message = problem(log_file(f"{with_value(1, '-1')}\n"))
    assert message == "log.swf:1: field 1 (job number): '-1' is negative: number the jobs from 1"


@pytest.mark.parametrize("value", ["9007199254740993", "99999999999999999999", "1e999", "-99999999999999999999"])
def test_too_large(log_file: LogFile, value: str) -> None:
    message = left_out(log_file(f"{JOB}\n{with_value(2, value)}\n"))
    assert message.startswith(f"log.swf:2: field 2 (submit time): '{value}' is too large")


def test_the_first_of_several_faults_is_named(log_file: LogFile) -> None:
    lines = [JOB, with_value(8, "-9"), with_value(4, "-9")]
    lines[2] = lines[2].replace("2", "3", 1)
    assert problem(log_file("\n".join(lines))).startswith("log.swf:2: field 8 ")


def test_of_two_jobs_with_one_number_the_second_gets_another(log_file: LogFile) -> None:
    path = log_file(f"; c\n{JOB}\n{JOB_2}\n{JOB}\n{JOB_2}\n")
    log = read_swf(path)
    assert log.job_number.tolist() == [1, 2, 3, 4]
    told = "2 lines have the numbers of other jobs: each is a job of its own"
    assert log.notes == (f"warning: {told}: {path}:4: 1 is the first of them, and 3 here",)


def test_one_odd_line_costs_its_job_and_not_the_file(log_file: LogFile) -> None:
    lines = [f"{number}{JOB[1:]}" for number in range(1, 9)]
    lines[2], lines[5] = lines[2].rsplit(" ", 1)[0], lines[5].replace(" 60 ", " -60 ")
    path = log_file("\n".join(lines))
    log = read_swf(path)
    assert log.line.tolist() == log.job_number.tolist() == [1, 2, 4, 5, 7, 8]
    told = "17 fields instead of 18: write -1 for each one missing"
    assert log.notes == (f"warning: 2 jobs are left out, of 8 lines: {path}:3: {told}",)


def test_a_file_of_which_most_is_odd_is_refused(log_file: LogFile) -> None:
    message = problem(log_file(f"{JOB}\n{with_value(4, '-7')}\n3 x{JOB[3:]}\n"))
    assert message.startswith("log.swf:2: field 4 (run time): '-7' is negative")


def test_an_odd_job_with_the_number_of_another_is_odd(log_file: LogFile) -> None:
    text = f"{JOB}\n{JOB_2}\n{JOB.replace(' 60 ', ' -60 ')}\n{JOB_2}\n"
    log = read_swf(log_file(text))
    assert (log.line.tolist(), log.job_number.tolist(), len(log.notes)) == ([1, 2, 4], [1, 2, 3], 2)


@pytest.mark.parametrize(("place", "value"), [(2, 253_402_300_799), (3, 3_153_600_000), (4, 3_153_600_000)])
def test_no_time_is_beyond_all_dates_or_longer_than_a_hundred_years(log_file: LogFile, place: int, value: int) -> None:
    message = left_out(log_file(f"{JOB}\n{with_value(place, str(value + 1))}\n"))
    assert f"'{value + 1}' is too large" in message
    assert read_swf(log_file(f"{JOB}\n{with_value(place, str(value))}\n")).notes == ()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("MaxProcs: x", "MaxProcs: 'x' is no whole number from 1 to 253402300799: it is passed over"),
        ("maxprocs:0", "MaxProcs: '0' is no whole number from 1 to 253402300799: it is passed over"),
        ("MaxNodes: 1e3", "MaxNodes: '1e3' is no whole number from 1 to 253402300799: it is passed over"),
        ("MaxProcs: 100 200", "MaxProcs: '100 200' are several numbers: 100 is taken"),
        (
            "UnixStartTime: 1996-09-23",
            "UnixStartTime: '1996-09-23' is no whole number from 0 to",
        ),
        ("UnixStartTime: -300", "UnixStartTime: '-300' is no whole number from 0 to 253402300799: it is passed over"),
        (
            "UnixStartTime: 99999999999999999999",
            "UnixStartTime: '99999999999999999999' is no whole number",
        ),
        ("TimeZoneString: Mars/Olympus", "TimeZoneString: 'Mars/Olympus' is no time zone that is known here: times"),
        ("MaxProcs: 64.5", "MaxProcs: '64.5' is no whole number"),
        ("MaxProcs: 64.0", ""),
        ("MaxNodes: 70  (dual)", ""),
        ("MaxProcs: -1", ""),
        ("MaxJobs: x", ""),
        ("TimeZoneString: Europe/Stockholm", ""),
    ],
)
@pytest.mark.parametrize("before", ["", f"{JOB_2}\n"])
def test_what_a_header_says_in_vain_is_told(log_file: LogFile, before: str, line: str, told: str) -> None:
    """Also where it is behind the first job."""
    path = log_file(f"; c\n{before}; {line}\r\n{JOB}\n")
    number = 3 if before else 2
    notes = read_swf(path).notes
    assert [note.startswith(f"warning: {path}:{number}: {told}") for note in notes] == [True] * bool(told)


def test_the_first_of_two_values_is_taken_and_told(log_file: LogFile) -> None:
    path = log_file(f"; MaxProcs: 8\n; MaxProcs: 8\n; MaxProcs: 9\n{JOB}\n")
    log = read_swf(path)
    assert log.max_procs == 8
    assert log.notes == (f"warning: {path}:3: MaxProcs: it was 8 before, which is taken, and not 9",)


def test_a_machine_with_fewer_processors_than_nodes_is_told(log_file: LogFile) -> None:
    path = log_file(f"; MaxNodes: 9\n; MaxProcs: 8\n{JOB}\n")
    assert read_swf(path).notes == (f"warning: {path}: MaxNodes is 9, and MaxProcs only 8, which is taken",)
    assert read_swf(log_file(f"; MaxNodes: 8\n; MaxProcs: 8\n{JOB}\n")).notes == ()


def test_submit_times_that_go_back_are_told(log_file: LogFile) -> None:
    path = log_file(f"{JOB.replace('1 0', '1 9')}\n{JOB_2}\n")
    one = "a job was submitted before that on the line above it: all are taken in the order of time"
    assert read_swf(path).notes == (f"{one}; the first: {path}:2: field 2 (submit time)",)


def test_truncated_gzip(log_file: LogFile) -> None:
    packed = gzip.compress(f"{JOB}\n{JOB_2}\n".encode())
    for length in (3, len(packed) // 2, len(packed) - 9, len(packed) - 1):
        assert problem(log_file(packed[:length])) == "log.swf: the gzip data is cut short: get the file again"


def test_damaged_gzip(log_file: LogFile) -> None:
    packed = bytearray(gzip.compress(f"{JOB}\n{JOB_2}\n".encode()))
    packed[-8] ^= 0xFF  # the check sum
    assert problem(log_file(bytes(packed))).startswith("log.swf: the gzip data is damaged (CRC check failed")
    packed[2:3] = b"\xff"  # the method
    assert problem(log_file(bytes(packed))).startswith("log.swf: the gzip data is damaged (Unknown compression method)")
    packed[2:3] = b"\x08"
    packed[10:20] = b"\xff" * 10
    assert problem(log_file(bytes(packed))).startswith("log.swf: the gzip data is damaged (")
    garbage = gzip.compress(JOB.encode()) + b"more"
    assert problem(log_file(garbage)).startswith("log.swf: the gzip data is damaged (Not a gzipped file")


def test_a_long_line_of_digits_is_refused_at_once(log_file: LogFile) -> None:
    words = ["1" * 2000] * 17 + ["1" * 2000 + "x"]
    began = time.perf_counter()
    assert left_out(log_file(f"{JOB}\n{' '.join(words)}\n")).startswith("log.swf:2: field 18 (think time): '1111")
    assert time.perf_counter() - began < 1


#: Mostly right, so that the odd wrong one is found among many, not at the first step.
WORDS = st.one_of(
    st.integers(-1, 99).map(str),
    st.sampled_from(["7", "1.0", "0.5", "-2", "1e3", "nan", "x", ".", "1_0", "\xa0", "\x0b"]),
)
LINES = st.one_of(
    st.sampled_from(["", " ", ";", "; c", " ; c", "word", "\r", "1", JOB, f"{JOB} 1"]),
    st.lists(WORDS, min_size=18, max_size=18).map(" ".join),
)


@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_any_text_is_read_as_python_would_or_refused(lines: list[str], newline: str) -> None:
    content = newline.join(lines).encode("latin-1")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.swf")
        path.write_bytes(content)
        try:
            log = read_swf(path)
        except InputError:
            return
    text = content.decode("latin-1").split("\n")
    assert [[float(word) for word in text[line - 1].split()] for line in log.line] == [
        list(row) for row in zip(*(column.tolist() for column in log.columns()), strict=True)
    ]
    ignored = set(range(1, len(text) + 1)) - set(log.line.tolist())
    first = log.line[0]
    assert all(not text[n - 1].strip() or ";" in text[n - 1] or n < first for n in ignored)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for start in (b"", b"\x1f\x8b", JOB.encode() + b"\n"):
            path = Path(folder, "log.swf")
            path.write_bytes(start + content)
            try:
                read_swf(path)
            except InputError as error:
                assert "\n" not in str(error)  # noqa: PT017 - being read is as good
