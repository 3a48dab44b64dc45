"""What slurm.conf asks for and rota does not do is told; the table of options is that of the code."""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import rota
from rota.config import interchangeable, read_slurm_conf
from rota.config.doubts import READ_KEYS, idle, idle_limits, unmodelled
from rota.config.keys import KNOWN_KEYS
from rota.config.options import HEEDED, IGNORED, option_names
from rota.model import ClusterConfig, InputError
from rota.model.multifactor import FLAGS

PLUGINS = ("sched/backfill", "priority/basic", "select/cons_tres")
MACHINE = "NodeName=n[1-2] CPUs=8\nPartitionName=p Nodes=ALL Default=YES"
#: Keys that are shown or refused, and have no other effect; and those whose last value is read with the partitions.
_SHOWN = {"authtype", "accountingstoragetype", "overpartqos", "burstbuffer", "disablerootjobs"}
#: Options whose names are also those of something else.
_OTHERWISE = {"kill_invalid_depend", "delay_boot"}


def read(tmp_path: Path, text: str) -> ClusterConfig:
    path = tmp_path / "slurm.conf"
    path.write_text(text + "\n")
    return read_slurm_conf(path).config


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            f"TopologyPlugin=topology/tree\n{MACHINE}",
            "{path}:1: TopologyPlugin: topology/tree needs topology.conf beside slurm.conf, which is not there:",
        ),
        (
            f"SelectTypeParameters=CR_Core,CR_Pack_Nodes\n{MACHINE}",
            "{path}:1: SelectTypeParameters: CR_Pack_Nodes is not modelled: tasks are spread",
        ),
        (
            f"SelectTypeParameters=CR_Coer\n{MACHINE}",
            "{path}:1: SelectTypeParameters: CR_Coer is no option that rota knows, and has no effect; did",
        ),
        (
            f"SchedulerParameters=bf_max_job_tset=5\n{MACHINE}",
            "{path}:1: SchedulerParameters: bf_max_job_tset is no option that rota knows, and has no effect",
        ),
        (f"{MACHINE} QOS=gold\n", "partition p: QOS gold is not defined, so none of its limits holds"),
        (
            f"{MACHINE} MaxCPUsPerSocket=4\n",
            "partition p: MaxCPUsPerSocket is not modelled: jobs may use all processors",
        ),
    ],
)
def test_what_is_not_modelled_is_told_with_its_consequence(tmp_path: Path, text: str, told: str) -> None:
    (found,) = unmodelled(read(tmp_path, text), PLUGINS, {"normal"})
    assert found.startswith(told.format(path=tmp_path / "slurm.conf"))


def test_what_makes_no_difference_is_not_told(tmp_path: Path) -> None:
    text = """\
MailProg=/bin/mail
TopologyPlugin=topology/none
SchedulerParameters=bf_interval=60,max_rpc_cnt=100,enable_user_top,mine_alpha=5
SelectTypeParameters=CR_Core_Memory
NodeName=n[1-2] CPUs=8
PartitionName=p Nodes=ALL Default=YES QOS=normal Hidden=YES AllocNodes=ALL ReqResv=NO MaxCPUsPerNode=UNLIMITED
"""
    assert unmodelled(read(tmp_path, text), ("sched/mine", "priority/basic"), {"normal"}) == []


def test_several_partitions_are_told_of_together(tmp_path: Path) -> None:
    text = f"{MACHINE} QOS=gold\nPartitionName=q Nodes=ALL QOS=gold\nPartitionName=r Nodes=ALL QOS=normal\n"
    (found,) = unmodelled(read(tmp_path, text), PLUGINS, {"normal"})
    assert found.startswith("partition p, q: QOS gold")


def test_cores_set_apart_are_told_of_once(tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    path.write_text(f"NodeName=m1 CPUs=4 CoreSpecCount=1\nNodeName=m2 CPUs=4 CoreSpecCount=1\n{MACHINE}\n")
    (warning,) = read_slurm_conf(path).warnings
    assert warning == f"{path}:1: CoreSpecCount: is not modelled: jobs get the cores that are set apart for the system"


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("SchedulerParametres", "x", "schedulerparametres: no key of slurm.conf; did you mean SchedulerParameters?"),
        ("SchedulerParameters", "bf_max_job_tset=5", "bf_max_job_tset is no option that rota knows"),
    ],
)
def test_what_does_not_exist_is_an_error_if_no_file_says_it(key: str, value: str, problem: str) -> None:
    config = replace(interchangeable(4), parameters={key: value})
    with pytest.raises(InputError, match=problem.replace("?", r"\?")):
        unmodelled(config, PLUGINS, {"normal"})


@pytest.mark.parametrize(
    ("setting", "plugins", "told"),
    [
        ("bf_window=60", PLUGINS, None),
        ("bf_window=60", ("sched/easy",), "only sched/backfill heeds it, and sched/easy is in use"),
        (
            "SchedulerParameters+=bf_window=60",
            ("sched/easy",),
            "only sched/backfill heeds it, and sched/easy is in use",
        ),
        ("SchedulerParameters-=bf_window", ("sched/easy",), None),
        ("bf_window=60", ("sched/mine",), None),
        ("easy_order=sjf", PLUGINS, "only sched/easy heeds it, and sched/backfill is in use"),
        ("PriorityWeightAge=5", PLUGINS, "only priority/multifactor heeds it, and priority/basic is in use"),
        ("PriorityWeightAge=5", ("priority/multifactor",), None),
        ("HealthCheckProgram=/bin/true", PLUGINS, "nothing in rota reads HealthCheckProgram"),
        ("enable_user_top", PLUGINS, "nothing in rota reads enable_user_top"),
        ("TopologyPlugin=topology/tree", PLUGINS, None),  # told as not modelled
        ("PartitionName=p Hidden=YES MaxTime=5", PLUGINS, "nothing in rota reads Hidden"),
        ("NodeName=n1 Port=5", PLUGINS, "nothing in rota reads Port"),
    ],
)
def test_a_setting_that_nothing_heeds_is_told(setting: str, plugins: tuple[str, ...], told: str | None) -> None:
    assert idle([setting], plugins) == ([] if told is None else [f"--set {setting}: {told}"])


def test_limits_that_nobody_enforces_are_told() -> None:
    config = interchangeable(4)
    given = [("normal", "GrpTRES=cpu=5")], [("account=a", "fairshare=5"), ("user=u", "maxjobs=5")]
    assert [one.partition(":")[0] for one in idle_limits(*given, config)] == [
        "--set-qos normal GrpTRES=cpu=5", "--set-assoc user=u maxjobs=5",
    ]  # fmt: skip
    assert idle_limits(*given, replace(config, parameters={"AccountingStorageEnforce": "limits"})) == []


# ---- the tables and the code ----------------------------------------------------------------------------------------


@cache
def words_of_the_code() -> set[str]:
    """Give all texts in rota's sources, those that are only shown and the tables themselves excepted."""
    root = Path(rota.__file__).parent
    left_out = {"keys.py", "options.py", "doubts.py", "show_config.py"}
    trees = [ast.parse(path.read_text()) for path in root.rglob("*.py") if path.name not in left_out]
    texts = (node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str)}


@pytest.mark.slow
def test_the_tables_have_the_options_that_the_code_heeds() -> None:
    words = words_of_the_code()
    for key in ("schedulerparameters", "dependencyparameters"):
        assert {one.name for one in HEEDED[key]} <= words
    known = set(option_names("schedulerparameters"))
    assert {word for word in known & words if word in IGNORED["schedulerparameters"]} <= _OTHERWISE
    assert {one.name for one in HEEDED["priorityflags"]} == set(FLAGS)


@pytest.mark.slow
def test_keys_that_the_code_reads_are_known() -> None:
    words = words_of_the_code()
    read = {key for key, name in KNOWN_KEYS.items() if name in words} - _SHOWN
    weights = {key for key in READ_KEYS if key.startswith("priorityweight")}
    assert read <= READ_KEYS
    assert {*READ_KEYS} - read - weights == {"clustername"}
