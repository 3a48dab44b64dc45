"""``--set``: what becomes of a configuration, and what is refused."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Protocol

import pytest

from rota.config import interchangeable, read_slurm_conf, with_keys, with_settings
from rota.config.text import lines_of, partition_line
from rota.model import ClusterConfig, InputError, Node, NodeState, Partition, PartitionState
from rota.model.read_only import write

if TYPE_CHECKING:
    from pathlib import Path

CONF = """\
ClusterName=lab
SchedulerParameters=bf_interval=60,bf_max_job_test=500,defer
PriorityFlags=MAX_TRES,NO_FAIR_TREE
OverTimeLimit=5
AccountingStorageTRES=gres/gpu
NodeName=DEFAULT RealMemory=4000 CPUs=8
NodeName=n[1-6]
NodeName=g[1-2] CPUs=32 Gres=gpu:4 Features=fast,new Weight=10
DownNodes=n3 State=DRAIN
NodeSet=gpus Nodes=g[1-2]
PartitionName=DEFAULT MaxTime=2-0
PartitionName=general Nodes=n[1-6] Default=YES AllowAccounts=a,b PriorityTier=3 TRESBillingWeights="CPU=1,Mem=0.25G"
PartitionName=gpu Nodes=gpus OverSubscribe=FORCE:2 MaxTime=1:00:00 DefaultTime=30 GraceTime=45 Hidden=YES QOS=normal
PartitionName=old Nodes=ALL Priority=7 OverTimeLimit=UNLIMITED State=DRAIN MaxNodes=2 LLN=YES
"""


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "slurm.conf"
    path.write_text(CONF)
    return path


class Changed(Protocol):
    """Reads `CONF` with settings."""

    def __call__(self, *settings: str) -> ClusterConfig: ...


@pytest.fixture(params=["lines of a file", "a configuration"])
def changed(request: pytest.FixtureRequest, conf: Path) -> Changed:
    """The same settings, of a file and of what has been read from it."""

    def change(*settings: str) -> ClusterConfig:
        if request.param == "a configuration":
            return with_settings(read_slurm_conf(conf).config, settings).config
        return read_slurm_conf(conf, settings).config

    return change


def partition(config: ClusterConfig, name: str) -> Partition:
    return next(one for one in config.partitions if one.name == name)


def test_a_configuration_is_what_its_lines_say(conf: Path) -> None:
    config = read_slurm_conf(conf).config
    assert with_settings(config, []).config == config
    # The nodes too: these settings change nothing, and have them read again.
    assert with_settings(config, ["NodeName=n1 CPUs=8"]).config.partitions == config.partitions
    kinds = [line.pairs[0].key for line in lines_of(config)]
    assert (kinds.count("NodeName"), kinds.count("PartitionName")) == (3, 3)  # one stands for the line of DEFAULT


def test_a_partition_is_what_its_line_says() -> None:
    """Each attribute has another value than its default, but for those that go against another."""
    words = [
        "PartitionName=p",
        "Nodes=a",
        "State=DRAIN",
        "Default=YES",
        "MaxTime=600",
        "DefaultTime=10",
        "MinNodes=2",
        "MaxNodes=3",
        "PriorityTier=4",
        "PriorityJobFactor=5",
        "QOS=q",
        "TRESBillingWeights=cpu=2,mem=0.25G",
        "DefMemPerCPU=6",
        "DefCpuPerGPU=7",
        "DefMemPerGPU=8",
        "MaxMemPerNode=9",
        "MaxCPUsPerNode=10",
        "SelectTypeParameters=CR_CORE",
        "RootOnly=YES",
        "ReqResv=YES",
        "OverSubscribe=FORCE:3",
        "LLN=YES",
        "GraceTime=11",
        "OverTimeLimit=12",
        "AllowGroups=root,nosuch",
        "AllowAccounts=a",
        "DenyAccounts=b",
        "AllowQOS=c",
        "DenyQOS=d",
        "Hidden=YES",
    ]
    config = ClusterConfig(cluster_name="c", nodes=(Node(name="a"),), partitions=())
    bare = Partition(name="p", nodes=0)
    keys = {key.lower(): value for key, _, value in (word.partition("=") for word in words[1:])}
    found = with_keys(config, bare, keys)
    same = {one.name for one in fields(Partition) if getattr(found, one.name) == getattr(bare, one.name)}
    assert same == {"name", "exclusive", "def_mem_per_node", "max_mem_per_cpu", "set_fields", "created"}
    assert (
        with_keys(config, bare, {pair.key.lower(): pair.value for pair in partition_line(config, found).pairs}) == found
    )
    # And back, one by one.
    for key, value in {
        "nodes": "", "maxtime": "UNLIMITED", "maxmempernode": "0", "allowgroups": "ALL", "rootonly": "NO",
        "tresbillingweights": "", "allowqos": "all", "qos": "", "oversubscribe": "NO", "selecttypeparameters": "NONE",
    }.items():  # fmt: skip
        other = with_keys(config, found, {key: value})
        assert other != found, key
        assert with_keys(config, other, {key: keys[key]}) == found, key


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        # The first dropped the rest of the line, and answered another question.
        ("bf_max_job_test=50", "bf_interval=60,bf_max_job_test=50,defer"),
        ("BF_Max_Job_Test=50", "bf_interval=60,BF_Max_Job_Test=50,defer"),
        ("bf_continue", "bf_interval=60,bf_max_job_test=500,defer,bf_continue"),
        ("SchedulerParameters+=bf_window=60,bf_interval=30", "bf_interval=30,bf_max_job_test=500,defer,bf_window=60"),
        ("schedulerparameters-=defer,bf_interval", "bf_max_job_test=500"),
        ("SchedulerParameters=bf_window=60", "bf_window=60"),
        ("SchedulerParameters=", ""),
    ],
)
def test_an_option_changes_and_the_others_stay(changed: Changed, setting: str, expected: str) -> None:
    assert changed(setting).get("SchedulerParameters") == expected


def test_settings_follow_each_other(changed: Changed) -> None:
    config = changed("bf_max_job_test=50", "SchedulerParameters-=defer", "PriorityFlags-=NO_FAIR_TREE", "KillWait=9")
    assert config.get("SchedulerParameters") == "bf_interval=60,bf_max_job_test=50"
    assert (config.get("PriorityFlags"), config.get("killwait")) == ("MAX_TRES", "9")


@pytest.mark.parametrize(
    ("settings", "key", "expected"),
    [
        # Both together would be the first of them, whichever was meant.
        (["SelectTypeParameters=CR_Core_Memory,CR_LLN", "CR_CPU"], "SelectTypeParameters", "CR_LLN,CR_CPU"),
        (["FAIR_TREE"], "PriorityFlags", "MAX_TRES,FAIR_TREE"),
        (["PriorityFlags+=MAX_TRES_GRES"], "PriorityFlags", "NO_FAIR_TREE,MAX_TRES_GRES"),
    ],
)
def test_an_option_takes_the_place_of_its_opposite(
    changed: Changed, settings: list[str], key: str, expected: str
) -> None:
    assert changed(*settings).get(key) == expected


def test_what_a_whole_line_drops_is_told(conf: Path) -> None:
    (note,) = read_slurm_conf(conf, ["SchedulerParameters=bf_max_job_test=50"]).warnings
    assert note == (
        "--set SchedulerParameters=bf_max_job_test=50: drops bf_interval=60,defer, which is set too; to keep it write "
        "--set bf_max_job_test=50"
    )
    assert not read_slurm_conf(conf, ["bf_max_job_test=50"]).warnings


def test_a_partition_changes_and_nothing_else(changed: Changed) -> None:
    before = changed()
    after = changed("partitionname=general MaxTime=1-0 allowaccounts=c")
    old, new = (next(one for one in config.partitions if one.name == "general") for config in (before, after))
    assert (new.max_time, new.allow_accounts) == (86400, ("c",))
    assert replace(new, max_time=old.max_time, allow_accounts=old.allow_accounts) == old
    assert replace(after, partitions=before.partitions) == before


@pytest.mark.parametrize(
    ("setting", "name", "attribute", "expected"),
    [
        ("PartitionName=gpu OverSubscribe=NO", "gpu", "max_share", 1),
        ("PartitionName=gpu Shared=YES:3", "gpu", "max_share", 3),
        ("PartitionName=gpu State=DOWN", "gpu", "state", PartitionState.DOWN),
        ("PartitionName=gpu Nodes=n1,n2", "gpu", "nodes", 0b1100),
        ("PartitionName=general Nodes=ALL", "general", "nodes", 0xFF),
        ("PartitionName=general Priority=9", "general", "priority_tier", 9),
        # The old key sets both; a setting of one leaves the other.
        ("PartitionName=old PriorityTier=1", "old", "priority_tier", 1),
        ("PartitionName=old PriorityTier=1", "old", "priority_job_factor", 7),
        ("PartitionName=gpu Default=YES", "gpu", "default", True),
        ("PartitionName=gpu Default=YES", "general", "default", False),
        ("OverTimeLimit=1", "general", "over_time_limit", 60),
        ("OverTimeLimit=1", "old", "over_time_limit", None),
        ("PartitionName=short Nodes=n1 MaxTime=10", "short", "max_time", 600),
    ],
)
def test_a_key_of_a_partition(changed: Changed, setting: str, name: str, attribute: str, expected: object) -> None:
    assert getattr(partition(changed(setting), name), attribute) == expected


def test_nodes_change_where_they_are_defined(changed: Changed) -> None:
    config = changed("NodeName=n[2,5],g1 CPUs=64", "DownNodes=n1 State=DOWN")
    nodes = {node.name: node for node in config.nodes}
    assert {name: node.cpus for name, node in nodes.items()} == {
        "g1": 64, "g2": 32, "n1": 8, "n2": 64, "n3": 8, "n4": 8, "n5": 64, "n6": 8,
    }  # fmt: skip
    assert (nodes["g1"].gres, nodes["n2"].real_memory) == (("gpu:4",), 4000)
    assert (nodes["n1"].state, nodes["n3"].state) == (NodeState.DOWN, NodeState.DRAIN)
    assert partition(config, "gpu").nodes == 0b11


def test_the_machine_of_a_log_can_be_changed() -> None:
    config = interchangeable(100_000)
    limited = with_settings(config, ["PartitionName=all MaxTime=60", "bf_interval=60"]).config
    assert limited.nodes == config.nodes
    assert limited.partitions[0].max_time == 3600
    assert limited.get("SchedulerParameters") == "bf_interval=60"
    assert with_settings(interchangeable(10), ["NodeName=processors CPUs=20"]).config.nodes[0].cpus == 20


def test_who_may_use_a_partition_stays(conf: Path) -> None:
    config = read_slurm_conf(conf).config
    write(config.partitions[0], allow_users=frozenset({"ann"}))
    with_users = with_settings(config, ["PartitionName=general MaxTime=5"]).config
    assert with_users.partitions[0].allow_users == frozenset({"ann"})
    opened = with_settings(config, ["PartitionName=general AllowGroups=ALL"]).config
    assert opened.partitions[0].allow_users is None


#: What cannot be set, and why. Without quotes a shell would make several words of some.
REFUSED = {
    "bf_max_job_tset=50": "--set: bf_max_job_tset is no key of slurm.conf, and no option of one; did you mean "
    "bf_max_job_test?",
    "SchedulerTyp=sched/easy": "--set: SchedulerTyp is no key of slurm.conf, and no option of one; did you mean "
    "SchedulerType?",
    "SchedulerParameters+=bf_windw=5": "bf_windw is no option of SchedulerParameters; did you mean bf_window?",
    "SelectTypeParameters=CR_Coer": "CR_Coer is no option of SelectTypeParameters; did you mean CR_Core?",
    "PriorityFlags=FAIRTREE": "FAIRTREE is no option of PriorityFlags; did you mean FAIR_TREE?",
    "PriorityFlags-=MAX_TRESS": "MAX_TRESS is not there to be removed; did you mean MAX_TRES?; MAX_TRES,NO_FAIR_TREE",
    "bf_continue=no": "bf_continue has no value: ",
    "bf_window": "bf_window needs a value: write bf_window=…",
    "bf_window+=5": "bf_window is an option: write SchedulerParameters+=bf_window",
    "KillWait+=5": "KillWait is no list: write KillWait=…",
    "KillWait": "'KillWait' is not KEY=VALUE",
    "=5": "'=5' is not KEY=VALUE",
    "PartitionName=genral MaxTime=5": "there is no partition genral; did you mean general?; there are general, gpu",
    "PartitionName=DEFAULT MaxTime=5": "there is no partition DEFAULT",
    "PartitionName=general MaxTim=5": "MaxTim is no key of a PartitionName line; did you mean MaxTime?",
    "PartitionName=general MaxTime=soon": "--set PartitionName=general MaxTime=soon: MaxTime: 'soon' is not a time",
    "NodeName=": "names none: write NodeName=… Key=Value",
    "PartitionName=general": "sets nothing: write PartitionName=general Key=Value",
    "PartitionName=general AllowAccounts+=c": "lists on such lines are written whole: write =",
    "PartitionName=general Nodes=n9": "--set PartitionName=general Nodes=n9: Nodes: node n9 is not defined",
    "NodeName=n9 Weight=4": "node n9 is not defined; to add it, say what it is: CPUs=…",
    "NodeName=n[1-9 CPUs=4": "NodeName",
    "NodeName=n1 CPUs=none": "--set NodeName=n1 CPUs=none: CPUs: 'none' is not a whole number from 1 to 65535",
    "FrontendName=x Port=5": "nothing in rota reads FrontendName lines",
}


@pytest.mark.parametrize("setting", REFUSED)
def test_what_cannot_be_set_is_refused_with_a_reason(changed: Changed, setting: str) -> None:
    with pytest.raises(InputError) as caught:
        changed(setting)
    assert str(caught.value).startswith("--set")
    assert REFUSED[setting] in str(caught.value)


def test_an_option_that_was_set_is_blamed_on_its_setting(conf: Path) -> None:
    """Not on the line of the file that has the others."""
    settings = ["SchedulerParameters=bf_interval=60", "bf_window=x", "defer", "PriorityWeightAge=y"]
    for known in (settings[1:], settings):
        config = read_slurm_conf(conf, known).config
        with pytest.raises(InputError, match=r"^--set bf_window=x: SchedulerParameters: bf_window=x is not an integer"):
            config.scheduler_int("bf_window", 1, 1, 9)
        with pytest.raises(InputError, match=r"^--set PriorityWeightAge=y: PriorityWeightAge: 'y' is not a whole"):
            config.integer("PriorityWeightAge", 0, 0, 9)


def test_the_own_options_of_plugins_begin_with_their_names(conf: Path) -> None:
    assert read_slurm_conf(conf, ["mine_alpha=3"], ["sched/mine"]).config.scheduler_parameters()["mine_alpha"] == "3"
    later = ["PriorityType=priority/mine", "mine_alpha=3", "SchedulerParameters+=mine_beta"]
    assert read_slurm_conf(conf, later).config.get("SchedulerParameters").endswith(",mine_alpha=3,mine_beta")
    with pytest.raises(InputError, match="mine_alpha is no key"):
        read_slurm_conf(conf, ["mine_alpha=3"])


def test_keys_in_python_may_be_in_any_case() -> None:
    machine = interchangeable(4)
    config = replace(machine, parameters={"SchedulerParameters": "bf_interval=60", "KILLWAIT": "5"})
    assert config.get("schedulerparameters") == "bf_interval=60"
    assert config.integer("KillWait", 30, 0, 100) == 5
    with pytest.raises(InputError, match="KillWait: is given twice"):
        replace(machine, parameters={"killwait": "5", "KillWait": "6"})


def test_nodes_are_added_where_it_is_said_what_they_are(tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text("NodeName=DEFAULT RealMemory=500\nNodeName=n[1-2] CPUs=8\nPartitionName=main Nodes=n[1-2]\n")
    loaded = read_slurm_conf(conf, ["NodeName=new[1-2],n1 CPUs=64"])
    assert [(node.name, node.cpus) for node in loaded.config.nodes] == [
        *(("n1", 64), ("n2", 8), ("new1", 64), ("new2", 64)),
    ]
    assert {node.real_memory for node in loaded.config.nodes} == {500}
    (told,) = loaded.warnings
    assert told.startswith("new[1-2]: in no partition, so no job runs there: add --set")
    for nodes in ("n[1-2],new[1-2]", "ALL"):
        wider = read_slurm_conf(conf, ["NodeName=new[1-2] CPUs=64", f"PartitionName=main Nodes={nodes}"])
        assert partition(wider.config, "main").nodes.bit_count() == 4
        assert not wider.warnings
    with conf.open("a") as more:
        more.write("NodeSet=large Feature=large\nPartitionName=few Nodes=large\n")
    assert not read_slurm_conf(conf, ["NodeName=new1 CPUs=64 Feature=large"]).warnings
