"""The SC15 filter: rule by rule on made jobs, then job by job against the published input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from rota.workload import FILTERS, Workload, bundled, read_swf, sc15

if TYPE_CHECKING:
    from pathlib import Path


def job(**changes: int) -> Workload:
    values = {"submit_time": 0, "run_time": 60, "allocated_procs": 4, "requested_procs": 4, "requested_time": 120}
    return Workload.build("made", {name: [value] for name, value in (values | changes).items()})


@pytest.mark.parametrize(
    "changes",
    [
        {"requested_procs": 9},
        {"allocated_procs": 9},
        {"requested_procs": 9, "allocated_procs": -1},
        {"requested_procs": -1, "allocated_procs": -1},
        {"requested_procs": 0, "allocated_procs": 0},
        {"run_time": 0},
        {"run_time": -1},
        {"requested_time": 0},
        {"requested_time": -1},
        {"submit_time": -1},
    ],
    ids=str,
)
def test_dropped(changes: dict[str, int]) -> None:
    assert len(sc15(job(**changes), 8)) == 0


@pytest.mark.parametrize(
    ("asked", "given", "size"),
    [(4, 4, 4), (4, 6, 4), (6, 4, 6), (4, -1, 4), (-1, 4, 4), (0, 4, 4), (4, 0, 4), (8, 8, 8)],
)
def test_processors(asked: int, given: int, size: int) -> None:
    kept = sc15(job(requested_procs=asked, allocated_procs=given), 8)
    assert kept.requested_procs.tolist() == kept.allocated_procs.tolist() == [size]


def test_run_time_is_cut_to_the_requested_time() -> None:
    assert sc15(job(run_time=130), 8).run_time.tolist() == [120]
    assert sc15(job(run_time=120), 8).run_time.tolist() == [120]


def test_order_lines_and_header_stay() -> None:
    log = Workload.build(
        "made",
        {"submit_time": [5, 0, 7], "run_time": [1, 0, 2], "requested_procs": [1, 1, 1], "requested_time": [9, 9, 9]},
        header=("; MaxProcs: 8",),
    )
    kept = FILTERS["sc15"](log, 8)
    assert (kept.line.tolist(), kept.submit_time.tolist(), kept.procs) == ([1, 3], [5, 7], 8)


def test_filtering_twice_changes_nothing() -> None:
    path = bundled("KTH-SP2")
    assert path is not None
    once = sc15(read_swf(path), 100)
    twice = sc15(once, 100)
    assert len(once) == 28_481
    assert all((a == b).all() for a, b in zip(once.columns(), twice.columns(), strict=True))


@pytest.mark.parametrize(
    ("log", "schedule", "count"),
    [
        ("KTH-SP2-1996-2", "KTH-SP2.easy-reqtime", 28_481),
        ("KTH-SP2-1996-2", "KTH-SP2.pyss-fcfs", 28_481),
        ("KTH-SP2-1996-2", "KTH-SP2.pyss-conservative", 28_481),
        ("SDSC-SP2.sc15-filtered54006", "SDSC-SP2.easy-reqtime", 54_006),
        ("SDSC-BLUE-2000-4.1-cln", "SDSC-BLUE.easy-reqtime", 232_542),
    ],
)
def test_published_inputs(traces: Path, golden: Path, log: str, schedule: str, count: int) -> None:
    workload = read_swf(traces / f"{log}.swf.gz")
    assert workload.procs is not None
    filtered = sc15(workload, workload.procs)
    published = read_swf(golden / f"{schedule}.swf.gz")
    assert len(filtered) == len(published) == count
    assert (filtered.allocated_procs == filtered.requested_procs).all()
    mine, theirs = np.argsort(filtered.job_number), np.argsort(published.job_number)
    for name in ("job_number", "submit_time", "run_time", "requested_procs", "allocated_procs", "requested_time"):
        assert np.array_equal(getattr(filtered, name)[mine], getattr(published, name)[theirs]), name
