"""Limits as sacctmgr sets, prints and dumps them; data/README.md says where the files come from.

Over 400 lines: its tables name every limit that there is.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.accounting import AssociationTree
from rota.model import Association, InputError
from rota.model.association import QosFlag
from rota.model.limits import COUNT_LIMITS, TIME_LIMITS, TRES_LIMITS, Limits
from rota.sacctmgr import read_associations, write_dump
from rota.sacctmgr.keys import ASSOCIATION, LIMITS, QOS, find_key

if TYPE_CHECKING:
    from rota.model import Qos

DATA = Path(__file__).parent / "data"
TRES = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages", "gres/gpu")


def of_script(tmp_path: Path, text: str) -> AssociationTree:
    path = tmp_path / "acct.script"
    path.write_text(f"add cluster c\nadd account a\nadd qos q\n{text}\n")
    return read_associations([path]).tree


def limits_after(tmp_path: Path, *sets: str) -> dict[str, str]:
    """Give an account's limits after ``modify account a set …`` of each."""
    a = of_script(tmp_path, "\n".join(f"modify account a set {text}" for text in sets)).find("", "a")
    assert a is not None
    return a.limits


def qos_after(tmp_path: Path, *sets: str) -> Qos:
    return of_script(tmp_path, "\n".join(f"modify qos q set {text}" for text in sets)).qos["q"]


def test_a_script_sets_the_limits_that_it_sets_in_slurm() -> None:
    written = write_dump(read_associations([DATA / "limits.script"]).tree)
    # Slurm does not dump it; `sacctmgr show assoc` had 33.
    assert written.count(":MinPrioThresh=33") == 1
    assert written.replace(":MinPrioThresh=33", "") == (DATA / "limits.dump").read_text()


def test_a_dump_of_limits_is_written_back_as_slurm_wrote_it() -> None:
    assert write_dump(read_associations([DATA / "limits.dump"]).tree) == (DATA / "limits.dump").read_text()


def test_a_script_sets_the_qos_that_slurm_shows() -> None:
    made = read_associations([DATA / "limits.script"]).tree.qos
    shown = read_associations([DATA / "limits.dump", DATA / "limits_qos.txt"]).tree.qos
    assert sorted(made) == ["full", "low", "normal", "older"]
    for name, qos in made.items():
        qos.id = shown[name].id
        assert qos == shown[name]
    # The columns that are there without format= miss these.
    short = read_associations([DATA / "limits.dump", DATA / "limits_qos_short.txt"]).tree.qos["full"]
    assert shown["full"].limits.keys() - short.limits.keys() == {
        "GrpJobsAccrue",
        "MaxJobsAccruePerAccount",
        "MaxJobsAccruePerUser",
        "MaxTRESRunMinsPerAccount",
        "MaxTRESRunMinsPerUser",
        "MinPrioThreshold",
    }
    assert short.limits.items() <= shown["full"].limits.items()


def test_limits_of_slurms_qos_as_numbers() -> None:
    # The values are those that limits.script sets.
    full = read_associations([DATA / "limits.dump", DATA / "limits_qos.txt"]).tree.qos["full"]
    assert Limits.of(full.limits, TRES) == Limits(
        grp_tres={"cpu": 100, "mem": 65536, "gres/gpu": 8},
        grp_tres_mins={"cpu": 10000},
        grp_tres_run_mins={"cpu": 600},
        grp_jobs=20,
        grp_jobs_accrue=12,
        grp_submit_jobs=50,
        grp_wall=172800,
        max_tres_per_job={"cpu": 16},
        max_tres_per_node={"cpu": 4},
        max_tres_mins_per_job={"cpu": 960},
        max_tres_run_mins_per_account={"cpu": 5},
        max_tres_run_mins_per_user={"cpu": 6},
        max_wall=43200,
        max_tres_per_user={"cpu": 7},
        max_jobs_per_user=3,
        max_jobs_accrue_per_user=2,
        max_submit_jobs_per_user=9,
        max_tres_per_account={"cpu": 8},
        max_jobs_per_account=33,
        max_jobs_accrue_per_account=22,
        max_submit_jobs_per_account=99,
        min_prio_thresh=44,
        min_tres_per_job={"node": 2},
    )
    assert (full.grace_time, full.preempt, full.preempt_mode, full.preempt_exempt_time) == (
        90,
        ("low", "normal"),
        ("requeue",),
        3600,
    )
    assert (full.usage_threshold, full.usage_factor, full.limit_factor) == (0.25, 1.5, 2.0)
    assert [flag for flag in QosFlag if not full.has(flag)] == [QosFlag.RELATIVE]


#: What Slurm 22.05.8 dumped (associations) or showed (QOS) after `sacctmgr modify … set NAME=7`, or `=cpu=7`.
OF_ASSOCIATIONS = {
    "GrpCPUs": "GrpTRES=cpu=7",
    "GrpCPUMins": "GrpTRESMins=cpu=7",
    "GrpCPURunMins": "GrpTRESRunMins=cpu=7",
    "GrpMemory": "GrpTRES=mem=7M",
    "GrpMem": "GrpTRES=mem=7M",
    "GrpNodes": "GrpTRES=node=7",
    "MaxCPUs": "MaxTRESPerJob=cpu=7",
    "MaxCPUMins": "MaxTRESMinsPerJob=cpu=7",
    "MaxCPUMinsPerJob": "MaxTRESMinsPerJob=cpu=7",
    "MaxCPURunMins": "MaxTRESRunMins=cpu=7",
    "MaxNodes": "MaxTRESPerJob=node=7",
    "MaxNodesPerJob": "MaxTRESPerJob=node=7",
    "MaxWall": "MaxWallDurationPerJob=7",
    "MaxSubmit": "MaxSubmitJobs=7",
    "MaxJ": "MaxJobs=7",
    "MaxJobsAccrue": "MaxJobsAccrue=7",
    "GrpSubmit": "GrpSubmitJobs=7",
    "GrpJ": "GrpJobs=7",
    "MinPrioThresh": "MinPrioThreshold=7",
    "GrpTRES=cpu": "GrpTRES=cpu=7",
    "GrpTRESM=cpu": "GrpTRESMins=cpu=7",
    "GrpTRESR=cpu": "GrpTRESRunMins=cpu=7",
    "MaxTRES=cpu": "MaxTRESPerJob=cpu=7",
    "MaxTRESPerN=cpu": "MaxTRESPerNode=cpu=7",
    "MaxTRESMins=cpu": "MaxTRESMinsPerJob=cpu=7",
    "MaxTRESRunMins=cpu": "MaxTRESRunMins=cpu=7",
}
OF_QOS = {
    "GrpCPUs": "GrpTRES=cpu=7",
    "MaxCPUs": "MaxTRESPerJob=cpu=7",
    "MaxCPUsPU": "MaxTRESPerUser=cpu=7",
    "MaxCPUsPerUser": "MaxTRESPerUser=cpu=7",
    "MaxNodesPU": "MaxTRESPerUser=node=7",
    "MinCPUs": "MinTRESPerJob=cpu=7",
    "MaxJobs": "MaxJobsPerUser=7",
    "MaxJobsPA": "MaxJobsPerAccount=7",
    "MaxJobsAccruePU": "MaxJobsAccruePerUser=7",
    "MaxJobsAccruePA": "MaxJobsAccruePerAccount=7",
    "MaxSubmit": "MaxSubmitJobsPerUser=7",
    "MaxSubmitJobsPU": "MaxSubmitJobsPerUser=7",
    "MaxSubmitJobsPA": "MaxSubmitJobsPerAccount=7",
    "MaxTRES=cpu": "MaxTRESPerJob=cpu=7",
    "MaxTRESPU=cpu": "MaxTRESPerUser=cpu=7",
    "MaxTRESPA=cpu": "MaxTRESPerAccount=cpu=7",
    "MaxTRESMins=cpu": "MaxTRESMinsPerJob=cpu=7",
    "MaxTRESRunMins=cpu": "MaxTRESRunMinsPerUser=cpu=7",
    "MaxTRESRunMinsPA=cpu": "MaxTRESRunMinsPerAccount=cpu=7",
    "MinTRES=cpu": "MinTRESPerJob=cpu=7",
    "MaxW": "MaxWallDurationPerJob=7",
    "MinPrioThresh": "MinPrioThreshold=7",
}


@pytest.mark.parametrize(("name", "expected"), OF_ASSOCIATIONS.items())
def test_names_of_limits_of_associations(tmp_path: Path, name: str, expected: str) -> None:
    assert [f"{key}={text}" for key, text in limits_after(tmp_path, f"{name}=7").items()] == [expected]


@pytest.mark.parametrize(("name", "expected"), OF_QOS.items())
def test_names_of_limits_of_qos(tmp_path: Path, name: str, expected: str) -> None:
    assert [f"{key}={text}" for key, text in qos_after(tmp_path, f"{name}=7").limits.items()] == [expected]


def test_columns_of_show_qos_are_names() -> None:
    # Slurm prints MaxSubmitPU and does not take it; a list of QOS is read with it all the same.
    assert find_key("MaxSubmitPU", QOS) == "MaxSubmitJobsPerUser"
    assert find_key("MaxSubmitPA", QOS) == "MaxSubmitJobsPerAccount"
    header = (DATA / "limits_qos.txt").read_text().split("\n")[0].split("|")
    assert [name for name in header if find_key(name, QOS) is None] == []
    assert find_key("MaxTRESPU", ASSOCIATION) is None


#: One after the other on one account; what Slurm 22.05.8 dumped after each.
CHANGES = [
    ("GrpTRES=mem=2G", "mem=2G"),
    ("GrpTRES=cpu=5", "cpu=5,mem=2G"),
    ("GrpTRES=cpu=-1", "mem=2G"),
    ("GrpTRES=gres/gpu=3,node=2", "gres/gpu=3,mem=2G,node=2"),
    ("GrpTRES=billing=9,fs/disk=1K", "billing=9,fs/disk=1024,gres/gpu=3,mem=2G,node=2"),
    ("GrpTRES=billing=-1,fs/disk=-1,gres/gpu=-1,node=-1", "mem=2G"),
    ("GrpCPUs=50", "cpu=50,mem=2G"),
    ("GrpCPUs=-1", "mem=2G"),
    ("GrpTRES=mem=100K", "mem=100M"),
    ("GrpTRES=mem=512MB", "mem=512M"),
    ("GrpTRES=mem=1g", "mem=1G"),
    ("GrpTRES=mem=1024", "mem=1G"),
    ("GrpTRES=mem=1024G", "mem=1T"),
    ("GrpTRES=mem=5000", "mem=5000M"),
    ("GrpTRES=mem=0", "mem=0"),
    ("GrpTRES=CPU=8,mem=-1", "cpu=8"),
    ("GrpTRES=1=7", "cpu=7"),
    ("GrpTRES=cpu=1,cpu=2", "cpu=2"),
    ("GrpTRES=cpu=10k", "cpu=10240"),
    ("GrpTRES=cpu=2G", "cpu=2147483648"),
]


@pytest.mark.parametrize("last", range(len(CHANGES)), ids=[text for text, _ in CHANGES])
def test_limits_on_tres_change_one_by_one(tmp_path: Path, last: int) -> None:
    sets, expected = [text for text, _ in CHANGES[: last + 1]], CHANGES[last][1]
    assert limits_after(tmp_path, *sets) == {"GrpTRES": expected}


@pytest.mark.parametrize(
    ("text", "minutes"),
    # As Slurm 22.05.8 dumped them.
    [
        ("90", "90"),
        ("1:30", "2"),
        ("1:00:00", "60"),
        ("1-00:00:00", "1440"),
        ("1-2", "1560"),
        ("0:29", "1"),
        ("60:30", "61"),
        ("0", "0"),
        ("UNLIMITED", None),
        ("-1", None),
    ],
)
def test_times_are_minutes(tmp_path: Path, text: str, minutes: str | None) -> None:
    limits = limits_after(tmp_path, "MaxWall=5", f"MaxWall={text}")
    assert limits.get("MaxWallDurationPerJob") == minutes


def test_minus_one_clears_a_limit(tmp_path: Path) -> None:
    assert limits_after(tmp_path, "MaxJobs=5 MaxSubmit=3 MaxWall=4 GrpTRES=cpu=3", "MaxJobs=-1 MaxWall=-1") == {
        "MaxSubmitJobs": "3",
        "GrpTRES": "cpu=3",
    }
    assert limits_after(tmp_path, "GrpTRES=cpu=3", "GrpTRES=cpu=-1") == {}


def test_flags_and_preemption_change_as_in_slurm(tmp_path: Path) -> None:
    # What `sacctmgr show qos` of Slurm 22.05.8 printed after each.
    flags = ["Flags=denyonlimit", "Flags+=NoDecay", "Flags-=DenyOnLimit", "Flags=-1"]
    had = [("DenyOnLimit",), ("DenyOnLimit", "NoDecay"), ("NoDecay",), ()]
    for count, expected in enumerate(had, start=1):
        assert qos_after(tmp_path, *flags[:count]).flags == expected
    assert not qos_after(tmp_path, *flags[:3]).decays
    text = "add qos low\nadd qos x preempt=q\nmodify qos x set preempt+=low\nmodify qos x set preempt-=q"
    for count, preempt in enumerate([("q",), ("low", "q"), ("low",)], start=2):
        assert of_script(tmp_path, "\n".join(text.split("\n")[:count])).qos["x"].preempt == preempt
    assert of_script(tmp_path, f"{text}\ndelete qos low").qos["x"].preempt == ()
    modes = {"suspend,gang": ("gang", "suspend"), "requeue,within": ("within", "requeue"), "off": (), "cluster": ()}
    for mode, expected in modes.items():
        assert qos_after(tmp_path, "PreemptMode=cancel", f"PreemptMode={mode}").preempt_mode == expected
    for exempt, seconds in {"30": 1800, "-1": None, "1-0": 86400, "0": 0, "0:30": 30}.items():
        assert qos_after(tmp_path, "PreemptExemptTime=9", f"PreemptExemptTime={exempt}").preempt_exempt_time == seconds
    qos = qos_after(tmp_path, "LimitFactor=0.5 UsageThreshold=5 UsageFactor=2 GraceTime=90")
    assert (qos.limit_factor, qos.usage_threshold, qos.usage_factor, qos.grace_time) == (0.5, 5.0, 2.0, 90)
    qos = qos_after(tmp_path, "LimitFactor=3 UsageFactor=2", "LimitFactor=-1 UsageThres=-1 UsageFactor=-1 GraceTime=-1")
    assert (qos.limit_factor, qos.usage_threshold, qos.usage_factor, qos.grace_time) == (None, None, 1.0, 0)


def test_a_preempted_qos_that_is_not_defined_is_told(tmp_path: Path) -> None:
    path = tmp_path / "acct.script"
    path.write_text("add cluster c\nadd qos q preempt=nope\n")
    assert "QOS nope have no priority here" in read_associations([path]).warnings[0]


def test_gres_with_a_type_in_a_dump(tmp_path: Path) -> None:
    # Slurm 22.05.8 dumps the first line without quotes and refuses to load it; the second it loads.
    plain, quoted = (
        "Cluster - 'c':Fairshare=1\nParent - 'root'\n"
        f"Account - 'a':Description='a':Organization='a':Fairshare=1:{limits}:MaxJobs=3\n"
        for limits in ("GrpTRES=cpu=1,gres/gpu:a100-80=4,node=2", "GrpTRES='cpu=1,gres/gpu:a100-80=4,node=2'")
    )
    path = tmp_path / "c.dump"
    for text in (plain, quoted):
        path.write_text(text)
        tree = read_associations([path]).tree
        a = tree.find("", "a")
        assert a is not None
        assert a.limits == {"GrpTRES": "cpu=1,gres/gpu:a100-80=4,node=2", "MaxJobs": "3"}
        assert quoted.split("\n")[2] in write_dump(tree).split("\n")


def test_memory_in_halves_in_a_dump(tmp_path: Path) -> None:
    # As Slurm 22.05.8 dumps 1536 MiB; it loads that as 1 MiB, so that it is not written so.
    path = tmp_path / "c.dump"
    path.write_text("Cluster - 'c':GrpTRES=mem=1.50G\n")
    tree = read_associations([path]).tree
    assert Limits.of(tree.root.limits, TRES).grp_tres == {"mem": 1536}
    assert "GrpTRES=mem=1536M" in write_dump(tree)


BAD = {
    "MaxJobs=x": "MaxJobs: 'x' is not a whole number from 0 to 4294967293, nor -1 for no limit",
    "MaxJobs=-3": "MaxJobs: '-3' is not a whole number from 0 to 4294967293, nor -1 for no limit",
    "MaxJobs=1.5": "MaxJobs: '1.5' is not a whole number from 0 to 4294967293, nor -1 for no limit",
    "MaxJobs=4294967296": "MaxJobs: '4294967296' is not a whole number from 0 to 4294967293, nor -1 for no limit",
    "GrpSubmit=": "GrpSubmitJobs: '' is not a whole number from 0 to 4294967293, nor -1 for no limit",
    "GrpCPUs=x": "GrpCPUs: 'x' is not a whole number from 0 to 4294967293, nor -1 for no limit",
    "GrpMemory=2G": "GrpMemory: '2G' is not a whole number from 0 to 4294967293, nor -1 for no limit",
    "MaxWall=x": "MaxWallDurationPerJob: 'x' is not a time: "
    "write minutes, [hours:]minutes:seconds, days-hours or UNLIMITED",
    "GrpWall=-5": "GrpWall: '-5' is not a time: write minutes, [hours:]minutes:seconds, days-hours or UNLIMITED",
    "GrpWall=4294967294": "GrpWall: '4294967294' is too long: -1 is without limit",
    "GrpTRES=5": "GrpTRES: '5' is not TRES=count, such as cpu=100 or mem=64G",
    "GrpTRES=": "GrpTRES: '' is not TRES=count, such as cpu=100 or mem=64G",
    "GrpTRES=cpu=5,": "GrpTRES: '' is not TRES=count, such as cpu=100 or mem=64G",
    "GrpTRES=cpu:5": "GrpTRES: 'cpu:5' is not TRES=count, such as cpu=100 or mem=64G",
    "GrpTRES==5": "GrpTRES: '' is not the name of a TRES, such as cpu, mem, node or gres/gpu",
    "GrpTRES=1001=3": "GrpTRES: '1001' is not the name of a TRES, such as cpu, mem, node or gres/gpu",
    "GrpTRES=cpu=-5": "GrpTRES: '-5' is no count of cpu: a whole number, K, M, G after it or not, or -1",
    "GrpTRES=cpu=2T": "GrpTRES: '2T' is no count of cpu: a whole number, K, M, G after it or not, or -1",
    "GrpTRES=cpu=1.5": "GrpTRES: '1.5' is no whole number of cpu",
    "GrpTRES=mem=1.5": "GrpTRES: '1.5' is no whole number of mem",
    "MaxTRES=mem=5Q": "MaxTRESPerJob: '5Q' is no count of mem: a whole number, K, M, G, T, P after it or not, or -1",
    "MaxTRES=cpu=18446744073709551615": "MaxTRESPerJob: '18446744073709551615' is too large: -1 is without limit",
    f"MaxTRES=cpu={'9' * 5000}": f"MaxTRESPerJob: '{'9' * 5000}' is no count of cpu: "
    "a whole number, K, M, G after it or not, or -1",
    f"MaxJobs={'9' * 5000}": f"MaxJobs: '{'9' * 5000}' is not a whole number from 0 to 4294967293, nor -1 for no limit",
}
BAD_QOS = {
    "Flags=Deny": "Flags: 'deny' is no flag of a QOS: there are DenyOnLimit, EnforceUsageThreshold, NoReserve, "
    "PartitionMaxNodes, PartitionMinNodes, OverPartQOS, PartitionTimeLimit, RequiresReservation, NoDecay, "
    "UsageFactorSafe, Relative",
    "PreemptMode=x": "PreemptMode: 'x' is not cluster, or one of cancel, requeue and suspend with gang or within, "
    "or not",
    "PreemptMode=suspend,requeue": "PreemptMode: 'suspend,requeue' is not cluster, or one of cancel, requeue and "
    "suspend with gang or within, or not",
    "PreemptExemptTime=-3": "PreemptExemptTime: '-3' is not a time: "
    "write minutes, [hours:]minutes:seconds, days-hours or UNLIMITED",
    "GraceTime=x": "GraceTime: 'x' is not a time: write minutes, [hours:]minutes:seconds, days-hours or UNLIMITED",
    "LimitFactor=x": "LimitFactor: 'x' is not a number from 0 to 1e+50",
    "UsageThreshold=-0.5": "UsageThreshold: '-0.5' is not a number from 0 to 1e+50",
    "UsageFactor=nan": "UsageFactor: 'nan' is not a number from 0 to 1e+50",
    "MaxSubmitPU=-2": "MaxSubmitJobsPerUser: '-2' is not a whole number from 0 to 4294967293, nor -1 for no limit",
    "MaxTRESPU=cpu": "MaxTRESPerUser: 'cpu' is not TRES=count, such as cpu=100 or mem=64G",
}


@pytest.mark.parametrize(("text", "expected"), BAD.items(), ids=[text[:30] for text in BAD])
def test_a_bad_limit_is_refused_where_it_stands(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        limits_after(tmp_path, "MaxSubmit=1", text)
    assert str(caught.value) == f"{tmp_path / 'acct.script'}:5: {expected}"


@pytest.mark.parametrize(("text", "expected"), BAD_QOS.items(), ids=[text[:30] for text in BAD_QOS])
def test_a_bad_value_of_a_qos_is_refused_where_it_stands(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        qos_after(tmp_path, "MaxSubmit=1", text)
    assert str(caught.value) == f"{tmp_path / 'acct.script'}:5: {expected}"


def test_bad_limits_of_dumps_and_lists_are_refused_where_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "c.dump"
    path.write_text("Cluster - 'c'\nParent - 'root'\nAccount - 'a':MaxJobs=1:GrpTRES=cpu=-5\n")
    with pytest.raises(InputError, match=r"c.dump:3: GrpTRES: '-5' is no count of cpu"):
        read_associations([path])
    path.write_text("Name|MaxJobsPU\nnormal|3\nlow|many\n")
    with pytest.raises(InputError, match=r"c.dump:3: MaxJobsPerUser: 'many' is not a whole number"):
        read_associations([DATA / "limits.dump", path])


COUNTS = st.integers(0, 2**32 - 3).map(str)
NAMES = ("cpu", "mem", "node", "billing", "fs/disk", "gres/gpu", "gres/gpu:a100", "gres/gpu:h100-80gb", "license/x@y")


def _text(key: str) -> st.SearchStrategy[str]:
    if key in COUNT_LIMITS:
        return COUNTS
    if key in TIME_LIMITS:
        return st.one_of(COUNTS, st.builds("{}-{}:{:02}:{:02}".format, *[st.integers(0, 59)] * 4))
    units = st.sampled_from(("", "K", "M", "G"))
    numbers = st.one_of(st.integers(0, 2**30), st.integers(0, 30).map(lambda bits: 2**bits))
    counts = st.dictionaries(st.sampled_from(NAMES), st.tuples(numbers, units), min_size=1)
    return counts.map(lambda some: ",".join(f"{name}={count}{unit}" for name, (count, unit) in some.items()))


ALL_LIMITS = st.fixed_dictionaries({}, optional={key: _text(key) for key in LIMITS})


@given(root=ALL_LIMITS, account=ALL_LIMITS, user=ALL_LIMITS)
def test_a_dump_read_back_has_the_same_limits(
    tmp_path: Path, root: dict[str, str], account: dict[str, str], user: dict[str, str]
) -> None:
    ones = [
        Association(id=1, account="root", limits=root),
        Association(id=2, account="a", parent_id=1, limits=account),
        Association(id=3, account="a", user="u", parent_id=2, limits=user),
    ]
    path = tmp_path / "c.dump"
    path.write_text(write_dump(AssociationTree("c", ones)))
    tree = read_associations([path]).tree
    for one, name in ((tree.root, ""), (tree.find("", "a"), ""), (tree.find("u", "a"), "u")):
        assert one is not None
        before = next(other for other in ones if (other.account, other.user) == (one.account, name))
        assert Limits.of(one.limits, None) == Limits.of(before.limits, None)
    # And once more: now nothing is left to put in order.
    assert write_dump(read_associations([path]).tree) == write_dump(tree)


def test_every_limit_that_can_be_set_can_be_read() -> None:
    readable = {*TRES_LIMITS, *COUNT_LIMITS, *TIME_LIMITS}
    fields = [*TRES_LIMITS.values(), *COUNT_LIMITS.values(), *TIME_LIMITS.values()]
    assert sorted(fields) == sorted(Limits.__dataclass_fields__)
    of_qos = {key for key in QOS if key.startswith(("Grp", "Max", "Min")) and "CPU" not in key and "Node" not in key}
    assert set(LIMITS) | (of_qos - {"GrpMemory"}) | {"MaxTRESPerNode"} == readable
