"""``--set``, ``--set-qos``, ``--set-assoc`` and ``--strict``, through the whole command and in Python."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rota.config import interchangeable
from rota.model import InputError
from rota.replays import ReplayOptions, ReplayWarning, Scenario, replay
from rota.results.store import read_result
from rota.workload import read_swf

from .conftest import JOBS, PROCS

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Outcome, Rota, WritePlugin

CONF = """\
ClusterName=lab
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=30,bf_max_job_test=500
NodeName=n1 CPUs=8
PartitionName=all Nodes=n1 Default=YES
"""
DUMP = """\
Cluster - 'lab':Fairshare=1
Parent - 'root'
Account - 'group1':Description='p'
Parent - 'group1'
User - 'user0':DefaultAccount='group1'
User - 'user1':DefaultAccount='group1'
User - 'user2':DefaultAccount='group1'
"""


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "slurm.conf"
    path.write_text(CONF)
    return path


@pytest.fixture
def limited(conf: Path, tmp_path: Path) -> list[object]:
    """Options of a cluster with accounts, where limits hold."""
    conf.write_text(f"{CONF}AccountingStorageEnforce=limits\n")
    dump = tmp_path / "lab.cfg"
    dump.write_text(DUMP)
    return ["--config", conf, "--associations", dump]


def figures(outcome: Outcome, status: int = 0) -> dict[str, object]:
    assert outcome.status == status, outcome
    found: dict[str, object] = json.loads(outcome.out)
    return {key: value for key, value in found.items() if key not in {"wall_s", "us_per_job"}}


def test_one_option_is_set_and_the_rest_of_the_line_stays(rota: Rota, small_log: Path, conf: Path) -> None:
    """With ``--set SchedulerParameters=…`` alone the rest was dropped without a word, and another question answered."""

    def run(*more: str) -> Outcome:
        return rota("replay", small_log, "--config", conf, "--json", *more)

    one = run("--set", "bf_max_job_test=1")
    assert one.err == ""
    conf.write_text(CONF.replace("bf_max_job_test=500", "bf_max_job_test=1"))
    assert figures(one) == figures(run())
    dropped = run("--set", "SchedulerParameters=bf_max_job_test=1")
    assert "drops bf_interval=30, which is set too; to keep it write --set bf_max_job_test=1" in dropped.err


def test_a_partition_is_set(rota: Rota, small_log: Path, conf: Path) -> None:
    setting = ("--set", "PartitionName=all MaxTime=0:01:00 State=UP")
    limited = rota("replay", small_log, "--config", conf, "--set", "EnforcePartLimits=ALL", *setting, "--json")
    conf.write_text(CONF.replace("Default=YES", "Default=YES MaxTime=0:01:00") + "EnforcePartLimits=ALL\n")
    assert figures(limited, 2) == figures(rota("replay", small_log, "--config", conf, "--json"), 2)


def test_the_machine_of_a_log_is_set(rota: Rota, small_log: Path) -> None:
    limited = rota(
        "replay", small_log, "--set", "EnforcePartLimits=ALL", "--set", "PartitionName=all MaxTime=1", "--json"
    )
    assert figures(limited, 2)["jobs"] < JOBS  # type: ignore[operator]


def test_a_limit_of_a_qos_is_set(rota: Rota, small_log: Path, conf: Path, limited: list[object]) -> None:
    options = ("replay", small_log, *limited, "--json")
    plain, one_by_one = rota(*options), rota(*options, "--set-qos", "normal", "GrpJobs=1 MaxWall=1-0")
    assert one_by_one.err == ""
    assert figures(one_by_one)["mean_wait_s"] > figures(plain)["mean_wait_s"]  # type: ignore[operator]
    conf.write_text(CONF)
    idle = rota(*options, "--set-qos", "normal", "GrpJobs=1")
    assert idle.err == (
        "rota: warning: --set-qos normal GrpJobs=1: no limit holds without AccountingStorageEnforce=limits\n"
    )
    assert figures(idle) == figures(plain)


@pytest.mark.parametrize("who", ["account=group1", "user=user1", "user=user1,account=group1"])
def test_an_association_is_set(rota: Rota, small_log: Path, limited: list[object], who: str) -> None:
    options = ("replay", small_log, *limited, "--json")
    one_by_one = rota(*options, "--set-assoc", who, "GrpJobs=1")
    assert one_by_one.err == ""
    assert figures(one_by_one) != figures(rota(*options))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            ["--set-qos", "nromal", "GrpJobs=1"],
            "--set-qos nromal GrpJobs=1: there is no QOS nromal; did you mean",
        ),
        (
            ["--set-qos", "normal", "GrpJbos=1"],
            "--set-qos normal GrpJbos=1: GrpJbos: no key of qos; did you mean",
        ),
        (["--set-qos", "normal", "GrpJobs=many"], "--set-qos normal GrpJobs=many: GrpJobs: "),
        (["--set-qos", "normal", "GrpJobs"], "GrpJobs is not KEY=VALUE"),
        (["--set-assoc", "account=grop1", "Fairshare=5"], "there is no account grop1; did you mean group1?"),
        (["--set-assoc", "user=user9", "Fairshare=5"], "there is no user user9; did you mean user"),
        (["--set-assoc", "group1", "Fairshare=5"], "group1 is none of account=NAME, user=NAME, partition=NAME"),
        (["--set-assoc", "partition=x", "Fairshare=5"], "whose? write account=NAME or user=NAME"),
        (
            ["--set", "bf_max_job_tset=50"],
            "--set: bf_max_job_tset is no key of slurm.conf, and no option of one;",
        ),
    ],
)
def test_what_does_not_exist_is_an_error(
    rota: Rota, small_log: Path, limited: list[object], options: list[str], problem: str
) -> None:
    assert problem in rota("replay", small_log, *limited, *options).problem


def test_associations_that_there_are_not_cannot_be_set(rota: Rota, small_log: Path) -> None:
    found = rota("replay", small_log, "--set-assoc", "account=a", "Fairshare=5").problem
    assert found == "--set-assoc: there are none to change: give --associations"


def test_what_is_not_modelled_is_told_once_and_refused_with_strict(rota: Rota, small_log: Path, conf: Path) -> None:
    conf.write_text(CONF + "TopologyPlugin=topology/block\n")
    told = f"{conf}:6: TopologyPlugin: topology/block is not modelled: jobs are placed without regard to switches and "
    for command in (("replay", small_log), ("explain", "3", small_log)):
        outcome = rota(*command, "--config", conf)
        assert outcome.status == 0
        assert outcome.err.count("TopologyPlugin") == 1
        assert outcome.err.startswith(f"rota: warning: {told}")
    assert rota("replay", small_log, "--config", conf, "--strict").problem.startswith(told)
    conf.write_text(CONF)
    assert rota("replay", small_log, "--config", conf, "--strict").status == 0
    idle = rota("replay", small_log, "--config", conf, "--strict", "--set", "easy_order=sjf").problem
    assert idle == "--set easy_order=sjf: only sched/easy heeds it, and sched/backfill is in use"


def test_settings_are_part_of_what_a_run_is_called(rota: Rota, small_log: Path, conf: Path, tmp_path: Path) -> None:
    options = ("--set", "bf_max_job_test=5", "--set-qos", "normal", "GrpJobs=3", "--out", tmp_path / "out")
    assert rota("replay", small_log, "--config", conf, *options).status == 0
    assert read_result(tmp_path / "out").options == "bf_max_job_test=5 normal GrpJobs=3"


def test_a_plugin_has_options_of_its_own(rota: Rota, small_log: Path, plugins: Path, write_plugin: WritePlugin) -> None:
    write_plugin("sched/mine", "def fini(): print(controller.config.scheduler_parameters()['mine_alpha'])\n")
    options = ("--scheduler", "sched/mine", "--plugin-dir", plugins, "--set", "mine_alpha=3")
    outcome = rota("replay", small_log, *options)
    assert (outcome.status, outcome.err, outcome.out.splitlines()[0]) == (0, "", "3")


# ---- in Python ------------------------------------------------------------------------------------------------------


def test_in_python_keys_are_in_any_case_and_what_does_not_exist_is_an_error(small_log: Path) -> None:
    """Keys with capital letters were ignored: a sweep gave ten identical rows."""
    log, machine = read_swf(small_log), interchangeable(PROCS)
    rows = [
        replay(Scenario(log, replace(machine, parameters={key: "easy_order=sjf"}))).summary.mean_wait_s
        for key in ("SchedulerParameters", "schedulerparameters")
    ]
    assert rows[0] == rows[1] != replay(Scenario(log, machine)).summary.mean_wait_s
    for parameters in ({"SchedulerParametres": "x"}, {"SchedulerParameters": "easy_ordr=sjf"}):
        with pytest.raises(InputError, match="did you mean "):
            replay(Scenario(log, replace(machine, parameters=parameters)))


def test_in_python_what_is_not_modelled_is_a_warning_or_an_error(small_log: Path) -> None:
    log = read_swf(small_log)
    config = replace(interchangeable(PROCS), parameters={"TopologyPlugin": "topology/block"})
    with pytest.warns(ReplayWarning, match="TopologyPlugin: topology/block is not modelled"):
        replay(Scenario(log, config))
    with pytest.raises(InputError, match="TopologyPlugin: topology/block is not modelled"):
        replay(Scenario(log, config, ReplayOptions(strict=True)))
