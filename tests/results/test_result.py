"""What is done with results in Python: tables, pages, folders and comparisons."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rota.config import interchangeable
from rota.model import InputError, JobSpec
from rota.replays import Scenario, replay
from rota.results.parquet import COLUMNS
from rota.results.result import Result
from rota.results.side_by_side import Comparison, compare
from rota.results.store import RESULT_FILES
from rota.workload import Workload

if TYPE_CHECKING:
    from pathlib import Path

    from rota.results.schedule import ReplayResult


@pytest.fixture
def scenario() -> Scenario:
    """On a machine of four: job 2 waits for job 1 until 100, and job 3, which is short, goes ahead with EASY alone."""
    jobs = [(0, 100, JobSpec(num_cpus=3, time_limit=100)), (1, 50, JobSpec(num_cpus=4, time_limit=60))]
    jobs.append((2, 20, JobSpec(time_limit=30)))
    return Scenario(Workload.from_jobs(jobs, name="<three>"), interchangeable(4))


@pytest.fixture
def easy(scenario: Scenario) -> Result:
    return replay(scenario)


@pytest.fixture
def fifo(scenario: Scenario) -> Result:
    return replay(scenario.using(scheduler="sched/builtin"))


def test_jobs_are_an_arrow_table_and_a_data_frame_by_job(easy: Result) -> None:
    table = easy.to_arrow()
    assert table.column_names[: len(COLUMNS)] == list(COLUMNS)
    assert table.column("start").to_pylist() == [0, 100, 2]
    frame = easy.to_pandas()
    assert frame.index.tolist() == [1, 2, 3]
    assert frame.wait.tolist() == [0, 99, 0]
    assert frame.wait.dtype == "Int64"


def test_a_job_that_never_ran_has_no_start_in_the_data_frame(scenario: Scenario) -> None:
    held = Scenario(Workload.from_jobs([(0, 9, JobSpec(hold=True)), (0, 9, JobSpec())]), scenario.config)
    with pytest.warns(UserWarning, match="1 of 2 jobs has not ended"):
        frame = replay(held).to_pandas()
    assert frame.start.isna().tolist() == [True, False]


def test_without_pandas_the_error_says_what_to_install(easy: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"pandas is not installed: pip install 'rota\[pandas\]'"):
        easy.to_pandas()
    assert easy.to_arrow().num_rows == 3


def test_a_result_is_saved_and_read_back(easy: Result, scenario: Scenario, tmp_path: Path) -> None:
    folder = easy.save(tmp_path / "out", scenario.workload)
    assert {one.name for one in folder.iterdir()} <= RESULT_FILES
    assert (folder / "schedule.swf.gz").exists()
    read = Result.read(folder)
    assert repr(read) == repr(easy)
    assert np.array_equal(read.schedule.start, easy.schedule.start)
    with pytest.raises(InputError, match="no such folder"):
        Result.read(tmp_path / "none")


def test_pages_are_written_where_they_are_asked_for(easy: Result, fifo: Result, tmp_path: Path) -> None:
    for page in (easy.report(tmp_path / "one.html"), easy.compare(fifo).report(tmp_path / "two.html")):
        assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(InputError, match=r"no/two.html: cannot be written: No such file or directory"):
        easy.compare(fifo).report(tmp_path / "no" / "two.html")
    assert {one.name for one in tmp_path.iterdir()} == {"one.html", "two.html"}


def test_notebooks_get_tables_in_which_names_are_text(easy: Result, fifo: Result) -> None:
    for shown in (easy._repr_html_(), fifo.compare(easy)._repr_html_()):
        assert shown.startswith("<table>")
        assert shown.endswith("</table>")
    assert "&lt;three&gt;" in easy._repr_html_()
    assert "<three>" not in easy._repr_html_()


def test_a_comparison_is_a_row_for_each_run_and_figure(easy: Result, fifo: Result) -> None:
    """Waits: with FIFO 0, 99, 148; with EASY 0, 99, 0."""
    found = fifo.compare(easy)
    assert repr(found) == "<Comparison of 3 jobs of <three>: sched/builtin; sched/easy>"
    frame = found.to_pandas().set_index(["run", "figure"])
    assert frame.loc[("sched/builtin", "mean_wait_s"), "value"] == pytest.approx(247 / 3)
    assert frame.loc[("sched/easy", "mean_wait_s"), "difference"] == pytest.approx(-148 / 3)
    assert np.isnan(frame.loc[("sched/builtin", "mean_wait_s"), "difference"])
    assert frame.low.isna().all()  # there are too few weeks and users for an interval
    assert json.loads(json.dumps(found.as_dict()))["jobs_compared"] == 3


def test_what_differs_too_much_is_said_above_the_table(easy: Result, scenario: Scenario) -> None:
    smaller = replay(scenario.set("PartitionName=all MaxTime=0:01").using(report=lambda _text: None))
    shown = easy.compare(smaller)._repr_html_()
    assert shown.startswith("<p><strong>These runs have not run the same jobs.")


def test_fewer_than_two_cannot_be_compared(easy: Result) -> None:
    for results in ((), (easy,)):
        given: tuple[ReplayResult, ...] = results
        with pytest.raises(InputError):
            compare(*given)
    assert isinstance(easy.compare(easy), Comparison)
