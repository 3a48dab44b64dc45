"""Who may submit and run what: Slurm's accounting policy.

``AccountingStorageEnforce`` of slurm.conf says what is enforced: that jobs have an association, that it has their QOS,
and limits. These are looked at in Slurm's order: those of the partition's QOS, of the job's QOS (the other way round
with its flag OverPartQOS), of the association, and of the accounts above it. A limit that a QOS sets is not looked at
in what comes after it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rota.core.limits.job_limits import Entry, JobLimits, Ledger
from rota.core.limits.limit_rules import LimitRules, Owner
from rota.core.limits.usage_enforcement import own_end
from rota.core.limits.usage_threshold import UsageThreshold, usage_threshold
from rota.model import Errno, InputError, Reason, RequestError
from rota.model.association import QosFlag
from rota.model.limits import NO_LIMITS, LimitError, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from rota.core.limits.start_limits import Excess, Limit, Restraint
    from rota.core.state import ClusterState
    from rota.model import Association, Job, Qos

#: How long a job that waits for usage to fade, or for time to pass, is left alone: Slurm's ``sched_interval``.
_LOOK_AGAIN = 60
_VIOLATES = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"


class AccountingPolicy:
    """Admits jobs, and keeps what limits are measured against.

    Raises:
        InputError: AccountingStorageEnforce, or a limit of an association or QOS, cannot be used.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        enforced = state.config.enforced()
        self._needs_association = "associations" in enforced
        self._needs_qos = "qos" in enforced
        self._limits = "limits" in enforced
        #: What running jobs may still use counts as used: no job starts that could not run to its time limit.
        self.safe = "safe" in enforced
        #: QOS of jobs in reservations only.
        self._for_reservations = {
            qos.name for qos in state.accounts.tree.qos.values() if qos.has(QosFlag.REQUIRES_RESERVATION)
        }
        self._has_thresholds = any(usage_threshold(qos) is not None for qos in state.accounts.tree.qos.values())
        #: By association and QOS.
        self._thresholds: dict[tuple[int, str], UsageThreshold] = {}
        self._ledgers: dict[Hashable, Ledger] = {}
        #: By association, QOS and partition's QOS.
        self._known: dict[tuple[int, str, str], JobLimits] = {}
        self._submitted: dict[int, Sequence[Ledger]] = {}
        self._running: dict[int, Entry] = {}
        #: Another number whenever other jobs run.
        self.version = 0
        #: What jobs were refused for that would otherwise have started; it holds until something has changed.
        self._refused: dict[int, Excess] = {}
        self._looks_again = False

    @property
    def is_on(self) -> bool:
        """Whether anything is enforced."""
        return self._needs_association

    @property
    def now(self) -> int:
        """Unix seconds."""
        return self._state.now

    def asked(self, job: Job) -> Sequence[float]:
        """Count the TRES that a job asks for."""
        if job.tres_req is None:
            job.tres_req = self._state.accounts.tres_of(job, 0)
        return job.tres_req

    def counts(self, job: Job, resources: int) -> Sequence[float]:
        """Count the TRES of resources for a job."""
        return self._state.accounts.tres_of(job, resources)

    def nodes_of(self, resources: int) -> int:
        """Give the bitmap of their nodes."""
        return self._state.pool.nodes_of(resources)

    def refuse(self, job: Job, excess: Excess) -> None:
        """Remember that a job cannot start on what it was to be given."""
        self._refused[job.job_id] = excess

    def has_refused(self, job: Job) -> Excess | None:
        """Give what a job was refused for, if nothing has changed since."""
        return self._refused.get(job.job_id)

    def forget_refusals(self) -> None:
        """Let all jobs be tried again: resources have come free."""
        self._refused.clear()

    def look_again(self) -> None:
        """Have a pass made in a while: a job waits for nothing but time."""
        if not self._looks_again:
            self._looks_again = True
            self._state.timers.at(self._state.now + _LOOK_AGAIN, self._changed)

    def _changed(self) -> None:
        self._looks_again = False
        self._state.arrivals = None
        self._state.changed = True

    # ---- limits that are used up ------------------------------------------------------------------------------

    @property
    def keeps_usage(self) -> bool:
        """Whether it is known what has been used."""
        return self._state.accounts.usage is not None

    @property
    def usage_until(self) -> int:
        """The end of the last period of usage, Unix seconds: what running jobs have used since is not part of it."""
        usage = self._state.accounts.usage
        return (usage.last_ran if usage is not None else None) or 0

    @property
    def usage_decay(self) -> float:
        """What usage is multiplied with every second."""
        usage = self._state.accounts.usage
        return 1.0 if usage is None else usage.decay

    def at(self, time: int, fn: Callable[[], object]) -> None:
        """Have ``fn`` called at a time, in the next second at the earliest, unless limits are read anew before that."""

        def call() -> None:
            if self._state.policy is self:
                fn()

        self._state.timers.at(max(time, self.now + 1), call, quiet=True)

    def end(self, job: Job) -> None:
        """End a running job: it has used up a limit."""
        self._state.doomed.append(job)

    def plan_ends(self) -> None:
        """Work out when limits will be used up, once it is known what has been used."""
        for ledger in self._ledgers.values():
            if ledger.meter is not None:
                ledger.meter.plan()

    # ---- admission --------------------------------------------------------------------------------------------

    def admit(self, job: Job) -> None:
        """Put a new job under its limits.

        Raises:
            RequestError: it has no association, may not have its QOS, or is beyond a limit that it must respect now.
        """
        if self._needs_association:
            self._check_association(job)
        if self._needs_qos:
            self._check_qos(job)
        self._check_reservation(job)
        if not self._limits:
            return
        for record in (job, *job.records):
            limits = self.limits_of(record)
            if limits.max_wall is not None and record.spec.time_limit is None and not record.partition.default_time:
                record.time_limit = min(record.time_limit, int(limits.max_wall.most))
            self._restrain(record, limits)
            if record.records:
                continue  # of several partitions each is looked at
            for ledger, limit in limits.submit:
                if ledger.submitted + job.waiting_tasks > limit.most:
                    raise _refusal(limit)
            if self._denies(record) and (excess := limits.never(record, alone=True)) is not None:
                raise _refusal(excess.limit)

    def _restrain(self, job: Job, limits: JobLimits) -> None:
        if limits.ledgers:
            job.limits = limits
        own: list[JobLimits | UsageThreshold] = [limits] if limits.restrains else []
        if self._has_thresholds and (threshold := self._threshold_of(job)) is not None:
            own.insert(0, threshold)
        if own:
            job.restraints = (*own, *_others(job))

    def _check_association(self, job: Job) -> None:
        spec = job.spec
        if self._state.accounts.tree.find(job.user_name, spec.account, job.partition.name) is None:
            account = f"account {spec.account}" if spec.account else "no account"
            raise RequestError(
                f"Invalid account or account/partition combination specified: {job.user_name} has no association "
                f"with {account} in partition {job.partition.name}",
                Errno.INVALID_ACCOUNT,
            )

    def _check_qos(self, job: Job) -> None:
        accounts = self._state.accounts
        qos = accounts.qos_of(job)
        allowed = accounts.tree.qos_names(accounts.association_of(job))
        if qos is None or qos.name not in allowed:
            name, known = job.spec.qos or (qos.name if qos else ""), ", ".join(allowed)
            raise RequestError(
                f"Invalid qos specification: {job.user_name} may not have QOS {name!r}, but {known}",
                Errno.INVALID_QOS,
            )

    def _check_reservation(self, job: Job) -> None:
        """Look whether the QOS of a job is for reservations, and it is in none."""
        if self._for_reservations and not job.spec.reservation:
            qos = self._state.accounts.qos_of(job)
            if qos is not None and qos.name in self._for_reservations:
                raise RequestError(
                    f"Invalid qos specification: QOS {qos.name!r} is for jobs with --reservation", Errno.INVALID_QOS
                )

    def _denies(self, job: Job) -> bool:
        """Whether a QOS of the job has its limits enforced at the door."""
        return any(qos.has(QosFlag.DENY_ON_LIMIT) for qos in self._qos_in_order(job))

    def access(self, job: Job) -> Reason | None:
        """Say whether a job's partition is closed to its account or QOS; ``None``: it is not."""
        part, accounts = job.partition, self._state.accounts
        if self._needs_association and (part.allow_accounts or part.deny_accounts):
            account = accounts.association_of(job).account.lower()
            if not _is_allowed(account, part.allow_accounts, part.deny_accounts):
                return Reason.ACCOUNT_NOT_ALLOWED
        if self._needs_qos and (part.allow_qos or part.deny_qos):
            qos = accounts.qos_of(job)
            if not _is_allowed(qos.name.lower() if qos else "", part.allow_qos, part.deny_qos):
                return Reason.QOS_NOT_ALLOWED
        return None

    def goes_beyond_partition(self, job: Job, flag: QosFlag) -> bool:
        """Whether a QOS of the job lets it go beyond a limit of its partition."""
        return self._limits and any(qos.has(flag) for qos in self._qos_in_order(job))

    # ---- counting ---------------------------------------------------------------------------------------------

    def submitted(self, job: Job) -> None:
        """Count a job that has been taken."""
        if job.limits is not None:
            self._submitted[job.job_id] = job.limits.ledgers
            for ledger in job.limits.ledgers:
                ledger.submitted += job.waiting_tasks

    def split_off(self, task: Job, record: Job) -> None:
        """Count a task of an array by itself from now on."""
        if record.job_id in self._submitted:
            self._submitted[task.job_id] = self._submitted[record.job_id]

    def forgotten(self, job: Job) -> None:
        """Count it no more: it is over."""
        for ledger in self._submitted.pop(job.job_id, ()):
            ledger.submitted -= job.waiting_tasks

    def enter(self, job: Job, limits: JobLimits) -> None:
        """Count a job that has started, and have it ended when a limit is used up that does so."""
        entry = Entry(limits.ledgers, self.counts(job, job.alloc), job.alloc_nodes, job.end_time or 0)
        self._running[job.job_id] = entry
        for ledger in limits.ledgers:
            ledger.enter(entry)
            if ledger.meter is not None:
                factor = self._state.accounts.usage_factor(job)
                ledger.meter.enter(job, limits.ends, [count * factor for count in (*entry.counts, 1.0)])
        if limits.minutes and (end := own_end(job, entry.counts, limits.minutes)) is not None:
            run = job.restart_count
            self.at(end, lambda: self.end(job) if job.restart_count == run else None)
        self.version += 1

    def leave(self, job: Job) -> None:
        """Count it no more: it does not run."""
        entry = self._running.pop(job.job_id, None)
        if entry is not None:
            for ledger in entry.ledgers:
                ledger.enter(entry, -1)
                if ledger.meter is not None:
                    ledger.meter.leave(job)
            self.version += 1

    def take_over(self, job: Job) -> None:
        """Put a job that is live already under its limits, in the place of any of before."""
        for record in (job, *job.records):
            record.limits, record.tres_req = None, None
            record.restraints = _others(record)
            if self._limits:
                self._restrain(record, self.limits_of(record))
        if job.alloc and job.limits is not None:
            job.limits.started(job)

    # ---- which limits -----------------------------------------------------------------------------------------

    def limits_of(self, job: Job) -> JobLimits:
        """Find the limits that a job, or a record of it, is under."""
        accounts = self._state.accounts
        association, qos = accounts.association_of(job), accounts.qos_of(job)
        key = accounts.tree.row(association), qos.name if qos else "", job.partition.qos
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._make(association, self._qos_in_order(job), qos)
        return known

    def _threshold_of(self, job: Job) -> UsageThreshold | None:
        """Find the threshold of a job's QOS; that of its partition's does not count."""
        accounts = self._state.accounts
        association, qos = accounts.association_of(job), accounts.qos_of(job)
        if qos is None or (least := usage_threshold(qos)) is None:
            return None
        key = accounts.tree.row(association), qos.name
        if key not in self._thresholds:
            self._thresholds[key] = UsageThreshold(self, self._state, association, qos.name, least)
        return self._thresholds[key]

    def _qos_in_order(self, job: Job) -> list[Qos]:
        """Give the QOS of the job's partition and its own, the one that goes before the other first."""
        accounts = self._state.accounts
        own, of_partition = accounts.qos_of(job), accounts.tree.qos.get(job.partition.qos)
        if own is None or of_partition is None or own is of_partition:
            return [one for one in (of_partition or own,) if one is not None]
        return [own, of_partition] if own.has(QosFlag.OVER_PART_QOS) else [of_partition, own]

    def _make(self, association: Association, several: Sequence[Qos], own: Qos | None) -> JobLimits:
        """Collect the limits of an association's jobs that have these QOS, ``own`` being the jobs' own."""
        tree = self._state.accounts.tree
        made = JobLimits(self)
        rules = LimitRules(made, self._state.accounts.tres)
        for qos in several:
            whose, key = f"QOS {qos.name}", ("qos", qos.name)
            limits = self._read_limits(whose, qos.limits)
            owner = Owner(whose, "QOS", limits, self._ledger(key), partial(self._used_by_qos, qos.name))
            of_user, of_account = (*key, "user", association.user), (*key, "account", association.account)
            rules.add_qos(owner, self._ledger(of_user), self._ledger(of_account))
        above = [tree.associations[row] for row in tree.path(tree.row(association)).tolist()]
        factor = (own.limit_factor if own else None) or 1.0
        for one in above:
            whose, row = _whose(one), tree.row(one)
            limits = self._read_limits(whose, one.limits)
            used = partial(self._used_by_association, row)
            owner = Owner(whose, "ASSOC", limits, self._ledger(row), used, factor)
            rules.add_association(owner, self._inherited(above) if one is association else None)
        if not self.safe:
            made.end_what_runs()
        return made

    def _inherited(self, above: Sequence[Association]) -> Limits:
        """Read the limits of each user's jobs, which are those of an account above where the user has none."""
        texts: dict[str, str] = {}
        for one in reversed(above):
            texts |= {name: text for name, text in one.limits.items() if name.startswith(("Max", "MinPrio"))}
        return self._read_limits(_whose(above[0]), texts)

    def _read_limits(self, whose: str, texts: Mapping[str, str]) -> Limits:
        if not texts:
            return NO_LIMITS
        try:
            return Limits.of(texts, self._state.accounts.tres)
        except LimitError as error:
            raise InputError(f"{whose}: {error.problem}", field=error.key) from None

    def _ledger(self, key: Hashable) -> Ledger:
        found = self._ledgers.get(key)
        if found is None:
            found = self._ledgers[key] = Ledger(len(self._state.accounts.tres))
        return found

    def _used_by_association(self, row: int, index: int) -> float:
        usage = self._state.accounts.usage
        if usage is None:
            return 0.0
        return float(usage.wall[row] if index < 0 else usage.tres_raw[row, index])

    def _used_by_qos(self, name: str, index: int) -> float:
        usage = self._state.accounts.usage
        return 0.0 if usage is None else usage.qos_used(name, index)


def _others(job: Job) -> tuple[Restraint, ...]:
    """Give what may hold back a job besides the policy."""
    return tuple(one for one in job.restraints if not isinstance(one, JobLimits | UsageThreshold))


def _whose(one: Association) -> str:
    """Name an association."""
    return f"user {one.user} of account {one.account}" if one.user else f"account {one.account}"


def _is_allowed(name: str, allowed: Sequence[str], denied: Sequence[str]) -> bool:
    return name in allowed if allowed else name not in denied


def _refusal(limit: Limit) -> RequestError:
    return RequestError(
        f"{limit.reason}: {_VIOLATES}: {limit.name} of {limit.of} is {limit.most:g}", Errno.ACCOUNTING_POLICY
    )
