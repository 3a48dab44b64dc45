"""Associations, accounts, users and qualities of service: what ``sacctmgr`` keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

#: ``fairshare=parent``: the association has no shares of its own; see `Association.shares_raw`.
SHARES_PARENT = 0x7FFFFFFF


@dataclass(slots=True, kw_only=True, eq=False)
class Association:
    """A node in the tree of accounts and users; ``acct_association_rec_t`` of the priority API.

    The first group of attributes is what an administrator sets. The second is a snapshot of usage and fair-share: the
    engine fills in the usage, the priority plugin's ``priority_p_set_assoc_usage`` the shares and fair-share.
    """

    id: int = 0
    account: str
    #: Empty for an account's own association.
    user: str = ""
    #: The only partition in which it counts; empty: all partitions.
    partition: str = ""
    #: Id of the account's association above this one; 0 for the root.
    parent_id: int = 0
    #: `SHARES_PARENT`: it has its parent's shares; children of such an account rank with the account's siblings.
    shares_raw: int = 1
    #: For the association factor of priorities.
    priority: int = 0
    default_qos: str = ""
    #: Names of the QOS that its jobs may use; names with ``+`` or ``-`` change the parent's list; empty: the parent's.
    qos: tuple[str, ...] = ()
    #: Limits by sacctmgr's names (``GrpTRES``, ``MaxJobs`` …), as a dump has them; `Limits.of` parses them.
    limits: dict[str, str] = field(default_factory=dict)

    #: Billable TRES seconds, decayed.
    usage_raw: float = 0.0
    #: Decayed seconds of each TRES, in the order of the cluster's TRES.
    usage_tres_raw: tuple[float, ...] = ()
    #: Seconds during which jobs ran, decayed.
    grp_used_wall: float = 0.0
    #: TRES seconds that its running jobs may still use until their time limits, in the order of the cluster's TRES.
    grp_used_tres_run_secs: tuple[float, ...] = ()
    #: Normalised shares, 0 to 1: within the level with Fair Tree, within the cluster otherwise.
    shares_norm: float = 0.0
    #: Normalised usage: the part of the cluster's usage, 0 to 1.
    usage_norm: float = 0.0
    #: Effective usage, from which fair-share is computed, 0 to 1.
    usage_efctv: float = 0.0
    #: Level fair-share: shares over usage within the level, 0 to infinity; ``None`` without Fair Tree or shares.
    level_fs: float | None = None
    #: Fair-share factor of a user, 0 to 1.
    fs_factor: float = 0.0


@dataclass(slots=True, kw_only=True)
class Account:
    """An account as sacctmgr keeps it, apart from its place in the tree."""

    name: str
    description: str = ""
    organization: str = ""


@dataclass(slots=True, kw_only=True)
class User:
    """A user as sacctmgr keeps it, apart from the user's places in the tree."""

    name: str
    #: The account that is charged for jobs that name none.
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
    #: Enters into the QOS factor of priorities.
    priority: int = 0
    #: Factor by which a job's usage is multiplied.
    usage_factor: float = 1.0
    #: Names of flags; those in sacctmgr's files are names of `QosFlag`. Test them with `has`, which ignores case.
    flags: tuple[str, ...] = ()
    #: Limits by sacctmgr's full names (``MaxJobsPerUser`` …), as a dump has them; `Limits.of` parses them.
    limits: dict[str, str] = field(default_factory=dict)
    #: Factor by which TRES limits of associations are multiplied for jobs of this QOS; ``None``: none.
    limit_factor: float | None = None
    #: Smallest fair-share factor with which its jobs may run, given the flag EnforceUsageThreshold; ``None``: any.
    usage_threshold: float | None = None
    #: Seconds between the preemption of one of its jobs and the kill.
    grace_time: int = 0
    #: Names of the QOS whose jobs may be preempted by jobs of this one.
    preempt: tuple[str, ...] = ()
    #: What happens to jobs of this QOS that are preempted: ``cancel``, ``requeue`` or ``suspend``, perhaps with
    #: ``gang`` and ``within``; empty: the cluster's ``PreemptMode``.
    preempt_mode: tuple[str, ...] = ()
    #: Seconds that its jobs run before they may be preempted; ``None``: the cluster's ``PreemptExemptTime``.
    preempt_exempt_time: int | None = None

    def has(self, flag: QosFlag) -> bool:
        """Whether the QOS has a flag."""
        return any(one.lower() == flag.lower() for one in self.flags)

    @property
    def decays(self) -> bool:
        """Whether its usage decays, which the flag NoDecay prevents."""
        return not self.has(QosFlag.NO_DECAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class QosUsage:
    """What jobs of a QOS have used, decayed."""

    #: Billable TRES seconds.
    usage_raw: float = 0.0
    #: Seconds of each TRES, in the order of the cluster's TRES.
    usage_tres_raw: tuple[float, ...] = ()
    #: Seconds during which jobs ran.
    grp_used_wall: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountingLines:
    """Accounts, users and QOS: copies of the engine's records."""

    accounts: tuple[Account, ...]
    users: tuple[User, ...]
    qos: tuple[Qos, ...]
