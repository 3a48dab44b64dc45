"""Result folders: what is written is read back, twice the same, all or nothing."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rota.model import InputError
from rota.results.schedule import Schedule
from rota.results.store import check_out, read_result, write_result

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from results.conftest import MakeHistory, MakeResult, RandomLog
    from rota.results.schedule import ReplayResult


@pytest.fixture
def result(three_jobs: Schedule, make_result: MakeResult) -> ReplayResult:
    return make_result(three_jobs, options="easy_order=sjf", origin=12)


def assert_equal(one: Schedule, other: Schedule) -> None:
    for field in fields(Schedule):
        ours, theirs = getattr(one, field.name), getattr(other, field.name)
        assert type(ours) is type(theirs)
        assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None)
        assert np.array_equal(ours, theirs), field.name


def write_swf(path: Path) -> None:
    path.write_bytes(b"swf")


def everything(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_round_trip(result: ReplayResult, tmp_path: Path) -> None:
    write_result(result, tmp_path / "out")
    again = read_result(tmp_path / "out")
    assert_equal(again.schedule, result.schedule)
    assert replace(again, schedule=result.schedule) == result


def test_names_and_history_are_read_back_and_give_the_same_page(
    result: ReplayResult, name_jobs: Callable[[Schedule], Schedule], make_history: MakeHistory, tmp_path: Path
) -> None:
    named = replace(result, schedule=name_jobs(result.schedule), priorities=make_history(result.schedule))
    for out in (tmp_path / "out", tmp_path / "out"):  # the second time over the first
        write_result(named, out)
    again = read_result(tmp_path / "out")
    assert_equal(again.schedule, named.schedule)
    assert again.schedule.account == ("optics", "chemistry", "optics")
    write_result(again, tmp_path / "again")
    assert everything(tmp_path / "again") == everything(tmp_path / "out")


def test_names_are_columns_of_their_own(
    result: ReplayResult, name_jobs: Callable[[Schedule], Schedule], tmp_path: Path
) -> None:
    write_result(result, tmp_path / "plain")
    write_result(replace(result, schedule=name_jobs(result.schedule)), tmp_path / "named")
    plain, named = (pq.read_table(tmp_path / name / "jobs.parquet") for name in ("plain", "named"))
    assert named.column_names == [*plain.column_names, "user_name", "account"]
    assert named.select(plain.column_names).equals(plain)
    assert pa.types.is_dictionary(named.schema.field("account").type)
    assert named["user_name"].to_pylist() == ["u7", "u8", "u7"]
    assert named.schema.field("user_name").metadata[b"description"]


def test_a_history_of_a_replaced_result_does_not_stay(
    result: ReplayResult, make_history: MakeHistory, tmp_path: Path
) -> None:
    write_result(replace(result, priorities=make_history(result.schedule)), tmp_path / "out")
    assert "priorities.json" in everything(tmp_path / "out")
    write_result(result, tmp_path / "out")
    assert "priorities.json" not in everything(tmp_path / "out")
    assert read_result(tmp_path / "out").priorities is None


@pytest.mark.parametrize("jobs", [0, 1])
def test_round_trip_of_few_jobs(jobs: int, random_log: RandomLog, make_result: MakeResult, tmp_path: Path) -> None:
    result = make_result(random_log(jobs, 1))
    write_result(result, tmp_path / "out")
    assert_equal(read_result(tmp_path / "out").schedule, result.schedule)


def test_two_runs_give_identical_bytes_but_for_the_timing(result: ReplayResult, tmp_path: Path) -> None:
    slower = replace(result, summary=replace(result.summary, wall_s=9.0, us_per_job=9.0))
    write_result(result, tmp_path / "a")
    write_result(slower, tmp_path / "b")
    first, second = everything(tmp_path / "a"), everything(tmp_path / "b")
    assert first.pop("timing.json") != second.pop("timing.json")
    assert sorted(first) == ["jobs.parquet", "report.html", "summary.json"]
    assert first == second


def test_jobs_parquet_says_what_it_holds(result: ReplayResult, tmp_path: Path) -> None:
    write_result(result, tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "jobs.parquet")
    assert all(field.metadata[b"description"] for field in table.schema)
    assert table.schema.field("submit").type == pa.int64()
    rows = table.to_pylist()
    assert rows[1]["wait"] == 50
    assert rows[1]["run"] == 5
    assert rows[1]["bounded_slowdown"] == 5.5
    assert (rows[1]["state"], rows[2]["state"]) == ("COMPLETED", "CANCELLED")
    assert [rows[2][name] for name in ("start", "end", "wait", "run", "bounded_slowdown")] == [
        None,
        190,
        None,
        None,
        None,
    ]


def test_the_caller_writes_further_files_into_the_same_folder(result: ReplayResult, tmp_path: Path) -> None:
    write_result(result, tmp_path / "out", more={"schedule.swf.gz": write_swf})
    assert (tmp_path / "out" / "schedule.swf.gz").read_bytes() == b"swf"


def test_a_previous_result_is_replaced_entirely(result: ReplayResult, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_result(result, out, more={"schedule.swf.gz": write_swf})
    write_result(result, out)
    assert "schedule.swf.gz" not in everything(out)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_empty_folder_and_missing_parents_are_filled(result: ReplayResult, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for out in (tmp_path / "empty", tmp_path / "new" / "deep"):
        check_out(out)
        write_result(result, out)
        assert (out / "report.html").exists()


def test_a_link_to_a_folder_stays_a_link(result: ReplayResult, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_result(result, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "summary.json").exists()


@pytest.mark.parametrize("name", ["thesis.tex", "report.html"])
def test_a_folder_with_anything_else_in_it_is_refused_and_kept(name: str, result: ReplayResult, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    for attempt in (check_out, partial(write_result, result)):
        with pytest.raises(InputError, match="choose another folder") as caught:
            attempt(tmp_path)
        assert caught.value.path == tmp_path
    assert everything(tmp_path) == {name: b"mine"}


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_what_cannot_be_a_folder_is_refused(out: str, result: ReplayResult, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for attempt in (check_out, partial(write_result, result)):
        with pytest.raises(InputError, match=str(tmp_path / out)):
            attempt(tmp_path / out)
    assert everything(tmp_path) == {"file": b"mine"}


def test_check_out_leaves_nothing_behind(tmp_path: Path) -> None:
    check_out(tmp_path / "a" / "b")
    assert not list(tmp_path.iterdir())


def test_a_failure_half_way_leaves_all_as_it_was(result: ReplayResult, tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    write_result(result, tmp_path / "out")
    before = everything(tmp_path / "out")
    for out in (tmp_path / "out", tmp_path / "new" / "deep"):
        with pytest.raises(InputError, match="No space left on device"):
            write_result(result, out, more={"schedule.swf.gz": fail})
    assert everything(tmp_path / "out") == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_interrupt_half_way_leaves_nothing(result: ReplayResult, tmp_path: Path) -> None:
    def interrupt(_: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_result(result, tmp_path / "out", more={"schedule.swf.gz": interrupt})
    assert not list(tmp_path.iterdir())


def test_timing_is_zero_where_it_is_not_known(result: ReplayResult, tmp_path: Path) -> None:
    write_result(result, tmp_path / "out")
    (tmp_path / "out" / "timing.json").unlink()
    assert read_result(tmp_path / "out").summary == replace(result.summary, wall_s=0.0, us_per_job=0.0)


def test_reading_what_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="no such folder"):
        read_result(tmp_path / "missing")
    with pytest.raises(InputError, match="not a folder"):
        read_result(tmp_path / "file")
    with pytest.raises(InputError, match="not the result of a replay"):
        read_result(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("summary.json", "{", "not JSON"),
        ("summary.json", "[]", "not a JSON object"),
        ("summary.json", "{}", "not the summary of a replay"),
        ("timing.json", '{"wall_s": "long"}', "wall_s: unexpected value 'long'"),
        ("timing.json", "{}", "wall_s: missing"),
        ("priorities.json", "{", "not JSON"),
        ("priorities.json", "{}", "not the history of priorities: format is not rota-priorities-1"),
        ("jobs.parquet", "PAR1", "not a table of jobs"),
        ("jobs.parquet", None, "no such file"),
    ],
)
def test_damaged_files_are_named(
    name: str, content: str | None, problem: str, result: ReplayResult, tmp_path: Path
) -> None:
    write_result(result, tmp_path / "out")
    path = tmp_path / "out" / name
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    with pytest.raises(InputError, match=problem) as caught:
        read_result(tmp_path / "out")
    assert caught.value.path == path
    assert "\n" not in str(caught.value)


def test_a_wrong_value_in_the_summary_is_named(result: ReplayResult, tmp_path: Path) -> None:
    write_result(result, tmp_path / "out")
    path = tmp_path / "out" / "summary.json"
    stored = json.loads(path.read_text())
    for broken in (stored | {"machine_procs": "ten"}, stored | {"machine_procs": True}):
        path.write_text(json.dumps(broken))
        with pytest.raises(InputError, match="machine_procs: unexpected value"):
            read_result(tmp_path / "out")


@pytest.mark.parametrize(
    ("column", "values", "problem"),
    [
        ("state", ["COMPLETED", "LOST", "COMPLETED"], "unknown state 'LOST'"),
        ("submit", [1, None, 2], "column submit has empty values"),
        ("procs", ["many", "few", "none"], "not a table of jobs"),
        ("procs", None, "not a table of jobs"),
    ],
)
def test_a_damaged_table_is_refused(
    column: str, values: list[object] | None, problem: str, result: ReplayResult, tmp_path: Path
) -> None:
    write_result(result, tmp_path / "out")
    path = tmp_path / "out" / "jobs.parquet"
    table = pq.read_table(path)
    place = table.schema.get_field_index(column)
    pq.write_table(table.remove_column(place) if values is None else table.set_column(place, column, [values]), path)
    with pytest.raises(InputError, match=problem):
        read_result(tmp_path / "out")
