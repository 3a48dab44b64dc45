"""Slurm's backfill scheduler.

Jobs are started in queue order by the engine's main pass. In addition, every ``bf_interval`` seconds, if anything has
changed, a *cycle* tests the jobs in queue order:

1. For each job the earliest start is computed: the time at which running jobs, by their expected ends, leave enough
   resources on nodes that are not reserved, for its time limit, for jobs before it. Times of reservations are multiples
   of ``bf_resolution`` seconds.
2. If that is now, the job is started. Otherwise its nodes (whole nodes, even if jobs share them) are reserved for its
   time limit, so that no later job gets them. A job that would start beyond ``bf_window`` is not planned.

So every tested job has a reservation, as in conservative backfilling, but all plans are made again in each cycle. A job
with ``--time-min`` is planned with that time; if it starts, it gets as much of its time limit as delays no reservation.
A job with several partitions is tested in each, in queue order, and its earliest plan is shown. Running jobs that can
be preempted for a job (``PreemptType``) are ignored for it: if it fits without them now, they are preempted, and its
nodes are reserved. As in Slurm a partition whose ``AllowAccounts`` or ``DenyAccounts`` exclude the job is planned for
like its others, in vain.

The options are in `rota.config.options`.

The duration of a cycle is computed from its work and not measured, so that replays are reproducible: each tested job
counts ``bf_test_time``. If that is not set, a cycle takes no time, and nothing can change in it. All tests until a
cycle yields are made at the beginning of that time. Changes during a cycle lead to another one ``bf_interval`` after
its end. ``bf_yield_rpc_cnt`` is accepted and has no effect, since there are no RPCs.

Jobs of a QOS with the flag ``NoReserve`` have a planned start but reserve nothing. Jobs below the ``MinPrioThreshold``
of their QOS or association start now or are not planned.

Where nobody reads plans, as in a replay between two samples of its history, jobs behind the last one that could start
now are not planned: that changes nothing but what is shown.

Cost of a cycle: O(jobs tested × slots), less if many jobs are of one request class: for these the search continues from
the planned start of the job before.

Over 400 lines: a built-in plugin is one file, and imports nothing but `rota.interfaces`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from rota.interfaces import SLURM_SUCCESS, JobState, NodeState, Reason
from rota.interfaces.stubs.sched import *

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from rota.interfaces import ClusterConfig, Controller, Job, NodeSpace

plugin_type = "sched/backfill"
plugin_name = "backfilling as in Slurm"
plugin_version = 100

#: Options that are whole numbers: default, least, largest. ``bf_node_space_size`` follows ``bf_max_job_test``, and
#: ``bf_max_time`` ``bf_interval``.
_NUMBERS = {
    "bf_interval": (30, -1, 10800),
    "bf_resolution": (60, 1, 3600),
    "bf_window": (1440, 1, 30 * 1440),
    "bf_max_job_test": (500, 1, 1_000_000),
    "bf_max_job_start": (0, 0, 10_000),
    "bf_max_job_part": (0, 0, 1_000_000),
    "bf_max_job_user": (0, 0, 1_000_000),
    "bf_max_job_user_part": (0, 0, 1_000_000),
    "bf_max_job_assoc": (0, 0, 1_000_000),
    "bf_max_job_array_resv": (20, 0, 1000),
    "bf_min_age_reserve": (0, 0, 30 * 86400),
    "bf_min_prio_reserve": (0, 0, 2**32 - 1),
    "bf_job_part_count_reserve": (0, 0, 100_000),
    "bf_window_linear": (0, 0, 3600),
    "bf_test_time": (0, 0, 10_000_000),
    "bf_yield_interval": (2_000_000, 1, 10_000_000),
    "bf_yield_sleep": (500_000, 1, 10_000_000),
    "bf_yield_rpc_cnt": (20, 0, 1_000_000),
}
_SOFT_LIMITS = "time_min_as_soft_limit"
_FLAGS = ("bf_busy_nodes", "bf_continue", "bf_licenses", "bf_one_resv_per_job", "bf_running_job_reserve", _SOFT_LIMITS)
#: Options with which some jobs start now or are not planned, besides bf_one_resv_per_job.
_STRICT = ("bf_min_age_reserve", "bf_min_prio_reserve", "bf_job_part_count_reserve")
# Python 3.11 takes eight times as long to find a member of an Enum as a global name.
_PENDING = JobState.PENDING
_MINUTE = 60
_SECOND = 1_000_000

#: Why cycles ended, in Slurm's words.
END_OF_QUEUE = "End of job queue"
HIT_MAX_JOB_START = "Hit bf_max_job_start"
HIT_MAX_JOB_TEST = "Hit bf_max_job_test"
HIT_TABLE_SIZE = "Hit table size limit (bf_node_space_size)"
STATE_CHANGED = "System state changed"
HIT_MAX_TIME = "Timeout (bf_max_time)"


@dataclass(slots=True)
class Statistics:
    """The statistics of cycles that ``sdiag`` shows."""

    cycles: int = 0
    #: Number of entries in the queue, of jobs tested and of slots in the plan, in the last cycle.
    last_queue_length: int = 0
    last_depth: int = 0
    last_table_size: int = 0
    jobs_started: int = 0
    exits: Counter[str] = field(default_factory=Counter)


_ctld: Controller
#: Values of the options in force, by name.
_options: dict[str, int] = {}
#: The flags that are set.
_flags: frozenset[str] = frozenset()
#: Jobs and queue records with a start planned by the last cycle.
_planned: list[Job] = []
#: Cancels the timer of the cycles.
_stop: Callable[[], None] | None = None
#: The cycle that yields, and the function that cancels its timer.
_yielding: _Cycle | None = None
_stop_yielding: Callable[[], None] | None = None
statistics = Statistics()


def init(ctld: Controller) -> int:
    """Keep the controller and begin the cycles."""
    global _ctld
    _ctld = ctld
    records = chain.from_iterable(job.records or (job,) for job in ctld.jobs.values())
    _planned[:] = [record for record in records if record.planned_start is not None]
    result = slurm_sched_p_reconfig()
    if kept := ctld.keep(_save):
        _restore_cycle(kept)
    return result


def slurm_sched_p_reconfig() -> int:
    """Read the ``bf_`` options of SchedulerParameters; a cycle that yields is ended."""
    global _options, _flags, _yielding
    config = _ctld.config
    _options = _read_numbers(config)
    _flags = frozenset(_FLAGS).intersection(config.scheduler_parameters())
    _ctld.plan_licenses(on="bf_licenses" in _flags)
    if _stop_yielding is not None:
        _stop_yielding()
    _yielding = None
    _set_timer()
    return SLURM_SUCCESS


def _read_numbers(config: ClusterConfig) -> dict[str, int]:
    numbers = {name: config.scheduler_int(name, *bounds) for name, bounds in _NUMBERS.items()}
    interval = numbers["bf_interval"]
    if interval == 0:
        raise config.error("SchedulerParameters", "bf_interval=0: write seconds, or -1 for no cycles")
    numbers["bf_max_time"] = config.scheduler_int("bf_max_time", interval if interval > 0 else 30, 1, 3600)
    numbers["bf_node_space_size"] = config.scheduler_int("bf_node_space_size", numbers["bf_max_job_test"], 2, 2_000_000)
    return numbers


def _set_timer() -> None:
    """Set the timer of the cycles, replacing an earlier one."""
    global _stop
    if _stop is not None:
        _stop()
    interval = _options["bf_interval"]
    _stop = _ctld.every(interval, _begin_cycle, only_after_change=True, quiet=True) if interval > 0 else None


def slurm_sched_p_initial_priority(last_prio: int, job_ptr: Job) -> int:
    """Forward to the priority plugin."""
    return _ctld.priority.set(last_prio, job_ptr)


def slurm_sched_p_get_conf() -> str:
    """Report the options in force."""
    return ",".join([*(f"{name}={value}" for name, value in sorted(_options.items())), *sorted(_flags)])


def cycle() -> None:
    """Make a whole cycle now, without yielding."""
    _forget_plans()
    _Cycle(test_time=0, plans_all=True).run()


def _forget_plans() -> None:
    for job in _planned:
        _ctld.plan(job, None)
    _planned.clear()


def _begin_cycle() -> None:
    """Begin a cycle, unless one is yielding."""
    if _yielding is None:
        _forget_plans()
        _continue(_Cycle(test_time=_options["bf_test_time"]))


def _continue(current: _Cycle) -> None:
    """Continue a cycle until it ends or yields."""
    current.run()
    if current.yields_until:
        _yield(current)
    elif current.state_changed():
        _set_timer()


def _yield(current: _Cycle) -> None:
    global _yielding, _stop_yielding
    _yielding = current
    _stop_yielding = _ctld.at(current.yields_until, _resume)


def _resume() -> None:
    """Continue the cycle that has yielded."""
    global _yielding
    current, _yielding = _yielding, None
    if current is not None:
        _continue(current)


def _save() -> object:
    """Give the cycle that yields, with the nodes and options for which it was begun, as JSON data."""
    if _yielding is None:
        return None
    return {"options": slurm_sched_p_get_conf(), "nodes": _node_names(), "cycle": _yielding.save()}


def _restore_cycle(kept: dict[str, Any]) -> None:
    """Restore a saved cycle that yields, unless options or nodes have changed."""
    if kept["options"] == slurm_sched_p_get_conf() and kept["nodes"] == _node_names():
        _yield(_Cycle(test_time=_options["bf_test_time"], kept=kept["cycle"]))


def _node_names() -> list[str]:
    return [node.name for node in _ctld.nodes]


def _key(job: Job) -> tuple[int, str]:
    """Give the key of a job or queue record: job id and partition name."""
    return job.job_id, job.partition.name


def _alike(job: Job) -> tuple[int, Hashable, str, str]:
    """Give a value that is equal for jobs that start alike; the first part is the duration to test them with."""
    spec, duration = job.spec, job.time_limit
    if spec.time_min:
        duration = min(spec.time_min, duration)
    return duration, _ctld.request_class(job), spec.licenses, spec.reservation


#: Functions that give the value for which each option bounds the number of jobs tested.
_WHOSE: dict[str, Callable[[Job], Hashable]] = {
    "bf_max_job_part": attrgetter("partition.name"),
    "bf_max_job_user": attrgetter("user_name"),
    "bf_max_job_user_part": attrgetter("user_name", "partition.name"),
    "bf_max_job_assoc": lambda job: _ctld.association_of(job).id,
}


def _state() -> list[object]:
    """Give the state that a cycle depends on as JSON data: queue, running jobs, and nodes that are not up."""
    waiting = [list(_key(job)) for job in _ctld.queue]
    away = [node.name for node in _ctld.nodes if node.state is not NodeState.UP]
    return [waiting, [job.job_id for job in _ctld.running], away]


#: Attributes of a cycle that are saved unchanged.
_PLAIN = ("_begun", "_length", "_depth", "_took", "_started", "_state_at_start", "_state_at_yield", "yields_until")


class _Cycle:
    """A backfill cycle.

    Args:
        test_time: Assumed duration of the test of a job, microseconds; 0: the cycle never yields.
        plans_all: Whether jobs are planned also if nobody reads their plans.
        kept: Result of `save` of a cycle to restore.
    """

    def __init__(self, *, test_time: int, plans_all: bool = False, kept: dict[str, Any] | None = None) -> None:
        self._test_time = test_time
        self._begun = _ctld.now
        queue = _ctld.planned_queue
        #: Jobs that have not been tested yet, and number of jobs at the start.
        self._left: Iterator[Job] = iter(queue)
        self._length = len(queue)
        self._depth = 0
        #: Reservations: job, start, duration and nodes.
        self._reservations: list[tuple[Job, int, int, int]] = []
        #: Duration of the cycle until it continued after yielding, and duration of the tests since, microseconds.
        self._took = self._worked = 0
        #: The state when the cycle began, if it can yield, and when it began to yield.
        self._state_at_start = _state() if test_time else None
        self._state_at_yield: list[object] | None = None
        #: When it continues after yielding, Unix seconds; 0: it does not yield.
        self.yields_until = 0
        self._read_machine()
        unused = "bf_max_job_user" if _options["bf_max_job_assoc"] else "bf_max_job_assoc"
        #: Largest number of jobs to test, the function that gives what it is for, and the numbers tested so far.
        self._bounds: list[tuple[int, Callable[[Job], Hashable], dict[Hashable, int]]] = [
            (_options[name], whose, defaultdict(int))
            for name, whose in _WHOSE.items()
            if _options[name] and name != unused
        ]
        #: Number of jobs that start or slots of the plan at which the cycle ends; 0 jobs: no bound.
        self._most_starts, self._most_slots = _options["bf_max_job_start"], _options["bf_node_space_size"]
        #: Number of reservations by partition, if there is a bound.
        self._reserved: Counter[str] = Counter()
        self._counts_reserved = _options["bf_job_part_count_reserve"] > 0
        #: Whether there can be jobs that start now or are not planned.
        self._is_strict = "bf_one_resv_per_job" in _flags or any(_options[name] for name in _STRICT)
        self._started = 0
        #: Jobs up to the last one that might start now, if those behind it need no plan; and the nodes on which that
        #: one might, -1: whatever they are, 0: that has to be found out.
        self._may_start: list[Job] | None = None
        self._start_nodes = 0
        #: Request classes of which no job can start now.
        self._not_now: set[Hashable] = set()
        if not (plans_all or test_time or self._is_strict or _ctld.plans_are_read(_options["bf_interval"])):
            self._may_start = list(queue)
        #: Names of QOS with the flag ``NoReserve``.
        self._no_reserve = {name for name, qos in _ctld.associations.qos.items() if "NoReserve" in qos.flags}
        if kept is not None:
            self._restore(**kept)
        self._last_start = self._begun + _options["bf_window"] * _MINUTE

    def save(self) -> dict[str, object]:
        """Give the cycle as JSON data, while it yields."""
        left = list(self._left)
        self._left = iter(left)
        return {
            "plain": {name: getattr(self, name) for name in _PLAIN},
            "left": list(map(_key, left)),
            "reservations": [
                [*_key(job), start, seconds, hex(nodes)] for job, start, seconds, nodes in self._reservations
            ],
            "tested": [list(tested.items()) for _, _, tested in self._bounds],
            "reserved": dict(self._reserved),
        }

    def _restore(
        self,
        plain: dict[str, Any],
        left: list[Any],
        reservations: list[Any],
        tested: list[Any],
        reserved: dict[str, int],
    ) -> None:
        for name, value in plain.items():
            setattr(self, name, value)
        known = {_key(one): one for job in _ctld.jobs.values() for one in job.records or (job,)}
        self._left = iter([known[key] for key in map(tuple, left) if key in known])
        self._reservations = [
            (known[job_id, partition], start, duration, int(nodes, 16))
            for job_id, partition, start, duration, nodes in reservations
            if (job_id, partition) in known
        ]
        for (_, _, counted), counts in zip(self._bounds, tested, strict=True):
            counted.update((tuple(key) if isinstance(key, list) else key, count) for key, count in counts)
        self._reserved.update(reserved)

    def _read_machine(self) -> None:
        """Make the node space map of the present machine."""
        self._now = _ctld.now
        self._space: NodeSpace = _ctld.node_space(
            _options["bf_resolution"],
            _options["bf_window"] * _MINUTE,
            prefer_busy="bf_busy_nodes" in _flags,
            reserve_running="bf_running_job_reserve" in _flags or "bf_licenses" in _flags,
            step=_options["bf_window_linear"],
            soft_limits=_SOFT_LIMITS in _flags,
        )
        #: Earliest start of the last job of each request class, before which others cannot start, and from when it was
        #: found; ``None``: none can.
        self._earliest: dict[Hashable, tuple[int, int] | None] = {}

    def run(self) -> None:
        """Test jobs until the cycle ends or yields."""
        reason: str | None = None
        self.yields_until = 0
        if self._state_at_yield is not None:
            if "bf_continue" not in _flags and _state() != self._state_at_yield:
                reason = STATE_CHANGED
            else:
                self._refresh()
        while reason is None:
            reason = self._test_jobs()
            if reason is None:
                self._took += self._worked + _options["bf_yield_sleep"]
                self._worked = 0
                if (yields_until := self._begun + self._took // _SECOND) > _ctld.now:
                    self._state_at_yield = _state()
                    self.yields_until = yields_until
                    return
        statistics.cycles += 1
        statistics.last_queue_length, statistics.last_depth = self._length, self._depth
        statistics.last_table_size = self._space.size
        statistics.jobs_started += self._started
        statistics.exits[reason] += 1

    def state_changed(self) -> bool:
        """Whether it has yielded, and jobs or nodes have changed since it began."""
        return self._state_at_yield is not None and _state() != self._state_at_start

    def _refresh(self) -> None:
        """Make the node space map again, with the reservations of jobs that are still pending."""
        self._read_machine()
        waiting = {_key(job): job for job in _ctld.planned_queue}
        self._left = iter([waiting[key] for key in map(_key, self._left) if key in waiting])
        for job, start, duration, nodes in self._reservations:
            if (found := waiting.get(_key(job))) is not None:
                self._space.reserve(found, start, duration, nodes)

    def _test_jobs(self) -> str | None:
        """Test jobs until the cycle ends, and give the reason; ``None``: it has to yield."""
        most, longest = _options["bf_max_job_test"], _options["bf_max_time"] * _SECOND
        yield_interval = _options["bf_yield_interval"]
        # Many jobs may be beyond the first bound: for them nothing more is called.
        bound, whose, tested = self._bounds[0] if self._bounds else (0, _key, {})
        for job in self._left:
            if self._worked >= yield_interval:
                self._left = chain((job,), self._left)
                return None
            if bound and (tested[whose(job)] >= bound or not self._may_be_tested(job)):
                continue
            if job.state is not _PENDING:
                continue
            if job.start_limits and _ctld.held_back(job) is not None:
                continue
            if self._took + self._worked >= longest:
                return HIT_MAX_TIME
            self._depth += 1
            if self._depth > most:
                return HIT_MAX_JOB_TEST
            if job.spec.deadline and _ctld.misses_deadline(job):
                self._worked += self._test_time
                continue
            if self._may_start is not None and self._is_behind_starts(job):
                continue
            if (reached := self._test_tasks(job)) is not None:
                return reached
        return END_OF_QUEUE

    def _is_behind_starts(self, job: Job) -> bool:
        """Whether neither a job nor one behind it can start now, or depends on its plan: nothing reads their plans.

        What cannot start now never can later in the cycle, as nodes are only reserved.
        """
        jobs: list[Job] = self._may_start  # type: ignore[assignment] # not asked else
        while jobs:
            last = jobs[-1]
            nodes = self._start_nodes = self._start_nodes or self._where_startable(last)
            if last is job:
                jobs.clear()
                return not nodes
            if nodes:
                return False
            jobs.pop()
        return True

    def _where_startable(self, job: Job) -> int:
        """Give the nodes on which a job might start now; 0: it cannot; -1: it has to be planned anyway."""
        if job.state is not _PENDING:
            return 0
        if _ctld.depends_on_plan(job):
            return -1
        alike = _alike(job)
        if alike in self._not_now:
            return 0
        nodes = self._space.startable(job, alike[0])
        if not nodes:
            self._not_now.add(alike)
        return nodes

    def _may_be_tested(self, job: Job) -> bool:
        """Whether the bounds of its user, partition and association allow a job to be tested; if so, it is counted."""
        for most, whose, tested in self._bounds:
            if tested[whose(job)] >= most:
                return False
        for _, whose, tested in self._bounds:
            tested[whose(job)] += 1
        return True

    def _test_tasks(self, job: Job) -> str | None:
        """Test a job; for an array, one task after the other. Gives the reason if the cycle ends, else ``None``."""
        starts, tasks, planned = self._most_starts, job.waiting_tasks, 0
        while tasks:
            started = self._started
            if not self._test(job):
                return None
            if starts and self._started >= starts:
                return HIT_MAX_JOB_START
            if self._space.size >= self._most_slots:
                return HIT_TABLE_SIZE
            tasks -= 1
            planned += self._started == started
            if tasks and (planned >= _options["bf_max_job_array_resv"] or _ctld.held_back(job) is not None):
                return None
        return None

    def _test(self, job: Job) -> bool:
        """Start a job or plan its start; ``False``: neither."""
        self._worked += self._test_time
        now, alike = self._now, _alike(job)
        duration = alike[0]
        now_only = job.priority < job.min_priority or (self._is_strict and self._starts_now_only(job))
        known = self._earliest.get(alike, (now, now))
        if known is None or (now_only and known[0] > now):
            return False
        not_before, since = known
        found = self._space.earliest(job, duration, since, not_before=not_before, now_only=now_only)
        if found is None:
            if not now_only:  # else it may fit later
                self._earliest[alike] = None
            return False
        start, nodes, since = found
        self._earliest[alike] = start, since
        if start > now:
            return self._reserve(job, start, duration, nodes)
        opened = self._space.open_nodes(job, start, duration)
        resources = _ctld.select(job, _ctld.free, opened)  # as in Slurm, which chooses among all of them once more
        if not resources:  # it fits when others have been preempted
            _ctld.preempt(job, opened)
            return self._reserve(job, start, duration, nodes)
        refused = _ctld.start(job, resources, self._longest(job, duration, resources))
        if refused is Reason.ACCOUNT_NOT_ALLOWED:
            return self._reserve(job, start, duration, nodes)
        if refused is not None:
            return False
        self._space.started(job.whole.latest_task)
        self._start_nodes = 0
        self._started += 1
        return True

    def _starts_now_only(self, job: Job) -> bool:
        """Whether a job starts now or is not planned."""
        most = _options["bf_job_part_count_reserve"]
        since = job.submit_time if job.eligible_time is None else job.eligible_time
        return (
            self._now - since < _options["bf_min_age_reserve"]
            or job.priority < _options["bf_min_prio_reserve"]
            or bool(most and self._reserved[job.partition.name] >= most)
            or ("bf_one_resv_per_job" in _flags and job.whole.planned_start is not None)
        )

    def _reserve(self, job: Job, start: int, duration: int, nodes: int) -> bool:
        if start > self._last_start:
            return False
        reserves = not self._no_reserve or (qos := _ctld.qos_of(job)) is None or qos.name not in self._no_reserve
        if job.planned_start is None:  # else this is a later task of an array, whose next task has the plan
            held_back = _ctld.plan(job, start, nodes if reserves else 0)
            _planned.append(job)
            reserves = reserves and held_back is None
        if not reserves:
            return False
        if self._counts_reserved:
            self._reserved[job.partition.name] += 1
        self._space.reserve(job, start, duration, nodes)
        if nodes & self._start_nodes:
            self._start_nodes = 0
        if self._test_time:
            self._reservations.append((job, start, duration, nodes))
        return True

    def _longest(self, job: Job, duration: int, resources: int) -> int:
        """Give the largest time limit, from ``duration`` up to the job's, for which what it gets is not reserved.

        With ``time_min_as_soft_limit`` it is the job's.
        """
        if duration >= job.time_limit or _SOFT_LIMITS in _flags:
            return job.time_limit
        nodes = _ctld.nodes_of(resources)
        low, high = duration // _MINUTE, job.time_limit // _MINUTE
        while low < high:
            middle = (low + high + 1) // 2
            if self._space.is_open(job, self._now, middle * _MINUTE, nodes):
                low = middle
            else:
                high = middle - 1
        return max(duration, low * _MINUTE)
