"""``rota plan``, and node selection plugins, as a user has them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Rota

CONF = """\
SelectTypeParameters=CR_Core
NodeName=n[1-4] CPUs=4 CoresPerSocket=4
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
"""
#: One job runs on all nodes; then a wide one waits, a short one fits before it, a long one does not.
JOBS = """\
-dt 0 -e submit_batch_job | -sim-walltime 600 --uid=ann -J runs -N 4 -n 12 -t 10 x
-dt 60 -e submit_batch_job | -sim-walltime 60 --uid=ann -J wide -N 4 -n 16 -t 10 x
-dt 60 -e submit_batch_job | -sim-walltime 60 --uid=bob -J short -n 1 -t 5 x
-dt 60 -e submit_batch_job | -sim-walltime 60 --uid=bob -J long -n 1 -t 60 x
"""
DOCS = Path(__file__).parents[2] / "docs" / "plugins" / "select.md"


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "log.events").write_text(JOBS)
    return tmp_path


def test_a_plan_as_json(rota: Rota, lab: Path) -> None:
    outcome = rota("plan", lab / "log.events", "--config", lab / "slurm.conf", "--at", "60", "--json")
    assert (outcome.status, outcome.err) == (0, "")
    # What runs has 4, 4, 3 and 1 processors of the nodes, so n3 is the tightest that is left. It ends at 600; then
    # the wide job has all nodes for 600 s. The long one is planned after it, among what is free now: on n4.
    assert json.loads(outcome.out) == [
        {"job": 2, "name": "wide", "state": "PENDING", "nodes": "n[1-4]", "start": 540},
        {"job": 3, "name": "short", "state": "RUNNING", "nodes": "n3", "start": 0},
        {"job": 4, "name": "long", "state": "PENDING", "nodes": "n4", "start": 1140},
    ]


def test_a_plan_as_a_table(rota: Rota, lab: Path) -> None:
    outcome = rota("plan", lab / "log.events", "--config", lab / "slurm.conf", "--at", "60")
    assert outcome.out.splitlines() == [
        "job  name   state    start in  nodes",
        "  2  wide   PENDING      9:00  n[1-4]",
        "  3  short  RUNNING       now  n3",
        "  4  long   PENDING     19:00  n4",
        "",
        "Planned by time limits: nothing is learned from jobs that have ended.",
    ]


def test_tasks_of_an_array_that_start_are_shown_one_by_one(rota: Rota, lab: Path) -> None:
    """Two of four fit on the node that is free; the names are squeue's."""
    (lab / "log.events").write_text(
        "-dt 0 -e submit_batch_job | -sim-walltime 600 --uid=ann -N 3 -n 12 -t 10 x\n"
        "-dt 60 -e submit_batch_job | -sim-walltime 60 --uid=ann -J sweep -a 1-4 -n 2 -t 5 x\n"
    )
    words = ("plan", lab / "log.events", "--config", lab / "slurm.conf", "--at", "60")
    assert rota(*words).out.splitlines()[:4] == [
        "    job  name   state    start in  nodes",
        "    2_1  sweep  RUNNING       now  n4",
        "    2_2  sweep  RUNNING       now  n4",
        "2_[3-4]  sweep  PENDING      5:00  n4",
    ]
    shown = [(one["array_job_id"], one["array_task"]) for one in json.loads(rota(*words, "--json").out)]
    assert shown == [(2, "1"), (2, "2"), (2, "[3-4]")]


def test_the_first_moment_is_the_first_submission(rota: Rota, lab: Path) -> None:
    outcome = rota("plan", lab / "log.events", "--config", lab / "slurm.conf", "--json")
    assert [(one["job"], one["state"]) for one in json.loads(outcome.out)] == [(1, "RUNNING")]


def test_before_the_first_job_there_is_nothing_to_plan(rota: Rota, lab: Path) -> None:
    (lab / "log.events").write_text(JOBS.replace("-dt 0", "-dt 10"))
    outcome = rota("plan", lab / "log.events", "--config", lab / "slurm.conf", "--at", "5")
    assert outcome.status == 2
    assert outcome.err == "rota: error: --at: no job is submitted before 10 s\n"


def test_options_of_backfill_count(rota: Rota, lab: Path) -> None:
    options = ("--config", lab / "slurm.conf", "--at", "60", "--json", "--set", "SchedulerParameters=bf_max_job_test=1")
    outcome = rota("plan", lab / "log.events", *options)
    assert [one["start"] for one in json.loads(outcome.out)] == [540, None, None]


def test_the_plugin_of_the_documentation(rota: Rota, lab: Path) -> None:
    source = re.search(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert source is not None
    (lab / "plugins").mkdir()
    (lab / "plugins" / "select_spread.py").write_text(source[1])
    conf = CONF + f"SelectType=select/spread\nPluginDir={lab / 'plugins'}\n"
    (lab / "slurm.conf").write_text(conf)
    (lab / "log.events").write_text(JOBS.replace("-N 4 -n 12", "-n 2").replace("-dt 60", "-dt 0"))
    options = ("--config", lab / "slurm.conf", "--until", "0", "--show", "squeue -h -t R -S i -o '%i %N'")
    outcome = rota("replay", lab / "log.events", *options)
    # The first two of four processors are taken on n1; the one that needs all nodes waits; others go elsewhere.
    assert (outcome.err, outcome.out.splitlines()[0]) == ("", "1 n1")
    assert rota("plugin", "check", lab / "plugins" / "select_spread.py").status == 0


def test_the_moment_is_given_as_to_explain(rota: Rota, small_log: Path) -> None:
    """It was a number of seconds only."""
    given = [rota("plan", small_log, "--at", at, "--json") for at in ("60", "0:01:00", "1970-01-12T13:47:40")]
    assert [outcome.status for outcome in given] == [0, 0, 0]
    assert given[0].out == given[1].out == given[2].out
    assert "is no moment" in rota("plan", small_log, "--at", "soon").problem


def test_a_plugin_that_picks_what_there_is_not(rota: Rota, lab: Path) -> None:
    (lab / "plugins").mkdir()
    (lab / "plugins" / "select_mad.py").write_text(
        'from rota.interfaces.stubs.select import *\nplugin_type = "select/mad"\nplugin_name = "mad"\n'
        "plugin_version = 100\n\ndef select_p_job_test(needs, candidates):\n    return [(77, 1)]\n"
    )
    (lab / "slurm.conf").write_text(CONF + f"SelectType=select/mad\nPluginDir={lab / 'plugins'}\n")
    outcome = rota(
        "replay", lab / "log.events", "--config", lab / "slurm.conf", "--check", "--json", "--tolerate-faults"
    )
    assert outcome.status == 0
    assert json.loads(outcome.out)["jobs"] == 4
    told = outcome.err.splitlines()[0]
    assert told.startswith("rota: plugin select/mad: select_p_job_test returned [(77, 1)]; expected candidates")


@pytest.mark.parametrize("command", [("plan",), ("explain", "1")])
def test_an_option_is_for_a_cluster_or_for_a_workload(command: tuple[str, ...], rota: Rota, small_log: Path) -> None:
    """It was left out of account."""
    assert "--procs: a live cluster is as it is" in rota(*command, "--procs", "8").problem
    assert "--at: a live cluster is as it is" in rota(*command, "--at", "8").problem
    found = rota(command[0], *command[1:], small_log, "--state", small_log.parent)
    assert "--state: names a live cluster" in found.problem
