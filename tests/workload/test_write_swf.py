"""Writing SWF: what is written reads back the same, in the same bytes every time, and never in part."""

from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from rota.model import InputError
from rota.workload import FIELDS, Workload, read_swf, write_swf
from rota.workload.fields import LIMIT

if TYPE_CHECKING:
    from rota.workload import Field


def values(field: Field) -> st.SearchStrategy[float]:
    whole = st.integers(field.least, field.most)
    if not field.fractional:
        return whole
    return st.one_of(whole, st.floats(0, LIMIT, allow_subnormal=True))


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    count = draw(st.integers(1, 8))
    columns: dict[str, Any] = {
        field.name: draw(st.lists(values(field), min_size=count, max_size=count, unique=field.name == "job_number"))
        for field in FIELDS
    }
    # A carriage return at the end would be one of CR LF, NUL would make it binary.
    text = st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r"))
    header = tuple(draw(st.lists(st.tuples(st.sampled_from([";", "; ", " ;\t"]), text).map("".join), max_size=4)))
    return Workload.build("log.swf", columns, header=header)


def assert_same(left: Workload, right: Workload) -> None:
    assert left.header == right.header
    for field, mine, other in zip(FIELDS, left.columns(), right.columns(), strict=True):
        assert mine.dtype == other.dtype, field.name
        assert mine.tolist() == other.tolist(), field.name


@given(workloads(), st.sampled_from(["log.swf", "log.swf.gz"]))
def test_round_trip(workload: Workload, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        write_swf(workload, path)
        again = read_swf(path)
        assert_same(again, workload)
        first = path.read_bytes()
        write_swf(again, path)
        assert path.read_bytes() == first
        assert os.listdir(folder) == [name]  # noqa: PTH208 - the names as they are


def small() -> Workload:
    return Workload.build(
        "log.swf",
        {"submit_time": [0, 10], "run_time": [60, 30], "avg_cpu_time": [10.0, 0.1], "requested_procs": [4, 8]},
        header=("; MaxProcs: 8", ";"),
    )


def test_text(tmp_path: Path) -> None:
    write_swf(small(), tmp_path / "log.swf")
    assert (tmp_path / "log.swf").read_text() == (
        "; MaxProcs: 8\n"
        ";\n"
        "1 0 -1 60 -1 10 -1 4 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n"
        "2 10 -1 30 -1 0.1 -1 8 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n"
    )


def test_bytes_of_the_header_that_are_not_utf_8(tmp_path: Path) -> None:
    content = b"; \xe5 and \xc3\xa5\n1 0 -1 60 -1 10 -1 4 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n"
    (tmp_path / "in.swf").write_bytes(content)
    write_swf(read_swf(tmp_path / "in.swf"), tmp_path / "out.swf")
    assert (tmp_path / "out.swf").read_bytes() == content


def test_gzip_bytes_tell_neither_time_nor_name(tmp_path: Path) -> None:
    write_swf(small(), tmp_path / "one.swf.gz")
    write_swf(small(), tmp_path / "another.swf.gz")
    packed = (tmp_path / "one.swf.gz").read_bytes()
    assert packed == (tmp_path / "another.swf.gz").read_bytes()
    assert packed[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    write_swf(small(), tmp_path / "plain.swf")
    assert gzip.decompress(packed) == (tmp_path / "plain.swf").read_bytes()


def test_no_jobs_can_be_written(tmp_path: Path) -> None:
    none = small().take(np.zeros(2, bool))
    write_swf(none, tmp_path / "log.swf")
    assert (tmp_path / "log.swf").read_text() == "; MaxProcs: 8\n;\n"


def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.swf"
    path.write_text("before")

    def fail(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device", str(self), None, str(target))

    monkeypatch.setattr(type(path), "replace", fail)
    with pytest.raises(InputError, match=r"log\.swf: cannot be written: No space left on device"):
        write_swf(small(), path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none/log\.swf: cannot be written: No such file or directory"):
        write_swf(small(), tmp_path / "none" / "log.swf")


def test_a_directory_of_that_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: Is a directory"):
        write_swf(small(), tmp_path)


def test_a_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "target.swf").touch()
    (tmp_path / "link.swf").symlink_to("target.swf")
    write_swf(small(), tmp_path / "link.swf")
    assert (tmp_path / "link.swf").is_symlink()
    assert len(read_swf(tmp_path / "target.swf")) == 2


def test_a_device_is_not_replaced() -> None:
    write_swf(small(), Path(os.devnull))
    assert Path(os.devnull).is_char_device()


def test_modes_are_those_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_swf(small(), tmp_path / "log.swf")
    finally:
        os.umask(before)
    assert (tmp_path / "log.swf").stat().st_mode & 0o777 == 0o640
