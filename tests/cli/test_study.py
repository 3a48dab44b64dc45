"""The study of the documentation: its replays are carried out, and what the page says of them is what comes out.

The expected values are rota's own, from the page: what is tested is that nobody reads what is no longer so. Of the nine
runs of the sweep the three are made again that are compared as well: all nine take minutes.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rota.results.store import read_result
from rota.sweep.axes import read_axis
from rota.sweep.figures import figures_of

if TYPE_CHECKING:
    from .conftest import Rota

PAGE = (Path(__file__).parents[2] / "docs" / "study.md").read_text(encoding="utf-8")
SWEEP, *COMMANDS = [
    shlex.split(command.replace("\\\n", "")) for command in re.findall(r"^\$ rota ((?:.*\\\n)*.*)$", PAGE, re.MULTILINE)
]
FILES = {
    "ubccr_workload_5k.events.gz": "jobs.events.gz",
    "ubccr_medium_slurm.conf": "slurm.conf",
    "ubccr_medium_sacctmgr.script": "accounts.script",
    "ubccr_medium_topology.conf": "topology.conf",
}


@pytest.fixture
def comparison(rota: Rota, traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Carry the commands out, but for the sweep; give what the last one prints as JSON."""
    for name, other in FILES.items():
        shutil.copyfile(traces / "slurm" / name, tmp_path / other)
    monkeypatch.chdir(tmp_path)
    printed = []
    for words in COMMANDS:
        outcome = rota(*words, "--json")
        assert outcome.status == 0, outcome.err
        printed.append(json.loads(outcome.out))
    found: dict[str, Any] = printed[-1]
    return found


#: Tests of backfill, weight, and what the sweep says of them.
ROW = re.compile(r"^\| ([\d, ]+) \| (\d+) \| ([\d.]+) h \| ([\d,]+) \| ([\d.]+) % \| ([\d.]+) \|$", re.MULTILINE)


@pytest.fixture
def told() -> dict[tuple[str, str], list[str]]:
    """The table of the sweep: figures by tests and weight."""
    return {(each, weight): figures for tests, weight, *figures in ROW.findall(PAGE) for each in tests.split(", ")}


#: The replay of each of three settings.
REPLAYS = {("2500", "120000"): "now", ("2500", "1200000"): "fairer", ("50", "120000"): "fifty"}


def _shown(figures: dict[str, Any]) -> list[str]:
    """Write the figures of a run as the page does."""
    wait, slowdown = figures["mean_wait_s"] / 3600, figures["mean_bounded_slowdown"]
    return [f"{wait:.1f}", f"{slowdown:,.0f}", f"{figures['utilisation'] * 100:.1f}", f"{figures['fairness']:.3f}"]


def test_the_table_has_all_runs_of_the_sweep(told: dict[tuple[str, str], list[str]]) -> None:
    tests, weights = (read_axis(SWEEP[place + 1]) for place, word in enumerate(SWEEP) if word == "--vary")
    assert (tests.name, weights.name) == ("bf_max_job_test", "PriorityWeightFairshare")
    assert sorted(told) == sorted(product(tests.values, weights.values))


@pytest.mark.slow
@pytest.mark.longest
def test_the_study_comes_out_as_it_says(comparison: dict[str, Any], told: dict[tuple[str, str], list[str]]) -> None:
    for setting, folder in REPLAYS.items():
        assert _shown(figures_of(read_result(Path(folder)))[0]) == told[setting]
    now, fairer, fifty = (run["metrics"]["mean_wait_s"] / 3600 for run in comparison["runs"])
    starts = comparison["runs"][1]["starts"]
    for text in (f"| {now:.1f} h | {fairer:.1f} h |", f"| {fifty:.1f} h | +{fifty - now:.1f} h"):
        assert text in PAGE
    assert f"{starts['earlier']:,} jobs start earlier and {starts['later']} later" in " ".join(PAGE.split())
