"""sched/easypp: EASY++, backfilling with predicted run times, for one partition.

1. A job is expected to run as long as the last two of its user on average, and never longer than its time limit, at
   which alone it is stopped. Users without two jobs that have ended get their time limits.
2. Jobs are started in queue order as long as they fit. The first that does not is the head: it gets a reservation at
   the earliest time at which it fits, by the predictions.
3. The others are tried by predicted run time, shortest first, and started where they do not delay the head.

A prediction that a job has outlived is corrected by `ctld.profile`.

Source: D. Tsafrir, Y. Etsion, D. Feitelson, "Backfilling using system-generated predictions rather than user runtime
estimates", IEEE TPDS 18(6), 2007.
"""

from collections import defaultdict, deque

from rota.interfaces import SLURM_SUCCESS, Controller, Job
from rota.interfaces.stubs.sched import *

plugin_type = "sched/easypp"
plugin_name = "EASY++"
plugin_version = 100

_ctld: Controller
#: Run times of the last two jobs of each user.
_past: dict[str, deque[int]] = defaultdict(lambda: deque(maxlen=2))
#: Predicted run times of live jobs, made when they were submitted.
_predicted: dict[int, int] = {}


def init(ctld: Controller) -> int:
    """Keep the controller, and start jobs alone."""
    global _ctld
    _ctld = ctld
    ctld.disable_main_pass()
    return SLURM_SUCCESS


def slurm_sched_p_initial_priority(last_prio: int, job_ptr: Job) -> int:
    """Predict the run time of a new job; forward to the priority plugin."""
    _predicted[job_ptr.job_id] = _predict(job_ptr)
    return _ctld.priority.set(last_prio, job_ptr)


def slurm_sched_p_freealloc(job_ptr: Job) -> int:
    """Learn from a job that ends."""
    _past[job_ptr.spec.user].append(_ctld.now - (job_ptr.start_time or 0))
    _predicted.pop(job_ptr.job_id, None)
    return SLURM_SUCCESS


def slurm_sched_p_schedule() -> int:
    """Make a pass."""
    queue = iter(_ctld.queue)
    head = next((job for job in queue if _ctld.start(job) is not None), None)
    if head is None or not _ctld.free:
        return SLURM_SUCCESS
    profile = _ctld.profile(estimate=_run_time)
    found = profile.earliest(head, _run_time(head), _ctld.now)
    if found is not None:
        _ctld.plan(head, found[0])
        profile.take(found[0], found[0] + _run_time(head), found[1])
    for job in sorted(queue, key=_run_time):
        found = profile.earliest(job, _run_time(job), _ctld.now, before=_ctld.now + 1)
        if found is not None and _ctld.start(job, found[1]) is None:
            profile.take(_ctld.now, _ctld.now + _run_time(job), found[1])
    return SLURM_SUCCESS


def _predict(job: Job) -> int:
    past = _past[job.spec.user]
    return max(min(sum(past) // 2, job.time_limit), 1) if len(past) == 2 else job.time_limit


def _run_time(job: Job) -> int:
    """Give the prediction; a task of an array has that of the whole."""
    if job.job_id not in _predicted:
        _predicted[job.job_id] = _predict(job)
    return _predicted[job.job_id]
