"""Keys of accounts, users, clusters and QOS in sacctmgr, which may be abbreviated."""

from __future__ import annotations

#: Limits of associations, in the order of a dump. Slurm 22.05 loads the last one and does not dump it.
LIMITS = (
    "GrpTRESMins",
    "GrpTRESRunMins",
    "GrpTRES",
    "GrpJobs",
    "GrpJobsAccrue",
    "GrpSubmitJobs",
    "GrpWall",
    "MaxTRESMinsPerJob",
    "MaxTRESRunMins",
    "MaxTRESPerJob",
    "MaxTRESPerNode",
    "MaxJobs",
    "MaxJobsAccrue",
    "MaxSubmitJobs",
    "MaxWallDurationPerJob",
    "MinPrioThreshold",
)
#: Limits of associations from before TRES existed: the present limit and TRES of each.
OLD_LIMITS = {
    "GrpCPUs": ("GrpTRES", "cpu"),
    "GrpCPUMins": ("GrpTRESMins", "cpu"),
    "GrpCPURunMins": ("GrpTRESRunMins", "cpu"),
    "GrpMemory": ("GrpTRES", "mem"),
    "GrpNodes": ("GrpTRES", "node"),
    "MaxCPUsPerJob": ("MaxTRESPerJob", "cpu"),
    "MaxCPUMinsPerJob": ("MaxTRESMinsPerJob", "cpu"),
    "MaxCPURunMins": ("MaxTRESRunMins", "cpu"),
    "MaxNodesPerJob": ("MaxTRESPerJob", "node"),
}
#: The same for QOS.
OLD_QOS_LIMITS = {
    **OLD_LIMITS,
    "MaxCPURunMins": ("MaxTRESRunMinsPerUser", "cpu"),
    "MaxCPUsPerUser": ("MaxTRESPerUser", "cpu"),
    "MaxNodesPerUser": ("MaxTRESPerUser", "node"),
    "MinCPUsPerJob": ("MinTRESPerJob", "cpu"),
}
#: Limits of QOS.
QOS_LIMITS = (
    "GrpJobs",
    "GrpJobsAccrue",
    "GrpSubmitJobs",
    "GrpTRES",
    "GrpTRESMins",
    "GrpTRESRunMins",
    "GrpWall",
    "MaxJobsAccruePerAccount",
    "MaxJobsAccruePerUser",
    "MaxJobsPerAccount",
    "MaxJobsPerUser",
    "MaxSubmitJobsPerAccount",
    "MaxSubmitJobsPerUser",
    "MaxTRESMinsPerJob",
    "MaxTRESPerAccount",
    "MaxTRESPerJob",
    "MaxTRESPerNode",
    "MaxTRESPerUser",
    "MaxTRESRunMinsPerAccount",
    "MaxTRESRunMinsPerUser",
    "MaxWallDurationPerJob",
    "MinPrioThreshold",
    "MinTRESPerJob",
)
#: Keys of an association.
ASSOCIATION = (
    "Account",
    "AdminLevel",
    "Classification",
    "Cluster",
    "Comment",
    "Coordinator",
    "DefaultAccount",
    "DefaultQOS",
    "DefaultWCKey",
    "Description",
    "Fairshare",
    "Names",
    "Organization",
    "Parent",
    "Partition",
    "Priority",
    "QOS",
    "QosLevel",
    "Users",
    "WCKeys",
    *LIMITS,
    *OLD_LIMITS,
)
#: Keys of a QOS.
QOS = (
    "Description",
    "Flags",
    "GraceTime",
    "LimitFactor",
    "Names",
    "Preempt",
    "PreemptExemptTime",
    "PreemptMode",
    "Priority",
    "UsageFactor",
    "UsageThreshold",
    *QOS_LIMITS,
    *OLD_QOS_LIMITS,
)
#: Other names of keys: MaxTRESPU, as in ``sacctmgr show qos``, for MaxTRESPerUser …
_ALIASES = {
    name.lower().replace("peruser", "pu").replace("peraccount", "pa"): name
    for name in (*QOS_LIMITS, *OLD_QOS_LIMITS)
    if name.endswith(("PerUser", "PerAccount"))
} | {
    "accounts": "Account",
    "clusters": "Cluster",
    "id": "Names",
    "maxsubmitpa": "MaxSubmitJobsPerAccount",
    "maxsubmitpu": "MaxSubmitJobsPerUser",
    "partitions": "Partition",
    "qoslevel": "QOS",
    "share": "Fairshare",
    "shares": "Fairshare",
}


def find_key(word: str, known: tuple[str, ...]) -> str | None:
    """Give the full name of an abbreviated key; ``None`` if there is none.

    Of several keys with the same beginning the shortest is meant: ``MaxTRES`` is MaxTRESPerJob, ``MaxJobs`` of a QOS is
    MaxJobsPerUser.
    """
    lower = word.lower()
    alias = _ALIASES.get(lower)
    if alias in known:
        return alias
    found = min((name for name in known if name.lower().startswith(lower)), key=len, default=None)
    return "QOS" if found == "QosLevel" else found
