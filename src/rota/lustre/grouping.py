"""Which rows of a segment are wanted, and to which group each belongs: by its operation, its target or its job."""

from __future__ import annotations

import re
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rota.lustre.store import jobs_of, places_of, targets_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rota.lustre.store import Look, Packed

    Numbers = NDArray[np.int64]

#: Fields of targets.
OF_TARGETS = ("target", "kind", "filesystem")
#: Fields of what was done; all others are of the job that did it.
PLACES = ("operation", *OF_TARGETS)
#: Fields that are the job's id: in our words, and in those of Integrated Manager for Lustre.
JOB = ("job", "id")
#: So many jobs are looked up in the rows, and not the rows among more jobs.
_FEW = 32
_TARGET = re.compile(r"(?P<filesystem>.+)-(?P<kind>OST|MDT)[0-9a-fA-F]{4}")


def place_of(target: str, field: str) -> str:
    """Give a target's name, ``kind`` (``OST`` or ``MDT``) or ``filesystem``; empty if its name does not say."""
    if field == "target":
        return target
    found = _TARGET.fullmatch(target)
    return found[field] if found is not None else ""


class Grouping(NamedTuple):
    """Groups of rows. Each array has a number for each code; -1: rows with that code are not wanted."""

    #: How many groups there are.
    size: int
    #: The name of a group.
    label: Callable[[int], str]
    #: Which of the arrays has the groups' numbers; those of the others are 0.
    main: str
    operations: Numbers
    targets: Numbers
    #: ``None``: all jobs are wanted.
    jobs: Numbers | None
    #: Codes of the jobs that are wanted, if these are few.
    few: Numbers | None = None

    def of(self, operation: int, rows: Packed) -> tuple[Numbers, Numbers]:
        """Give the places of wanted rows of one operation, and the group of each."""
        at, groups = self._wanted(operation, rows.keys)
        if self.jobs is not None:  # which lets the fewest pass, so that it comes first
            on = self.targets[targets_of(rows.keys[at])]
            passes = np.flatnonzero(on >= 0)
            at, groups = at[passes], (groups if self.main == "jobs" else on)[passes]
        if self.main == "operations":
            groups = np.full(len(at), self.operations[operation])
        return at, groups

    def _wanted(self, operation: int, keys: Numbers) -> tuple[Numbers, Numbers]:
        """Give the places of rows whose jobs are wanted or, if all are, whose targets are; and the group of each."""
        if self.jobs is None:
            on = self.targets[targets_of(keys)]
        elif self.few is not None:  # rows are sorted by job
            begins, ends = places_of(keys, operation, self.few)
            ranges = [np.arange(begin, end) for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
            return np.concatenate([begins[:0], *ranges]), np.repeat(self.jobs[self.few], ends - begins)
        else:
            on = self.jobs[jobs_of(keys)]
        at = np.flatnonzero(on >= 0)
        return at, on[at]

    def ordered(self, order: Numbers) -> Grouping:
        """Give the groups of an order in that order, and all others as one more."""
        rank = np.full(self.size + 1, len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        rank[-1] = -1
        found = self._replace(size=len(order) + 1, label=lambda group: self.label(int(order[group])))
        return found._replace(**{self.main: rank[getattr(self, self.main)]})


def group(
    look: Look, field: str, where: Mapping[str, frozenset[str]], segments: Iterable[Packed], *, unknown_by_id: bool
) -> Grouping:
    """Form groups.

    Args:
        look: The store.
        field: By what; empty: all together.
        where: By field, the values of which one is wanted.
        segments: Where jobs are looked for, if the field or the filter is one of jobs.
        unknown_by_id: Whether a job of which the field is not known is called by its id, and not by nothing.
    """
    names, targets = look.operations(), look.targets()
    operations = _wanted([{"operation": name} for name in names], where)
    places = [{part: place_of(target, part) for part in OF_TARGETS} for target in targets]
    found = Grouping(1, lambda _: "", "operations", operations, _wanted(places, where), None)
    if field == "operation":
        found = found._replace(size=len(names), label=names.__getitem__, operations=_numbered(operations))
    elif field in OF_TARGETS:
        labels, numbers = _grouped([place[field] for place in places])
        on = np.where(found.targets < 0, -1, numbers)
        found = found._replace(size=len(labels), label=labels.__getitem__, main="targets", targets=on)
    if (field and field not in PLACES) or set(where) - set(PLACES):
        found = _by_job(found, look, field, where, segments, unknown_by_id=unknown_by_id)
    return found


def _wanted(named: Sequence[Mapping[str, str]], where: Mapping[str, frozenset[str]]) -> Numbers:
    """Give 0 for what passes the conditions on its fields, and -1 for the rest."""
    passes = [all(value in where.get(key, (value,)) for key, value in fields.items()) for fields in named]
    return np.array([0 if one else -1 for one in passes], dtype=np.int64)


def _numbered(wanted: Numbers) -> Numbers:
    return np.where(wanted < 0, -1, np.arange(len(wanted)))


def _grouped(labels: Sequence[str]) -> tuple[list[str], Numbers]:
    """Number different labels, and give the number of each."""
    numbers: dict[str, int] = {}
    found = np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)
    return list(numbers), found


def _by_job(
    found: Grouping,
    look: Look,
    field: str,
    where: Mapping[str, frozenset[str]],
    segments: Iterable[Packed],
    *,
    unknown_by_id: bool,
) -> Grouping:
    """Choose jobs, and group by a field of theirs if there is one."""
    conditions = {key: values for key, values in where.items() if key not in PLACES}
    named = [_named(look, conditions.pop(key)) for key in JOB if key in conditions]
    codes = reduce(np.intersect1d, named) if named else _present(look, segments)
    for key, wanted in conditions.items():
        texts, of = look.values(key, codes)
        codes = codes[np.array([text in wanted for text in texts])[of]]
    jobs = np.full(look.job_count(), -1, dtype=np.int64)
    found = found._replace(few=codes if len(codes) <= _FEW else None)
    if not field or field in PLACES:
        jobs[codes] = 0
        return found._replace(jobs=jobs)
    if field in JOB:
        jobs[codes] = np.arange(len(codes))
        return found._replace(
            size=len(codes), label=lambda number: look.job_ids([int(codes[number])])[0], main="jobs", jobs=jobs
        )
    texts, of = look.values(field, codes)
    if unknown_by_id:
        without = np.flatnonzero(of == 0)
        texts = [*texts, *look.job_ids(codes[without].tolist())]
        of[without] = np.arange(len(texts) - len(without), len(texts))
    names, numbers = _grouped(texts)
    names, jobs[codes] = _in_order(names, numbers[of])
    return found._replace(size=len(names), label=names.__getitem__, main="jobs", jobs=jobs)


def _in_order(names: Sequence[str], numbers: Numbers) -> tuple[list[str], Numbers]:
    """Leave out names that have no number, and number the others in the order in which they come."""
    there, first, places = np.unique(numbers, return_index=True, return_inverse=True)
    order = first.argsort()
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return [names[number] for number in there[order].tolist()], rank[places]


def _named(look: Look, ids: Iterable[str]) -> Numbers:
    """Give the codes of jobs, ascending."""
    return np.array(sorted(job.code for job in map(look.job, ids) if job is not None), dtype=np.int64)


def _present(look: Look, segments: Iterable[Packed]) -> Numbers:
    """Give the codes of the jobs that are in segments."""
    there = np.zeros(look.job_count(), dtype=np.bool_)
    for segment in segments:
        there[jobs_of(segment.keys)] = True
    return np.flatnonzero(there)
