"""Slurm's accounting policy: which jobs may be submitted and run.

``AccountingStorageEnforce`` of slurm.conf determines what is enforced: that a job has an association, that the
association has the job's QOS, and limits. Limits are checked in Slurm's order: those of the partition's QOS, of the
job's QOS (in reverse order with its flag OverPartQOS), of the association, and of the accounts above it. A limit set by
a QOS replaces the same limit further down this list.

Over 400 lines: each limit of Slurm is enforced in one place.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from rota.core.job import Job
from rota.core.limits.context import LimitContext
from rota.core.limits.job_limits import JobLimits
from rota.core.limits.limit_rules import LimitRules, Owner
from rota.core.limits.start_limits import LIMIT_REASONS, Excess
from rota.core.limits.usage_threshold import UsageThreshold, usage_threshold
from rota.core.plain import shape_of
from rota.model import Errno, InputError, MultifactorConf, Reason, RequestError
from rota.model.association import QosFlag
from rota.model.limits import NO_LIMITS, LimitError, Limits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rota.core.accounts.charging import Accounts
    from rota.core.limits.ledger import Ledger
    from rota.core.limits.start_limits import Limit, StartLimit
    from rota.core.state import ClusterState
    from rota.model import Association, ClusterConfig, Qos

_VIOLATES = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"


class AccountingPolicy:
    """Admits jobs, and keeps the sums to which limits are compared.

    Args:
        state: The machine and its jobs.
        accounts: The associations of jobs.
        config: The configuration to put into force.

    Raises:
        InputError: AccountingStorageEnforce, or a limit of an association or QOS, cannot be used.
    """

    def __init__(self, state: ClusterState, accounts: Accounts, config: ClusterConfig) -> None:
        self._state = state
        self._accounts = accounts
        enforced = config.enforced()
        self._needs_association = "associations" in enforced
        self._needs_qos = "qos" in enforced
        self._limits = "limits" in enforced
        qos = accounts.tree.qos.values()
        #: Names of QOS for jobs in reservations only.
        self._for_reservations = {one.name for one in qos if one.has(QosFlag.REQUIRES_RESERVATION)}
        self._has_thresholds = any(usage_threshold(one) is not None for one in qos)
        #: Usage thresholds by association and QOS.
        self._thresholds: dict[tuple[int, str], UsageThreshold] = {}
        #: Limits by association, QOS and QOS of the partition.
        self._known: dict[tuple[int, str, str], JobLimits[Job]] = {}
        #: Ledgers in which live jobs are counted, by job id: those of the partition at submission.
        self.submitted_in: dict[int, Sequence[Ledger]] = {}
        #: What limits need to know.
        self.context = LimitContext[Job](
            clock=state,
            timers=state.timers,
            keeper=accounts,
            tres=accounts.tres,
            safe="safe" in enforced,
            asked=accounts.asked,
            at_best=self._at_best,
            counts=accounts.tres_of,
            nodes_of=state.nodes_of,
            usage_factor=accounts.usage_factor,
        )
        #: Whether there is anything that `admit` could say no to.
        self.restricts = bool(enforced or self._for_reservations)
        self._check_limits()

    # ---- limits on starting and running jobs ------------------------------------------------------------------

    def _at_best(self, job: Job) -> Sequence[float]:
        """Count the TRES that a job would get if no other ran; what it asks for, if it could not run even then."""
        pool = self._state.pool
        return self._accounts.tres_of(job, pool.select(job, pool.up))

    def refuse(self, job: Job, excess: Excess) -> None:
        """Remember that a job cannot start with the resources it would get, because of a limit on what it uses."""
        if excess.reason in LIMIT_REASONS:
            self.context.refused[job.job_id] = excess

    def excess_on(self, job: Job, nodes: int) -> Excess | None:
        """Give the limit that a job would exceed on planned nodes if it had them now, and remember it.

        ``None``: there is none, or ``assoc_limit_stop`` is set.
        """
        limits, state = job.limits, self._state
        if limits is None or not limits.depends_on_tres or state.settings.assoc_limit_stop:
            return None
        resources = state.resources_on(job, nodes)
        excess = limits.excess_when_planned(job, resources) if resources else None
        if excess is not None:
            self.refuse(job, excess)
        return excess

    def forget_refusals(self) -> None:
        """Have all jobs tested again, as resources have become free."""
        self.context.refused.clear()

    def save_refusals(self) -> list[list[Any]]:
        """Give the limits for which jobs were refused, as JSON data."""
        return [[job_id, shape_of(Excess).encode(one)] for job_id, one in self.context.refused.items()]

    def restore_refusals(self, saved: list[list[Any]]) -> None:
        """Restore the saved refusals, if limits have not changed."""
        self.context.refused = {job_id: shape_of(Excess).decode(one) for job_id, one in saved}

    def schedule_ends(self) -> None:
        """Set the timers for when limits on usage will be reached."""
        for ledger in self.context.ledgers.values():
            if ledger.forecast is not None:
                ledger.forecast.set_timer()

    def used_up(self, ledger_name: str) -> list[Job]:
        """Give the running jobs that have to end because a limit on the usage of a ledger is reached now."""
        forecast = self.context.ledger(ledger_name).forecast
        return [] if forecast is None else [self._state.jobs[job_id] for job_id in forecast.used_up()]

    # ---- admission --------------------------------------------------------------------------------------------

    def admit(self, job: Job) -> None:
        """Check a new job against its limits.

        Raises:
            RequestError: it has no association, cannot use its QOS, or exceeds a limit that is enforced at submission.
        """
        self.check_rights(job)
        if not self._limits:
            return
        for record in (job, *job.records):
            limits = self.limits_of(record)
            if limits.max_wall is not None and record.spec.time_limit is None and not record.partition.default_time:
                record.time_limit = min(record.time_limit, int(limits.max_wall.most))
                record.show()
            self._set_limits(record, limits)
            if record.records:
                continue  # each of several partitions is checked
            for ledger, limit in limits.submit:
                if ledger.submitted + job.waiting_tasks > limit.most:
                    raise _refusal(limit)
            if self._denies(record) and (excess := limits.exceeded_alone(record, alone=True)) is not None:
                raise _refusal(excess.limit)

    def check_rights(self, job: Job, *, by_operator: bool = False) -> None:
        """Check that a job has an association, may use its QOS, and is in a reservation if this requires one.

        Args:
            job: The job.
            by_operator: Whether an operator asks, who may give a job any QOS, as in Slurm.

        Raises:
            RequestError: it is not so.
        """
        if self._needs_association:
            self._check_association(job)
        if self._needs_qos:
            self._check_qos(job, any_qos=by_operator)
        self._check_reservation(job)

    def _set_limits(self, job: Job, limits: JobLimits[Job]) -> None:
        if limits.ledgers:
            job.limits = limits
        own: list[StartLimit[Job]] = [limits] if limits.can_hold_back else []
        if self._has_thresholds and (threshold := self._threshold_of(job)) is not None:
            own.insert(0, threshold)
        if own:
            job.start_limits = (*own, *_others(job))
            job.show()

    def _check_association(self, job: Job) -> None:
        spec = job.spec
        if self._accounts.tree.find(job.user_name, spec.account, job.partition.name) is None:
            account = f"account {spec.account}" if spec.account else "no account"
            raise RequestError(
                f"Invalid account or account/partition combination specified: {job.user_name} has no association "
                f"with {account} in partition {job.partition.name}",
                Errno.INVALID_ACCOUNT,
            )

    def _check_qos(self, job: Job, *, any_qos: bool) -> None:
        accounts = self._accounts
        qos = accounts.qos_of(job)
        allowed = accounts.tree.qos_names(accounts.associate(job))  # `admit` has checked that there is an association
        if qos is None or (not any_qos and qos.name not in allowed):
            name, known = job.spec.qos or (qos.name if qos else ""), ", ".join(allowed)
            raise RequestError(
                f"Invalid qos specification: {job.user_name} may not have QOS {name!r}, but {known}",
                Errno.INVALID_QOS,
            )

    def _check_reservation(self, job: Job) -> None:
        """Check that a job whose QOS requires a reservation has one."""
        if self._for_reservations and not job.spec.reservation:
            qos = self._accounts.qos_of(job)
            if qos is not None and qos.name in self._for_reservations:
                raise RequestError(
                    f"Invalid qos specification: QOS {qos.name!r} is for jobs with --reservation", Errno.INVALID_QOS
                )

    def _denies(self, job: Job) -> bool:
        """Whether a QOS of the job has its limits enforced at submission."""
        return any(qos.has(QosFlag.DENY_ON_LIMIT) for qos in self._qos_in_order(job))

    def access(self, job: Job) -> Reason | None:
        """Say whether a job's partition is closed to its account or QOS; ``None``: it is open.

        It does not depend on what ``AccountingStorageEnforce`` demands, as in Slurm 22.05.
        """
        part, accounts = job.partition, self._accounts
        if part.allow_accounts or part.deny_accounts:
            account = accounts.account_of(job).lower()
            if not _is_allowed(account, part.allow_accounts, part.deny_accounts):
                return Reason.ACCOUNT_NOT_ALLOWED
        if part.allow_qos or part.deny_qos:
            qos = accounts.qos_of(job)
            if not _is_allowed(qos.name.lower() if qos else "", part.allow_qos, part.deny_qos):
                return Reason.QOS_NOT_ALLOWED
        return None

    def exempts_from_partition(self, job: Job, flag: QosFlag) -> bool:
        """Whether a QOS of the job exempts it from a limit of its partition."""
        return self._limits and any(qos.has(flag) for qos in self._qos_in_order(job))

    # ---- counting ---------------------------------------------------------------------------------------------

    def submitted(self, job: Job) -> None:
        """Count a job that has been accepted."""
        if job.limits is not None:
            self.submitted_in[job.job_id] = job.limits.ledgers
            for ledger in job.limits.ledgers:
                ledger.submitted += job.waiting_tasks

    def split_off(self, task: Job, array_job_id: int) -> None:
        """Count a task of an array by itself from now on."""
        if array_job_id in self.submitted_in:
            self.submitted_in[task.job_id] = self.submitted_in[array_job_id]

    def removed(self, job: Job) -> None:
        """Remove a job that has ended, or is being changed, from the counts of submitted jobs."""
        self.context.refused.pop(job.job_id, None)
        for ledger in self.submitted_in.pop(job.job_id, ()):
            ledger.submitted -= job.waiting_tasks

    def apply_limits(self, job: Job) -> None:
        """Set the limits of a live job, replacing earlier ones."""
        for record in (job, *job.records):
            record.limits, record.tres_req = None, None
            record.start_limits = _others(record)
            if self._limits:
                self._set_limits(record, self.limits_of(record))
        job.show()
        if job.alloc and job.limits is not None and job.limits.can_hold_back:
            job.limits.started(job)
            if job.suspended_since is not None:
                job.limits.pause(job)

    # ---- limits of a job --------------------------------------------------------------------------------------

    def limits_of(self, job: Job) -> JobLimits[Job]:
        """Give the limits of a job or of one of its records."""
        accounts = self._accounts
        association, qos = accounts.associate(job), accounts.qos_of(job)
        key = accounts.tree.row(association), qos.name if qos else "", job.partition.qos
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._make(association, self._qos_in_order(job), qos)
        return known

    def _threshold_of(self, job: Job) -> UsageThreshold | None:
        """Give the usage threshold of a job's QOS; that of its partition's QOS does not count."""
        accounts = self._accounts
        association, qos = accounts.associate(job), accounts.qos_of(job)
        if qos is None or (least := usage_threshold(qos)) is None:
            return None
        key = accounts.tree.row(association), qos.name
        if key not in self._thresholds:
            self._thresholds[key] = UsageThreshold(qos.name, least, partial(self._fair_share, association))
        return self._thresholds[key]

    def _fair_share(self, association: Association) -> float | None:
        """Give the value that is compared with UsageThreshold; ``None``: usage is not kept.

        In Slurm it is not the fair-share factor, as documented, but this factor times ``PriorityWeightFairshare``. If
        the weight is 0, it is the classic fair-share factor of the association's effective usage and shares, also with
        Fair Tree.
        """
        if self._accounts.usage is None:
            return None
        one = self._accounts.with_shares(association)
        if share := self._conf.weights.fairshare * one.fs_factor:
            return share
        if one.shares_norm <= 0:
            return 0.0
        return float(2 ** -(one.usage_efctv / one.shares_norm / self._conf.damping))

    @cached_property
    def _conf(self) -> MultifactorConf:
        """The fair-share configuration in slurm.conf."""
        return MultifactorConf.of(self._state.config, self._accounts.tres)

    def _qos_in_order(self, job: Job) -> list[Qos]:
        """Give the QOS of the job's partition and of the job, in the order of precedence."""
        accounts = self._accounts
        own, of_partition = accounts.qos_of(job), accounts.tree.qos.get(job.partition.qos)
        if own is None or of_partition is None or own is of_partition:
            return [one for one in (of_partition or own,) if one is not None]
        return [own, of_partition] if own.has(QosFlag.OVER_PART_QOS) else [of_partition, own]

    def _make(self, association: Association, several: Sequence[Qos], own: Qos | None) -> JobLimits[Job]:
        """Collect the limits of an association's jobs with some QOS, of which ``own`` is the jobs' own."""
        tree = self._accounts.tree
        context = self.context
        made = JobLimits(context)
        rules = LimitRules(made, context.tres)
        for qos in several:
            whose = f"QOS {qos.name}"
            limits = self._read_limits(whose, qos.limits)
            owner = Owner(whose, "QOS", limits, context.ledger(whose), partial(self._used_by_qos, qos.name))
            of_user = context.ledger(f"{whose} user {association.user}")
            of_account = context.ledger(f"{whose} account {association.account}")
            rules.add_qos(owner, of_user, of_account)
        above = [tree.associations[row] for row in tree.path(tree.row(association)).tolist()]
        factor = (own.limit_factor if own else None) or 1.0
        for one in above:
            whose, row = _whose(one), tree.row(one)
            limits = self._read_limits(whose, one.limits)
            used = partial(self._used_by_association, row)
            owner = Owner(whose, "ASSOC", limits, context.ledger(f"association {row}"), used, factor)
            rules.add_association(owner, self._inherited(above) if one is association else None)
        if not context.safe:
            made.end_running_jobs()
        return made

    def _inherited(self, above: Sequence[Association]) -> Limits:
        """Give the limits for each user's jobs, which are inherited from an account above if the user has none."""
        texts: dict[str, str] = {}
        for one in reversed(above):
            texts |= {name: text for name, text in one.limits.items() if name.startswith(("Max", "MinPrio"))}
        return self._read_limits(_whose(above[0]), texts)

    def _check_limits(self) -> None:
        """Parse all limits once, to find errors now and not when a job is submitted.

        Raises:
            InputError: a limit cannot be used.
        """
        if self._limits:
            for qos in self._accounts.tree.qos.values():
                self._read_limits(f"QOS {qos.name}", qos.limits)
            for one in self._accounts.tree.associations:
                self._read_limits(_whose(one), one.limits)

    def _read_limits(self, whose: str, texts: Mapping[str, str]) -> Limits:
        if not texts:
            return NO_LIMITS
        try:
            return Limits.of(texts, self._accounts.tres)
        except LimitError as error:
            raise InputError(f"{whose}: {error.problem}", field=error.key) from None

    def _used_by_association(self, row: int, index: int) -> float:
        usage = self._accounts.usage
        if usage is None:
            return 0.0
        return float(usage.wall[row] if index < 0 else usage.tres_raw[row, index])

    def _used_by_qos(self, name: str, index: int) -> float:
        usage = self._accounts.usage
        return 0.0 if usage is None else usage.qos_used(name, index)


def _others(job: Job) -> tuple[StartLimit[Job], ...]:
    """Give other limits that may hold back a job."""
    return tuple(one for one in job.start_limits if not isinstance(one, JobLimits | UsageThreshold))


def _whose(one: Association) -> str:
    """Name an association."""
    return f"user {one.user} of account {one.account}" if one.user else f"account {one.account}"


def _is_allowed(name: str, allowed: Sequence[str], denied: Sequence[str]) -> bool:
    return name in allowed if allowed else name not in denied


def _refusal(limit: Limit) -> RequestError:
    return RequestError(
        f"{limit.reason}: {_VIOLATES}: {limit.name} of {limit.of} is {limit.most:g}", Errno.ACCOUNTING_POLICY
    )
