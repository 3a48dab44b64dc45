"""What is asked of a store: how much, when, of whom.

There is one kind of question: metrics over a time, in steps, by groups, of what passes a filter. Of many groups the
largest are told, and the sum of the others, so that nothing is missing from a total.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rota.lustre.counters import Increase
from rota.lustre.grouping import OF_TARGETS, group
from rota.lustre.measures import METRICS, Measure, Sum, measure_of
from rota.lustre.store import Part, Span, cover, finest_at, targets_of
from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rota.lustre.grouping import Grouping, Numbers
    from rota.lustre.store import Job, Look

#: Numbers that an answer may have, and the latest moment, Unix seconds.
_LARGEST, _LATEST = 4_000_000, 1 << 33
#: Steps of answers, seconds; and any number of the last.
_ROUND = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


@dataclass(frozen=True)
class Question:
    """What is asked."""

    #: Unix seconds; both are widened to whole steps.
    begin: float
    end: float
    metrics: Sequence[str] = METRICS
    #: By which field: see `rota.lustre.grouping`; empty: all together.
    group: str = ""
    #: By field, the values of which one is wanted.
    where: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: At most so many steps; 1: the whole time in one.
    points: int = 1
    #: The largest so many groups; ``None``: all.
    top: int | None = None
    #: The metric by which they are largest; empty: the first one.
    by: str = ""
    #: Whether a job of which the field is not known is called by its id, and not by nothing.
    unknown_by_id: bool = False


def filters_of(conditions: Iterable[str]) -> dict[str, frozenset[str]]:
    """Read conditions ``FIELD=VALUE``; of several with one field, one has to hold.

    Raises:
        InputError: one is not written so.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for condition in conditions:
        name, equals, value = condition.partition("=")
        if not equals or not name:
            raise InputError(f"{condition!r} is not FIELD=VALUE", field="where")
        found[name].add(value)
    return {name: frozenset(values) for name, values in found.items()}


class Answer(NamedTuple):
    """What is answered, in bytes, requests and microseconds, none of it by time.

    Means have `nan` where nothing was done.
    """

    begin: int
    end: int
    #: Seconds.
    step: int
    #: How much of each step has been read, seconds; it is less than a step at the end, and where the store begins.
    seconds: NDArray[np.int64]
    #: The groups that did something, the largest first; the empty text: jobs of which the field is not known.
    labels: list[str]
    #: By metric: a row for each label, a column for each step.
    values: dict[str, NDArray[Any]]
    #: How many more groups did something.
    more: int
    #: By metric, their sum for each step.
    others: dict[str, NDArray[Any]]
    #: By metric, the sum of all for each step.
    totals: dict[str, NDArray[Any]]


class Table(NamedTuple):
    """An answer for each target: see `Answer`."""

    begin: int
    end: int
    step: int
    seconds: NDArray[np.int64]
    labels: list[str]
    #: By metric: for each label, and then for all others together, for each target of the store, one for each step.
    values: dict[str, NDArray[Any]]


class Life(NamedTuple):
    """All that a job ever did."""

    #: Unix seconds: begin of its first step and end of its last one.
    first: int
    last: int
    #: By operation.
    operations: dict[str, Increase]


def lives_of(look: Look, jobs: Sequence[Job]) -> list[Life]:
    """Give all that jobs ever did, until the end of the last step: what is summarised, and what came since."""
    names, step = look.operations(), look.kept[0].step
    found = [look.summary(job.code) for job in jobs]
    last = [max(job.last, job.first + step) for job in jobs]
    place = {job.code: number for number, job in enumerate(jobs)}
    codes = np.array(sorted(place), dtype=np.int64)
    for start, segment in look.segments([Span(step, look.kept[1].high, look.until)], Part.BY_JOB, codes):
        rows = np.flatnonzero(np.isin(segment.jobs, codes))
        columns = (segment.jobs, segment.operations, segment.samples, segment.totals)
        for job, operation, samples, total in zip(*(column[rows].tolist() for column in columns), strict=True):
            done = found[place[job]]
            before = done.get(operation, (0, 0))
            done[operation] = (before[0] + samples, before[1] + total)
            last[place[job]] = max(last[place[job]], start + step)
    return [
        Life(job.first, end, {names[operation]: Increase(*of) for operation, of in done.items()})
        for job, done, end in zip(jobs, found, last, strict=True)
    ]


def ask(look: Look, question: Question) -> Answer:
    """Answer a question.

    Raises:
        InputError: there is no such metric, or too much is asked for.
    """
    return _Asked(look, question).answer()


def ask_by_target(look: Look, question: Question) -> Table:
    """Answer a question for each target; with fewer steps than it allows, if the answer would be too large.

    Raises:
        InputError: there is no such metric.
    """
    return _Asked(look, question).table()


def _steps(tiers: Sequence[int]) -> Iterator[int]:
    """Give the steps that an answer may have: round ones that are whole steps of all shorter tiers."""
    for step in chain(_ROUND, count(2 * _ROUND[-1], _ROUND[-1])):
        if all(step % tier == 0 for tier in tiers if tier <= step):
            yield step


class _Sums(NamedTuple):
    """Numbers by sum: a row for each group, a column for each step; or between them one for each target."""

    by_sum: dict[Sum, Numbers]

    def of(self, measure: Measure) -> NDArray[Any]:
        """Give the numbers of a metric."""
        numbers = self.by_sum[measure.sum]
        if measure.by is None:
            return numbers
        by = self.by_sum[measure.by]
        means: NDArray[Any] = np.divide(numbers, by, out=np.full(numbers.shape, np.nan), where=by > 0)
        return means

    def ordered(self, order: Numbers) -> _Sums:
        """Give the groups of an order in that order, and all others as one more."""
        chosen = {one: numbers[order] for one, numbers in self.by_sum.items()}
        others = {one: numbers.sum(axis=0) - chosen[one].sum(axis=0) for one, numbers in self.by_sum.items()}
        return _Sums({one: np.concatenate((numbers, others[one][None])) for one, numbers in chosen.items()})

    def over_time(self) -> _Sums:
        """Put all steps together."""
        return _Sums({one: numbers.sum(axis=1, keepdims=True) for one, numbers in self.by_sum.items()})

    def together(self) -> _Sums:
        """Put all groups together."""
        return _Sums({one: numbers.sum(axis=0, keepdims=True) for one, numbers in self.by_sum.items()})


class _Asked:
    """A question that is being answered."""

    def __init__(self, look: Look, question: Question) -> None:
        self._look = look
        self._question = question
        operations = look.operations()
        self._measures = {name: measure_of(name, operations) for name in question.metrics}
        self._by = measure_of(question.by or question.metrics[0], operations)
        measures = (*self._measures.values(), self._by)
        self._sums = list(dict.fromkeys(one for measure in measures for one in measure if one is not None))
        self._begin, self._end, self._step = self._time()

    def _time(self) -> tuple[int, int, int]:
        """Give the time in whole steps, and how long these are."""
        asked, steps = self._question, [one.step for one in self._look.kept]
        if not 0 <= asked.begin < asked.end < _LATEST:
            raise InputError("the time must end after it begins, and not be before 1970", field="begin")
        finest = finest_at(self._look.kept, asked.begin)
        while True:
            begin, end = math.floor(asked.begin / finest) * finest, math.ceil(asked.end / finest) * finest
            if asked.points == 1:
                return begin, end, end - begin
            step = next(
                one
                for one in _steps(steps)
                if one >= finest and math.ceil(end / one) - math.floor(begin / one) <= asked.points
            )
            begin, end = begin // step * step, -(-end // step) * step
            if (needed := finest_at(self._look.kept, begin)) <= finest:
                return begin, end, step
            finest = needed  # whole steps begin where there are coarser ones only

    def answer(self) -> Answer:
        """Answer."""
        ordered, busy, sums = self._groups(self._step)
        points = (self._end - self._begin) // self._step
        if ordered.size * points * len(self._sums) > _LARGEST:
            text = f"{ordered.size:,} groups in {points:,} steps are too much: ask for fewer"
            raise InputError(text, field="points")
        if sums is None:
            sums = self._add_up(ordered, self._step)
        found = {name: sums.of(measure) for name, measure in self._measures.items()}
        together = sums.together()
        return Answer(
            self._begin,
            self._end,
            self._step,
            self._seconds(),
            [ordered.label(number) for number in range(ordered.size - 1)],
            {name: numbers[:-1] for name, numbers in found.items()},
            busy - ordered.size + 1,
            {name: numbers[-1] for name, numbers in found.items()},
            {name: together.of(measure)[0] for name, measure in self._measures.items()},
        )

    def table(self) -> Table:
        """Answer for each target."""
        ordered, _, _ = self._groups(self._end - self._begin)
        targets = len(self._look.targets())
        room = _LARGEST // max(ordered.size * targets * len(self._sums), 1)
        self._question = replace(self._question, points=max(min(self._question.points, room), 1))
        self._begin, self._end, self._step = self._time()
        sums = self._add_up(ordered, self._step, targets)
        return Table(
            self._begin,
            self._end,
            self._step,
            self._seconds(),
            [ordered.label(number) for number in range(ordered.size - 1)],
            {name: sums.of(measure) for name, measure in self._measures.items()},
        )

    def _groups(self, step: int) -> tuple[Grouping, int, _Sums | None]:
        """Give the largest groups in their order, how many did something, and their sums in steps.

        There are no sums if nothing is grouped, or if all groups together are too many for such steps.
        """
        asked, whole = self._question, self._end - self._begin
        operations = {operation for one in self._sums for operation in one.operations}
        jobs = (rows for _, _, rows in self._look.rows(self._spans(whole), Part.BY_JOB, operations))
        found = group(self._look, asked.group, asked.where, jobs, unknown_by_id=asked.unknown_by_id)
        if not asked.group:
            return found.ordered(np.zeros(1, dtype=np.int64)), 1, None
        if found.size * (whole // step) * len(self._sums) > _LARGEST:
            step = whole
        sums = self._add_up(found, step)
        over_time = sums.over_time()
        size = np.nan_to_num(over_time.of(self._by)[:, 0])
        busy = np.any([numbers[:, 0] != 0 for numbers in over_time.by_sum.values()], axis=0)
        order = np.argsort(-size, kind="stable")
        order = order[busy[order]]
        shown = order[: asked.top]
        return found.ordered(shown), len(order), sums.ordered(shown) if step == self._step else None

    def _seconds(self) -> Numbers:
        starts = np.arange(self._begin, self._end, self._step)
        ends = np.minimum(starts + self._step, self._look.until)
        read = ends - np.maximum(starts, self._look.begun)
        return np.where(read > 0, read, self._step)

    def _spans(self, step: int) -> Iterator[Span]:
        return cover(self._look.kept, self._begin, self._end, step)

    def _part(self, *, by_target: bool) -> Part:
        """Choose the smallest part that has all that is asked for."""
        fields = {self._question.group, *self._question.where} - {"", "operation"}
        if fields.issubset(OF_TARGETS):
            return Part.BY_TARGET
        return Part.BY_JOB if fields.isdisjoint(OF_TARGETS) and not by_target else Part.WHOLE

    def _add_up(self, grouping: Grouping, step: int, targets: int = 0) -> _Sums:
        """Add up by group and step and, if their number is given, by target."""
        points, parts = (self._end - self._begin) // step, targets or 1
        sums = {one: np.zeros(grouping.size * parts * points, dtype=np.int64) for one in self._sums}
        wanted = {
            operation for one in self._sums for operation in one.operations if grouping.operations[operation] >= 0
        }
        part = self._part(by_target=bool(targets))
        jobs = None if grouping.jobs is None else np.flatnonzero(grouping.jobs >= 0)
        for start, operation, rows in self._look.rows(self._spans(step), part, wanted, jobs):
            there, at = grouping.of(operation, rows)
            if targets:
                at = at * targets + targets_of(rows.keys[there])
            at = at * points + (start - self._begin) // step
            for one in self._sums:
                if operation in one.operations:
                    np.add.at(sums[one], at, getattr(rows, one.column)[there])
        shape = (grouping.size, targets, points) if targets else (grouping.size, points)
        return _Sums({one: numbers.reshape(shape) for one, numbers in sums.items()})
