"""What may be set on accounts, users, clusters and QOS: sacctmgr's names, which it lets one cut short."""

from __future__ import annotations

#: Limits of associations that dumps hold, in the order in which they have them. What reads limits comes later.
DUMPED_LIMITS = (
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
)
#: All of them. Slurm 22.05 does not dump the last, and cannot load it.
LIMITS = (*DUMPED_LIMITS, "MinPrioThreshold")
#: Limits from before there were TRES: the limit that they are now, and of which TRES.
OLD_LIMITS = {
    "GrpCPUMins": ("GrpTRESMins", "cpu"),
    "GrpCPURunMins": ("GrpTRESRunMins", "cpu"),
    "GrpCPUs": ("GrpTRES", "cpu"),
    "GrpMemory": ("GrpTRES", "mem"),
    "GrpNodes": ("GrpTRES", "node"),
    "MaxCPUMinsPerJob": ("MaxTRESMinsPerJob", "cpu"),
    "MaxCPUsPerJob": ("MaxTRESPerJob", "cpu"),
    "MaxCPUsPerUser": ("MaxTRESPerUser", "cpu"),
    "MaxNodesPerJob": ("MaxTRESPerJob", "node"),
    "MaxNodesPerUser": ("MaxTRESPerUser", "node"),
    "MinCPUsPerJob": ("MinTRESPerJob", "cpu"),
}
#: Known, and without a meaning to rota.
PASSED_OVER = frozenset(
    {"Classification", "Comment", "DefaultWCKey", "Features", "Federation", "Flags", "RawUsage", "WCKeys"}
)
#: What associations, accounts, users and clusters have.
ASSOCIATION = (
    "Accounts",
    "AdminLevel",
    "Cluster",
    "Coordinator",
    "DefaultAccount",
    "DefaultQOS",
    "Description",
    "Fairshare",
    "Names",
    "Organization",
    "Parent",
    "Partitions",
    "Priority",
    "QOS",
    "Users",
    *LIMITS,
    *OLD_LIMITS,
    *sorted(PASSED_OVER),
)
QOS = (
    "Description",
    "Flags",
    "GraceTime",
    "GrpJobs",
    "GrpJobsAccrue",
    "GrpSubmitJobs",
    "GrpTRES",
    "GrpTRESMins",
    "GrpTRESRunMins",
    "GrpWall",
    "LimitFactor",
    "MaxJobsPerUser",
    "MaxJobsPerAccount",
    "MaxJobsAccruePerAccount",
    "MaxJobsAccruePerUser",
    "MaxSubmitJobsPerUser",
    "MaxSubmitJobsPerAccount",
    "MaxTRESPerJob",
    "MaxTRESPerAccount",
    "MaxTRESPerNode",
    "MaxTRESPerUser",
    "MaxTRESMinsPerJob",
    "MaxTRESRunMinsPerAccount",
    "MaxTRESRunMinsPerUser",
    "MaxWallDurationPerJob",
    "MinPrioThreshold",
    "MinTRESPerJob",
    "Names",
    "Preempt",
    "PreemptExemptTime",
    "PreemptMode",
    "Priority",
    "UsageFactor",
    "UsageThreshold",
    *OLD_LIMITS,
)
#: Other names for the same, and short ones that begin several names.
_ALIASES = {
    "maxtres": "MaxTRESPerJob",
    "qoslevel": "QOS",
    "shares": "Fairshare",
}


def find_key(word: str, known: tuple[str, ...]) -> str | None:
    """Give the full name of a key that may be cut short, ``None`` when there is none of that name.

    Where several begin alike it is the shortest, then the first.
    """
    lower = word.lower()
    if lower.endswith(("pu", "pa")) and known is QOS:
        # As ``sacctmgr show qos`` has them: MaxSubmitPU for MaxSubmitJobsPerUser.
        account = lower.endswith("pa")
        found = find_key(lower[:-2] + ("" if "jobs" in lower or "tres" in lower else "jobs"), QOS)
        return found and found.replace("PerUser", "PerAccount" if account else "PerUser")
    for alias, name in _ALIASES.items():
        if alias.startswith(lower) and len(lower) > 3 and name in known:
            return name
    return min((name for name in known if name.lower().startswith(lower)), key=len, default=None)
