"""What ``sacctmgr`` prints of what it adds, changes and removes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.listings.clock import full_duration
from rota.listings.sacctmgr_fields import limit_text
from rota.model import SHARES_PARENT
from rota.model.limits import TRES_LIMITS
from rota.model.tres import STATIC_TRES
from rota.sacctmgr.keys import OLD_LIMITS, OLD_QOS_LIMITS
from rota.sacctmgr.values import UNSET

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rota.controller.accounting.plan import Given
    from rota.model import Association, Qos

#: What is taken away.
_NONE = "NONE"
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
#: What is printed of settings that are taken away, where it is not ``NONE`` of a limit.
_GONE = {
    "Fairshare": ("Fairshare", _NONE),
    "Priority": ("Priority", _NONE),
    "DefaultQOS": ("DefQOS", "(null)"),
    "GrpJobsAccrue": (_ASSOCIATION["GrpJobsAccrue"], "None"),
}
#: Limits of QOS.
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


def association_settings(one: Association, given: Iterable[Given], *, parent: str = "") -> str:
    """List what is set of an association, and what is taken from it."""
    values = _values(given, OLD_LIMITS)
    gone = {key for key, value in values.items() if value == UNSET}
    shares = "parent" if one.shares_raw == SHARES_PARENT else str(one.shares_raw)
    found = {"Fairshare": shares} if "Fairshare" in values else {}
    found |= {shown: _limit(key, one.limits, values) for key, shown in _ASSOCIATION.items()}
    found |= {"Parent": parent, "Priority": str(one.priority or ""), "QOS": ",".join(one.qos)}
    found["DefQOS"] = one.default_qos
    found |= {shown: word for key, (shown, word) in _GONE.items() if key in gone}
    return "".join(f"  {name:<14}= {value}\n" for name, value in found.items() if value)


def qos_settings(one: Qos, given: Iterable[Given], *, description: str) -> str:
    """List what is set of a QOS: its limits, and of the rest what is given; and what is taken from it."""
    values = _values(given, OLD_QOS_LIMITS)
    found = {
        "Flags": ("Flags", ",".join(one.flags)),
        "GraceTime": ("GraceTime", str(one.grace_time)),
        **{key: (shown, _limit(key, one.limits, values)) for key, shown in _QOS.items()},
        "Preempt": ("Preempt", ",".join(one.preempt)),
        "PreemptMode": ("PreemptMode", ",".join(one.preempt_mode).upper()),
        "PreemptExemptTime": ("PreemptExemptTime", full_duration(one.preempt_exempt_time or 0)),
        "Priority": ("Priority", str(one.priority)),
        "UsageFactor": ("UsageFactor", f"{one.usage_factor:.4f}"),
        "UsageThreshold": ("UsageThreshold", f"{one.usage_threshold or 0:.4f}"),
        "LimitFactor": ("LimitFactor", f"{one.limit_factor or 0:.4f}"),
    }
    lines = [
        f"  {name:<{14 if name == 'MaxJobsPerUser' else 24}} = {_NONE if values.get(key) == UNSET else value}\n"
        for key, (name, value) in found.items()
        if (value if key in _QOS else key in values)
    ]
    return f"  Description    = {description}\n{''.join(lines)}"


def _values(given: Iterable[Given], old_limits: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Give the values of settings by key, those of limits from before TRES existed by the present ones."""
    values: dict[str, str] = {}
    for key, setting in given:
        present, tres = old_limits.get(key, (key, ""))
        value = f"{tres}={setting.value}" if tres else setting.value
        values[present] = f"{values[present]},{value}" if present in values else value
    return values


def _limit(key: str, limits: Mapping[str, str], values: Mapping[str, str]) -> str:
    """Give a limit as it is set, and as ``NONE`` what is taken away; empty: neither."""
    text, value = limit_text(key, limits.get(key, "")), values.get(key, "")
    if value == UNSET:
        return _NONE
    if key not in TRES_LIMITS or UNSET not in value:
        return text
    counts = [part.strip().partition("=") for part in value.split(",")]
    parts = [f"{name.lower()}={_NONE}" for name, _, count in counts if count == UNSET] + text.split(",")
    return ",".join(sorted(filter(None, parts), key=_place))


def _place(part: str) -> int:
    """Give the place of a TRES in Slurm's order."""
    name = part.partition("=")[0]
    return STATIC_TRES.index(name) if name in STATIC_TRES else len(STATIC_TRES)


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
