"""The limits of associations and QOS that apply to a job, in Slurm's order."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Generic, NamedTuple

from rota.core.limits.context import J
from rota.core.limits.job_limits import JobLimits, JobQuantity
from rota.core.limits.start_limits import Limit
from rota.core.limits.usage_enforcement import UsageLimit
from rota.model import Reason
from rota.model.limits import NO_LIMITS
from rota.model.tres import NODE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rota.core.limits.ledger import Ledger
    from rota.model.limits import Limits

_MINUTE = 60
#: Names of TRES in the names of reasons; for others, ``UNKNOWN``.
_WORDS = {"cpu": "CPU", "mem": "MEM", "node": "NODE", "billing": "BILLING", "gres": "GRES", "license": "LICENSE"}


class Owner(NamedTuple):
    """An association or QOS with limits."""

    #: Its name: ``QOS long``, ``account phys``, ``user ann of account phys``.
    whose: str
    #: Prefix of its reasons: ``QOS`` or ``ASSOC``.
    prefix: str
    limits: Limits
    #: Ledger of all its jobs.
    ledger: Ledger
    #: Function that gives the usage of a TRES by its index, in TRES seconds; for -1, the seconds for which jobs ran.
    used: Callable[[int], float]
    #: Factor for limits on TRES.
    factor: float = 1.0


class _TresLimit(NamedTuple):
    """A kind of limit on counts of TRES."""

    #: Attribute of `Limits`.
    attribute: str
    #: Name in sacctmgr.
    name: str
    #: Pattern of the reason, with ``{}`` for the TRES.
    reason: str
    #: Quantity of each job that is limited; ``None``: the limit is on all running jobs together.
    own: JobQuantity | None = None


_GRP_TRES = _TresLimit("grp_tres", "GrpTRES", "GRP_{}")
#: Limits on each job, in Slurm's order.
_PER_JOB = (
    _TresLimit("max_tres_mins_per_job", "MaxTRESMinsPerJob", "MAX_{}_MINS_PER_JOB", JobQuantity.MINUTES),
    _TresLimit("max_tres_per_job", "MaxTRESPerJob", "MAX_{}_PER_JOB", JobQuantity.JOB),
    _TresLimit("max_tres_per_node", "MaxTRESPerNode", "MAX_{}_PER_NODE", JobQuantity.NODE),
    _TresLimit("min_tres_per_job", "MinTRESPerJob", "MIN_{}", JobQuantity.LEAST),
)
_PER_ACCOUNT = _TresLimit("max_tres_per_account", "MaxTRESPerAccount", "MAX_{}_PER_ACCT")
_PER_USER = _TresLimit("max_tres_per_user", "MaxTRESPerUser", "MAX_{}_PER_USER")


class LimitRules(Generic[J]):
    """Fills a `JobLimits`: first with the limits of QOS, then with those of the association and the accounts above.

    Args:
        made: The limits of a job, to which others are added.
        tres: Names of the cluster's TRES.
    """

    def __init__(self, made: JobLimits[J], tres: Sequence[str]) -> None:
        self._made = made
        self._tres = tres
        #: Names of the limits that a QOS has set; they replace those of later owners.
        self._set: set[str] = set()

    def add_qos(self, qos: Owner, of_user: Ledger, of_account: Ledger) -> None:
        """Add the limits of a QOS for the jobs of one user and account.

        Args:
            qos: The QOS.
            of_user: Ledger of the user's jobs in the QOS.
            of_account: Ledger of the account's jobs in the QOS.
        """
        made, limits = self._made, qos.limits
        if limits is NO_LIMITS:
            return
        made.ledgers += [qos.ledger, of_user, of_account]
        new = {
            *self._add_jobs(qos, "GrpJobs", limits.grp_jobs, qos.ledger, Reason.QOS_GRP_JOB),
            *self._add_group(qos),
            *self._add_jobs(
                qos, "MaxJobsPerAccount", limits.max_jobs_per_account, of_account, Reason.QOS_MAX_JOB_PER_ACCT
            ),
            *self._add_jobs(qos, "MaxJobsPerUser", limits.max_jobs_per_user, of_user, Reason.QOS_MAX_JOB_PER_USER),
            *self._add_submit(qos, "GrpSubmitJobs", limits.grp_submit_jobs, qos.ledger, Reason.QOS_GRP_SUB_JOB),
            *self._add_submit(
                qos,
                "MaxSubmitJobsPerAccount",
                limits.max_submit_jobs_per_account,
                of_account,
                Reason.QOS_MAX_SUB_JOB_PER_ACCT,
            ),
            *self._add_submit(
                qos, "MaxSubmitJobsPerUser", limits.max_submit_jobs_per_user, of_user, Reason.QOS_MAX_SUB_JOB
            ),
            *(name for kind in _PER_JOB for name in self._add_tres(qos, kind, qos.ledger)),
            *self._add_tres(qos, _PER_ACCOUNT, of_account),
            *self._add_tres(qos, _PER_USER, of_user),
        }
        self._add_wall(qos, Reason.QOS_MAX_WALL_PER_JOB)
        self._add_min_priority(limits)
        self._set |= new

    def add_association(self, one: Owner, inherited: Limits | None) -> None:
        """Add the limits of an association.

        Args:
            one: The association, with its own limits.
            inherited: Its limits on each job or user, including those inherited from the accounts above; ``None``: it
                is one of these accounts, of which only the limits on all jobs together count.
        """
        made, limits = self._made, one.limits
        if limits is NO_LIMITS and (inherited or NO_LIMITS) is NO_LIMITS:
            return
        made.ledgers.append(one.ledger)
        self._add_jobs(one, "GrpJobs", limits.grp_jobs, one.ledger, Reason.ASSOC_GRP_JOB)
        self._add_group(one)
        self._add_submit(one, "GrpSubmitJobs", limits.grp_submit_jobs, one.ledger, Reason.ASSOC_GRP_SUB_JOB)
        if inherited is None:
            return
        own = one._replace(limits=inherited)
        if not self._set & {"MaxJobsPerUser", "MaxJobsPerAccount"}:
            self._add_jobs(own, "MaxJobs", inherited.max_jobs, one.ledger, Reason.ASSOC_MAX_JOBS)
        if not self._set & {"MaxSubmitJobsPerUser", "MaxSubmitJobsPerAccount"}:
            self._add_submit(own, "MaxSubmitJobs", inherited.max_submit_jobs, one.ledger, Reason.ASSOC_MAX_SUB_JOB)
        for kind in _PER_JOB:
            self._add_tres(own, kind, one.ledger)
        self._add_wall(own, Reason.ASSOC_MAX_WALL_PER_JOB)
        self._add_min_priority(inherited)

    def _add_wall(self, owner: Owner, reason: Reason) -> None:
        """Add the limit on time limits, unless there is one already."""
        if owner.limits.max_wall is not None and self._made.max_wall is None:
            self._made.max_wall = Limit(reason, owner.whose, "MaxWallDurationPerJob", owner.limits.max_wall)
            self._made.jobs_before_wall = len(self._made.jobs)

    def _add_min_priority(self, limits: Limits) -> None:
        """Add the priority below which jobs do not block others, unless there is one already."""
        if self._made.min_priority is None:
            self._made.min_priority = limits.min_prio_thresh

    # ---- functions that give the names of the limits that they have added -------------------------------------

    def _add_jobs(self, owner: Owner, name: str, most: int | None, ledger: Ledger, reason: Reason) -> list[str]:
        if most is None or name in self._set:
            return []
        self._made.jobs.append((ledger, Limit(reason, owner.whose, name, most)))
        return [name]

    def _add_submit(self, owner: Owner, name: str, most: int | None, ledger: Ledger, reason: Reason) -> list[str]:
        if most is None or name in self._set:
            return []
        self._made.submit.append((ledger, Limit(reason, owner.whose, name, most)))
        return [name]

    def _add_group(self, owner: Owner) -> list[str]:
        """Add the limits on all jobs together."""
        made, limits = self._made, owner.limits
        if limits.grp_tres_mins or limits.grp_wall is not None:
            made.forecast_usage(owner.ledger)
        new = self._add_tres(owner, _GRP_TRES, owner.ledger)
        for index, limit in self._each(owner, limits.grp_tres_mins, "GrpTRESMins", "GRP_{}_MIN", decays=True):
            made.used.append((owner.ledger, UsageLimit(limit, index, partial(owner.used, index))))
            new.append(limit.name)
        for index, limit in self._each(
            owner, limits.grp_tres_run_mins, "GrpTRESRunMins", "GRP_{}_RUN_MIN", decays=True
        ):
            made.run_minutes.append((owner.ledger, index, limit))
            new.append(limit.name)
        if limits.grp_wall is not None and "GrpWall" not in self._set:
            limit = Limit(
                Reason[f"{owner.prefix}_GRP_WALL"], owner.whose, "GrpWall", limits.grp_wall / _MINUTE, decays=True
            )
            made.used.append((owner.ledger, UsageLimit(limit, -1, partial(owner.used, -1))))
            new.append("GrpWall")
        return new

    def _add_tres(self, owner: Owner, kind: _TresLimit, ledger: Ledger) -> list[str]:
        new = []
        for index, limit in self._each(owner, getattr(owner.limits, kind.attribute), kind.name, kind.reason):
            if kind.own is None and index == NODE:
                self._made.nodes.append((ledger, limit))
            elif kind.own is None:
                self._made.tres.append((ledger.tres, index, limit))
            else:
                self._made.per_job.append((kind.own, index, limit))
            new.append(limit.name)
        return new

    def _each(
        self, owner: Owner, counts: Mapping[str, int], name: str, reason: str, *, decays: bool = False
    ) -> Iterator[tuple[int, Limit]]:
        """Give the index and limit of each TRES, except those that a QOS has set."""
        for tres, most in counts.items():
            full = f"{name}={tres}"
            if full not in self._set:
                limit = Limit(_reason(owner.prefix, reason, tres), owner.whose, full, most * owner.factor, decays)
                yield self._tres.index(tres), limit


def _reason(prefix: str, pattern: str, tres: str) -> Reason:
    """Give the reason for a TRES; several TRES share one with ``UNKNOWN``."""
    name = f"{prefix}_{pattern.format(_WORDS.get(tres.partition('/')[0], 'UNKNOWN'))}"
    return Reason.__members__.get(name) or Reason[f"{prefix}_{pattern.format('UNKNOWN')}"]
