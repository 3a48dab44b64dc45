"""The tasks of a job array, as ``sbatch --array`` takes them: ``0-15:4``, ``1,3,7%2``."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rota.model.bounds import quoted
from rota.model.numbers import fold_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Default of Slurm's ``MaxArraySize``: task ids are smaller than this.
MAX_ARRAY_SIZE = 1001
#: The largest ``MaxArraySize`` that Slurm takes.
MOST_TASKS = 4_000_001
_ITEM = re.compile(r"(?P<first>\d{1,9})(?:-(?P<last>\d{1,9})(?::(?P<step>\d{1,9}))?)?", re.ASCII)
_THROTTLE = re.compile(r"-?\d{1,9}", re.ASCII)
_PROBLEM = "Invalid job array specification"


class ArrayTasks(NamedTuple):
    """The tasks of a job array."""

    #: Task ids, ascending and without duplicates.
    ids: tuple[int, ...]
    #: How many of them may run at a time; 0: any number.
    throttle: int = 0


def check_array(text: str, size: int = MAX_ARRAY_SIZE) -> tuple[list[range], int]:
    """Read what follows ``--array=`` without making anything of it.

    Args:
        text: Task ids and ranges, such as ``1,3-9:2``; ``%N`` at the end limits how many tasks run at a time.
        size: ``MaxArraySize``: task ids must be smaller than this, and no more are named.

    Returns:
        The ranges as they are written, and how many tasks may run at a time, see `ArrayTasks`.

    Raises:
        ValueError: the text has another form, or an id is too large.
    """
    listed, percent, throttle = text.partition("%")
    if listed.startswith("[") and listed.endswith("]"):
        listed = listed[1:-1]
    if percent and _THROTTLE.fullmatch(throttle) is None:
        raise ValueError(f"{_PROBLEM}: {quoted(text)}: after % stands how many tasks may run at a time")
    found: list[range] = []
    left = size
    for item in filter(None, listed.split(",")):
        match = _ITEM.fullmatch(item.lstrip())
        if match is None:
            raise ValueError(f"{_PROBLEM}: {quoted(item)} is no task id, 1-5, or 0-15:4")
        first = int(match["first"])
        last, step = int(match["last"] or first), int(match["step"] or 1)
        if last < first or step < 1:
            raise ValueError(f"{_PROBLEM}: {item!r} has no tasks")
        if last >= size:
            raise ValueError(f"{_PROBLEM}: task {last} is not below {size}: MaxArraySize")
        found.append(range(first, last + 1, step))
        left -= len(found[-1])
        if left < 0:
            raise ValueError(f"{_PROBLEM}: {quoted(text)} names more than {size:,} tasks: MaxArraySize")
    if not found:
        raise ValueError(f"{_PROBLEM}: {quoted(text)} has no tasks")
    return found, max(int(throttle or 0), 0)


def parse_array(text: str, size: int = MAX_ARRAY_SIZE) -> ArrayTasks:
    """Read what follows ``--array=``, see `check_array`.

    Raises:
        ValueError: the text has another form, or an id is too large.
    """
    ranges, throttle = check_array(text, size)
    if len(ranges) == 1:
        return ArrayTasks(tuple(ranges[0]), throttle)
    return ArrayTasks(tuple(sorted(set().union(*ranges))), throttle)


def count_tasks(text: str, size: int = MAX_ARRAY_SIZE) -> int:
    """Count the tasks of an array, see `check_array`; 1 for an empty text, which is no array.

    Raises:
        ValueError: the text has another form, or an id is too large.
    """
    if not text:
        return 1
    ranges, _ = check_array(text, size)
    return len(ranges[0]) if len(ranges) == 1 else len(set().union(*ranges))


#: Task ids are written with a step if the last is larger than the first by more than this.
_MANY = 10


def fold_tasks(ids: Sequence[int]) -> str:
    """Write ascending task ids as Slurm does: ``1-3,7``; many ids at even distances as ``0-98:2``."""
    if len(ids) > 1 and ids[-1] - ids[0] > _MANY:
        steps = {after - before for before, after in pairwise(ids)}
        if len(steps) == 1 and 1 not in steps:
            return f"{ids[0]}-{ids[-1]}:{steps.pop()}"
    return fold_numbers(ids)
