"""Promises kept: planned starts against actual ones, over all recorded plans and the jobs that started in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.results.plan_history import PlanHistory
    from rota.results.schedule import Schedule

#: A start within so many seconds of the planned one is as planned.
TOLERANCE = 60
#: Upper limits, in seconds, of how far ahead a start was planned.
_LEADS = ((600, "≤ 10 min"), (3600, "10 min – 1 h"), (6 * 3600, "1 – 6 h"), (86400, "6 – 24 h"))
_FURTHER = "> 24 h"
_ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseRow:
    """Planned starts, each counted in every plan in which it is. Shares are from 0 to 1, changes in seconds."""

    #: How far ahead they were planned.
    label: str
    planned: int
    jobs: int
    #: Shares of those that started at most `TOLERANCE` from the planned start, earlier, and later.
    kept: float
    earlier: float
    later: float
    #: Actual minus planned start: median, and the 5th and the 95th percentile.
    median: float
    low: float
    high: float


def promises(schedule: Schedule, history: PlanHistory | None) -> list[PromiseRow]:
    """Give a row for each distance, then one for all; empty if nothing was planned ahead."""
    if history is None:
        return []
    start = dict(zip(schedule.job_id.tolist(), schedule.start.tolist(), strict=True))
    found = [
        (job.job_id, job.start - plan.time, start[job.job_id] - job.start)
        for plan in history.plans
        for job in plan.planned
        if job.start > plan.time and start.get(job.job_id, -1) >= 0
    ]
    if not found:
        return []
    jobs, lead, change = np.array(found, np.int64).T
    place = np.searchsorted(np.array([limit for limit, _ in _LEADS]), lead)
    labels = [*(label for _, label in _LEADS), _FURTHER]
    rows = [_row(label, jobs[place == i], change[place == i]) for i, label in enumerate(labels) if (place == i).any()]
    return [*rows, _row(_ALL, jobs, change)]


def _row(label: str, jobs: NDArray[np.int64], change: NDArray[np.int64]) -> PromiseRow:
    low, median, high = np.quantile(change, (0.05, 0.5, 0.95)).tolist()
    return PromiseRow(
        label=label,
        planned=len(change),
        jobs=len(np.unique(jobs)),
        kept=float((np.abs(change) <= TOLERANCE).mean()),
        earlier=float((change < -TOLERANCE).mean()),
        later=float((change > TOLERANCE).mean()),
        median=median,
        low=low,
        high=high,
    )
