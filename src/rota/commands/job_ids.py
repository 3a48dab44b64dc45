"""Job ids as users write them: ``17``, ``17_2``, ``17_[1-3,7]``, ``17.0``, ``17_2.batch``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rota.commands.getopt import UsageError
from rota.commands.lists import split_list
from rota.model.array import MOST_TASKS, parse_array
from rota.model.bounds import LONGEST_IDS, MOST_JOBS, TooManyError, count_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: Job ids have at most so many digits.
_ID = re.compile(
    r"(?P<job>\d{1,10})(?:_(?:(?P<task>\d{1,9})|\[(?P<tasks>[\d,:-]{1,4000})(?:%\d{1,9})?\]))?"
    r"(?:\+(?P<offset>\d{1,6}))?(?:\.(?P<step>\d{1,10}|batch|extern|interactive))?",
    re.ASCII,
)


class JobId(NamedTuple):
    """A job, some tasks of a job array, or a step."""

    job_id: int
    #: Task ids; empty: the job itself or, for a job array, all its tasks.
    tasks: tuple[int, ...] = ()
    #: Step id; empty: the whole job.
    step: str = ""
    #: Whether task ids were written in brackets.
    bracketed: bool = False

    def __str__(self) -> str:
        """Give the id as users write it, a range as its first and last task."""
        task = ""
        if self.tasks:
            task = f"_{self.tasks[0]}" if len(self.tasks) == 1 else f"_[{','.join(map(str, self.tasks))}]"
        return f"{self.job_id}{task}{f'.{self.step}' if self.step else ''}"


def parse_job_id(text: str) -> JobId | None:
    """Parse one id; ``None``: the text is none."""
    match = _ID.fullmatch(text)
    if match is None:
        return None
    tasks: tuple[int, ...] = (int(match["task"]),) if match["task"] else ()
    if match["tasks"]:
        if count_numbers(match["tasks"]) > MOST_JOBS:
            return None
        try:
            tasks = parse_array(match["tasks"], MOST_TASKS).ids
        except ValueError:
            return None
    return JobId(int(match["job"]), tasks, match["step"] or "", bool(match["tasks"]))


def parse_job_ids(
    command: str, texts: Iterable[str], refused: Callable[[str], UsageError], *, steps: bool | None = None
) -> list[JobId]:
    """Parse lists of ids, in their order, without duplicates.

    Args:
        command: For the message that they are too many.
        texts: The lists.
        refused: Says that a word is no id.
        steps: Whether all have to be steps; ``None``: some may be.

    Raises:
        UsageError: a word is none, or they are too many; those that come again count again.
    """
    lists = list(texts)
    if sum(map(len, lists)) > LONGEST_IDS or sum(map(count_numbers, lists)) > MOST_JOBS:
        problem = TooManyError(",".join(lists), MOST_JOBS, "jobs")
        raise UsageError(f"{command}: error: {problem}: name fewer at a time\n")
    found = []
    for word in (one for text in lists for one in split_list(text)):
        one = parse_job_id(word)
        if one is None or steps not in {None, bool(one.step)}:
            raise refused(word)
        found.append(one)
    return list(dict.fromkeys(found))
