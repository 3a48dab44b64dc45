"""slurm.conf: includes, a production file, and every kind of mistake."""

from __future__ import annotations

import grp
import os
import pwd
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from rota.config import interchangeable, read_slurm_conf, this_machine
from rota.model import InputError
from rota.model.units import parse_time_seconds

MACHINE = "NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL\n"


def _conf(tmp_path: Path, text: str, name: str = "slurm.conf") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_production_file_is_read_whole(traces: Path) -> None:
    loaded = read_slurm_conf(traces / "slurm" / "ubccr_medium_slurm.conf")
    config = loaded.config
    assert len(config.nodes) == 217  # the file's own comment says so
    assert sum(node.cpus for node in config.nodes) == 89 * 32 + 128 * 40
    assert config.scheduler_int("bf_window", 1440, 1, 43200) == 4320
    assert config.get("prioritymaxage") == "7-0"
    assert all("set more than once" in warning for warning in loaded.warnings)
    general = config.partitions[0]
    assert general.nodes.bit_count() == 215
    assert (general.max_time, general.default_time, general.priority_tier) == (72 * 3600, 24 * 3600, 100)


def test_an_included_file_stands_in_place_and_is_found_beside_the_including_one(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    _conf(tmp_path / "sub", "PartitionName=p Nodes=n1\n", "partitions.conf")
    config = read_slurm_conf(_conf(tmp_path, "NodeName=n[1-2]\ninclude sub/partitions.conf\n")).config
    assert [part.nodes for part in config.partitions] == [1]


def test_a_node_knows_which_line_it_is_from(tmp_path: Path) -> None:
    text = "NodeName=DEFAULT CPUs=2\nNodeName=n3\nNodeName=n[1-2]\nPartitionName=p Nodes=ALL\n"
    first, second, third = read_slurm_conf(_conf(tmp_path, text)).config.nodes
    assert third.line < first.line == second.line


@pytest.mark.parametrize("groups", ["ALL", "root", "root,daemon", "nosuch,root"])
def test_users_of_groups_are_those_that_the_system_names(tmp_path: Path, groups: str) -> None:
    (part,) = read_slurm_conf(_conf(tmp_path, f"{MACHINE[:-1]} AllowGroups={groups}\n")).config.partitions
    numbers = {group.gr_gid for group in grp.getgrall() if group.gr_name in groups.split(",")}
    for user in pwd.getpwall():
        own = os.getgrouplist(user.pw_name, user.pw_gid)
        assert part.allows(user.pw_name) is (groups == "ALL" or not numbers.isdisjoint(own))


def test_groups_that_nobody_is_in_leave_a_partition_to_root(tmp_path: Path) -> None:
    loaded = read_slurm_conf(_conf(tmp_path, f"{MACHINE[:-1]} AllowGroups=nosuch\n"))
    assert [loaded.config.partitions[0].allows(name) for name in ("root", "ann")] == [True, False]
    assert [one.split(": ", 1)[1] for one in loaded.warnings] == [
        "AllowGroups: this system knows no user who may use partition p"
    ]


def test_an_unknown_key_is_kept_and_warned_about_once(tmp_path: Path) -> None:
    loaded = read_slurm_conf(_conf(tmp_path, f"SchedulerTyp=sched/easy\n{MACHINE}"))
    assert loaded.config.get("schedulertyp") == "sched/easy"
    (warning,) = loaded.warnings
    assert warning.startswith(f"{tmp_path / 'slurm.conf'}:1: SchedulerTyp:")


def _problems(tmp_path: Path, text: str) -> list[str]:
    """Give the warnings without their places."""
    return [warning.split(": ", 1)[1] for warning in read_slurm_conf(_conf(tmp_path, text)).warnings]


def test_an_unknown_key_of_a_node_or_a_partition_is_warned_about_once(tmp_path: Path) -> None:
    text = "NodeName=n1 RealMemry=1\nNodeName=n2 RealMemry=1\nPartitionName=p Nodes=ALL QOS=x Hiden=YES\n"
    assert _problems(tmp_path, text) == [
        "RealMemry: no key of a NodeName line; nothing reads it; did you mean RealMemory?",
        "Hiden: no key of a PartitionName line; nothing reads it; did you mean Hidden?",
    ]
    (part,) = read_slurm_conf(tmp_path / "slurm.conf").config.partitions
    assert (part.qos, part.options) == ("x", {"hiden": "YES"})


def test_processors_that_contradict_the_sockets_are_warned_about_once_a_line(tmp_path: Path) -> None:
    text = "NodeName=n[1-9] CPUs=5 Sockets=2 CoresPerSocket=4\nPartitionName=p Nodes=ALL\n"
    assert _problems(tmp_path, text) == [
        "CPUs: 5 is neither the number of sockets, of cores nor of threads; 8 is taken"
    ]


def test_an_unknown_line_of_several_pairs_stays_together(tmp_path: Path) -> None:
    loaded = read_slurm_conf(_conf(tmp_path, f"{MACHINE}SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n"))
    assert loaded.config.get("switchname") == "b Nodes=n2"
    assert loaded.config.get("nodes") == ""
    assert len(loaded.warnings) == 1


def test_controllers_are_several(tmp_path: Path) -> None:
    loaded = read_slurm_conf(_conf(tmp_path, f"SlurmctldHost=a(10.0.0.1)\nSlurmctldHost=b\n{MACHINE}"))
    assert loaded.config.get("slurmctldhost") == "a(10.0.0.1),b"
    assert loaded.warnings == ()


def test_the_last_of_several_default_partitions_is_the_one(tmp_path: Path) -> None:
    text = "NodeName=n\nPartitionName=p Nodes=n Default=YES\nPartitionName=q Nodes=n Default=TRUE\n"
    assert _problems(tmp_path, text) == ["Default: q takes the place of p"]
    assert [part.default for part in read_slurm_conf(tmp_path / "slurm.conf").config.partitions] == [False, True]


def test_down_nodes_are_down_and_future_ones_are_left_out(tmp_path: Path) -> None:
    text = (
        "NodeName=n[1-5]\nNodeName=later State=FUTURE\nDownNodes=n1 Reason=disk\nDownNodes=n[2-3] State=DRAIN\n"
        "DownNodes=n4,gone State=FUTURE\nPartitionName=p Nodes=n[1-5],later\nPartitionName=q Nodes=later\n"
    )
    assert _problems(tmp_path, text) == [
        "DownNodes: node gone is not defined",
        "Nodes: partition q has no nodes: it can run no jobs",
    ]
    config = read_slurm_conf(tmp_path / "slurm.conf").config
    assert {node.name: node.state.value for node in config.nodes} == {
        "n1": "DOWN",
        "n2": "DRAIN",
        "n3": "DRAIN",
        "n5": "UP",
    }
    assert [part.nodes for part in config.partitions] == [0b1111, 0]


@pytest.mark.parametrize("nodes", ['""', "empty"])
def test_a_partition_may_be_empty_on_purpose(tmp_path: Path, nodes: str) -> None:
    text = f"NodeSet=empty Feature=none\n{MACHINE}PartitionName=q Nodes={nodes}\n"
    assert _problems(tmp_path, text) == ["Nodes: partition q has no nodes: it can run no jobs"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n[01-3]", "n01 n02 n03"),
        ("n[8-011]", "n8 n9 n10 n11"),
        ("n[98-101]", "n98 n99 n100 n101"),
        ("n[098-0101]", "n098 n099 n100 n101"),
        ("b,a[1,3],c[1-2]d[1-2]", "a1 a3 b c1d1 c1d2 c2d1 c2d2"),
    ],
)
def test_ranges_are_as_wide_as_their_lower_end(tmp_path: Path, text: str, names: str) -> None:
    nodes = read_slurm_conf(_conf(tmp_path, f"NodeName={text}\nPartitionName=p Nodes=ALL\n")).config.nodes
    assert [node.name for node in nodes] == names.split()


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("a,\\\nb", "a,b"),
        ("\\\n  a", "a"),
        ("a\\#b # comment \\", "a#b"),
        (r"a\\", "a\\"),
        ('"a b"', "a b"),
        ('""', ""),
        ('a"', 'a"'),
        ("a=b", "a=b"),
        (" a\r", "a"),
    ],
)
def test_values_are_read_as_slurm_does(tmp_path: Path, written: str, value: str) -> None:
    assert read_slurm_conf(_conf(tmp_path, f"Licenses={written}\n{MACHINE}")).config.get("licenses") == value


def test_a_partition_without_an_over_time_limit_has_that_of_the_cluster(tmp_path: Path) -> None:
    text = "OverTimeLimit=1\noverTIMElimit=5\nNodeName=n\nPartitionName=p Nodes=n\n"
    text += "PartitionName=none Nodes=n OverTimeLimit=0\n"
    text += "PartitionName=DEFAULT OverTimeLimit=UNLIMITED\nPartitionName=any Nodes=n\n"
    partitions = read_slurm_conf(_conf(tmp_path, text)).config.partitions
    assert [part.over_time_limit for part in partitions] == [300, 0, None]
    assert read_slurm_conf(_conf(tmp_path, MACHINE)).config.partitions[0].over_time_limit == 0


def test_a_comment_in_another_encoding_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    path.write_bytes(b"\xef\xbb\xbfNodeName=n # caf\xe9\nPartitionName=p Nodes=ALL\n")
    assert [node.name for node in read_slurm_conf(path).config.nodes] == ["n"]


def test_the_name_of_the_cluster_may_stand_in_that_of_an_included_file(tmp_path: Path) -> None:
    _conf(tmp_path, "KillWait=7\n", "one_lab.conf")
    config = read_slurm_conf(_conf(tmp_path, f"ClusterName=Lab\nInclude one_%c.conf\n{MACHINE}")).config
    assert config.get("KillWait") == "7"
    assert config.cluster_name == "lab"


@given(st.text(alphabet='aN=,[]-"\\# 1\n', max_size=60))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "slurm.conf"
        path.write_text(f"{MACHINE}{text}\nNodeName={text}\n")
        try:
            read_slurm_conf(path)
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017 - most texts are refused, some are not


@pytest.mark.parametrize(
    ("text", "line", "field", "problem"),
    [
        (f"NodeName=m[1-\n{MACHINE}", 1, "NodeName", "not a list of nodes"),
        (f"{MACHINE}NodeName=m CPUs=four", 3, "CPUs", "'four' is not a whole number"),
        (f"{MACHINE}NodeName=m CPUs=-4", 3, "CPUs", "not a whole number"),
        (f"{MACHINE}NodeName=m CPUs=0", 3, "CPUs", "from 1 to 65535"),
        (f"{MACHINE}NodeName=m CPUs=010", 3, "CPUs", "'010' is not a whole number"),  # 8 to Slurm
        (f"{MACHINE}NodeName=m CPUs=70000", 3, "CPUs", "from 1 to 65535"),
        (f"{MACHINE}NodeName=m[1-2000000]", 3, "NodeName", "more than 262,144 nodes"),
        (f"{MACHINE}NodeName=m[3-1]", 3, "NodeName", "not a list of nodes"),
        (f"{MACHINE}NodeName=m1!m2", 3, "NodeName", "not a list of nodes"),
        (f"{MACHINE}NodeName=@all", 3, "NodeName", "not a list of nodes"),
        (f"NodeName=m State=FUTURE\nNodeName=m\n{MACHINE}", 2, "NodeName", "node m is defined twice"),
        (f"{MACHINE}NodeName=m State=BROKEN", 3, "State", "no node state"),
        (f"{MACHINE}NodeName=n2", 3, "NodeName", "defined twice"),
        (f"{MACHINE}PartitionName=p Nodes=n1", 3, "PartitionName", "defined twice"),
        (f"{MACHINE}PartitionName=q", 3, "PartitionName", "has no nodes"),
        (f"{MACHINE}PartitionName=q Nodes=n[1-3]", 3, "Nodes", "node n3 is not defined"),
        (f"{MACHINE}PartitionName=q Nodes=n1 State=SIDEWAYS", 3, "State", "no partition state"),
        (f"{MACHINE}PartitionName=q Nodes=n1 MaxTime=soon", 3, "MaxTime", "'soon' is not a time"),
        (f"{MACHINE}PartitionName=q Nodes=n1 MaxNodes=some", 3, "MaxNodes", "not a whole number"),
        (f"{MACHINE}PartitionName=q Nodes=n1 OverTimeLimit=1:00", 3, "OverTimeLimit", "not a whole number"),
        (f"{MACHINE}OverTimeLimit=65534", 3, "OverTimeLimit", "from 0 to 65533"),
        (f"{MACHINE}PartitionName=q \\\n Nodes=n1 \\\n MinNodes=x\n", 3, "MinNodes", "not a whole number"),
        (f"{MACHINE}PartitionName=q Nodes=ALL Default=maybe", 3, "Default", "neither YES nor NO"),
        (f"{MACHINE}PartitionName=q Nodes=ALL OverSubscribe=ALWAYS", 3, "OverSubscribe", "none of NO, EXCLUSIVE, YES"),
        (f"{MACHINE}PartitionName=q Nodes=ALL OverSubscribe=NO:4", 3, "OverSubscribe", "none of NO, EXCLUSIVE, YES"),
        (f"{MACHINE}PartitionName=q Nodes=ALL Shared=FORCE:0", 3, "Shared", "0 jobs a core are not from 1 to 64"),
        (f"{MACHINE}PartitionName=q Nodes=ALL Shared=YES:65", 3, "Shared", "65 jobs a core are not from 1 to 64"),
        (f"{MACHINE}PartitionName=q Nodes=ALL PriorityTier=65536", 3, "PriorityTier", "from 0 to 65535"),
        (f"{MACHINE}just words\n", 3, None, "is not Key=Value"),
        (f"{MACHINE}KillWait=\n", 3, "KillWait", "has no value"),
        (f"{MACHINE}KillWait=30 MinJobAge=300\n", 3, "KillWait", "MinJobAge=300 must stand on a line of its own"),
        (f'{MACHINE}MailProg="/bin/my mail\n', 3, "MailProg", "do not enclose it"),
        (f"{MACHINE}Include gone.conf\n", 3, "Include", "gone.conf cannot be read: No such file"),
    ],
)
def test_a_mistake_is_named_with_file_line_and_key(
    tmp_path: Path, text: str, line: int, field: str | None, problem: str
) -> None:
    path = _conf(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_slurm_conf(path)
    assert (caught.value.path, caught.value.line, caught.value.field) == (path, line, field)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "ClusterName=x\n", "NodeName=DEFAULT CPUs=4\nPartitionName=p Nodes=ALL\n"])
def test_a_machine_without_nodes_is_none(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="no nodes are defined"):
        read_slurm_conf(_conf(tmp_path, text))


def test_a_machine_without_partitions_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no partitions are defined"):
        read_slurm_conf(_conf(tmp_path, "NodeName=n1\n"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.conf: cannot be read: No such file"):
        read_slurm_conf(tmp_path / "nowhere.conf")


def test_files_that_include_each_other_are_told_apart_by_their_chain(tmp_path: Path) -> None:
    _conf(tmp_path, "Include slurm.conf\n", "other.conf")
    with pytest.raises(InputError, match=r"slurm\.conf includes .*other\.conf includes .*slurm\.conf"):
        read_slurm_conf(_conf(tmp_path, "Include other.conf\n"))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400),
        ("10:30", 630),
        ("1:00:01", 3601),
        ("2-0", 172800),
        ("2-3:04", 183840),
        ("2-3:04:05", 183845),
        ("UNLIMITED", None),
        ("infinite", None),
        ("-1", None),
    ],
)
def test_times_are_written_in_slurms_forms(text: str, seconds: int | None) -> None:
    assert parse_time_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "1-", "1:", ":1", "1:2:3:4", "-2", "1.5", "1h"])
def test_other_forms_of_times_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_time_seconds(text)


def test_a_machine_without_a_file_is_one_node_and_one_default_partition() -> None:
    for config in (interchangeable(100), this_machine()):
        (node,), (part,) = config.nodes, config.partitions
        assert node.cpus >= 1
        assert part.default
        assert part.nodes == 1


@pytest.mark.parametrize(
    ("written", "sharing"),
    [
        ("", (False, 1, False)),
        ("OverSubscribe=NO", (False, 1, False)),
        ("OverSubscribe=EXCLUSIVE", (True, 1, False)),
        ("OverSubscribe=yes:3", (False, 3, False)),
        ("OverSubscribe=YES", (False, 4, False)),
        ("OverSubscribe=FORCE:1", (False, 1, True)),
        ("Shared=FORCE", (False, 4, True)),
    ],
)
def test_how_jobs_share_is_read(tmp_path: Path, written: str, sharing: tuple[bool, int, bool]) -> None:
    """The defaults are those of the manual page of slurm.conf."""
    config = read_slurm_conf(_conf(tmp_path, f"{MACHINE}PartitionName=q Nodes=ALL {written}\n")).config
    part = next(one for one in config.partitions if one.name == "q")
    assert (part.exclusive, part.max_share, part.force_share) == sharing


def test_an_error_in_a_default_line_names_that_line(tmp_path: Path) -> None:
    """It named the line of the first node or partition that has the default."""
    text = "NodeName=DEFAULT CPUs=many\nNodeName=n1\nPartitionName=p Nodes=ALL\n"
    with pytest.raises(InputError, match=r"slurm\.conf:1: CPUs: 'many' is not"):
        read_slurm_conf(_conf(tmp_path, text))
    text = (
        "NodeName=n1\nPartitionName=DEFAULT State=UP\nPartitionName=DEFAULT maxtime=soon\nPartitionName=p Nodes=ALL\n"
    )
    with pytest.raises(InputError, match=r"slurm\.conf:3: maxtime: 'soon' is not"):
        read_slurm_conf(_conf(tmp_path, text))
