"""Every real log that is at hand: read, checked against an independent count, and written back."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from rota.workload import read_swf, sc15, write_swf

if TYPE_CHECKING:
    from pathlib import Path

#: Jobs, MaxProcs or MaxNodes, jobs after the SC15 filter.
LOGS = {
    "HPC2N-2002-2.2-cln": (202_871, 240, 202_871),
    "KTH-SP2-1996-2.1-cln": (28_476, 100, 28_467),
    "KTH-SP2-1996-2": (28_489, 100, 28_481),
    "LPC-EGEE-2004-1.2-cln": (234_889, 140, 214_322),
    "NASA-iPSC-1993-3.1-cln": (18_239, 128, 0),
    "SDSC-BLUE-2000-4.1-cln": (243_314, 1_152, 232_542),
    "SDSC-SP2-1998-4.2-cln": (59_715, 128, 53_999),
    "SDSC-SP2.sc15-filtered54006": (54_006, 128, 54_006),
    "lublin_256": (10_000, 256, 0),
    "theta_2022": (23_911, 4_360, 23_911),
}


@pytest.mark.parametrize(("name", "jobs", "procs", "filtered"), [(name, *facts) for name, facts in LOGS.items()])
def test_log(traces: Path, name: str, jobs: int, procs: int, filtered: int) -> None:
    log = read_swf(traces / f"{name}.swf.gz")
    assert (len(log), log.procs, len(sc15(log, procs))) == (jobs, procs, filtered)


@pytest.mark.parametrize(
    "name",
    [
        "KTH-SP2-1996-2",
        pytest.param("LPC-EGEE-2004-1.2-cln", marks=pytest.mark.slow),
        pytest.param("SDSC-SP2-1998-4.2-cln", marks=pytest.mark.slow),
    ],
)
def test_columns_are_what_a_plain_reading_gives(traces: Path, tmp_path: Path, name: str) -> None:
    path = traces / f"{name}.swf.gz"
    log = read_swf(path)
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    assert list(log.header) == [line for line in lines if line.startswith(";")]
    jobs = [(number, line) for number, line in enumerate(lines, 1) if line and not line.startswith(";")]
    assert log.line.tolist() == [number for number, _ in jobs]
    table = zip(*([float(word) for word in line.split()] for _, line in jobs), strict=True)
    assert [column.tolist() for column in log.columns()] == [list(column) for column in table]
    write_swf(log, tmp_path / "again.swf.gz")
    again = read_swf(tmp_path / "again.swf.gz")
    assert again.header == log.header
    assert [column.tolist() for column in again.columns()] == [column.tolist() for column in log.columns()]


def test_golden_schedules_read(golden: Path) -> None:
    for path in sorted(golden.glob("*.swf.gz")):
        log = read_swf(path)
        assert log.procs in {100, 128, 1_152}
        assert (log.wait_time >= 0).all()
