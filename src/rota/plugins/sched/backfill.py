"""Slurm's backfill scheduler.

Jobs start in queue order by the engine's main pass. Besides, every ``bf_interval`` seconds, if anything has changed, a
*cycle* walks through the queue in order:

1. For each job the earliest time is sought at which it fits, for its time limit, on nodes that no job before it has
   reserved meanwhile, as running jobs reach their expected ends. Times of reservations are on a grid of
   ``bf_resolution`` seconds.
2. If that is now, the job starts. If not, its nodes (whole nodes, also where jobs share them) are reserved from then on
   for its time limit: no later job may have them. What would begin beyond ``bf_window`` is left for another cycle.

So every job that is tested gets a reservation, as in conservative backfilling, but the plan is made anew in each cycle.
A job with ``--time-min`` is placed by that and, if it starts, given as much of its time limit as disturbs nobody. A job
with several partitions is tested in each, in the order of the queue, and its soonest plan is shown. Running jobs that
have to give way to a job (``PreemptType``) do not count for it: if it fits without them now, they are preempted, and
its nodes are reserved meanwhile.

=========================== ============ ===============================================================================
option                      default      meaning
=========================== ============ ===============================================================================
bf_interval                 30 s         between cycles; -1: none
bf_resolution               60 s         grid of reservations
bf_window                   1440 minutes how far to plan
bf_max_job_test             500          jobs tested in a cycle
bf_max_job_start            0            jobs started in a cycle; 0: no bound, here and below
bf_max_job_part             0            jobs tested of each partition
bf_max_job_user             0            jobs tested of each user
bf_max_job_user_part        0            jobs tested of each user in each partition
bf_max_job_assoc            0            jobs tested of each association; counts instead of bf_max_job_user
bf_max_job_array_resv       20           tasks planned of each array
bf_node_space_size          500          slots in the plan, above which the cycle ends; default: bf_max_job_test
bf_min_age_reserve          0 s          jobs that have waited less start now or are not planned
bf_min_prio_reserve         0            the same for jobs of lower priority
bf_job_part_count_reserve   0            jobs planned of each partition; later ones start now or are not planned
bf_one_resv_per_job         off          a job is planned in one of its partitions only
bf_licenses                 off          licences are planned as nodes are; else jobs that wait for them are passed over
bf_busy_nodes               off          what is planned for later gets nodes in use before others of their weight
bf_running_job_reserve      off          running jobs with whole nodes hold these until their ends on the grid
bf_window_linear            0 s          running jobs that end within 30 s are taken together, then within so much more
                                         each time; 0: within twice as much. With select/linear one by one
time_min_as_soft_limit      off          a job with --time-min is expected to end after that, and has its whole time
                                         limit nevertheless
bf_test_time                0 µs         rota's own: to test a job is taken to last so long
bf_yield_interval           2,000,000 µs after tests of so long the cycle lets others have their turn
bf_yield_sleep              500,000 µs   for so long
bf_continue                 off          then it goes on, with the jobs that it has begun with, even if jobs or nodes
                                         have changed; else that ends it
bf_max_time                 bf_interval  seconds after which the cycle ends, its rests included
=========================== ============ ===============================================================================

How long a cycle takes is measured in its work, not by a clock, so that a replay is the same each time: each job that is
tested counts for ``bf_test_time``. Unless that is set, a cycle takes no time and nothing can change in the middle. What
a cycle does between two rests it does at the beginning of that time; what has changed while it lasted is looked at
``bf_interval`` after its end. ``bf_yield_rpc_cnt`` is accepted and has no effect, since no RPCs are waiting.

Jobs of a QOS with the flag ``NoReserve`` are told when they could start, and reserve nothing; those below the
``MinPrioThreshold`` of their QOS or association start now or are not planned.

Cost of a cycle: O(jobs tested × slots), less where many jobs are alike: for these the search goes on where it found a
place for the one before.

Over 400 lines: a built-in plugin is one file, and imports nothing but `rota.interfaces`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from rota.interfaces import SLURM_SUCCESS, JobState, NodeState
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
#: Those that make some jobs start now or not be planned, with bf_one_resv_per_job.
_STRICT = ("bf_min_age_reserve", "bf_min_prio_reserve", "bf_job_part_count_reserve")
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
    """What ``sdiag`` says of the cycles."""

    cycles: int = 0
    #: Of the last cycle: records in the queue, jobs tested, slots in the plan.
    last_queue_length: int = 0
    last_depth: int = 0
    last_table_size: int = 0
    jobs_started: int = 0
    exits: Counter[str] = field(default_factory=Counter)


_ctld: Controller
#: What is in force, by name.
_options: dict[str, int] = {}
#: The flags that are set.
_flags: frozenset[str] = frozenset()
#: Jobs and records that the last cycle has planned a start for.
_planned: list[Job] = []
#: Stops the cycles.
_stop: Callable[[], None] | None = None
#: The cycle that lets others have their turn, and what stops its going on.
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
    """Read the ``bf_`` options of SchedulerParameters; a cycle that rests is over."""
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
    """Make cycles from now on."""
    global _stop
    if _stop is not None:
        _stop()
    interval = _options["bf_interval"]
    _stop = _ctld.every(interval, _begin_cycle, only_after_change=True) if interval > 0 else None


def slurm_sched_p_initial_priority(last_prio: int, job_ptr: Job) -> int:
    """Forward to the priority plugin."""
    return _ctld.priority.set(last_prio, job_ptr)


def slurm_sched_p_get_conf() -> str:
    """Report the options in force."""
    return ",".join([*(f"{name}={value}" for name, value in sorted(_options.items())), *sorted(_flags)])


def cycle() -> None:
    """Plan the queue anew, and start the jobs whose planned time is now, without a rest."""
    _forget_plans()
    _Cycle(test_time=0).run()


def _forget_plans() -> None:
    for job in _planned:
        _ctld.plan(job, None)
    _planned.clear()


def _begin_cycle() -> None:
    """Begin a cycle, unless one is resting."""
    if _yielding is None:
        _forget_plans()
        _continue(_Cycle(test_time=_options["bf_test_time"]))


def _continue(current: _Cycle) -> None:
    """Go on with a cycle, until it is over or takes another rest."""
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
    """Go on with the cycle that has rested."""
    global _yielding
    current, _yielding = _yielding, None
    if current is not None:
        _continue(current)


def _save() -> object:
    """Give the cycle that rests as plain data, and for what machine and under which options it was begun."""
    if _yielding is None:
        return None
    return {"options": slurm_sched_p_get_conf(), "nodes": _node_names(), "cycle": _yielding.save()}


def _restore_cycle(kept: dict[str, Any]) -> None:
    """Have a cycle rest that did so before a restart, unless options or nodes are others."""
    if kept["options"] == slurm_sched_p_get_conf() and kept["nodes"] == _node_names():
        _yield(_Cycle(test_time=_options["bf_test_time"], kept=kept["cycle"]))


def _node_names() -> list[str]:
    return [node.name for node in _ctld.nodes]


def _key(job: Job) -> tuple[int, str]:
    """Give what a queue record is known by."""
    return job.job_id, job.partition.name


#: Whom the bounds of jobs tested are for.
_WHOSE: dict[str, Callable[[Job], Hashable]] = {
    "bf_max_job_part": attrgetter("partition.name"),
    "bf_max_job_user": attrgetter("user_name"),
    "bf_max_job_user_part": attrgetter("user_name", "partition.name"),
    "bf_max_job_assoc": lambda job: _ctld.association_of(job).id,
}


def _state() -> list[object]:
    """Give what a cycle looks at, as JSON gives it back: who waits, who runs, and which nodes are not up."""
    waiting = [list(_key(job)) for job in _ctld.queue]
    away = [node.name for node in _ctld.nodes if node.state is not NodeState.UP]
    return [waiting, [job.job_id for job in _ctld.running], away]


#: Attributes of a cycle that are saved as they are.
_PLAIN = ("_begun", "_length", "_depth", "_took", "_started", "_state_at_start", "_state_at_yield", "yields_until")


class _Cycle:
    """One walk through the queue.

    Args:
        test_time: How long a test is taken to last, microseconds. If it is 0 the cycle never rests.
        kept: What `save` gave of one that it goes on with.
    """

    def __init__(self, *, test_time: int, kept: dict[str, Any] | None = None) -> None:
        self._test_time = test_time
        self._begun = _ctld.now
        queue = _ctld.queue
        #: The jobs that are still to be tested, and how many there were.
        self._left: Iterator[Job] = iter(queue)
        self._length = len(queue)
        self._depth = 0
        #: What has been reserved: job, start, duration and nodes.
        self._reservations: list[tuple[Job, int, int, int]] = []
        #: How long the cycle had gone on after its last rest, and how long it has worked since, microseconds.
        self._took = self._worked = 0
        #: How things were when the cycle began, if it may rest, and when it began to.
        self._state_at_start = _state() if test_time else None
        self._state_at_yield: list[object] | None = None
        #: Until when it rests, Unix seconds; 0: it does not, or is over.
        self.yields_until = 0
        self._read_machine()
        unused = "bf_max_job_user" if _options["bf_max_job_assoc"] else "bf_max_job_assoc"
        #: How many jobs may be tested, of whom, and how many have been of each.
        self._bounds: list[tuple[int, Callable[[Job], Hashable], dict[Hashable, int]]] = [
            (_options[name], whose, defaultdict(int))
            for name, whose in _WHOSE.items()
            if _options[name] and name != unused
        ]
        self._reserved: Counter[str] = Counter()
        #: Whether some jobs may have to start now or not be planned.
        self._is_strict = "bf_one_resv_per_job" in _flags or any(_options[name] for name in _STRICT)
        self._started = 0
        #: QOS whose jobs reserve nothing.
        self._no_reserve = {name for name, qos in _ctld.associations.qos.items() if "NoReserve" in qos.flags}
        if kept is not None:
            self._restore(**kept)
        self._last_start = self._begun + _options["bf_window"] * _MINUTE

    def save(self) -> dict[str, object]:
        """Give it as plain data while it rests."""
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
        """Look at the machine as it is now."""
        self._now = _ctld.now
        self._space: NodeSpace = _ctld.node_space(
            _options["bf_resolution"],
            _options["bf_window"] * _MINUTE,
            prefer_busy="bf_busy_nodes" in _flags,
            reserve_running="bf_running_job_reserve" in _flags or "bf_licenses" in _flags,
            step=_options["bf_window_linear"],
            soft_limits=_SOFT_LIMITS in _flags,
        )
        #: Since when alike jobs could not have been placed: the space only becomes less. ``None``: at no time.
        self._earliest: dict[Hashable, int | None] = {}

    def run(self) -> None:
        """Test jobs until the cycle is over, or takes a rest."""
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
        """Whether it has rested, and jobs or nodes are other than when it began."""
        return self._state_at_yield is not None and _state() != self._state_at_start

    def _refresh(self) -> None:
        """Look at the machine anew, and reserve there what has been reserved for jobs that are still waiting."""
        self._read_machine()
        waiting = {_key(job): job for job in _ctld.queue}
        self._left = iter([waiting[key] for key in map(_key, self._left) if key in waiting])
        for job, start, duration, nodes in self._reservations:
            if (found := waiting.get(_key(job))) is not None:
                self._space.reserve(found, start, duration, nodes)

    def _test_jobs(self) -> str | None:
        """Test jobs until a bound is hit, or until it is time for a rest: then it gives ``None``."""
        most, longest = _options["bf_max_job_test"], _options["bf_max_time"] * _SECOND
        yield_interval = _options["bf_yield_interval"]
        for job in self._left:
            if self._worked >= yield_interval:
                self._left = chain((job,), self._left)
                return None
            if (self._bounds and not self._may_be_tested(job)) or job.state is not JobState.PENDING:
                continue
            if job.start_limits and _ctld.held_back(job) is not None:
                continue
            if self._took + self._worked >= longest:
                return HIT_MAX_TIME
            self._depth += 1
            if self._depth > most:
                return HIT_MAX_JOB_TEST
            if (bound := self._test_tasks(job)) is not None:
                return bound
        return END_OF_QUEUE

    def _may_be_tested(self, job: Job) -> bool:
        """Count the job against the bounds of its user, partition and association."""
        for most, whose, tested in self._bounds:
            if tested[whose(job)] >= most:
                return False
        for _, whose, tested in self._bounds:
            tested[whose(job)] += 1
        return True

    def _test_tasks(self, job: Job) -> str | None:
        """Test a job; of an array one task after the other. Gives the bound that is hit, ``None``: none."""
        starts, size = _options["bf_max_job_start"], _options["bf_node_space_size"]
        planned = 0
        for _ in range(job.waiting_tasks):
            started = self._started
            if not self._test(job):
                return None
            if starts and self._started >= starts:
                return HIT_MAX_JOB_START
            if self._space.size >= size:
                return HIT_TABLE_SIZE
            planned += self._started == started
            if planned >= _options["bf_max_job_array_resv"] or _ctld.held_back(job) is not None:
                return None
        return None

    def _test(self, job: Job) -> bool:
        """Start the job, or plan its start, or neither: then it gives ``False``."""
        self._worked += self._test_time
        now, duration = self._now, job.time_limit
        if job.spec.time_min:
            duration = min(job.spec.time_min, duration)
        now_only = job.priority < job.min_priority or (self._is_strict and self._starts_now_only(job))
        alike = (_ctld.request_class(job), duration, job.spec.licenses)
        after = self._earliest.get(alike, now)
        if after is None or (now_only and after > now):
            return False
        found = self._space.earliest(job, duration, after, now_only=now_only)
        if found is None:
            if not now_only:  # whoever is tested for now only may fit later
                self._earliest[alike] = None
            return False
        start, nodes = found
        self._earliest[alike] = start
        if start > now:
            return self._reserve(job, start, duration, nodes)
        resources = _ctld.select(job, _ctld.free, nodes)
        if not resources:  # it fits when others have given way
            _ctld.preempt(job, self._space.open_nodes(job, start, duration))
            return self._reserve(job, start, duration, nodes)
        if _ctld.start(job, resources, self._longest(job, duration, nodes)) is not None:
            return False
        self._space.started(job.whole.latest_task)
        self._started += 1
        return True

    def _starts_now_only(self, job: Job) -> bool:
        """Whether the job starts now or is not planned."""
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
        reserves = not (self._no_reserve and (qos := _ctld.qos_of(job)) and qos.name in self._no_reserve)
        if job.planned_start is None:  # else it is an array, and this is not its next task
            _ctld.plan(job, start, nodes if reserves else 0)
            _planned.append(job)
        if not reserves:
            return False
        self._reserved[job.partition.name] += 1
        self._space.reserve(job, start, duration, nodes)
        if self._test_time:
            self._reservations.append((job, start, duration, nodes))
        return True

    def _longest(self, job: Job, duration: int, nodes: int) -> int:
        """Give the largest time limit, from ``duration`` up to the job's, for which nobody has reserved its nodes.

        That is the job's own where ``--time-min`` is just what is expected.
        """
        if duration >= job.time_limit or _SOFT_LIMITS in _flags:
            return job.time_limit
        low, high = duration // _MINUTE, job.time_limit // _MINUTE
        while low < high:
            middle = (low + high + 1) // 2
            if self._space.is_open(job, self._now, middle * _MINUTE, nodes):
                low = middle
            else:
                high = middle - 1
        return max(duration, low * _MINUTE)
