"""Associations, accounts, users and qualities of service: what ``sacctmgr`` keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

#: ``fairshare=parent``: the association has no shares of its own, see `Association.shares_raw`.
SHARES_PARENT = 0x7FFFFFFF


@dataclass(slots=True, kw_only=True, eq=False)
class Association:
    """A place in the tree of accounts and users; ``acct_association_rec_t`` of the priority API.

    The first group of attributes is what an administrator sets. The others are the association's usage at the time
    when somebody asked for it: the engine fills those of usage, the priority plugin's ``priority_p_set_assoc_usage``
    those of shares and fair-share.
    """

    id: int = 0
    account: str
    #: Empty for an account's own association.
    user: str = ""
    #: The one partition that it is for; empty: any.
    partition: str = ""
    #: 0 for the root.
    parent_id: int = 0
    #: `SHARES_PARENT`: use the parent's; an account's children then stand beside its siblings.
    shares_raw: int = 1
    #: For the association factor of priorities.
    priority: int = 0
    default_qos: str = ""
    #: Names of the QOS that jobs may have; ``+`` or ``-`` before each: changes to the parent's; empty: the parent's.
    qos: tuple[str, ...] = ()
    #: Limits by sacctmgr's own names (``GrpTRES``, ``MaxJobs`` …), as a dump has them; `Limits.of` reads them.
    limits: dict[str, str] = field(default_factory=dict)

    #: Billable TRES seconds, decayed.
    usage_raw: float = 0.0
    #: The same for each TRES, in the order of the cluster's TRES.
    usage_tres_raw: tuple[float, ...] = ()
    #: Seconds during which jobs ran, decayed.
    grp_used_wall: float = 0.0
    #: TRES seconds that running jobs may still use, in the order of the cluster's TRES.
    grp_used_tres_run_secs: tuple[float, ...] = ()
    #: Share of the level, 0 to 1 (classic: of the cluster).
    shares_norm: float = 0.0
    #: Part of the cluster's usage, 0 to 1.
    usage_norm: float = 0.0
    #: Usage that fair-share works with, 0 to 1.
    usage_efctv: float = 0.0
    #: Shares to usage within the level, from 0 to infinity; ``None``: not of Fair Tree, or it has none.
    level_fs: float | None = None
    #: Fair-share factor of a user, 0 to 1.
    fs_factor: float = 0.0


@dataclass(slots=True, kw_only=True)
class Account:
    """What sacctmgr keeps of an account besides its place in the tree."""

    name: str
    description: str = ""
    organization: str = ""


@dataclass(slots=True, kw_only=True)
class User:
    """What sacctmgr keeps of a user besides the places in the tree."""

    name: str
    #: The account of jobs that name none.
    default_account: str = ""
    #: ``None``, ``Operator`` or ``Administrator``.
    admin_level: str = "None"
    #: Accounts that the user coordinates.
    coordinator: tuple[str, ...] = ()


class QosFlag(StrEnum):
    """Flags of a QOS, in the order in which sacctmgr prints them."""

    DENY_ON_LIMIT = "DenyOnLimit"
    ENFORCE_USAGE_THRESHOLD = "EnforceUsageThreshold"
    NO_RESERVE = "NoReserve"
    PARTITION_MAX_NODES = "PartitionMaxNodes"
    PARTITION_MIN_NODES = "PartitionMinNodes"
    OVER_PART_QOS = "OverPartQOS"
    PARTITION_TIME_LIMIT = "PartitionTimeLimit"
    REQUIRES_RESERVATION = "RequiresReservation"
    NO_DECAY = "NoDecay"
    USAGE_FACTOR_SAFE = "UsageFactorSafe"
    #: Not in Slurm 22.05.
    RELATIVE = "Relative"


@dataclass(slots=True, kw_only=True)
class Qos:
    """A quality of service."""

    name: str
    id: int = 0
    description: str = ""
    #: For the QOS factor of priorities.
    priority: int = 0
    #: What a job's usage is multiplied with.
    usage_factor: float = 1.0
    #: Flags by name; those that sacctmgr's files set are of `QosFlag`. Ask with `has`, which heeds no case.
    flags: tuple[str, ...] = ()
    #: Limits by sacctmgr's full names (``MaxJobsPerUser`` …), as a dump would have them; `Limits.of` reads them.
    limits: dict[str, str] = field(default_factory=dict)
    #: What TRES limits of associations are multiplied with for its jobs; ``None``: nothing.
    limit_factor: float | None = None
    #: Fair-share that its jobs need; ``None``: any. Of effect with the flag EnforceUsageThreshold.
    usage_threshold: float | None = None
    #: Seconds between the notice and the end of a preempted job.
    grace_time: int = 0
    #: Names of the QOS whose jobs its jobs preempt.
    preempt: tuple[str, ...] = ()
    #: What becomes of preempted jobs of this QOS: ``cancel``, ``requeue`` or ``suspend``, and ``gang`` and ``within``
    #: before that; empty: what the cluster has.
    preempt_mode: tuple[str, ...] = ()
    #: Seconds that its jobs run before they may be preempted; ``None``: what the cluster has.
    preempt_exempt_time: int | None = None

    def has(self, flag: QosFlag) -> bool:
        """Whether it has a flag."""
        return any(one.lower() == flag.lower() for one in self.flags)

    @property
    def decays(self) -> bool:
        """Whether its usage fades: without the flag NoDecay."""
        return not self.has(QosFlag.NO_DECAY)
