"""The fields of ``sacctmgr list``: names, headings, widths, and the values of each kind of record."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.listings.clock import full_duration
from rota.listings.text import tres_text
from rota.model import SHARES_PARENT
from rota.model.limits import COUNT_LIMITS, TIME_LIMITS, TRES_LIMITS, read_count_limit, read_time_limit, read_tres_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rota.model import Account, Association, Qos, User


class Field(NamedTuple):
    """A field: its heading and the width of its column."""

    heading: str
    width: int
    text: Callable[[Row], str]


class Row(NamedTuple):
    """A record: what belongs together in one line. Parts that there are not are ``None``."""

    cluster: str = ""
    #: An association with its own and inherited values.
    association: Association | None = None
    account: Account | None = None
    user: User | None = None
    qos: Qos | None = None
    #: The account above that of the association; empty for users.
    parent: str = ""
    #: Depth in the tree; 0 unless a tree is shown.
    depth: int = 0
    #: Names of coordinators of the account, or of the accounts that the user coordinates.
    coordinators: tuple[str, ...] = ()
    #: A TRES and its number.
    tres: tuple[str, int] = ("", 0)
    #: Other facts by the name of the field.
    facts: Mapping[str, str] = {}


# ---- limits ----------------------------------------------------------------------------------------------------


def limit_text(key: str, text: str) -> str:
    """Format a limit as sacctmgr prints it; empty: it is not set."""
    if not text:
        return ""
    if key in TRES_LIMITS:
        counts = {name: count for name, count in read_tres_limit(key, text, None).items() if count is not None}
        return tres_text(counts)
    if key in TIME_LIMITS:
        seconds = read_time_limit(key, text)
        return "" if seconds is None else full_duration(seconds)
    count = read_count_limit(key, text) if key in COUNT_LIMITS else None
    return "" if count is None else str(count)


def _limit(key: str) -> Callable[[Row], str]:
    def text(row: Row) -> str:
        owner = row.qos or row.association
        return "" if owner is None else limit_text(key, owner.limits.get(key, ""))

    return text


def _one_tres(key: str, tres: str) -> Callable[[Row], str]:
    """Give the limit of one TRES, for fields from before there were other TRES."""

    def text(row: Row) -> str:
        owner = row.qos or row.association
        count = None if owner is None else read_tres_limit(key, owner.limits.get(key, ""), None).get(tres)
        return "" if count is None else str(count)

    return text


# ---- other values ----------------------------------------------------------------------------------------------


def _account(row: Row) -> str:
    if row.association is not None:
        return " " * row.depth + row.association.account
    return row.account.name if row.account is not None else ""


def _user(row: Row) -> str:
    if row.user is not None:
        return row.user.name
    return "" if row.association is None else row.association.user


def _name(row: Row) -> str:
    if row.qos is not None:
        return row.qos.name
    if row.tres[1]:
        return row.tres[0].partition("/")[2]
    return row.account.name if row.account is not None else _user(row)


def _share(row: Row) -> str:
    one = row.association
    if one is None:
        return ""
    return "parent" if one.shares_raw == SHARES_PARENT else str(one.shares_raw)


def _priority(row: Row) -> str:
    if row.qos is not None:
        return str(row.qos.priority)
    return str(row.association.priority or "") if row.association is not None else ""


def _descr(row: Row) -> str:
    owner = row.qos or row.account
    return "" if owner is None else owner.description


def _number(row: Row) -> str:
    if row.tres[1]:
        return str(row.tres[1])
    owner = row.qos or row.association
    return "" if owner is None else str(owner.id)


def _of_association(read: Callable[[Association], str]) -> Callable[[Row], str]:
    return lambda row: "" if row.association is None else read(row.association)


def _of_user(read: Callable[[User], str]) -> Callable[[Row], str]:
    return lambda row: "" if row.user is None else read(row.user)


def _of_qos(read: Callable[[Qos], str]) -> Callable[[Row], str]:
    return lambda row: "" if row.qos is None else read(row.qos)


def _fact(name: str) -> Callable[[Row], str]:
    return lambda row: row.facts.get(name, "")


def _factor(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


def _limits(*several: tuple[str, str, str, int]) -> dict[str, Field]:
    return {name: Field(heading, width, _limit(key)) for name, key, heading, width in several}


_OF_ALL = {
    "Account": Field("Account", 10, _account),
    "AdminLevel": Field("Admin", 9, _of_user(lambda one: one.admin_level)),
    "Classification": Field("Class", 9, lambda _: ""),
    "Cluster": Field("Cluster", 10, lambda row: row.cluster),
    "ControlHost": Field("ControlHost", 15, _fact("ControlHost")),
    "ControlPort": Field("ControlPort", 12, _fact("ControlPort")),
    "Coordinators": Field("Coord Accounts", 20, lambda row: ",".join(row.coordinators)),
    "DefaultAccount": Field("Def Acct", 10, _of_user(lambda one: one.default_account)),
    "DefaultQOS": Field("Def QOS", 9, _of_association(lambda one: one.default_qos)),
    "DefaultWCKey": Field("Def WCKey", 10, lambda _: ""),
    "Description": Field("Descr", 20, _descr),
    "FairShare": Field("Share", 9, _share),
    "Flags": Field("Flags", 20, _of_qos(lambda one: ",".join(one.flags))),
    "GraceTime": Field("GraceTime", 10, _of_qos(lambda one: full_duration(one.grace_time))),
    "ID": Field("ID", 6, _number),
    "LimitFactor": Field("LimitFactor", 11, _of_qos(lambda one: _factor(one.limit_factor))),
    "Name": Field("Name", 10, _name),
    "NodeCount": Field("NodeCount", 9, _fact("NodeCount")),
    "ClusterNodes": Field("Cluster Nodes", 20, _fact("ClusterNodes")),
    "Organization": Field("Org", 20, lambda row: "" if row.account is None else row.account.organization),
    "ParentID": Field("ParentID", 8, _of_association(lambda one: str(one.parent_id))),
    "ParentName": Field("ParentName", 10, lambda row: row.parent),
    "Partition": Field("Partition", 10, _of_association(lambda one: one.partition)),
    "Preempt": Field("Preempt", 10, _of_qos(lambda one: ",".join(sorted(one.preempt)))),
    "PreemptExemptTime": Field(
        "PreemptExemptTime",
        19,
        _of_qos(lambda one: "" if one.preempt_exempt_time is None else full_duration(one.preempt_exempt_time)),
    ),
    "PreemptMode": Field("PreemptMode", 11, _of_qos(lambda one: ",".join(one.preempt_mode) or "cluster")),
    "Priority": Field("Priority", 10, _priority),
    "QOS": Field("QOS", 20, _of_association(lambda one: ",".join(one.qos))),
    "RPC": Field("RPC", 5, _fact("RPC")),
    "Share": Field("Share", 9, _share),
    "TRES": Field("TRES", 20, _fact("TRES")),
    "Type": Field("Type", 8, lambda row: row.tres[0].partition("/")[0]),
    "UsageFactor": Field("UsageFactor", 11, _of_qos(lambda one: _factor(one.usage_factor))),
    "WCKeys": Field("WCKeys", 20, lambda _: ""),
    "UsageThreshold": Field("UsageThres", 10, _of_qos(lambda one: _factor(one.usage_threshold))),
    "User": Field("User", 10, _user),
}
_GROUP_LIMITS = _limits(
    ("GrpJobs", "GrpJobs", "GrpJobs", 7),
    ("GrpJobsAccrue", "GrpJobsAccrue", "GrpJobsAccrue", 13),
    ("GrpSubmitJobs", "GrpSubmitJobs", "GrpSubmit", 9),
    ("GrpTRES", "GrpTRES", "GrpTRES", 13),
    ("GrpTRESMins", "GrpTRESMins", "GrpTRESMins", 13),
    ("GrpTRESRunMins", "GrpTRESRunMins", "GrpTRESRunMins", 13),
    ("GrpWall", "GrpWall", "GrpWall", 11),
)
_OLD_LIMITS = {
    "GrpCPUs": Field("GrpCPUs", 8, _one_tres("GrpTRES", "cpu")),
    "GrpCPUMins": Field("GrpCPUMins", 11, _one_tres("GrpTRESMins", "cpu")),
    "GrpCPURunMins": Field("GrpCPURunMins", 13, _one_tres("GrpTRESRunMins", "cpu")),
    "GrpMemory": Field("GrpMem", 7, _one_tres("GrpTRES", "mem")),
    "GrpNodes": Field("GrpNodes", 8, _one_tres("GrpTRES", "node")),
    "MaxCPUMinsPerJob": Field("MaxCPUMins", 11, _one_tres("MaxTRESMinsPerJob", "cpu")),
    "MaxCPUsPerJob": Field("MaxCPUs", 8, _one_tres("MaxTRESPerJob", "cpu")),
    "MaxNodesPerJob": Field("MaxNodes", 8, _one_tres("MaxTRESPerJob", "node")),
}
_OLD_QOS_LIMITS = {
    "MaxCPUsPerUser": Field("MaxCPUsPU", 9, _one_tres("MaxTRESPerUser", "cpu")),
    "MaxNodesPerUser": Field("MaxNodesPU", 10, _one_tres("MaxTRESPerUser", "node")),
    "MinCPUsPerJob": Field("MinCPUs", 8, _one_tres("MinTRESPerJob", "cpu")),
}
_JOB_LIMITS = _limits(
    ("MaxTRESPerJob", "MaxTRESPerJob", "MaxTRES", 13),
    ("MaxTRESMinsPerJob", "MaxTRESMinsPerJob", "MaxTRESMins", 13),
    ("MaxTRESPerNode", "MaxTRESPerNode", "MaxTRESPerNode", 14),
    ("MaxWallDurationPerJob", "MaxWallDurationPerJob", "MaxWall", 11),
    ("MinPrioThreshold", "MinPrioThreshold", "MinPrioThres", 12),
)
#: The fields of associations, accounts, users, clusters and TRES by their full names.
FIELDS = {
    **_OF_ALL,
    **_GROUP_LIMITS,
    **_JOB_LIMITS,
    **_OLD_LIMITS,
    **_limits(
        ("MaxJobs", "MaxJobs", "MaxJobs", 7),
        ("MaxJobsAccrue", "MaxJobsAccrue", "MaxJobsAccrue", 13),
        ("MaxSubmitJobs", "MaxSubmitJobs", "MaxSubmit", 9),
        ("MaxTRESRunMins", "MaxTRESRunMins", "MaxTRESRunMinsPU", 15),
    ),
    "MaxCPURunMins": Field("MaxCPURunMinsPU", 15, _one_tres("MaxTRESRunMins", "cpu")),
}
#: The fields of QOS.
QOS_FIELDS = {
    **_OF_ALL,
    **_GROUP_LIMITS,
    **_JOB_LIMITS,
    **_OLD_LIMITS,
    **_OLD_QOS_LIMITS,
    **_limits(
        *(
            (f"Max{name}Per{whose}", f"Max{name}Per{whose}", f"Max{short}P{whose[0]}", width)
            for whose in ("User", "Account")
            for name, short, width in (
                ("Jobs", "Jobs", 9),
                ("JobsAccrue", "JobsAccrue", 15),
                ("SubmitJobs", "Submit", 11),
                ("TRES", "TRES", 13),
                ("TRESRunMins", "TRESRunMins", 15),
            )
        ),
        ("MinTRESPerJob", "MinTRESPerJob", "MinTRES", 13),
    ),
}
#: Other names of fields.
ALIASES = {
    "acct": "Account",
    "admin": "AdminLevel",
    "cpus": "MaxCPUsPerJob",
    "maxcpumins": "MaxCPUMinsPerJob",
    "maxcpus": "MaxCPUsPerJob",
    "maxcpuspu": "MaxCPUsPerUser",
    "maxnodes": "MaxNodesPerJob",
    "maxnodespu": "MaxNodesPerUser",
    "maxtres": "MaxTRESPerJob",
    "maxtresmins": "MaxTRESMinsPerJob",
    "maxwall": "MaxWallDurationPerJob",
    "minpriothres": "MinPrioThreshold",
    "mintres": "MinTRESPerJob",
    "maxjobspu": "MaxJobsPerUser",
    "maxjobspa": "MaxJobsPerAccount",
    "maxjobsaccruepu": "MaxJobsAccruePerUser",
    "maxjobsaccruepa": "MaxJobsAccruePerAccount",
    "maxsubmitpu": "MaxSubmitJobsPerUser",
    "maxsubmitpa": "MaxSubmitJobsPerAccount",
    "maxsubmitjobspu": "MaxSubmitJobsPerUser",
    "maxsubmitjobspa": "MaxSubmitJobsPerAccount",
    "maxtrespu": "MaxTRESPerUser",
    "maxtrespa": "MaxTRESPerAccount",
    "maxtresrunminspu": "MaxTRESRunMinsPerUser",
    "maxtresrunminspa": "MaxTRESRunMinsPerAccount",
    "usagethres": "UsageThreshold",
}
_ASSOCIATION = (
    "Share,Priority,GrpJobs,GrpTRES,GrpSubmit,GrpWall,GrpTRESMins,MaxJobs,MaxTRES,MaxTRESPerNode,MaxSubmit,MaxWall,"
    "MaxTRESMins,QOS,DefaultQOS,GrpTRESRunMins"
)
_USERS = "Share,Priority,MaxJobs,MaxNodes,MaxCPUs,MaxSubmit,MaxWall,MaxCPUMins,QOS,DefaultQOS"
_ACCOUNTS = (
    "Share,Priority,GrpJobs,GrpNodes,GrpCPUs,GrpMemory,GrpSubmit,GrpWall,GrpCPUMins,MaxJobs,MaxNodes,MaxCPUs,MaxSubmit,"
    "MaxWall,MaxCPUMins,QOS,DefaultQOS"
)
#: The formats without ``format=``.
DEFAULT = {
    "account": "Account,Description,Organization",
    "account withassoc": f"Account,Description,Organization,Cluster,ParentName,User,{_ACCOUNTS}",
    "association": f"Cluster,Account,User,Partition,{_ASSOCIATION}",
    "association wolimits": "Cluster,Account,User,Partition",
    "cluster": (
        "Cluster,ControlHost,ControlPort,RPC,Share,GrpJobs,GrpTRES,GrpSubmit,MaxJobs,MaxTRES,MaxSubmit,MaxWall,QOS,"
        "DefaultQOS"
    ),
    "qos": (
        "Name,Priority,GraceTime,Preempt,PreemptExemptTime,PreemptMode,Flags%40,UsageThres,UsageFactor,GrpTRES,"
        "GrpTRESMins,GrpTRESRunMins,GrpJobs,GrpSubmit,GrpWall,MaxTRES,MaxTRESPerNode,MaxTRESMins,MaxWall,MaxTRESPU,"
        "MaxJobsPU,MaxSubmitPU,MaxTRESPA,MaxJobsPA,MaxSubmitPA,MinTRES"
    ),
    "tres": "Type,Name%15,ID",
    "user": "User,DefaultAccount,AdminLevel",
    "user withassoc": f"User,DefaultAccount,AdminLevel,Cluster,Account,Partition,{_USERS}",
}
