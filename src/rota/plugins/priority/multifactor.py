"""Slurm's multifactor priorities: age, association, fair-share, job size, partition, QOS and TRES.

A job's priority is the sum of its weighted factors and its site factor, minus its nice value. Factors are from 0 to 1,
unless NO_NORMAL flags ask for raw values. The priority is rounded down to a whole number from 1 to 2**32 − 1.

=========== =======================================================================================================
age         time since the job became eligible (ACCRUE_ALWAYS: since its submission) / PriorityMaxAge
association priority of the association / highest one of any association
fair-share  Fair Tree, or classic or depth-oblivious fair-share: see `rota.interfaces.fairshare`
job size    (nodes/all nodes + CPUs/all CPUs) / 2; PriorityFavorSmall: 1 minus this; SMALL_RELATIVE_TO_TIME: CPUs for
            each minute of the time limit. The CPUs are those that the job asks for or, once it is planned, would get
partition   PriorityJobFactor / highest one of any partition
QOS         priority of the QOS / highest one of any QOS
TRES        for each TRES: what the job asks for / what its partition has
=========== =======================================================================================================

Factors that do not change with time are computed when a job is submitted. At the end of each PriorityCalcPeriod usage
is updated, then fair-share, then all priorities: O(associations · log + pending jobs), however many jobs have ended.

Sources: Slurm's *Multifactor Priority Plugin* page. The flag V100 stands for the plugin of Slurm 2.0, as described by
the priority API, version 100.

Over 400 lines: a built-in plugin is one file, and imports nothing but `rota.interfaces`.
"""

from __future__ import annotations

from operator import attrgetter, countOf
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
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from rota.interfaces import Association, Controller, Job

plugin_type = "priority/multifactor"
plugin_name = "multifactor priorities as in Slurm"
plugin_version = 100

#: Flags with which priorities are computed at the end of the period, not later.
_NOT_DEFERRED = frozenset({"INCR_ONLY", "CALCULATE_RUNNING"})
# Python 3.11 takes eight times as long to find a member of an Enum as a global name.
_PENDING, _RUNNING, _SUSPENDED = JobState.PENDING, JobState.RUNNING, JobState.SUSPENDED
_STATE, _UNITS, _ELIGIBLE_TIME = map(attrgetter, ("state", "units", "eligible_time"))

_ctld: Controller
_conf: MultifactorConf
_usage: Usage
#: Raw usage at the end of the last period, on which fair-share is based until the next.
_period_usage: NDArray[np.float64]
#: Raw usage at the beginning of that period.
_usage_before: NDArray[np.float64]
#: Fair-share from this usage; ``None``: not computed yet.
_shares: FairShares | None = None
#: When usage is reset to zero, Unix seconds; ``None``: never.
_next_reset: int | None = None
#: Highest priorities of associations, QOS and partitions, by which factors are normalised.
_highest: tuple[int, int, int] = (0, 0, 1)
#: Number of processors of the machine, and the reference of usage in Slurm 2.0.
_procs = 0
_max_cluster_usage = 0
#: End of the period whose priorities are deferred, Unix seconds, and the tree at that time; ``None``: none are.
_deferred: tuple[int, TreeColumns] | None = None
#: Cancels the timer of the periods.
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
        _compute_deferred()
        _table.add_present(ctld.jobs.values())
    else:  # jobs keep their priorities until the next period, unless the machine is another one
        _restore(kept)
        _table.restore(kept["jobs"], kept["running"], kept.get("ages", ()))
    return SLURM_SUCCESS


def _save() -> object:
    """Give the usage on which fair-share is based in this period, and the jobs in the table, as JSON data."""
    usages = zip(_ctld.associations.associations, _period_usage.tolist(), _usage_before.tolist(), strict=False)
    return {
        "usage": [[one.account, one.user, one.partition, *both] for one, *both in usages if any(both)],
        "jobs": _table.job_ids(),
        "running": _table.running_ids(),
        "ages": _table.ages(),
        "machine": [_procs, _max_cluster_usage],
    }


def _restore(kept: dict[str, Any]) -> None:
    """Restore the state within a period."""
    global _period_usage, _usage_before, _procs, _max_cluster_usage
    _procs, _max_cluster_usage = kept.get("machine", (0, 0))  # 0: not known yet; older states do not say
    tree = _ctld.associations
    _period_usage, _usage_before = np.zeros((2, len(tree)))
    for account, user, partition, *usage in kept["usage"]:
        one = tree.find(user, account, partition)
        if one is not None and one.partition == partition:
            _period_usage[tree.row(one)], _usage_before[tree.row(one)] = usage


def priority_p_reconfig() -> None:
    """Read the configuration again. It applies immediately, with the usage at the end of the last period."""
    global _shares
    _compute_deferred()
    _configure()
    _shares = None
    _table.rebuild()
    _table.recompute(_ctld.now, _ctld.associations.columns)


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
    """Update usage; update all priorities, or defer that."""
    global _period_usage, _usage_before, _shares, _next_reset, _deferred
    now = _ctld.now
    if _next_reset is not None and now >= _next_reset:
        _usage.reset(now)
        _next_reset = next_reset(_conf.reset_period, now, _ctld.utc_offset)
    _usage_before = _usage.raw.copy()
    _usage.advance(now)
    _period_usage = _usage.raw.copy()
    _shares = None
    _table.refresh()
    _deferred = now, _ctld.associations.columns
    # The order of pending jobs does not matter while none of them could start; running jobs may end meanwhile.
    if not _NOT_DEFERRED.isdisjoint(_conf.flags) or _table.order_matters(_ctld.size(_ctld.free)):
        _compute_deferred()
    else:
        _ctld.before_queue(_compute_deferred)


def _compute_deferred() -> None:
    """Compute the priorities of the last period, if they are deferred."""
    global _deferred
    if _deferred is not None:
        (now, columns), _deferred = _deferred, None
        _table.recompute(now, columns)


# ---- the API ----------------------------------------------------------------------------------------------------


def priority_p_set(last_prio: int, job_ptr: Job) -> int:
    """Give a job its priority when it is submitted, released or requeued."""
    _compute_deferred()  # as of the end of the period, and without this job
    priority = _table.compute(job_ptr)
    for record in job_ptr.records:
        _ctld.set_priority(record, _table.priority(record))
    return priority


def priority_p_set_max_cluster_usage(procs: int, half_life: int) -> int:
    """Take the size of the machine; in Slurm 2.0 the reference of usage is that of two half-lives."""
    global _procs, _max_cluster_usage, _shares
    if (procs, procs * half_life * 2) != (_procs, _max_cluster_usage):
        _compute_deferred()
        _procs, _max_cluster_usage = procs, procs * half_life * 2
        _shares = None
        _table.rebuild()  # job sizes are relative to the machine
    return SLURM_SUCCESS


def priority_p_set_assoc_usage(assoc: Association) -> None:
    """Fill in an association's shares, usage and fair-share as of the end of the last period."""
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
    """Give the factors of pending jobs; ``None`` if there are none."""
    jobs = (record for job in _ctld.jobs.values() if _is_shown(job) for record in _records(job))
    if req_msg.job_ids:
        jobs = (job for job in jobs if job.job_id in req_msg.job_ids)
    if req_msg.user_ids:
        jobs = (job for job in jobs if job.user_id in req_msg.user_ids)
    return [_table.factors(job) for job in jobs] or None


def _is_shown(job: Job) -> bool:
    """Whether ``sprio`` shows a job: not when it runs, is held, or has a begin time in the future."""
    if "V100" in _conf.flags:
        return job.state is JobState.PENDING and job.eligible_time is not None and job.priority > 1
    if job.state is not JobState.PENDING:
        return job.state is JobState.RUNNING and "CALCULATE_RUNNING" in _conf.flags
    return job.priority > 0 and (job.eligible_time is not None or "ACCRUE_ALWAYS" in _conf.flags)


def _records(job: Job) -> Sequence[Job]:
    """Give a job, or its records if it is pending in several partitions."""
    return job.records if job.records and job.state is JobState.PENDING else (job,)


def _has_priority(job: Job, running: JobState | None) -> bool:
    """Whether a job or record still has a computed priority."""
    if job.state is _PENDING:
        return job in job.records if job.whole is not job else not job.records
    return job.state is running and job.whole is job


def _is_eligible(job: Job, now: int) -> bool:
    """Whether the job's begin time had passed."""
    return job.spec.begin_time <= now


def _lowest() -> float:
    """Give the lowest priority; in Slurm 2.0 the priority 1 has a special meaning."""
    return 2.0 if "V100" in _conf.flags else 1.0


# ---- factors ----------------------------------------------------------------------------------------------------


def _fair_shares() -> FairShares:
    """Compute fair-share, unless that was done since the end of the period and since the tree last changed."""
    global _shares
    tree = _ctld.associations
    if _shares is None or len(_shares.factor) != len(tree):
        _shares = _shares_in(tree.columns)
    return _shares


def _shares_in(columns: TreeColumns) -> FairShares:
    """Compute fair-share as of the end of the last period, in a tree that may have more associations by now."""
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
    """Normalise the priority of the job's association or, if it is 0, of the nearest account above it."""
    tree = _ctld.associations
    path = tree.path(tree.row(_ctld.association_of(job))).tolist()
    priority = next((tree.associations[row].priority for row in path if tree.associations[row].priority), 0)
    return _normalised(priority, _highest[0], "NO_NORMAL_ASSOC")


def _size_factor(job: Job) -> float:
    """Compute the size of a job relative to the machine or, with PriorityFavorSmall, 1 minus that."""
    all_nodes, all_cpus = len(_ctld.nodes), _procs or 1
    nodes, cpus = max(job.spec.min_nodes, job.partition.min_nodes, 1), _ctld.cpus_of(job)
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
    """Compute the weighted factor of each TRES with a weight."""
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


#: Rows of `_Table.columns`: weighted factors in the order of summation, on which the last bits depend.
_AGE, _ASSOC, _FAIRSHARE, _SIZE, _PARTITION, _QOS, _TRES, _SITE, _NICE = range(9)


class _Table:
    """The jobs with computed priorities as columns: pending ones and, with CALCULATE_RUNNING, running ones."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []
        #: `Controller.queue_changes` when jobs were removed last, and when ages were begun.
        self._refreshed = self._aged = -1
        #: The least that one of the jobs asks for; ``None``: not known since jobs were removed.
        self._least_units: int | None = None
        self._slot: dict[Job, int] = {}
        self._columns = np.zeros((9, 64))
        #: Since when each job accrues age, Unix seconds; infinite: not yet.
        self._accrue = np.full(64, np.inf)
        #: Row of each job's association.
        self._assoc = np.zeros(64, np.int64)
        #: Priority that each job was given last; 0: not since its row was filled in.
        self._given = np.zeros(64, np.int64)
        #: Jobs that do not accrue age yet.
        self._not_eligible: list[Job] = []
        #: Jobs that held resources when their row was computed, which may differ from what they ask for.
        self._allocated: set[Job] = set()
        #: Running jobs that were removed from the table. The plugin is not told when one of them is requeued.
        self._running: list[Job] = []
        #: Whether there have been job arrays. The plugin is not told when a task is split off its array.
        self._has_arrays = False

    def job_ids(self) -> list[int]:
        """Give the ids of the jobs in the table."""
        return list(dict.fromkeys(job.job_id for job in self._jobs))

    def running_ids(self) -> list[int]:
        """Return the ids of the running jobs that were removed."""
        return [job.job_id for job in self._running]

    def ages(self) -> list[tuple[int, str, float]]:
        """Give what age adds to each priority, which was computed at some time: job, partition, points."""
        points = self._columns[_AGE, : len(self._jobs)].tolist()
        return [(job.job_id, job.partition.name, one) for job, one in zip(self._jobs, points, strict=True)]

    def add_present(self, jobs: Iterable[Job]) -> None:
        """Add the jobs whose priorities another plugin has computed."""
        for job in jobs:
            self._has_arrays |= bool(job.spec.array)
            if job.alloc:
                self._running.append(job)
            elif job.priority and not job.admin_priority:
                self.compute(job)

    def restore(self, known: Iterable[int], running: Iterable[int], ages: Iterable[tuple[int, str, float]]) -> None:
        """Add the jobs that were in the table before a restart.

        Args:
            known: Ids of these jobs.
            running: Ids of running jobs that had been removed.
            ages: What `ages` gave: like the priorities, these stay as they are until the next period.
        """
        jobs = _ctld.jobs
        self._has_arrays = any(job.spec.array for job in jobs.values())
        for job_id in known:
            if job_id in jobs:
                self.compute(jobs[job_id])
        self._running += [jobs[job_id] for job_id in running if job_id in jobs]
        slots = {(job.job_id, job.partition.name): slot for job, slot in self._slot.items()}
        for job_id, partition, points in ages:
            if (job_id, partition) in slots:
                self._columns[_AGE, slots[job_id, partition]] = points

    def compute(self, job: Job) -> int:
        """Compute the priority of a job, while it is pending in each of its partitions; give the highest."""
        return max(self._compute(record) for record in _records(job))

    def priority(self, job: Job) -> int:
        """Give the priority of a job or record as it was last computed."""
        return self._sum(self._slot[job])

    def _compute(self, job: Job) -> int:
        slot = self._slot.get(job)
        if slot is None:
            slot = self._add(job)
        self._fill_in(slot, job)
        return self._sum(slot)

    def _add(self, job: Job) -> int:
        slot = len(self._jobs)
        if slot == len(self._accrue):
            self._columns = np.concatenate((self._columns, np.zeros_like(self._columns)), axis=1)
            self._accrue = np.concatenate((self._accrue, self._accrue))
            self._assoc = np.concatenate((self._assoc, self._assoc))
            self._given = np.concatenate((self._given, self._given))
        self._jobs.append(job)
        self._slot[job] = slot
        self._has_arrays |= bool(job.spec.array)
        return slot

    def _fill_in(self, slot: int, job: Job) -> None:
        weights, tree, qos = _conf.weights, _ctld.associations, _ctld.qos_of(job)
        row = tree.row(_ctld.association_of(job))
        self._assoc[slot], self._given[slot] = row, 0
        began = job.submit_time if "ACCRUE_ALWAYS" in _conf.flags else job.eligible_time
        self._accrue[slot] = np.inf if began is None else began
        if began is None:
            self._not_eligible.append(job)
        if job.alloc:
            self._allocated.add(job)
        else:
            self._allocated.discard(job)
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
        for value in added:  # in the order of `recompute`; from Python 3.12 on sum() would be more exact
            total += value
        if "V100" in _conf.flags and not _is_eligible(self._jobs[slot], _ctld.now):
            return 1
        return int(min(max(total - nice, _lowest()), MAX_PRIORITY))

    def rebuild(self) -> None:
        """Compute all rows again after weights or the machine have changed."""
        self.refresh()
        self._not_eligible.clear()
        for slot, job in enumerate(self._jobs):
            self._fill_in(slot, job)

    def order_matters(self, free: int) -> bool:
        """Whether there are several jobs, all of them pending, and at least one would fit into so many free units."""
        if len(self._jobs) < 2:
            return False
        if self._least_units is None:
            self._least_units = min(map(_UNITS, self._jobs))
        return self._least_units <= free

    def recompute(self, now: int, tree: TreeColumns) -> None:
        """Compute the priorities of all jobs as of ``now``, which may be in the past, with the tree of that time."""
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
        priorities = np.clip(total, _lowest(), MAX_PRIORITY).astype(np.int64)
        if "V100" in _conf.flags:
            priorities[[not _is_eligible(job, now) for job in jobs]] = 1
        if "INCR_ONLY" in _conf.flags:
            priorities = np.maximum(priorities, [job.priority for job in jobs]).clip(1)
        if len(changed := (priorities != self._given[:count]).nonzero()[0]):
            self._given[changed] = priorities[changed]
            _ctld.set_priorities([jobs[slot] for slot in changed.tolist()], priorities[changed])

    def _begin_ages(self) -> None:
        """Record since when jobs accrue age that have become eligible."""
        if self._aged == (changes := _ctld.queue_changes):
            return
        self._aged = changes
        if countOf(map(_ELIGIBLE_TIME, self._not_eligible), None) == len(self._not_eligible):
            return  # thousands may wait for ever for what their partition does not allow
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
        """Remove jobs that are not pending any more. If running jobs count, compute their rows from what they hold."""
        running = _RUNNING if "CALCULATE_RUNNING" in _conf.flags else None
        changes = _ctld.queue_changes
        if running or changes != self._refreshed:
            self._refreshed, self._least_units = changes, None
            self._running = self._add_again(self._running, running)
            if running or countOf(map(_STATE, self._jobs), _PENDING) < len(self._jobs):
                self._running += self._add_again(self._remove_others(running), running)
        if self._has_arrays:
            self._add_tasks(running)
        for job in self._jobs if running else list(self._allocated):
            if (job in self._allocated) != bool(job.alloc):
                self._fill_in(self._slot[job], job)

    def _add_again(self, removed: Iterable[Job], running: JobState | None) -> list[Job]:
        """Add jobs again that were removed: requeued ones and, if running jobs count, those. Gives those that run."""
        run: list[Job] = []
        for job in removed:
            state = job.state
            if state is _PENDING or state is running:
                self.compute(job)
            elif state is _RUNNING or state is _SUSPENDED:
                run.append(job)
        return run

    def _add_tasks(self, running: JobState | None) -> None:
        """Add the tasks that have been split off their arrays, with the priorities of these."""
        for job in _ctld.jobs.values():
            counts = job.state is running or (job.state is _PENDING and job.priority)
            if job.spec.array and counts and not job.admin_priority and _records(job)[0] not in self._slot:
                self.compute(job)

    def _remove_others(self, running: JobState | None) -> Iterable[Job]:
        """Remove the jobs that have no computed priority any more; give those that have not ended."""
        slots = [slot for slot, job in enumerate(self._jobs) if not _has_priority(job, running)]
        gone = [self._jobs[slot] for slot in slots]
        for slot in reversed(slots):  # the last one takes its place
            del self._slot[self._jobs[slot]]
            moved = self._jobs.pop()
            last = len(self._jobs)
            if slot < last:
                self._jobs[slot], self._slot[moved] = moved, slot
                self._columns[:, slot] = self._columns[:, last]
                self._accrue[slot], self._assoc[slot] = self._accrue[last], self._assoc[last]
                self._given[slot] = self._given[last]
        self._allocated.difference_update(gone)
        return dict.fromkeys(job.whole for job in gone if not job.state.finished)

    def factors(self, job: Job) -> PriorityFactors:
        """Give the factors of a job as they were last computed."""
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
