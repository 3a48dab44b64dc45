"""The saved state of an engine, as if it had come to be at an earlier time.

A wall clock that was years ahead has taken the cluster along. It can go back while no job has resources:

- What is said to have happened later than the new time has happened just then.
- Jobs that were submitted later keep their distances: how long they have waited, and how long until they may begin.
- Reservations, and begin times of jobs that were submitted before, were meant as they are.
"""

from __future__ import annotations

from typing import Any

#: Times of a job that tell what has happened to it.
_OF_JOB = ("submit_time", "eligible_time", "end_time", "charged_since")
#: Times of its request.
_OF_SPEC = ("begin_time", "deadline")


def set_back(saved: dict[str, Any], now: int) -> dict[str, Any]:
    """Give a state at an earlier time.

    Args:
        saved: What `rota.core.snapshot.save` gave; it is changed. No job has resources.
        now: The time, Unix seconds.
    """
    ahead = saved["now"] - now
    if ahead <= 0:
        return saved
    moved = {job["job_id"] for job in saved["jobs"] if job["submit_time"] > now}
    for job in saved["jobs"]:
        _set_job_back(job, now, ahead if job["job_id"] in moved else 0)
    kept = {job["job_id"] for job in saved["jobs"]} - moved
    timers = saved["timers"]
    timers["due"] = [[_due(time, plain, ahead, kept), *plain] for time, *plain in timers["due"]]
    usage = saved["accounts"]["usage"]
    if usage is not None:
        usage["last_ran"], usage["last_reset"] = min(usage["last_ran"], now), min(usage["last_reset"], now)
    saved["ended"] = [
        [key, state, *(None if time is None else min(time, now) for time in times), is_array]
        for key, state, *times, is_array in saved["ended"]
    ]
    for node in saved["nodes"]:
        if "reason_time" in node:
            node["reason_time"] = min(node["reason_time"], now)
    _, queue_was_empty, _ = saved["passes"]
    saved["passes"] = [True, queue_was_empty, None]
    saved["now"], saved["boot_time"] = now, min(saved["boot_time"], now)
    return saved


def _set_job_back(job: dict[str, Any], now: int, ahead: int) -> None:
    for name in _OF_JOB:
        if job[name]:
            job[name] = min(job[name] - ahead, now)
    for name in _OF_SPEC:
        if job["spec"].get(name):
            job["spec"][name] -= ahead
    switches, waits_since = job["switches"]
    job["switches"] = [switches, None if waits_since is None else min(waits_since, now)]
    for record in (job, *job["records"]):
        record["planned_start"] = None


def _due(time: int, timer: list[Any], ahead: int, kept: set[int]) -> int:
    """Give when a saved timer is due: its kind, its job, the run and its name."""
    kind, job_id, _, _ = timer
    return time if kind == "reservation" or job_id in kept else time - ahead
