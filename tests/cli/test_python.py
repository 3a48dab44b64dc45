"""``import rota``: what a notebook or a sweep uses, which is what the commands use too."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import rota as public
from rota import InputError, JobSpec, Result, Scenario, Workload, replay
from rota.config import interchangeable

from .conftest import PROCS

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Outcome, Rota, WritePlugin

#: Figures that depend on the machine, not on the schedule.
TIMING = {"wall_s", "us_per_job"}


def figures(result: Result) -> dict[str, object]:
    return {name: value for name, value in result.summary.as_dict().items() if name not in TIMING}


def printed(outcome: Outcome) -> dict[str, object]:
    assert (outcome.status, outcome.err) == (0, ""), outcome
    return {name: value for name, value in json.loads(outcome.out).items() if name not in TIMING}


def test_importing_rota_imports_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import rota; print(*sorted(set(sys.modules) - before))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(told.stdout.split())
    assert "rota" in loaded
    assert not {one for one in loaded if one.startswith("rota.")}
    assert not {"numpy", "pyarrow", "click", "sqlalchemy", "pandas"} & loaded


def test_every_public_name_is_there_and_offered_to_completion() -> None:
    assert {name for name in public.__all__ if getattr(public, name) is not None} <= set(dir(public))
    assert callable(public.replay)
    with pytest.raises(AttributeError, match="'rota' has no attribute 'reply'"):
        _ = public.reply


@pytest.mark.parametrize(
    ("words", "keywords"),
    [
        ((), {}),
        (("--scheduler", "sched/backfill", "--set", "bf_interval=60"), {"scheduler": "sched/backfill"}),
        (("--estimate", "actual", "--pass-per", "event"), {"estimate": "actual", "pass_per": "event"}),
        (("--procs", "16", "--filter", "sc15"), {"procs": 16, "filter": "sc15"}),
        (("--load", "1.5", "--thin", "0.5", "--seed", "3"), {"load": 1.5, "thin": 0.5, "seed": 3}),
    ],
    ids=["as it is", "set", "options", "machine", "workload"],
)
def test_a_scenario_from_files_is_that_of_the_command_line(
    rota: Rota, small_log: Path, words: tuple[str, ...], keywords: dict[str, object]
) -> None:
    expected = printed(rota("replay", small_log, "--json", *words))
    settings = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
    result = replay(Scenario.from_files(small_log, settings=settings, **keywords))  # type: ignore[arg-type]
    assert figures(result) == expected


def test_a_changed_scenario_is_the_one_that_was_read_so_and_the_first_stays_as_it_was(small_log: Path) -> None:
    first = Scenario.from_files(small_log)
    changed = first.set("easy_order=sjf").transform(load=2).using(estimate="actual")
    read = Scenario.from_files(small_log, settings=["easy_order=sjf"], load=2, estimate="actual")
    results = [replay(one) for one in (first, changed, read)]
    assert figures(results[1]) == figures(results[2]) != figures(results[0])
    assert results[1].provenance == results[2].provenance
    assert results[1].provenance.settings == ("easy_order=sjf", "load=2", "estimate=actual")
    assert figures(replay(first)) == figures(results[0])


def test_settings_are_keywords_too_in_any_case(small_log: Path) -> None:
    base = Scenario.from_files(small_log, scheduler="sched/backfill")
    for changed in (base.set("BF_Interval=60"), base.set(bf_interval=60), base.set(BF_INTERVAL=60)):
        assert changed.config.get("SchedulerParameters").lower() == "bf_interval=60"
    assert base.set(bf_continue=True).config.get("SchedulerParameters") == "bf_continue"
    weighted = base.using(priority="priority/multifactor").set(PriorityWeightAge=7, priorityweightqos=8)
    assert [weighted.config.get(f"PriorityWeight{factor}") for factor in ("Age", "QOS")] == ["7", "8"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda one: one.set(bf_max_job_tset=5), "did you mean bf_max_job_test?"),
        (lambda one: one.set("PriorityWieghtAge=5"), "did you mean PriorityWeightAge?"),
        (lambda one: one.using(shceduler="sched/easy"), "shceduler: no option of a replay; did you mean scheduler?"),
        (lambda one: Scenario.from_files("KTH-SP2", estimat="actual"), "did you mean estimate?"),
        (lambda one: one.transform(laod=2), "laod: no change of a workload; did you mean load?"),
        (lambda one: Scenario.from_files("KTH-SP2", filter="sc51"), "'sc51' is none of sc15"),
    ],
    ids=["option", "key", "using", "from_files", "transform", "filter"],
)
def test_what_does_not_exist_is_an_error_with_what_may_be_meant(small_log: Path, change: object, error: str) -> None:
    assert callable(change)
    with pytest.raises(InputError) as caught:
        change(Scenario.from_files(small_log))
    assert error in str(caught.value)


def test_a_plugin_type_that_is_set_is_used_and_one_that_was_chosen_stays(small_log: Path) -> None:
    chosen = Scenario.from_files(small_log, scheduler="sched/builtin")
    assert chosen.set("bf_interval=60").options.scheduler == "sched/builtin"
    assert chosen.set("SchedulerType=sched/backfill").options.scheduler == "sched/backfill"


def test_limits_are_changed_for_the_copy_alone(small_log: Path, tmp_path: Path) -> None:
    dump = tmp_path / "lab.cfg"
    dump.write_text(
        "Cluster - 'cluster':Fairshare=1\nParent - 'root'\nAccount - 'group1':Description='p'\nParent - 'group1'\n"
        + "".join(f"User - 'user{number}':DefaultAccount='group1'\n" for number in range(3))
    )
    base = Scenario.from_files(small_log, associations=dump).set("AccountingStorageEnforce=limits")
    limited = base.set_qos("normal", "GrpJobs=1")
    assert limited.options.label == "AccountingStorageEnforce=limits normal GrpJobs=1"
    one_by_one = np.sort(replay(limited).schedule.start), np.sort(replay(limited).schedule.end)
    assert (one_by_one[0][1:] >= one_by_one[1][:-1]).all()
    assert not (np.sort(replay(base).schedule.start)[1:] >= np.sort(replay(base).schedule.end)[:-1]).all()
    shares = base.set_assoc("user=user1", "Fairshare=20")
    assert shares.options.associations != base.options.associations
    with pytest.raises(InputError, match="give --associations"):
        Scenario.from_files(small_log).set_assoc("account=physics", "Fairshare=20")


def test_a_workload_is_made_of_requests() -> None:
    """On a machine of four: the array's second task waits for the first, the job of four for both, at second 30."""
    jobs = [
        (0, 10, JobSpec(num_cpus=3, time_limit=60, user="ada", array="0-1")),
        (5, 10, JobSpec(num_cpus=4, time_limit=60, user="bob")),
    ]
    workload = Workload.from_jobs(jobs)
    schedule = replay(Scenario(workload, interchangeable(4))).schedule
    assert schedule.job_id.tolist() == [1, 2, 3]
    assert schedule.start.tolist() == [0, 10, 20]
    with pytest.raises(ValueError, match="at least one job"):
        Workload.from_jobs([])


def test_a_scenario_and_a_result_say_in_a_line_what_they_are(small_log: Path) -> None:
    scenario = Scenario.from_files(small_log).set("easy_order=sjf")
    assert repr(scenario) == (
        f"<Scenario small.swf: 40 jobs on {PROCS} processors, sched/easy, priority/basic, easy_order=sjf>"
    )
    told = repr(replay(scenario))
    assert told.startswith("<Result small.swf, sched/easy, priority/basic, easy_order=sjf: 40 jobs, mean wait 0")
    assert "\n" not in told


#: Its own parameter puts the jobs of that size first.
FIRST = """
from rota.interfaces import SLURM_SUCCESS, InputError

def init(ctld):
    global size
    size = int(ctld.config.scheduler_parameters().get("mine_size", 0))
    if size < 0:
        raise InputError(f"{size} is no size", field="mine_size")
    return SLURM_SUCCESS

def priority_p_set(last_prio, job_ptr):
    return 2 if job_ptr.num_cpus == size else 1
"""


def test_a_plugin_takes_parameters_of_its_own(small_log: Path, plugins: Path, write_plugin: WritePlugin) -> None:
    write_plugin("priority/mine", FIRST)
    base = Scenario.from_files(small_log, scheduler="sched/builtin", priority="priority/mine", plugin_dir=plugins)
    waits = {}
    for size in (1, 8):
        schedule = replay(base.set(mine_size=size)).schedule
        waits[size] = schedule.wait[schedule.procs == 8].mean()
    assert waits[8] < waits[1]
    with pytest.raises(InputError, match="-1 is no size"):
        replay(base.set(mine_size=-1))
