"""Conservative backfilling: every job has a reservation, and no later job may disturb it.

Rules:

1. A new job gets a reservation: the earliest slot in the availability profile that is as long as its time limit.
2. It starts at the begin of its reservation.
3. When a job ends, the rest of its slot is freed. Then the schedule is compressed: every pending job with a later
   reservation, in queue order, gets the earliest slot from now on if it is earlier than its own. (This is also done if
   the job ended at its time limit, as one round can leave a hole for a job earlier in the queue.)
4. With ``PreemptType``, running jobs are preempted for the first pending job of each partition, if it fits without
   them. Until they have ended, no job behind it starts on nodes of its partition, and the schedule is made again.

Hence no job starts later than its first reservation, unless it is preempted. If the plan becomes invalid (nodes go down
or up, jobs are held or cancelled, priorities change), reservations are made again or freed, and the guarantee holds
from then on.

Cost, for q pending jobs and n steps in the profile: O(n) for a new job, O(q n) for an early end.

Source: A. Mu'alem, D. Feitelson, "Utilization, predictability, workloads, and user runtime estimates in scheduling
the IBM SP2 with backfilling", IEEE TPDS 12(6), 2001.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.interfaces import SLURM_SUCCESS, JobState
from rota.interfaces.stubs.sched import *

if TYPE_CHECKING:
    from rota.interfaces import Controller, Job, Profile

plugin_type = "sched/conservative"
plugin_name = "conservative backfilling"
plugin_version = 100


class _Slot(NamedTuple):
    """A resource set from ``start`` to before ``end``, Unix seconds."""

    start: int
    end: int
    resources: int


_ctld: Controller
#: Whether running jobs may be preempted.
_preempts = False
#: The availability profile without running jobs and reservations; ``None``: it has to be made again.
_profile: Profile | None = None
#: Reservations of pending jobs and slots of running jobs, by job id. Both are taken from the profile.
_reserved: dict[int, _Slot] = {}
_running: dict[int, _Slot] = {}
#: The job or queue record that has the reservation, by job id.
_record: dict[int, Job] = {}
#: Heap of (start, job id) of reservations, of which some are stale.
_starts: list[tuple[int, int]] = []
#: Number of slots and reservations freed since the last pass: largest number of rounds of compression.
_rounds = 0
#: Resource set that was up when the profile was made.
_up = 0
#: Time after all reservations.
_FOREVER = 2**62
#: Future times for which a timer is set.
_timers: set[int] = set()


def init(ctld: Controller) -> int:
    """Keep the controller and take over the passes."""
    global _ctld
    _ctld = ctld
    ctld.disable_main_pass()
    slurm_sched_p_reconfig()
    if kept := ctld.keep(_save):
        for time in kept["timers"]:
            if time > ctld.now:
                _timers.add(time)
                ctld.at(time, _wake)
        if kept["plan"] is not None:
            _restore(**kept["plan"])
    return SLURM_SUCCESS


def slurm_sched_p_reconfig() -> int:
    """Read ``PreemptType``."""
    global _preempts
    _preempts = _ctld.config.get("PreemptType", "preempt/none") != "preempt/none"
    return SLURM_SUCCESS


def _save() -> object:
    """Give the plan, if it is valid, and the times of timers as JSON data."""
    return {"timers": sorted(_timers), "plan": None if _profile is None or _ctld.up != _up else _plan(_profile)}


def _plan(profile: Profile) -> object:
    running = [[job_id, *_plain(slot)] for job_id, slot in _running.items()]
    kept = [job_id for job_id, record in _record.items() if _is_current(record)]
    reserved = [[job_id, _record[job_id].partition.name, *_plain(_reserved[job_id])] for job_id in kept]
    rounds = _rounds + len(_reserved) - len(kept)  # the next pass would free the others
    return {"running": running, "reserved": reserved, "rounds": rounds, "corrections": _corrections(profile)}


def _is_current(record: Job) -> bool:
    """Whether a job is live, and still has the queue record with the reservation."""
    job = _ctld.jobs.get(record.job_id)
    return job is not None and job.in_partition(record.partition.name) is record


def _plain(slot: _Slot) -> list[object]:
    return [slot.start, slot.end, _ctld.by_node(slot.resources)]


def _corrections(profile: Profile) -> list[object]:
    """Give the differences of a profile from one made again with the present slots and reservations, as JSON data.

    There are differences if a job is running after its slot, and an advance reservation was planned around it. Each is
    begin and end, the resources that are free only in this profile, and those that are free only in the new one.
    """
    other = _ctld.profile()
    _take_slots(other, _running)
    for slot in _reserved.values():
        other.take_what_is_free(*slot)
    profile.advance(_ctld.now)
    found: list[object] = []
    have, want = dict(other.steps()), dict(profile.steps())
    times, before, after = sorted(have.keys() | want.keys()), 0, 0
    for start, end in zip(times, [*times[1:], _FOREVER], strict=True):
        before, after = have.get(start, before), want.get(start, after)
        common = _ctld.common(before, after)
        if before != after:
            found.append([start, end, _ctld.by_node(after - common), _ctld.by_node(before - common)])
    return found


def _take_slots(profile: Profile, slots: dict[int, _Slot]) -> None:
    """Change a profile so that running jobs end at the ends of their slots."""
    for job_id, slot in slots.items():
        end = _ctld.jobs[job_id].end_time or slot.end
        if slot.end > end:
            profile.take_what_is_free(end, slot.end, slot.resources)
        elif slot.end < end:
            profile.give(slot.end, end, slot.resources)


def _restore(running: list[Any], reserved: list[Any], rounds: int, corrections: list[Any]) -> None:
    """Restore a saved plan, unless jobs or machine have changed."""
    global _profile, _rounds, _up
    jobs = _ctld.jobs
    try:
        slots = {job_id: _Slot(start, end, _ctld.from_nodes(held)) for job_id, start, end, held in running}
        kept_slots = {
            (job_id, partition): _Slot(start, end, _ctld.from_nodes(held))
            for job_id, partition, start, end, held in reserved
        }
        others = [
            (start, end, _ctld.from_nodes(given), _ctld.from_nodes(taken)) for start, end, given, taken in corrections
        ]
    except ValueError:
        return
    if not slots.keys() | {job_id for job_id, _ in kept_slots} <= jobs.keys():
        return
    profile = _ctld.profile()
    _take_slots(profile, slots)
    for (job_id, partition), slot in kept_slots.items():
        _record[job_id] = jobs[job_id].in_partition(partition)
        _reserved[job_id] = slot
        profile.take_what_is_free(*slot)
        heappush(_starts, (slot.start, job_id))
    for start, end, given, taken in others:
        profile.take(start, end, taken)
        profile.give(start, end, given)
    _running.update(slots)
    _profile, _rounds, _up = profile, rounds, _ctld.up
    _set_timer()


def slurm_sched_p_initial_priority(last_prio: int, job_ptr: Job) -> int:
    """Forward to the priority plugin."""
    return _ctld.priority.set(last_prio, job_ptr)


def slurm_sched_p_newalloc(job_ptr: Job) -> int:
    """Turn the job's reservation into its slot. A start that was not planned makes the plan invalid."""
    global _profile
    # A task that is split off when it starts has the reservation of its array.
    job_id = job_ptr.job_id if job_ptr.job_id in _reserved else job_ptr.array_job_id
    slot = _reserved.pop(job_id, None)
    _record.pop(job_id, None)
    if slot is None or slot.start != _ctld.now or slot.resources != job_ptr.alloc:
        _profile = None
    else:
        _running[job_ptr.job_id] = slot
    return SLURM_SUCCESS


def slurm_sched_p_freealloc(job_ptr: Job) -> int:
    """Free the rest of the job's slot."""
    slot = _running.pop(job_ptr.job_id, None)
    if slot is not None:
        _release(slot)
    return SLURM_SUCCESS


def slurm_sched_p_partition_change() -> None:
    """Make the plan again, as it is for the former machine and advance reservations."""
    global _profile
    _profile = None


def slurm_sched_p_schedule() -> int:
    """Update the plan, then start the jobs whose reservations have begun."""
    now = _ctld.now
    if _profile is None or _ctld.up != _up:
        _replan()
    else:
        _profile.advance(now)
        new_jobs = _ctld.new_jobs
        if new_jobs is None:
            _drop_stale()
            new_jobs = _ctld.queue
        new = {job.job_id for job in new_jobs} - _reserved.keys()
        for job in new_jobs:
            if job.job_id in new:
                _reserve(_profile, job, now)
        _compress(_profile, now)
    heads = _preempt(now) if _preempts else []
    _start_due(now, heads)
    for job in _ctld.queue:
        if job.spec.reservation:  # advance reservations are not in the profile
            _ctld.start(job)
    _set_timer()
    return SLURM_SUCCESS


def _replan() -> None:
    """Make the profile and all reservations again."""
    global _profile, _rounds, _up
    now = _ctld.now
    _profile = _ctld.profile()
    _up, _rounds = _ctld.up, 0
    _running.clear()
    for job in _ctld.running:
        _running[job.job_id] = _Slot(now, job.end_time or now, _ctld.common(job.alloc, _up))
    _reserved.clear()
    _record.clear()
    for job in _ctld.queue:
        _reserve(_profile, job, now)


def _drop_stale() -> None:
    """Free the reservations of jobs and queue records that are no longer in the queue."""
    if len(_reserved) > 0:
        waiting = set(map(id, _ctld.queue))
        for job_id in [job_id for job_id, record in _record.items() if id(record) not in waiting]:
            _release(_reserved.pop(job_id))
            del _record[job_id]


def _release(slot: _Slot) -> None:
    global _rounds
    now = _ctld.now
    if _profile is not None and slot.end > now:
        _profile.advance(now)
        _profile.give(max(slot.start, now), slot.end, slot.resources)
    _rounds += 1


def _compress(profile: Profile, now: int) -> None:
    """Give pending jobs, in queue order, earlier slots if there are any: a round for each slot freed."""
    global _rounds
    moved = True
    while _rounds and moved:
        _rounds -= 1
        moved = False
        for job in _ctld.queue:
            slot = _reserved.get(job.job_id)
            if slot is None or slot.start <= now:
                continue
            held = slot.resources if _record[job.job_id] is job else 0
            found = profile.earliest(job, job.time_limit, now, before=slot.start, held=held)
            if found is not None:
                moved = True
                profile.give(*slot)
                _take(profile, job, *found)
    _rounds = 0


def _reserve(profile: Profile, job: Job, now: int) -> None:
    """Reserve the earliest slot for a job, if it is earlier than its reservation in another partition.

    There is none if nodes that it needs are down.
    """
    slot = _reserved.get(job.job_id)
    found = profile.earliest(job, job.time_limit, now, before=None if slot is None else slot.start)
    if found is not None:
        if slot is not None:
            profile.give(*slot)
        _take(profile, job, *found)


def _take(profile: Profile, job: Job, start: int, resources: int) -> None:
    slot = _Slot(start, start + job.time_limit, resources)
    profile.take(*slot)
    before = _record.get(job.job_id, job)
    if before is not job:
        _ctld.plan(before, None)
    _reserved[job.job_id], _record[job.job_id] = slot, job
    heappush(_starts, (start, job.job_id))
    _ctld.plan(job, start, _ctld.nodes_of(resources))


def _preempt(now: int) -> list[Job]:
    """Preempt running jobs for the first job of each partition that cannot start now; give those that will fit."""
    seen: set[str] = set()
    heads = []
    for job in _ctld.queue:
        slot = _reserved.get(job.job_id)
        if job.partition.name not in seen and (slot is None or slot.start > now):
            seen.add(job.partition.name)
            if _ctld.preempt(job, job.partition.nodes):
                heads.append(job)
    return heads


def _is_behind(job: Job, heads: list[Job]) -> bool:
    """Whether a job has to leave nodes to one that waits for preempted jobs."""
    return any(job.sort_key > head.sort_key and job.partition.nodes & head.partition.nodes for head in heads)


def _start_due(now: int, heads: list[Job]) -> None:
    """Start the jobs whose reservations have begun, by time and job id."""
    global _profile
    while _starts and _starts[0][0] <= now:
        start, job_id = heappop(_starts)
        slot = _reserved.get(job_id)
        if slot is None or slot.start != start:
            continue
        record = _record[job_id]
        if heads and _is_behind(record, heads):
            _profile = None
            continue
        if _ctld.held_back(record) is not None:
            del _record[job_id]
            _release(_reserved.pop(job_id))
        elif _ctld.start(record, slot.resources) is not None:
            # A running job has not ended as expected.
            _profile = None
        elif record.state is JobState.PENDING and _profile is not None:
            _reserve(_profile, record, _ctld.now)


def _set_timer() -> None:
    """Set a timer to the begin of the next reservation."""
    while _starts:
        start, job_id = _starts[0]
        slot = _reserved.get(job_id)
        if slot is not None and slot.start == start:
            if start not in _timers and start > _ctld.now:
                _timers.add(start)
                _ctld.at(start, _wake)
            return
        heappop(_starts)


def _wake() -> None:
    """Do nothing: a pass follows each timer."""
    _timers.discard(_ctld.now)
