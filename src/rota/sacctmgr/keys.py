"""What may be set on accounts, users, clusters and QOS: sacctmgr's names, which it lets one cut short."""

from __future__ import annotations

#: Limits of associations, in the order in which a dump has them. Kept as written; what reads them comes later.
LIMITS = (
    "GrpJobs",
    "GrpJobsAccrue",
    "GrpSubmitJobs",
    "GrpTRES",
    "GrpTRESMins",
    "GrpTRESRunMins",
    "GrpWall",
    "MaxJobs",
    "MaxJobsAccrue",
    "MaxSubmitJobs",
    "MaxTRESMinsPerJob",
    "MaxTRESPerJob",
    "MaxTRESPerNode",
    "MaxWallDurationPerJob",
    "MinPrioThreshold",
)
#: What else an association has.
ASSOCIATION = (
    "Account",
    "AdminLevel",
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
    *LIMITS,
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
    "MaxJobsAccruePerAccount",
    "MaxJobsAccruePerUser",
    "MaxJobsPerAccount",
    "MaxJobsPA",
    "MaxJobsPerUser",
    "MaxJobsPU",
    "MaxSubmitJobsPerAccount",
    "MaxSubmitPA",
    "MaxSubmitJobsPerUser",
    "MaxSubmitPU",
    "MaxTRESMinsPerJob",
    "MaxTRESPerAccount",
    "MaxTRESPA",
    "MaxTRESPerJob",
    "MaxTRESPerNode",
    "MaxTRESPerUser",
    "MaxTRESPU",
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
)
#: Other names for the same.
_ALIASES = {"name": "Names", "qoslevel": "QOS", "id": "Names", "share": "Fairshare", "shares": "Fairshare"}


def find_key(word: str, known: tuple[str, ...]) -> str | None:
    """Give the full name of a key that may be cut short, ``None`` when there is none of that name."""
    lower = word.lower()
    if lower in _ALIASES:
        return _ALIASES[lower]
    matches = [name for name in known if name.lower().startswith(lower)]
    exact = next((name for name in matches if name.lower() == lower), None)
    return _ALIASES.get((exact or "").lower(), exact) or (matches[0] if matches else None)
