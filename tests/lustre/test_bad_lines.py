"""A line that cannot be read costs what stands in it, is counted, and is told with its number and its reason."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest

from rota.lustre.counters import Counter
from rota.lustre.deltas import Deltas
from rota.lustre.feed import SourceFeed
from rota.lustre.job_stats import LONGEST_LINE, SHOWN_BAD_LINES, JobStatsParser
from rota.lustre.sources import parse_source

if TYPE_CHECKING:
    from pathlib import Path

    from rota.lustre.counters import JobStats

GOOD = b"""\
obdfilter.fs-OST0000.job_stats=
job_stats:
- job_id:          one
  snapshot_time:   100
  read_bytes:      { samples:           2, unit: bytes, min:    4096, max:    4096, sum:            8192 }
  punch:           { samples:           1, unit:  reqs }
- job_id:          two
  snapshot_time:   101
  read_bytes:      { samples:           3, unit: bytes, min:       1, max:       4, sum:               9 }
"""
READ_BYTES = {"one": Counter(2, "bytes", 4096, 4096, 8192), "two": Counter(3, "bytes", 1, 4, 9)}


def read(data: bytes) -> tuple[dict[str, JobStats], JobStatsParser]:
    parser = JobStatsParser("here")
    return {entry.job_id: entry for entry in [*parser.feed(data), *parser.close()]}, parser


@pytest.mark.parametrize(
    ("line", "bad"),
    [
        (b"samples:           1, unit:  reqs", b"samples:          x1, unit:  reqs"),
        (b"samples:           1, unit:  reqs", b"samples:          -1, unit:  reqs"),
        (b"samples:           1, unit:  reqs", b"samples: 99999999999999999999, unit:  reqs"),
        (b"samples:           1, unit:  reqs", b"samples:           1"),
        (b"samples:           1, unit:  reqs", b"unit:  reqs"),
        (b"  punch:           { samples:           1, unit:  reqs }", b"  punch            1"),
        (b"  punch:           { samples:           1, unit:  reqs }", b"\xff\x00\x1b[2J"),
        (b"  punch:           { samples:           1, unit:  reqs }", b"  punch:           { samples:           1,"),
        (b"  punch:           { samples:           1, unit:  reqs }", b"  punch: {" + b"1" * LONGEST_LINE),
    ],
)
def test_a_bad_line_costs_one_counter(line: bytes, bad: bytes) -> None:
    entries, parser = read(GOOD.replace(line, bad))
    assert {name: entry.counters for name, entry in entries.items()} == {
        name: {"read_bytes": counter} for name, counter in READ_BYTES.items()
    }
    assert [entry.damaged for entry in entries.values()] == [True, False]
    [shown] = parser.findings.shown
    assert (shown.number, shown.target, parser.findings.bad_lines) == (6, "fs-OST0000", 1)
    assert parser.findings.targets == {"fs-OST0000": True}  # no entry is missing


def test_a_counter_for_the_second_time_does_not_count() -> None:
    entries, parser = read(GOOD.replace(b"punch:     ", b"read_bytes:"))
    assert entries["one"].counters == {"read_bytes": READ_BYTES["one"]}
    assert parser.findings.shown[0].reason == "a counter for the second time"


@pytest.mark.parametrize("bad", [b"- jb_id: two", b"- job_id: " + b"2" * 2000, b"garbage", b""])
def test_an_entry_without_a_readable_name_is_nobodys(bad: bytes) -> None:
    entries, parser = read(GOOD.replace(b"- job_id:          two", bad))
    assert list(entries) == ["one"]
    assert entries["one"].counters["read_bytes"] == READ_BYTES["one"]
    assert parser.findings.bad_lines >= 1
    assert parser.findings.targets == {"fs-OST0000": False}


def test_counters_in_front_of_any_job_are_nobodys() -> None:
    entries, parser = read(GOOD.replace(b"- job_id:          one\n", b""))
    assert list(entries) == ["two"]
    assert parser.findings.bad_lines == 1
    assert parser.findings.targets == {"fs-OST0000": False}


def test_wherever_a_dump_ends_what_was_read_is_right() -> None:
    whole, _ = read(GOOD)
    for end in range(len(GOOD)):
        entries, parser = read(GOOD[:end])
        for job_id, entry in entries.items():
            assert job_id in whole
            assert entry.snapshot_time in {None, whole[job_id].snapshot_time}
            assert entry.counters.items() <= whole[job_id].counters.items()
        at_line_end = GOOD[:end].rstrip(b" ").endswith((b"\n", b"}", b"job_stats:", b"job_stats=")) or end == 0
        assert (parser.findings.bad_lines == 0) is at_line_end, GOOD[:end]


def test_a_text_that_is_something_else_is_all_bad_lines() -> None:
    entries, parser = read(b"<html>\n<body>502 Bad Gateway</body>\n</html>\n")
    assert not entries
    assert parser.findings.bad_lines == 3


def test_bytes_that_are_no_name_of_a_parameter_hide_nothing() -> None:
    entries, parser = read(GOOD.replace(b"  punch:", b"\xff\x00=\n  punch:"))
    assert list(entries) == ["one", "two"]
    assert set(entries["one"].counters) == {"read_bytes", "punch"}
    assert parser.findings.bad_lines == 1


def test_hostile_ids_are_ids() -> None:
    names = [b"-rf", b"--help", b"$(reboot)", b"a{b", b"x: { samples: 1 }", b"job_stats:", b"a=b", b"; ls", b"#1"]
    entries, parser = read(b"job_stats:\n" + b"".join(b"- job_id: %b\n  snapshot_time: 1\n" % name for name in names))
    assert [entry.encode() for entry in entries] == names
    assert parser.findings.bad_lines == 0


def test_only_the_first_bad_lines_are_kept_and_none_of_them_whole() -> None:
    _, parser = read(b"job_stats:\n- job_id: x\n" + b"\xff" * 5000 + b"\n" + b"what\n" * 1000)
    assert parser.findings.bad_lines == 1001
    assert len(parser.findings.shown) == SHOWN_BAD_LINES
    assert max(len(bad.text) for bad in parser.findings.shown) <= 400


def test_a_line_without_end_is_not_kept() -> None:
    parser = JobStatsParser()
    parser.feed(b"job_stats:\n- job_id: x\n  punch: { ")
    tracemalloc.start()
    for _ in range(100):
        parser.feed(b"x" * 100_000)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 200_000


@pytest.mark.parametrize(
    ("line", "counter"),
    [
        # 2.17 may write what is large in this way.
        (b"sync: { samples: 3, unit: usecs, min: 1, max: 2, sum: 5, sumsq: 1.234e+20 }", (3, 1, 2, 5, 1234 * 10**17)),
        # The order, a field and blanks that no release has had yet.
        (b"sync:{unit:usecs,p99: 7,samples:3,sum:5,max:2,min:1}", (3, 1, 2, 5, None)),
        (b"\tsync:\t{ samples:\t3,\tunit:\tusecs, min: 1, max:2, sum:5 }\r", (3, 1, 2, 5, None)),
    ],
)
def test_unusual_counters_are_read(line: bytes, counter: tuple[int | None, ...]) -> None:
    entries, parser = read(b"job_stats:\n- job_id: x\n  snapshot_time: 1\n" + line + b"\n")
    samples, minimum, maximum, total, squares = counter
    assert samples is not None
    assert entries["x"].counters == {"sync": Counter(samples, "usecs", minimum, maximum, total, squares)}
    assert parser.findings.bad_lines == 0


def test_unknown_operations_and_long_names_are_kept() -> None:
    name = b"an_operation_of_release_3_with_a_name_longer_than_any"
    entries, _ = read(b"job_stats:\n- job_id: x\n  " + name + b": { samples: 5, unit: furlongs }\n")
    assert entries["x"].counters == {name.decode(): Counter(5, "furlongs")}


def test_raw_files_one_after_another_are_of_different_targets() -> None:
    text = b"job_stats:\n- job_id: x\n  snapshot_time: 1\n  sync: { samples: 5, unit: reqs }\n"
    parser = JobStatsParser("here")
    found = [*parser.feed(text + b"some.other.parameter=\n- job_id: no\n" + text), *parser.close()]
    assert [(entry.target, entry.job_id) for entry in found] == [("here", "x"), ("here#2", "x")]
    assert parser.findings.nameless == 2


def test_a_line_that_cannot_be_read_is_told_with_its_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(
            b"obdfilter.fs-OST000%b.job_stats=\njob_stats:\n- job_id: 1\n  sync: { samples: -%b, unit: reqs }\n"
            % (name.encode(), name.encode())
        )
    feed = SourceFeed(parse_source(f"dir:{tmp_path}"), 1.0, Deltas())
    reading = feed.read(1_700_000_000, lambda *_: None)
    assert reading.bad_lines == 2
    why = "samples is no number that counts: '  sync: { samples: -a, unit: reqs }'"
    assert reading.bad_line == f"{tmp_path}/a: line 4 (fs-OST000a): {why}"
