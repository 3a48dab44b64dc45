"""`rota jobstats parse`: what is printed of published texts, and of what cannot be read."""

from __future__ import annotations

import io
import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from rota.cli import jobstats_parse
from rota.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

Captured = pytest.CaptureFixture[str]


def parse(capsys: Captured, *words: str, status: int = 0) -> tuple[str, list[str]]:
    """What is printed, and the lines on standard error."""
    assert main(["jobstats", "parse", *words]) == status
    captured = capsys.readouterr()
    return captured.out, captured.err.splitlines()


def test_a_line_of_json_for_each_target_job_and_operation(capsys: Captured, data: Path) -> None:
    out, err = parse(capsys, str(data / "whamcloud-exa-hist-quoted-ost.job_stats"), "--json")
    lines: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]
    assert lines[1] == {
        "target": "whamcloud-exa-hist-quoted-ost",
        "job_id": "SLURM_JOB_machine176_2453:0:mac",
        "raw_job_id": '"SLURM_JOB_machine176_2453:0:mac"',
        "snapshot_time": 1721048514.718714674,
        "start_time": 1720764336.685487209,
        "operation": "write_bytes",
        "samples": 12999,
        "unit": "bytes",
        "min": 4096,
        "max": 1048576,
        "sum": 3918708736,
        "sumsq": 1989431670079488,
        "hist": {
            "4K": 35,
            "8K": 49,
            "16K": 96,
            "32K": 276,
            "64K": 837,
            "128K": 2390,
            "256K": 3891,
            "512K": 3380,
            "1M": 2045,
        },
    }
    assert [line["operation"] for line in lines[:4]] == ["read_bytes", "write_bytes", "read", "write"]
    assert re.fullmatch(r"1 jobs, 15 counters, 0 bad lines, \d+\.\d{3} s", err[-1])


def test_every_sample_gives_a_line_for_each_counter(capsys: Captured, data: Path, samples: dict[str, bytes]) -> None:
    for name, text in samples.items():
        out, err = parse(capsys, str(data / name), "--json")
        jobs = text.count(b"- job_id:")
        counters = len(re.findall(rb"\{ samples:", text))
        assert out.count("\n") == counters, name
        assert err[-1].startswith(f"{jobs} jobs, {counters} counters, 0 bad lines, "), name


def test_the_table_shows_what_happened(capsys: Captured, data: Path) -> None:
    out, _ = parse(capsys, str(data / "lustre-manual-multi-target.lctl"))
    assert out == (
        "TARGET        JOB               OPERATION  SAMPLES  UNIT      MIN        MAX         SUM\n"
        "myth-OST0000  mythcommflag.0    read           974  bytes   4,096  1,048,576  91,530,035\n"
        "myth-OST0001  mythbackend.0     write            1  bytes  96,899     96,899      96,899\n"
        "                                punch            1  reqs\n"
        "myth-OST0004  mythfrontend.500  read             9  bytes  16,384  1,048,576   4,444,160\n"
        "              mythbackend.500   write            1  bytes  56,231     56,231      56,231\n"
        "                                punch            1  reqs\n"
    )


def test_standard_input(capsys: Captured, monkeypatch: pytest.MonkeyPatch, samples: dict[str, bytes]) -> None:
    text = io.BytesIO(samples["gsi-lustre_exporter-ost-emptyjobid.job_stats"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(text))
    out, _ = parse(capsys, "-")
    assert out.splitlines()[1].split()[:3] == ["stdin", "(empty)", "read_bytes"]


def test_ids_cannot_write_to_the_terminal(capsys: Captured, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b'job_stats:\n- job_id: "a\\x1B[2Jb\\x0Ac"\n  sync: { samples: 5, unit: reqs }\n')
    out, _ = parse(capsys, str(tmp_path / "x"))
    assert r"a\x1b[2Jb\nc" in out
    assert json.loads(parse(capsys, str(tmp_path / "x"), "--json")[0])["job_id"] == "a\x1b[2Jb\nc"


def test_bad_lines_are_told_and_are_no_failure(capsys: Captured, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"job_stats:\n- job_id: a\n  sync: { samples: five, unit: reqs }\n  op\x1ben\n")
    _, err = parse(capsys, str(tmp_path / "x"))
    name = tmp_path / "x"
    assert err[0] == f"{name}: line 3 (x): samples is no number that counts: '  sync: {{ samples: five, unit: reqs }}'"
    assert err[1] == rf"{name}: line 4 (x): neither a counter nor anything else that is known: '  op\x1ben'"
    assert err[2].startswith("1 jobs, 0 counters, 2 bad lines, ")


def test_what_was_read_before_a_failure_is_shown(capsys: Captured, tmp_path: Path) -> None:
    (tmp_path / "good").write_bytes(b"job_stats:\n- job_id: a\n  sync: { samples: 5, unit: reqs }\n")
    (tmp_path / "bad").write_bytes(b"\x1f\x8b")
    out, err = parse(capsys, f"dir:{tmp_path}", status=2)
    assert len(out.splitlines()) == 2
    assert err[-2].startswith("1 jobs, 1 counters, 0 bad lines, ")
    assert err[-1].startswith(f"rota: error: {tmp_path}/bad: the packed data is damaged or cut short")


def test_a_file_that_is_not_there(capsys: Captured) -> None:
    _, err = parse(capsys, "nowhere.job_stats", status=2)
    assert err[-1] == "rota: error: nowhere.job_stats: No such file or directory"


def test_a_table_of_any_length_takes_the_memory_of_a_piece(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says the same, but for the width of columns, which later pieces can only make larger."""
    monkeypatch.setattr(jobstats_parse, "_PIECE", 7)
    entry = "- job_id: {}\n  open: {{ samples: {}, unit: reqs }}\n  sync: {{ samples: 1, unit: reqs }}\n"
    (tmp_path / "x").write_text("job_stats:\n" + "".join(entry.format(10**job, 10**job) for job in range(10)))
    out, err = parse(capsys, str(tmp_path / "x"))
    lines = [line.split() for line in out.splitlines()]
    assert len(lines) == 21
    assert lines[1] == ["x", "1", "open", "1", "reqs"]
    assert lines[2::2] == [["sync", "1", "reqs"]] * 10
    assert lines[3::2] == [[str(10**job), "open", f"{10**job:,}", "reqs"] for job in range(1, 10)]
    assert err[-1].startswith("10 jobs, 20 counters, ")


def test_targets_without_a_name_are_numbered_and_told(capsys: Captured, tmp_path: Path) -> None:
    text = "job_stats:\n- job_id: 90\n  snapshot_time: 1\n  sync: { samples: 5, unit: reqs }\n"
    (tmp_path / "dump").write_text(text * 2)
    out, err = parse(capsys, str(tmp_path / "dump"), "--json")
    assert [json.loads(line)["target"] for line in out.splitlines()] == ["dump", "dump#2"]
    assert err[0] == "dump: 2 targets have no name: they are numbered by their places"
