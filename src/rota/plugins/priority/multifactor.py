"""Slurm's multifactor priorities: age, association, fair-share, job size, partition, QOS and TRES.

A job's priority is the sum of its factors, each from 0 to 1 (save where NO_NORMAL flags want raw values) and
multiplied with its weight, plus the site factor, less nice: at least 1, cut to a whole number, at most 2**32 − 1.

=========== =======================================================================================================
age         time since the job could first have started (ACCRUE_ALWAYS: since its submission) / PriorityMaxAge
association its priority / the highest of any
fair-share  Fair Tree, or classic or depth-oblivious fair-share: see `rota.interfaces.fairshare`
job size    (nodes/all nodes + CPUs/all CPUs) / 2; PriorityFavorSmall: how little; SMALL_RELATIVE_TO_TIME: CPUs for each
            minute of the time limit
partition   PriorityJobFactor / the highest of any
QOS         its priority / the highest of any
TRES        for each: what the job asks for / what its partition has
=========== =======================================================================================================

Factors that do not change with time are worked out when a job is submitted. Every PriorityCalcPeriod usage is brought
up to date, then fair-share, then all priorities at once: O(associations · log + pending jobs), whatever has ended.

Sources: Slurm's *Multifactor Priority Plugin* page; the flag V100 is the plugin of Slurm 2.0 as the priority API,
version 100, describes it.

Over 400 lines: a built-in plugin is one file, and imports nothing but `rota.interfaces`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rota.interfaces import (
    MAX_PRIORITY,
    SLURM_SUCCESS,
    JobState,
    MultifactorConf,
    PriorityFactors,
    PriorityFactorsRequest,
)
from rota.interfaces.fairshare import (
    FairShares,
    TreeColumns,
    Usage,
    classic,
    depth_oblivious,
    fair_tree,
    linear,
    next_reset,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rota.interfaces import Association, Controller, Job

plugin_type = "priority/multifactor"
plugin_name = "multifactor priorities as in Slurm"
plugin_version = 100

_ctld: Controller
_conf: MultifactorConf
_usage: Usage
#: Raw usage at the end of the last period, which fair-share goes by until the next.
_period_usage: NDArray[np.float64]
#: The same at its beginning.
_usage_before: NDArray[np.float64]
#: Fair-share from that, once it is needed; ``None`` until then.
_shares: FairShares | None = None
#: When usage is set to zero next; ``None``: never.
_next_reset: int | None = None
#: Highest priorities of associations, QOS and partitions, by which theirs are normalised.
_highest: tuple[int, int, int] = (0, 0, 1)
#: Processors of the machine, and Slurm 2.0's measure of usage.
_procs = 0
_max_cluster_usage = 0
#: The end of the period of which priorities are still to be computed, Unix seconds, and the tree as it was then;
#: ``None``: of none.
_owed: tuple[int, TreeColumns] | None = None
#: Stops the periods.
_stop: Callable[[], None] | None = None
_table: _Table


def init(ctld: Controller) -> int:
    """Read the configuration and begin the first period."""
    global _ctld, _usage, _table
    _ctld = ctld
    _usage = ctld.keep_usage()
    _table = _Table()
    _configure()
    if _conf.reset_period == "NOW":
        _usage.reset(ctld.now)
    if (kept := ctld.keep(_save)) is None:
        _end_period()
        _settle()
    else:
        _go_on_from(kept)
    known = frozenset() if kept is None else frozenset(kept["jobs"])
    # Jobs of before a restart keep their priorities until the next period: the size of the machine is still to come.
    for job in ctld.jobs.values():
        _table.go_on_with(job, is_known=job.job_id in known)
    return SLURM_SUCCESS


def _save() -> object:
    """Give by whose usage fair-share goes within this period, and which jobs are written down, as plain data."""
    usages = zip(_ctld.associations.associations, _period_usage.tolist(), _usage_before.tolist(), strict=False)
    return {
        "usage": [[one.account, one.user, one.partition, *both] for one, *both in usages if any(both)],
        "jobs": _table.job_ids(),
    }


def _go_on_from(kept: dict[str, Any]) -> None:
    """Go on within the period."""
    global _period_usage, _usage_before
    tree = _ctld.associations
    _period_usage, _usage_before = np.zeros((2, len(tree)))
    for account, user, partition, *usage in kept["usage"]:
        one = tree.find(user, account, partition)
        if one is not None and one.partition == partition:
            _period_usage[tree.row(one)], _usage_before[tree.row(one)] = usage


def priority_p_reconfig() -> None:
    """Read the configuration again: new weights count at once, fair-share is computed anew at the next period."""
    _settle()
    _configure()
    _table.rebuild()
    _table.reprice(_ctld.now, _ctld.associations.columns)


def _configure() -> None:
    global _conf, _next_reset, _highest, _stop
    _conf = MultifactorConf.of(_ctld.config, _ctld.tres)
    _usage.set_half_life(_conf.half_life)
    _next_reset = next_reset(_conf.reset_period, _usage.last_reset or _ctld.now, _ctld.utc_offset)
    tree = _ctld.associations
    _highest = (
        max(one.priority for one in tree.associations),
        max((qos.priority for qos in tree.qos.values()), default=0),
        max([1, *(part.priority_job_factor for part in _ctld.partitions.values())]),
    )
    if _stop is not None:
        _stop()
    _stop = _ctld.every(_conf.calc_period, _end_period, quiet=True)


def _end_period() -> None:
    """Bring usage and all priorities up to date."""
    global _period_usage, _usage_before, _shares, _next_reset, _owed
    now = _ctld.now
    if _next_reset is not None and now >= _next_reset:
        _usage.reset(now)
        _next_reset = next_reset(_conf.reset_period, now, _ctld.utc_offset)
    _usage_before = _usage.raw.copy()
    _usage.advance(now)
    _period_usage = _usage.raw.copy()
    _shares = None
    _table.refresh()
    _owed = now, _ctld.associations.columns
    # It makes no difference in which order jobs wait while none of them could start.
    if _table.is_contested(_ctld.size(_ctld.free)) or "INCR_ONLY" in _conf.flags:
        _settle()
    else:
        _ctld.before_queue(_settle)


def _settle() -> None:
    """Compute the priorities of the last period, if they are still owed."""
    global _owed
    if _owed is not None:
        (now, columns), _owed = _owed, None
        _table.reprice(now, columns)


# ---- the API ----------------------------------------------------------------------------------------------------


def priority_p_set(last_prio: int, job_ptr: Job) -> int:
    """Give a job that is submitted, released or queued again its priority."""
    _settle()  # by what held when the period ended: this job is not to be computed with the others of then
    priority = _table.price(job_ptr)
    for record in job_ptr.records:
        _ctld.set_priority(record, _table.priority(record))
    return priority


def priority_p_set_max_cluster_usage(procs: int, half_life: int) -> int:
    """Take the size of the machine; Slurm 2.0 also measured usage by what it does in two half-lives."""
    global _procs, _max_cluster_usage, _shares
    if (procs, procs * half_life * 2) != (_procs, _max_cluster_usage):
        _settle()
        _procs, _max_cluster_usage = procs, procs * half_life * 2
        _shares = None
        _table.rebuild()  # the size of a job is its part of the machine
    return SLURM_SUCCESS


def priority_p_set_assoc_usage(assoc: Association) -> None:
    """Fill in an association's shares, usage and fair-share, as of the end of the last period."""
    if assoc not in _ctld.associations:
        return
    row, shares = _ctld.associations.row(assoc), _fair_shares()
    assoc.shares_norm = float(shares.shares_norm[row])
    assoc.usage_norm = float(shares.usage_norm[row])
    assoc.usage_efctv = float(shares.usage_efctv[row])
    has_level = assoc.parent_id and _ctld.associations.columns.has_shares[row]
    assoc.level_fs = float(shares.level_fs[row]) if shares.level_fs is not None and has_level else None
    assoc.fs_factor = float(shares.factor[row])


def priority_p_get_priority_factors_list(req_msg: PriorityFactorsRequest) -> list[PriorityFactors] | None:
    """Give the factors of the jobs that wait; ``None`` when there are none."""
    jobs = (record for job in _ctld.jobs.values() if _is_shown(job) for record in _records(job))
    if req_msg.job_ids:
        jobs = (job for job in jobs if job.job_id in req_msg.job_ids)
    if req_msg.user_ids:
        jobs = (job for job in jobs if job.user_id in req_msg.user_ids)
    return [_table.factors(job) for job in jobs] or None


def _is_shown(job: Job) -> bool:
    """Whether a job's factors are shown: not once it runs, while it is held, or before its begin time."""
    if "V100" in _conf.flags:
        return job.state is JobState.PENDING and job.eligible_time is not None and job.priority > 1
    if job.state is not JobState.PENDING:
        return job.state is JobState.RUNNING and "CALCULATE_RUNNING" in _conf.flags
    return job.priority > 0 and (job.eligible_time is not None or "ACCRUE_ALWAYS" in _conf.flags)


def _records(job: Job) -> Sequence[Job]:
    """Give what a job has priorities for: each of several partitions while it waits."""
    return job.records if job.records and job.state is JobState.PENDING else (job,)


def _stays(job: Job, running: JobState | None) -> bool:
    """Whether a job or record goes on to have a priority."""
    if job.state is JobState.PENDING:
        return job.whole is not job or not job.records
    return job.state is running and job.whole is job


def _is_eligible(job: Job, now: int) -> bool:
    """Whether the job's begin time had come."""
    return job.spec.begin_time <= now


def _least() -> float:
    """Give the lowest priority; in Slurm 2.0 a priority of 1 meant something else."""
    return 2.0 if "V100" in _conf.flags else 1.0


# ---- factors ----------------------------------------------------------------------------------------------------


def _fair_shares() -> FairShares:
    """Compute fair-share, if that has not been done since the period ended or somebody was added to the tree."""
    global _shares
    tree = _ctld.associations
    if _shares is None or len(_shares.factor) != len(tree):
        _shares = _shares_in(tree.columns)
    return _shares


def _shares_in(columns: TreeColumns) -> FairShares:
    """Compute fair-share as of the end of the last period in a tree, which may have more associations by now."""
    count, flags = len(columns.parent), _conf.flags
    usage = np.zeros(count)
    usage[: len(_period_usage)] = _period_usage[:count]
    if "V100" in flags:
        return linear(columns, usage, cluster_usage=float(_max_cluster_usage))
    if "FAIR_TREE" in flags:
        return fair_tree(columns, usage, merge="COMPAT" not in flags)
    if "DEPTH_OBLIVIOUS" in flags:
        return depth_oblivious(columns, usage, damping=_conf.damping)
    before = np.zeros(count)
    before[: len(_usage_before)] = _usage_before[:count]
    return classic(columns, usage, damping=_conf.damping, before=before)


def _normalised(priority: int, highest: int, flag: str) -> float:
    if flag in _conf.flags:
        return float(priority)
    return priority / highest if highest else 0.0


def _assoc_factor(job: Job) -> float:
    """Normalise the priority of the job's association; one without takes that of the account above."""
    tree = _ctld.associations
    path = tree.path(tree.row(_ctld.association_of(job))).tolist()
    priority = next((tree.associations[row].priority for row in path if tree.associations[row].priority), 0)
    return _normalised(priority, _highest[0], "NO_NORMAL_ASSOC")


def _size_factor(job: Job) -> float:
    """Say how large the job is or, with PriorityFavorSmall, how small."""
    all_nodes, all_cpus = len(_ctld.nodes), _procs or 1
    nodes, cpus = max(job.spec.min_nodes, 1), int(_ctld.tres_of(job)[0])
    if "V100" in _conf.flags:
        factor = nodes / all_nodes
        factor = 1 - factor if _conf.favor_small else factor
    elif "SMALL_RELATIVE_TO_TIME" in _conf.flags:
        factor = max(cpus, nodes * all_cpus / all_nodes) / (job.time_limit / 60) / all_cpus
        factor = 1 - factor if _conf.favor_small else factor
    elif _conf.favor_small:
        factor = max(0.0, (all_nodes - nodes) / all_nodes)
        factor = (factor + (all_cpus - cpus) / all_cpus) / 2
    else:
        factor = (nodes / all_nodes + cpus / all_cpus) / 2
    return min(max(factor, 0.0), 1.0)


def _tres_factors(job: Job) -> dict[str, float]:
    """Give the weighted factor of each TRES that has a weight."""
    if not _conf.weights.tres:
        return {}
    counts = dict(zip(_ctld.tres, _ctld.tres_of(job), strict=True))
    if "NO_NORMAL_TRES" in _conf.flags:
        return {name: weight * counts[name] for name, weight in _conf.weights.tres.items()}
    totals = dict(zip(_ctld.tres, _ctld.partition_tres(job.partition), strict=True))
    return {
        name: weight * (counts[name] / totals[name] if totals[name] else 0.0)
        for name, weight in _conf.weights.tres.items()
    }


#: Rows of `_Table.columns`: weighted factors in the order in which they are added up, which the last bits depend on.
_AGE, _ASSOC, _FAIRSHARE, _SIZE, _PARTITION, _QOS, _TRES, _SITE, _NICE = range(9)


class _Table:
    """Pending jobs (CALCULATE_RUNNING: running ones too) as columns."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []
        self._slot: dict[Job, int] = {}
        self._columns = np.zeros((9, 64))
        #: When each job's age begins, Unix seconds; infinite until that is known.
        self._accrue = np.full(64, np.inf)
        #: Rows of the jobs' associations.
        self._assoc = np.zeros(64, np.int64)
        #: Jobs whose age has not begun.
        self._not_eligible: list[Job] = []
        #: Units of the jobs that wait.
        self._waiting: list[int] = []
        #: Jobs that held resources when they were written down, which they need not have asked for.
        self._given: set[Job] = set()
        #: Jobs that were struck off because they run: nobody tells when one of them is queued again.
        self._started: list[Job] = []

    def job_ids(self) -> list[int]:
        """Give the ids of the jobs that are written down."""
        return list(dict.fromkeys(job.job_id for job in self._jobs))

    def go_on_with(self, job: Job, *, is_known: bool) -> None:
        """Write a job of before a restart down if it was, or if its priority is one that is computed."""
        if is_known or (job.priority and not job.admin_priority and not job.alloc):
            self.price(job)
        elif job.alloc:
            self._started.append(job)

    def price(self, job: Job) -> int:
        """Write a job down, in each of its partitions while it waits; give its highest priority."""
        return max(self._price(record) for record in _records(job))

    def priority(self, job: Job) -> int:
        """Give what a job or record was last worked out to have."""
        return self._sum(self._slot[job])

    def _price(self, job: Job) -> int:
        slot = self._slot.get(job)
        if slot is None:
            slot = self._add(job)
        self._write(slot, job)
        return self._sum(slot)

    def _add(self, job: Job) -> int:
        slot = len(self._jobs)
        if slot == len(self._accrue):
            self._columns = np.concatenate((self._columns, np.zeros_like(self._columns)), axis=1)
            self._accrue = np.concatenate((self._accrue, self._accrue))
            self._assoc = np.concatenate((self._assoc, self._assoc))
        self._jobs.append(job)
        self._slot[job] = slot
        return slot

    def _write(self, slot: int, job: Job) -> None:
        weights, tree, qos = _conf.weights, _ctld.associations, _ctld.qos_of(job)
        row = tree.row(_ctld.association_of(job))
        self._assoc[slot] = row
        began = job.submit_time if "ACCRUE_ALWAYS" in _conf.flags else job.eligible_time
        self._accrue[slot] = np.inf if began is None else began
        if began is None:
            self._not_eligible.append(job)
        if job.alloc:
            self._given.add(job)
        else:
            self._given.discard(job)
        part = job.partition.priority_job_factor
        self._columns[:, slot] = (
            weights.age * _age(began),
            weights.assoc * _assoc_factor(job) if weights.assoc else 0.0,
            weights.fairshare * float(_fair_shares().factor[row]) if weights.fairshare else 0.0,
            weights.job_size * _size_factor(job) if weights.job_size else 0.0,
            weights.partition * _normalised(part, _highest[2], "NO_NORMAL_PART"),
            weights.qos * _normalised(qos.priority, _highest[1], "NO_NORMAL_QOS") if qos else 0.0,
            sum(_tres_factors(job).values()),
            job.site_factor,
            job.nice,
        )

    def _sum(self, slot: int) -> int:
        *added, nice = self._columns[:, slot].tolist()
        total = 0.0
        for value in added:  # one after the other, as in `reprice`: from Python 3.12 on sum() is more exact
            total += value
        if "V100" in _conf.flags and not _is_eligible(self._jobs[slot], _ctld.now):
            return 1
        return int(min(max(total - nice, _least()), MAX_PRIORITY))

    def rebuild(self) -> None:
        """Write all jobs down anew: weights or the machine have changed."""
        self.refresh()
        self._not_eligible.clear()
        for slot, job in enumerate(self._jobs):
            self._write(slot, job)

    def is_contested(self, free: int) -> bool:
        """Whether several jobs wait and one of them could fit into so many free units of the machine."""
        return len(self._waiting) > 1 and min(self._waiting) <= free

    def reprice(self, now: int, tree: TreeColumns) -> None:
        """Give all jobs their priorities of ``now``, which may be some time ago, and of the tree of then."""
        jobs, count = self._jobs, len(self._jobs)
        if not count:
            return
        self._begin_ages()
        columns = self._columns[:, :count]
        waited = now - self._accrue[:count]
        grown = np.maximum(waited, 0.0) / max(_conf.max_age, 1)
        columns[_AGE] = _conf.weights.age * np.where(waited < _conf.max_age, grown, 1.0)
        if _conf.weights.fairshare:
            shares = _fair_shares() if tree is _ctld.associations.columns else _shares_in(tree)
            columns[_FAIRSHARE] = _conf.weights.fairshare * shares.factor[self._assoc[:count]]
        total = columns[_AGE].copy()
        for row in range(_AGE + 1, _NICE):
            total += columns[row]
        total -= columns[_NICE]
        priorities = np.clip(total, _least(), MAX_PRIORITY).astype(np.int64)
        if "V100" in _conf.flags:
            priorities[[not _is_eligible(job, now) for job in jobs]] = 1
        if "INCR_ONLY" in _conf.flags:
            priorities = np.maximum(priorities, [job.priority for job in jobs]).clip(1)
        _ctld.set_priorities(jobs, priorities)

    def _begin_ages(self) -> None:
        """Note of jobs that have become eligible when that was."""
        waiting, self._not_eligible = self._not_eligible, []
        for job in waiting:
            slot = self._slot.get(job)
            if slot is None:
                continue
            if job.eligible_time is None:
                self._not_eligible.append(job)
            else:
                self._accrue[slot] = job.eligible_time

    def refresh(self) -> None:
        """Forget the jobs that do not wait any more; those that run, if they count, are written down as they are."""
        pending, running = JobState.PENDING, JobState.RUNNING if "CALCULATE_RUNNING" in _conf.flags else None
        self._take_back(running)
        self._waiting = [job.units for job in self._jobs if job.state is pending]
        if running or len(self._waiting) < len(self._jobs):
            self._strike_off([_stays(job, running) for job in self._jobs])
            self._take_back(running)
        for job in self._jobs if running else list(self._given):
            if (job in self._given) != bool(job.alloc):
                self._write(self._slot[job], job)

    def _take_back(self, running: JobState | None) -> None:
        """Write down the jobs that were struck off and count again: queued again or, if those count, running."""
        started, self._started = self._started, []
        for job in started:
            if job.state is JobState.PENDING or job.state is running:
                self.price(job)
            elif job.state is JobState.RUNNING:
                self._started.append(job)

    def _strike_off(self, stays: list[bool]) -> None:
        """Forget the others, except that those that run may come back."""
        kept, count = np.flatnonzero(stays), sum(stays)
        gone = (job for job, stay in zip(self._jobs, stays, strict=True) if not stay)
        self._started += dict.fromkeys(job.whole for job in gone if not job.state.finished)
        self._columns[:, :count] = self._columns[:, kept]
        self._accrue[:count] = self._accrue[kept]
        self._assoc[:count] = self._assoc[kept]
        self._jobs = [self._jobs[slot] for slot in kept.tolist()]
        self._slot = {job: slot for slot, job in enumerate(self._jobs)}
        self._given &= self._slot.keys()

    def factors(self, job: Job) -> PriorityFactors:
        """Give the factors from which the job's priority was last computed."""
        association, qos = _ctld.association_of(job), _ctld.qos_of(job)
        slot = self._slot.get(job)
        direct = job.admin_priority or slot is None
        values = [0.0] * 9 if direct or slot is None else self._columns[:, slot].tolist()
        return PriorityFactors(
            job_id=job.job_id,
            user_id=job.user_id,
            user=association.user,
            account=association.account,
            partition=job.partition.name,
            qos=qos.name if qos else "",
            priority=job.priority,
            direct=direct,
            priority_age=values[_AGE],
            priority_assoc=values[_ASSOC],
            priority_fs=values[_FAIRSHARE],
            priority_js=values[_SIZE],
            priority_part=values[_PARTITION],
            priority_qos=values[_QOS],
            priority_tres={} if direct else _tres_factors(job),
            priority_site=0 if direct else job.site_factor,
            nice=0 if direct else job.nice,
        )


def _age(began: int | None) -> float:
    if began is None:
        return 0.0
    waited = max(_ctld.now - began, 0)
    return waited / _conf.max_age if waited < _conf.max_age else 1.0
