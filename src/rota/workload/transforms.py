"""Transforms of a workload: another year of the same users, more jobs in the same time, fewer of them, better limits.

They are made in the order of `Transform`'s fields. What is drawn depends on the seed alone: the same seed always gives
the same workload, and of two shares the smaller one draws some of the jobs of the larger one, so that a row of shares
differs by nothing else. Arrays are kept whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rota.model import InputError
from rota.model.array import MOST_TASKS, count_tasks
from rota.workload.fields import FIELD_NAMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.workload.workload import Workload

#: What ``--resample`` draws.
RESAMPLED = ("weeks",)
_DAY = 86400
_WEEK = 7 * _DAY
_MINUTE = 60
#: The streams of random numbers, one for each transform.
_WEEKS, _THIN, _SHORTER = range(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """What is to be made of a workload; the defaults leave it as it is.

    Raises:
        InputError: a value is out of range.
    """

    #: Keep the first share of the log's time, from 0 (excluded) to 1.
    part: float = 1.0
    #: ``weeks``: see `resample_weeks`; empty: none.
    resample: str = ""
    #: Keep this share of the jobs, from 0 (excluded) to 1: see `thin`.
    thin: float = 1.0
    #: Divide the times between submissions by this: see `scale_load`.
    load: float = 1.0
    #: Share of the jobs, from 0 to 1, that ask for shorter limits: see `shorten_limits`.
    shorter: float = 0.0
    #: Of what is drawn; at least 0.
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the values."""
        for name, least, most in (("part", 0, 1), ("thin", 0, 1), ("load", 0, np.inf)):
            if not least < getattr(self, name) <= most or getattr(self, name) == np.inf:
                upper = f" and at most {most}" if most == 1 else ""
                raise InputError(f"{getattr(self, name)} is not above 0{upper}", field=f"--{name}")
        if not 0 <= self.shorter <= 1:
            raise InputError(f"{self.shorter} is no share from 0 to 1", field="--shorter")
        if self.resample and self.resample not in RESAMPLED:
            raise InputError(f"{self.resample!r} is none of {', '.join(RESAMPLED)}", field="--resample")
        if self.seed < 0:
            raise InputError(f"{self.seed} is below 0", field="--seed")
        if self.seed and not self.draws:
            raise InputError("draws nothing: give --resample, --thin or --shorter too", field="--seed")

    @property
    def draws(self) -> bool:
        """Whether anything is drawn."""
        return bool(self.resample) or self.thin < 1 or self.shorter > 0


def transform(workload: Workload, how: Transform) -> Workload:
    """Make all transforms.

    Raises:
        InputError: no job is left, or weeks cannot be drawn.
    """
    if how == Transform() or not len(workload):
        return workload
    made = workload.whole_jobs()
    if how.part < 1:
        made = first_part(made, how.part)
    if how.resample:
        made = resample_weeks(made, how.seed)
    if how.thin < 1:
        made = thin(made, how.thin, how.seed)
    if how.load != 1:
        made = scale_load(made, how.load)
    if how.shorter > 0:
        made = shorten_limits(made, how.shorter, how.seed)
    return made


def first_part(workload: Workload, share: float) -> Workload:
    """Keep the jobs of the first share of the time from the first to the last submission."""
    submit = workload.submit_time
    return workload.take(submit <= submit.min() + share * (submit.max() - submit.min()))


def resample_weeks(workload: Workload, seed: int) -> Workload:
    """Draw as many weeks of submissions as there are, with replacement, and put them one after the other.

    Each job keeps its day of the week and its time of the day, and what users did within a week stays together. Jobs
    are numbered anew. A last week of which more than a day is missing is left out. (Zakay and Feitelson, Workload
    Resampling for Performance Evaluation of Parallel Job Schedulers, 2014; Feitelson, Resampling with Feedback, 2016.)

    Raises:
        InputError: there are fewer than two weeks, or jobs name others that they depend on.
    """
    if workload.carried:
        raise InputError("what ran at --from cannot be drawn: leave out one of the two", field="--resample")
    if any(one.dependency for one in workload.requests or ()):
        raise InputError("jobs depend on others (--dependency), which may not be drawn", field="--resample")
    ordered = workload.take(np.argsort(workload.submit_time, kind="stable"))
    submit = ordered.submit_time - ordered.submit_time[0]
    count = int(submit[-1] + _DAY) // _WEEK
    if count < 2:
        raise InputError(
            "the log has fewer than two whole weeks to draw from", path=workload.source, field="--resample"
        )
    edges = np.searchsorted(submit, np.arange(count + 1) * _WEEK)
    drawn = np.random.default_rng((seed, _WEEKS)).integers(0, count, count)
    weeks = [np.arange(edges[week], edges[week + 1]) for week in drawn]
    rows = np.concatenate(weeks)
    if not len(rows):
        raise InputError("all weeks that were drawn are empty: take another seed", field="--resample")
    begins = np.cumsum([1, *map(len, weeks)]).tolist()
    preceding = [
        _renumbered(ordered.job_number[mine], ordered.preceding_job[mine], first)
        for mine, first in zip(weeks, begins[:-1], strict=True)
    ]
    columns = {name: getattr(ordered, name)[rows] for name in ("line", *FIELD_NAMES)}
    columns |= {"job_number": np.arange(1, len(rows) + 1), "preceding_job": np.concatenate(preceding)}
    requests = None if ordered.requests is None else tuple(ordered.requests[row] for row in rows.tolist())
    moved = np.repeat((np.arange(count) - drawn) * _WEEK, [len(mine) for mine in weeks])
    made = replace(ordered, requests=requests, nodes=None, **columns)
    return _submitted(made, made.submit_time + moved)


def thin(workload: Workload, share: float, seed: int) -> Workload:
    """Keep a share of the jobs, drawn without replacement, at least one. Days and weeks keep their shape."""
    return workload.take(_drawn(workload, share, (seed, _THIN), least=1))


def scale_load(workload: Workload, factor: float) -> Workload:
    """Divide the times between submissions by a factor: the same jobs come in less time, or in more.

    A day is then shorter than a day. To have less load, `thin` leaves the days as they are.
    """
    first = workload.submit_time.min()
    return _submitted(workload, first + np.rint((workload.submit_time - first) / factor).astype(np.int64))


def shorten_limits(workload: Workload, share: float, seed: int) -> Workload:
    """Have a share of the jobs ask for what they need: their run time and a fifth of it, in whole minutes.

    A job that asked for less keeps its limit, and so does one whose run time is not known.
    """
    run, asked = workload.run_time, workload.requested_time
    needed = np.maximum(-(-run * 6 // (5 * _MINUTE)), 1) * _MINUTE
    changes = _drawn(workload, share, (seed, _SHORTER)) & (run >= 0) & (asked > needed)
    return workload.with_columns(requested_time=np.where(changes, needed, asked))


def _submitted(workload: Workload, submit: NDArray[np.int64]) -> Workload:
    """Submit jobs at other times. What they ask for at a time, ``--begin`` and ``--deadline``, moves with them."""
    requests = workload.requests
    if requests is not None:
        moved = (submit - workload.submit_time).tolist()
        requests = tuple(
            one._replace(begin_time=one.begin_time and one.begin_time + by, deadline=one.deadline and one.deadline + by)
            for one, by in zip(requests, moved, strict=True)
        )
    return replace(workload, submit_time=submit, requests=requests)


def _drawn(workload: Workload, share: float, stream: tuple[int, int], *, least: int = 0) -> NDArray[np.bool_]:
    """Draw a share of the jobs. Those of a smaller share are among those of a larger one."""
    units = _units(workload)
    count = int(units[-1]) + 1
    rank = np.random.default_rng(stream).permutation(count)
    chosen: NDArray[np.bool_] = rank < max(round(share * count), least)
    return chosen[units]


def _units(workload: Workload) -> NDArray[np.intp]:
    """Number the jobs from 0, with one number for all tasks of an array."""
    count = len(workload)
    if workload.requests is None:
        return np.arange(count)
    units, row, unit = np.zeros(count, np.intp), 0, 0
    while row < count:
        array = workload.requests[row].array
        tasks = count_tasks(array, MOST_TASKS)
        units[row : row + tasks] = unit
        row, unit = row + tasks, unit + 1
    return units


def _renumbered(numbers: NDArray[np.int64], preceding: NDArray[np.int64], first: int) -> NDArray[np.int64]:
    """Give the new numbers of preceding jobs, -1 for those that are not among these jobs."""
    new = {number: first + place for place, number in enumerate(numbers.tolist())}
    return np.array([new.get(one, -1) for one in preceding.tolist()], np.int64)
