"""``--keep``: what is asked about one moment shares its state, and the answers are those of a replay."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rota.replays import Scenario, moment
from rota.replays.run import Replay

from .conftest import PROCS

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Rota, WritePlugin

CONF = f"""\
ClusterName=lab
SchedulerParameters=bf_interval=30
PriorityWeightAge=1000
PriorityWeightFairshare=10000
PriorityMaxAge=0-1
NodeName=n[1-2] CPUs={PROCS // 2}
PartitionName=all Nodes=n[1-2] Default=YES
"""


@pytest.fixture
def no_more_replays(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Have a moment be replayed once, and never again."""
    count = iter([1])

    def once(scenario: Scenario) -> Replay:
        assert next(count, None), "a second replay"
        return Replay(scenario)

    monkeypatch.setattr(moment, "Replay", once)
    return monkeypatch


@pytest.mark.usefixtures("no_more_replays")
# Between events, before a submission, at one.
@pytest.mark.parametrize("at", ["60", *(pytest.param(at, marks=pytest.mark.slow) for at in ("154", "155"))])
@pytest.mark.parametrize("sched", ["sched/easy", "sched/backfill", "sched/conservative", "sched/builtin"])
def test_the_answers_are_those_of_a_replay(rota: Rota, small_log: Path, tmp_path: Path, sched: str, at: str) -> None:
    """Both come from one replay, in either order: the file is of the moment."""
    (tmp_path / "slurm.conf").write_text(CONF)
    how = [small_log, "--config", tmp_path / "slurm.conf", "--scheduler", sched, "--at", at]
    how += ["--priority", "priority/multifactor", "--json"]
    jobs = [one["job"] for one in json.loads(rota("plan", *how).out)]
    assert jobs
    kept = ["--keep", tmp_path / "moment"]
    assert rota("plan", *how, *kept) == rota("plan", *how)
    for job in (jobs[0], jobs[-1]):
        explained = rota("explain", job, *how, *kept)
        assert explained.status == 0
        assert explained == rota("explain", job, *how)
    assert rota("plan", *how, *kept) == rota("plan", *how)


def test_a_file_is_for_one_scenario_and_one_moment(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    kept = tmp_path / "moment"
    assert rota("plan", small_log, "--at", "60", "--keep", kept).status == 0
    for other in (["--at", "61"], ["--at", "60", "--set", "easy_order=sjf"], ["--at", "60", "--load", "2"]):
        told = rota("plan", small_log, *other, "--keep", kept).problem
        assert told == f"{kept}: is of another scenario or moment: name another file, or remove it"
    small_log.write_text(small_log.read_text() + "; a comment\n")
    assert "another scenario" in rota("explain", 5, small_log, "--at", "60", "--keep", kept).problem


def test_another_version_of_a_plugin_is_another_scenario(
    rota: Rota, small_log: Path, tmp_path: Path, plugins: Path, write_plugin: WritePlugin
) -> None:
    write_plugin("sched/mine")
    how = [small_log, "--scheduler", "sched/mine", "--plugin-dir", plugins, "--at", "60", "--keep", tmp_path / "moment"]
    assert rota("plan", *how).status == 0
    assert rota("plan", *how).status == 0
    write_plugin("sched/mine", "# changed\n")
    assert "another scenario" in rota("plan", *how).problem


def test_what_cannot_be_kept_is_said_before_the_replay(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    kept = ["--keep", tmp_path / "moment"]
    assert rota("plan", small_log, *kept).problem == "--keep: keeps a moment: say which with --at"
    assert rota("explain", 5, small_log, *kept).problem == "--keep: keeps a moment: say which with --at"
    told = rota("plan", small_log, "--at", "60", "--pass-per", "event", *kept).problem
    assert told.startswith("--keep: keeps moments of replays with one pass a second")
    assert rota("plan", small_log, "--at", "1", *kept).problem == "--at: no job is submitted before 7 s"
    assert rota("plan", "--at", "60", *kept).status == 2
    assert not (tmp_path / "moment").exists()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "rota-moment-0"}', "\x00"])
def test_another_file_is_no_moment(rota: Rota, small_log: Path, tmp_path: Path, text: str) -> None:
    kept = tmp_path / "moment"
    kept.write_text(text)
    told = rota("plan", small_log, "--at", "60", "--keep", kept).problem
    assert told.startswith(f"{kept}: ")
    assert kept.read_text() == text


def test_a_file_that_cannot_be_written_is_an_error(rota: Rota, small_log: Path, tmp_path: Path) -> None:
    told = rota("plan", small_log, "--at", "60", "--keep", tmp_path / "none" / "moment").problem
    assert "No such file or directory" in told
