"""When each waiting job starts, from many futures: the expected start, and the range that holds 80 % of the futures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.forecast.future import waiting_jobs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rota.core import Engine
    from rota.forecast.future import Outcome
    from rota.model.lines import JobLine

#: Probabilities of the ends of a range, and of the expected start between them.
EARLY, EXPECTED, LATE = 0.1, 0.5, 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """When a job is to start; of a job array with several pending tasks, the first or the last of them."""

    #: As listings show it: ``17``, ``17_[3-5]``.
    job: str
    #: ``first`` or ``last``: the task of the array; empty: it is no array, or one task is left.
    task: str
    name: str
    user: str
    partition: str
    #: Why it waits now, as Slurm says it.
    reason: str
    #: Unix seconds. ``None``: later than could be looked ahead, see `after`, or never, see `never`.
    early: int | None
    expected: int | None
    late: int | None
    #: What is not known is later than this, Unix seconds; ``None``: all is known, or never.
    after: int | None
    #: Why it never starts, as Slurm says it; empty: it starts.
    never: str


def forecasts(engine: Engine, outcomes: Sequence[Outcome], only: frozenset[str] | None = None) -> list[Forecast]:
    """Give the forecasts of the jobs that wait, in the order of the queue.

    Args:
        engine: The engine as it is now.
        outcomes: The futures.
        only: Names of the jobs and tasks, as `waiting_jobs` gives them; ``None``: all.
    """
    tasks: dict[int, list[str]] = {}
    for key, job in waiting_jobs(engine).items():
        if only is None or key in only:
            tasks.setdefault(job.job_id, []).append(key)
    found = []
    for job_id, keys in tasks.items():
        line = engine.view.line(engine.jobs[job_id])
        if len(keys) == 1:
            found.append(_forecast(line, outcomes, keys, ""))
        else:
            found += [_forecast(line, outcomes, keys, task) for task in ("first", "last")]
    return found


def _forecast(line: JobLine, outcomes: Sequence[Outcome], keys: Sequence[str], task: str) -> Forecast:
    pick = max if task == "last" else min
    starts = [pick(one.starts.get(key, math.inf) for key in keys) for one in outcomes]
    early, expected, late = (quantile(starts, part) for part in (EARLY, EXPECTED, LATE))
    reached = [one.reached for one in outcomes if one.reached is not None]
    never = ""
    if expected is None:
        never = next((one.never[key] for one in outcomes for key in keys if key in one.never), "")
    return Forecast(
        job=line.shown_id if task else keys[0],
        task=task,
        name=line.name,
        user=line.user,
        partition=line.partition,
        reason=line.reason,
        early=early,
        expected=expected,
        late=late,
        after=min(reached) if reached and late is None and not never else None,
        never=never,
    )


def quantile(starts: Iterable[float], part: float) -> int | None:
    """Give the time before which a part of the starts are; ``None``: that has not come.

    Of *n* futures the ends of a range are those at n + 1 times their probabilities: what really comes is one more.
    """
    ordered = sorted(starts)
    place = min(max(round(part * (len(ordered) + 1)) - 1, 0), len(ordered) - 1)
    return None if math.isinf(ordered[place]) else int(ordered[place])
