"""What ``sacctmgr`` prints of what it adds, changes and removes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.listings.clock import full_duration
from rota.listings.sacctmgr_fields import limit_text
from rota.model import SHARES_PARENT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.model import Association, Qos

#: Limits of associations in the order in which they are printed, with their names there.
_ASSOCIATION = {
    "GrpJobs": "GrpJobs",
    "GrpJobsAccrue": "GrpJobsAccrue            ",
    "GrpSubmitJobs": "GrpSubmitJobs",
    "GrpTRES": "GrpTRES",
    "GrpTRESMins": "GrpTRESMins",
    "GrpTRESRunMins": "GrpTRESRunMins",
    "GrpWall": "GrpWall",
    "MaxJobs": "MaxJobs",
    "MaxJobsAccrue": "MaxJobsPrioAcc",
    "MaxSubmitJobs": "MaxSubmitJobs",
    "MaxTRESPerJob": "MaxTRES",
    "MaxTRESPerNode": "MaxTRESPerNode",
    "MaxTRESMinsPerJob": "MaxTRESMins",
    "MaxTRESRunMins": "MaxTRESRUNMins",
    "MaxWallDurationPerJob": "MaxWall",
    "MinPrioThreshold": "MinPrioThresh",
}
#: The same of QOS.
_QOS = {
    "GrpJobs": "GrpJobs",
    "GrpJobsAccrue": "GrpJobsAccrue",
    "GrpSubmitJobs": "GrpSubmitJobs",
    "GrpTRES": "GrpTRES",
    "GrpTRESMins": "GrpTRESMins",
    "GrpTRESRunMins": "GrpTRESRunMins",
    "GrpWall": "GrpWall",
    "MaxJobsAccruePerAccount": "MaxJobsAccruePerAccount",
    "MaxJobsAccruePerUser": "MaxJobsAccruePerUser",
    "MaxJobsPerAccount": "MaxJobsPerAccount",
    "MaxJobsPerUser": "MaxJobsPerUser",
    "MaxSubmitJobsPerAccount": "MaxSubmitJobsPerAccount",
    "MaxSubmitJobsPerUser": "MaxSubmitJobsPerUser",
    "MaxTRESPerAccount": "MaxTRESPerAccount",
    "MaxTRESPerJob": "MaxTRESPerJob",
    "MaxTRESPerNode": "MaxTRESPerNode",
    "MaxTRESPerUser": "MaxTRESPerUser",
    "MinPrioThreshold": "MinPrioThresh",
    "MinTRESPerJob": "MinTRESPerJob",
    "MaxTRESMinsPerJob": "MaxTRESMins",
    "MaxTRESRunMinsPerAccount": "MaxTRESRUNMinsPerAccount",
    "MaxTRESRunMinsPerUser": "MaxTRESRUNMinsPerUser",
    "MaxWallDurationPerJob": "MaxWall",
}


def association_settings(one: Association, *, shares: bool, parent: str = "") -> str:
    """List what is set of an association; ``shares``: whether its shares are."""
    found = [("Fairshare", "parent" if one.shares_raw == SHARES_PARENT else str(one.shares_raw))] if shares else []
    found += [(shown, limit_text(key, one.limits[key])) for key, shown in _ASSOCIATION.items() if key in one.limits]
    if parent:
        found.append(("Parent", parent))
    if one.priority:
        found.append(("Priority", str(one.priority)))
    if one.qos:
        found.append(("QOS", ",".join(one.qos)))
    if one.default_qos:
        found.append(("DefQOS", one.default_qos))
    return "".join(f"  {name:<14}= {value}\n" for name, value in found)


def qos_settings(one: Qos, *, description: str, given: set[str]) -> str:
    """List what is set of a QOS: its limits, and of the rest what is given."""
    found = {
        "Flags": ("Flags", ",".join(one.flags)),
        "GraceTime": ("GraceTime", str(one.grace_time)),
        **{key: (shown, limit_text(key, one.limits[key])) for key, shown in _QOS.items() if key in one.limits},
        "Preempt": ("Preempt", ",".join(one.preempt)),
        "PreemptMode": ("PreemptMode", ",".join(one.preempt_mode).upper()),
        "PreemptExemptTime": ("PreemptExemptTime", full_duration(one.preempt_exempt_time or 0)),
        "Priority": ("Priority", str(one.priority)),
        "UsageFactor": ("UsageFactor", f"{one.usage_factor:.4f}"),
        "UsageThreshold": ("UsageThreshold", f"{one.usage_threshold or 0:.4f}"),
        "LimitFactor": ("LimitFactor", f"{one.limit_factor or 0:.4f}"),
    }
    lines = [
        f"  {name:<{14 if name == 'MaxJobsPerUser' else 24}} = {value}\n"
        for key, (name, value) in found.items()
        if key in one.limits or key in given
    ]
    return f"  Description    = {description}\n{''.join(lines)}"


def added(one: Association, cluster: str) -> str:
    """Give the line of an association that is added."""
    if not one.user:
        return f"  A = {one.account:<10.10} C = {cluster:<10.10}\n"
    partition = f" P = {one.partition:<10.10}" if one.partition else ""
    return f"  U = {one.user:<9.9} A = {one.account:<10.10} C = {cluster:<10.10}{partition}\n"


def modified(one: Association, cluster: str, above: str) -> str:
    """Give the line of an association that is changed; ``above``: the account above an account."""
    if not one.user:
        return f"  C = {cluster:<10} A = {one.account}{f' of {above}' if above else ''}\n"
    return f"  C = {cluster:<10} A = {one.account:<20} U = {one.user:<9}{_partition(one)}\n"


def deleted(one: Association, cluster: str) -> str:
    """Give the line of an association that is removed."""
    return f"  C = {cluster:<10} A = {one.account:<10} U = {one.user:<9}{_partition(one)}\n"


def names(several: Iterable[str]) -> str:
    """List names, each on a line."""
    return "".join(f"  {name}\n" for name in several)


def _partition(one: Association) -> str:
    return f" P = {one.partition}" if one.partition else ""
