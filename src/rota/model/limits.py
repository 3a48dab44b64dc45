"""Limits of associations and QOS as numbers, and sacctmgr's notations for them.

Limits are set and kept as text (`Association.limits`, `Qos.limits`), by sacctmgr's names. `Limits.of` parses all limits
of an association or a QOS. Memory is in MiB, TRES minutes in minutes, times in seconds. Slurm keeps times of limits in
minutes, so they are rounded up to whole minutes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rota.model.tres import STATIC_TRES
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Names of limits on TRES or on TRES minutes, and the attributes of `Limits` that hold them.
TRES_LIMITS = {
    "GrpTRES": "grp_tres",
    "GrpTRESMins": "grp_tres_mins",
    "GrpTRESRunMins": "grp_tres_run_mins",
    "MaxTRESMinsPerJob": "max_tres_mins_per_job",
    "MaxTRESPerAccount": "max_tres_per_account",
    "MaxTRESPerJob": "max_tres_per_job",
    "MaxTRESPerNode": "max_tres_per_node",
    "MaxTRESPerUser": "max_tres_per_user",
    "MaxTRESRunMins": "max_tres_run_mins",
    "MaxTRESRunMinsPerAccount": "max_tres_run_mins_per_account",
    "MaxTRESRunMinsPerUser": "max_tres_run_mins_per_user",
    "MinTRESPerJob": "min_tres_per_job",
}
#: Names of limits on numbers of jobs, and of the priority threshold, with their attributes.
COUNT_LIMITS = {
    "GrpJobs": "grp_jobs",
    "GrpJobsAccrue": "grp_jobs_accrue",
    "GrpSubmitJobs": "grp_submit_jobs",
    "MaxJobs": "max_jobs",
    "MaxJobsAccrue": "max_jobs_accrue",
    "MaxJobsAccruePerAccount": "max_jobs_accrue_per_account",
    "MaxJobsAccruePerUser": "max_jobs_accrue_per_user",
    "MaxJobsPerAccount": "max_jobs_per_account",
    "MaxJobsPerUser": "max_jobs_per_user",
    "MaxSubmitJobs": "max_submit_jobs",
    "MaxSubmitJobsPerAccount": "max_submit_jobs_per_account",
    "MaxSubmitJobsPerUser": "max_submit_jobs_per_user",
    "MinPrioThreshold": "min_prio_thresh",
}
#: Names of limits on times, with their attributes.
TIME_LIMITS = {"GrpWall": "grp_wall", "MaxWallDurationPerJob": "max_wall"}

#: sacctmgr's value for "no limit".
_UNSET = "-1"
#: Slurm's largest number: the last two values of 32 bits mean "infinite" and "not set".
_MOST = 2**32 - 3
_MOST_TRES = 2**64 - 3
_NAME = re.compile(r"[a-z]\w*(/[\w.@:+-]+)?", re.ASCII)
_COUNT = re.compile(r"(?P<number>\d{1,20}(?P<fraction>\.\d{1,9})?)(?P<unit>[KMGTP]?)B?", re.ASCII | re.IGNORECASE)
#: Units of memory as powers of 1024. As in Slurm, K is taken as M, the smallest unit.
_MEMORY = {"": 0, "K": 0, "M": 0, "G": 1, "T": 2, "P": 3}
#: Units of other TRES, as powers of 1024. Slurm ignores T and P here, so they are refused.
_OTHER = {"": 0, "K": 1, "M": 2, "G": 3}


class LimitError(ValueError):
    """A limit that cannot be used. The text starts with its name."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key}: {problem}")
        self.key = key
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of an association or a QOS. Limits that are empty or ``None`` are not set.

    TRES are by name, in the cluster's order. Associations have no limits per user and per account; QOS have none of the
    attributes `max_jobs`, `max_jobs_accrue`, `max_submit_jobs` and `max_tres_run_mins`.
    """

    #: TRES of all running jobs together.
    grp_tres: Mapping[str, int] = field(default_factory=dict)
    #: TRES minutes used by all jobs, running or ended, after decay.
    grp_tres_mins: Mapping[str, int] = field(default_factory=dict)
    #: TRES minutes that all running jobs may still use until their time limits.
    grp_tres_run_mins: Mapping[str, int] = field(default_factory=dict)
    #: Number of running jobs.
    grp_jobs: int | None = None
    #: Number of pending jobs that accrue age priority.
    grp_jobs_accrue: int | None = None
    #: Number of pending and running jobs.
    grp_submit_jobs: int | None = None
    #: Seconds for which all jobs have run, after decay.
    grp_wall: int | None = None

    max_tres_per_job: Mapping[str, int] = field(default_factory=dict)
    max_tres_per_node: Mapping[str, int] = field(default_factory=dict)
    max_tres_mins_per_job: Mapping[str, int] = field(default_factory=dict)
    max_tres_per_user: Mapping[str, int] = field(default_factory=dict)
    max_tres_per_account: Mapping[str, int] = field(default_factory=dict)
    #: TRES minutes that an association's running jobs may still use until their time limits.
    max_tres_run_mins: Mapping[str, int] = field(default_factory=dict)
    max_tres_run_mins_per_user: Mapping[str, int] = field(default_factory=dict)
    max_tres_run_mins_per_account: Mapping[str, int] = field(default_factory=dict)
    #: Smallest number of TRES for which a job may ask.
    min_tres_per_job: Mapping[str, int] = field(default_factory=dict)

    #: Number of running jobs of an association.
    max_jobs: int | None = None
    max_jobs_accrue: int | None = None
    max_submit_jobs: int | None = None
    max_jobs_per_user: int | None = None
    max_jobs_per_account: int | None = None
    max_submit_jobs_per_user: int | None = None
    max_submit_jobs_per_account: int | None = None
    max_jobs_accrue_per_user: int | None = None
    max_jobs_accrue_per_account: int | None = None
    #: Largest time limit of a job, in seconds.
    max_wall: int | None = None
    #: Smallest priority with which a job has resources reserved in a plan.
    min_prio_thresh: int | None = None

    @classmethod
    def of(cls, limits: Mapping[str, str], tres: Sequence[str] | None) -> Limits:
        """Parse limits.

        Args:
            limits: Text by sacctmgr's full name of the limit, as in `Association.limits` and `Qos.limits`; -1: no
                limit.
            tres: Names of the cluster's TRES; ``None``: unknown, any name is taken.

        Raises:
            LimitError: a limit cannot be parsed, or is of a TRES that the cluster does not have.
        """
        values: dict[str, Any] = {}
        for key, text in limits.items():
            if key in TRES_LIMITS:
                counts = read_tres_limit(key, text, tres)
                order = counts if tres is None else tres
                values[TRES_LIMITS[key]] = {name: counts[name] for name in order if counts.get(name) is not None}
            elif key in COUNT_LIMITS:
                values[COUNT_LIMITS[key]] = read_count_limit(key, text)
            elif key in TIME_LIMITS:
                values[TIME_LIMITS[key]] = read_time_limit(key, text)
            else:
                raise LimitError(key, "is no limit of sacctmgr; names are written in full")
        return cls(**values)


#: The limits of an association or QOS that sets none.
NO_LIMITS = Limits()


def read_tres_limit(key: str, text: str, tres: Sequence[str] | None) -> dict[str, int | None]:
    """Parse ``cpu=100,mem=64G`` into a count for each TRES; ``None`` for -1, which removes a limit.

    Raises:
        LimitError: the text has another form, or names a TRES that the cluster does not have.
    """
    counts: dict[str, int | None] = {}
    if text.strip() in {"", _UNSET}:
        return counts
    for item in text.split(","):
        name, equals, value = item.rpartition("=")
        if not equals:
            raise LimitError(key, f"{item!r} is not TRES=count, such as cpu=100 or mem=64G")
        name = _tres_name(key, name.strip().lower(), tres)
        counts[name] = _tres_count(key, name, value.strip())
    return counts


def _tres_name(key: str, name: str, tres: Sequence[str] | None) -> str:
    # sacctmgr also takes Slurm's numeric ids; those of other TRES than these differ between clusters.
    if name.isascii() and name.isdigit() and 1 <= int(name) <= len(STATIC_TRES):
        return STATIC_TRES[int(name) - 1]
    if tres is not None and name not in tres:
        raise LimitError(key, f"{name!r} is no TRES of this cluster (it has {', '.join(tres)}): AccountingStorageTRES")
    if tres is None and _NAME.fullmatch(name) is None:
        raise LimitError(key, f"{name!r} is not the name of a TRES, such as cpu, mem, node or gres/gpu")
    return name


def _tres_count(key: str, name: str, text: str) -> int | None:
    if text == _UNSET:
        return None
    match = _COUNT.fullmatch(text)
    memory = name == "mem"
    powers = _MEMORY if memory else _OTHER
    if match is None or match["unit"].upper() not in powers:
        units = "K, M, G, T, P" if memory else "K, M, G"
        raise LimitError(key, f"{text!r} is no count of {name}: a whole number, {units} after it or not, or -1")
    power = powers[match["unit"].upper()]
    if not match["fraction"]:
        count = int(match["number"]) << 10 * power
    elif memory and power:
        # sacctmgr prints 1536 MiB as 1.50G.
        count = round(float(match["number"]) * 1024**power)
    else:
        raise LimitError(key, f"{text!r} is no whole number of {name}")
    if count > _MOST_TRES:
        raise LimitError(key, f"{text!r} is too large: -1 is without limit")
    return count


def read_count_limit(key: str, text: str) -> int | None:
    """Parse a number of jobs or a priority; ``None`` for -1.

    Raises:
        LimitError: the text is not a whole number of at least 0.
    """
    text = text.strip()
    if text == _UNSET:
        return None
    if re.fullmatch(r"0*\d{1,10}", text, re.ASCII) is None or int(text) > _MOST:
        raise LimitError(key, f"{text!r} is not a whole number from 0 to {_MOST}, nor -1 for no limit")
    return int(text)


def read_time_limit(key: str, text: str) -> int | None:
    """Parse a time into seconds, rounded up to whole minutes; ``None`` for no limit.

    Raises:
        LimitError: the text is not a time, or the time is too long.
    """
    try:
        seconds = parse_time_seconds(text)
    except ValueError as error:
        raise LimitError(key, str(error)) from None
    if seconds is None:
        return None
    minutes = -(-seconds // 60)
    if minutes > _MOST:
        raise LimitError(key, f"{text!r} is too long: -1 is without limit")
    return minutes * 60
