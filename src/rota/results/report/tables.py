"""Tables of the jobs with the longest waits and largest slowdowns, and of users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.results.schedule import Schedule

#: Number of rows of a table of jobs.
TOP = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job in a table. Times are Unix seconds, durations seconds."""

    job_id: int
    user: str
    procs: int
    submit: int
    wait: int
    run: int
    time_limit: int
    bounded_slowdown: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRow:
    """The finished jobs of a user; durations in seconds."""

    user_id: int
    user: str
    jobs: int
    mean_wait: float
    median_wait: float
    mean_bounded_slowdown: float
    #: Part of all processor seconds, 0 to 1.
    share: float


def finished(schedule: Schedule) -> NDArray[np.bool_]:
    """Give a mask of the finished jobs, those to which figures refer."""
    return (schedule.start >= 0) & (schedule.end >= 0)


def longest_waits(schedule: Schedule) -> list[JobRow]:
    """Give the jobs with the longest waits, in this order."""
    return _worst(schedule, schedule.wait)


def greatest_slowdowns(schedule: Schedule) -> list[JobRow]:
    """Give the jobs with the largest bounded slowdowns, in this order."""
    return _worst(schedule, schedule.bounded_slowdown)


def users(schedule: Schedule) -> list[UserRow]:
    """Give all users with finished jobs, by descending processor hours."""
    ran = finished(schedule)
    if not ran.any():
        return []
    jobs = schedule.take(np.flatnonzero(ran))
    ids, first, who = np.unique(jobs.user_id, return_index=True, return_inverse=True)
    figures = by_group(jobs, who)
    work = figures.pop("work")
    names = np.array(jobs.user_names)[first]
    columns = {"user_id": ids, "user": names, **figures, "share": work / max(work.sum(), 1.0)}
    order = np.lexsort((ids, -work))
    rows = zip(*(column[order].tolist() for column in columns.values()), strict=True)
    return [UserRow(**dict(zip(columns, row, strict=True))) for row in rows]


def by_group(schedule: Schedule, group: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
    """Sum up finished jobs by group. Groups are numbered from 0, and none is empty.

    Returns:
        Arrays by group: ``jobs``, ``mean_wait``, ``median_wait``, ``mean_bounded_slowdown`` and ``work``, in processor
        seconds.
    """
    wait, jobs = schedule.wait, np.bincount(group)
    return {
        "jobs": jobs,
        "mean_wait": np.bincount(group, wait) / jobs,
        "median_wait": _medians(group, wait, jobs),
        "mean_bounded_slowdown": np.bincount(group, schedule.bounded_slowdown) / jobs,
        "work": np.bincount(group, (schedule.run * schedule.procs).astype(np.float64)),
    }


def _worst(schedule: Schedule, measure: NDArray[np.int64] | NDArray[np.float64]) -> list[JobRow]:
    """Give the rows with the largest measure; equal ones in workload order."""
    ran = np.flatnonzero(finished(schedule))
    chosen = ran[np.argsort(-measure[ran], kind="stable")[:TOP]]
    wait, run, slowdown = schedule.wait, schedule.run, schedule.bounded_slowdown
    names = schedule.user_names
    return [
        JobRow(
            job_id=int(schedule.job_id[i]),
            user=names[i],
            procs=int(schedule.procs[i]),
            submit=int(schedule.submit[i]),
            wait=int(wait[i]),
            run=int(run[i]),
            time_limit=int(schedule.time_limit[i]),
            bounded_slowdown=float(slowdown[i]),
        )
        for i in chosen
    ]


def _medians(group: NDArray[np.intp], values: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give the median of each group. Groups are numbered from 0, and none is empty."""
    ordered = values[np.lexsort((values, group))]
    first = np.cumsum(sizes) - sizes
    medians: NDArray[np.float64] = (ordered[first + (sizes - 1) // 2] + ordered[first + sizes // 2]) / 2
    return medians
