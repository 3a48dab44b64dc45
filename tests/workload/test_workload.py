"""`Workload`: what it promises of its columns, and how others are made of it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rota.workload import Workload, bundled, bundled_names, read_swf
from rota.workload.checks import ColumnError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def test_build_fills_in_what_is_not_known() -> None:
    log = Workload.build("made", {"run_time": [60, 30, 10]})
    assert len(log) == 3
    assert log.job_number.tolist() == log.line.tolist() == [1, 2, 3]
    assert log.requested_time.tolist() == [-1, -1, -1]
    assert (log.name, log.header, log.source) == ("made", (), None)


def test_take_by_mask_and_by_rows() -> None:
    log = Workload.build("made", {"run_time": [60, 30, 10]})
    assert log.take(log.run_time > 20).job_number.tolist() == [1, 2]
    assert log.take(np.array([2, 0])).run_time.tolist() == [10, 60]
    assert len(log.take(log.run_time > 99)) == 0


def test_with_columns() -> None:
    log = Workload.build("made", {"run_time": [60, 30]}, header=(";",))
    changed = log.with_columns(wait_time=np.array([1.0, 2.0]), run_time=[1, 2])
    assert changed.wait_time.dtype == np.int64
    assert (changed.run_time.tolist(), log.run_time.tolist(), changed.header) == ([1, 2], [60, 30], (";",))


def test_the_callers_array_stays_writable_and_apart() -> None:
    mine = np.array([60, 30])
    Workload.build("made", {"run_time": mine})
    mine[0] = 1


@pytest.mark.parametrize("name", ["name", "header", "colour"])
def test_no_such_column(name: str) -> None:
    with pytest.raises(TypeError, match=f"no such columns: {name}"):
        Workload.build("made", {"run_time": [1]}).with_columns(**{name: [1]})


def test_no_column_at_all() -> None:
    with pytest.raises(ValueError, match="at least one column"):
        Workload.build("made", {})


def test_columns_of_different_lengths() -> None:
    with pytest.raises(ValueError, match="of one length"):
        Workload.build("made", {"run_time": [1, 2], "wait_time": [1]})


@pytest.mark.parametrize("line", ["no semicolon", "; two\n; lines", "; return\r", ""])
def test_header_lines_must_be_comments(line: str) -> None:
    with pytest.raises(ValueError, match="begins with a semicolon"):
        Workload.build("made", {"run_time": [1]}, header=(line,))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"run_time": [1, -5]}, r"row 1: field 4 \(run time\): '-5' is negative"),
        ({"run_time": [1.5, 1]}, r"row 0: field 4 \(run time\): '1.5' is not a whole number"),
        ({"used_memory": [np.nan, 1]}, r"row 0: field 7 \(used memory\): 'nan' is not a number"),
        ({"used_memory": [np.inf, 1]}, r"row 0: field 7 \(used memory\): 'inf' is not a number"),
        ({"wait_time": [0, 2**60]}, r"row 1: field 3 \(wait time\): '1152921504606846976' is too large"),
        ({"job_number": [7, 7]}, r"row 1: field 1 \(job number\): 7 is also that of row 0"),
    ],
)
def test_values_that_no_log_may_have(columns: dict[str, ArrayLike], message: str) -> None:
    with pytest.raises(ColumnError, match=message):
        Workload.build("made", columns)


def test_whole_jobs_of_a_log_without_partial_ones_is_itself() -> None:
    log = Workload.build("made", {"run_time": [60]})
    assert log.whole_jobs() is log


def test_bundled_log() -> None:
    assert bundled_names() == ("KTH-SP2",)
    assert bundled("no-such") is None
    path = bundled("kth-sp2")
    assert path is not None
    assert path == bundled("KTH-SP2")
    log = read_swf(path)
    assert (log.name, len(log), log.procs, log.unix_start_time) == ("KTH-SP2-1996-2.swf.gz", 28_489, 100, 843_480_031)
    assert "Lars Malinowsky" in (path.parent / "README.md").read_text()
    assert (log.line[0], log.line[-1], len(log.header)) == (20, 28_508, 19)


def test_import_brings_in_no_third_party_but_numpy() -> None:
    code = "import sys, rota.workload; print(*{name.partition('.')[0] for name in sys.modules})"
    modules = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "numpy" in modules
    assert not {"click", "rich", "pyarrow", "jinja2", "ClusterShell"} & set(modules)
