"""Job ids as users write them: ``17``, ``17_2``, ``17_[1-3,7]``, ``17.0``, ``17_2.batch``."""

from __future__ import annotations

import re
from typing import NamedTuple

from rota.model.array import parse_array

#: Job ids have at most so many digits.
_ID = re.compile(
    r"(?P<job>\d{1,10})(?:_(?:(?P<task>\d{1,9})|\[(?P<tasks>[\d,:-]{1,4000})(?:%\d{1,9})?\]))?"
    r"(?:\+(?P<offset>\d{1,6}))?(?:\.(?P<step>\d{1,10}|batch|extern|interactive))?",
    re.ASCII,
)
_RANGE = re.compile(r"(\d+)-(\d+)")
#: Task ids are smaller than this, and one list names no more of them.
_LARGEST = 4_000_001


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
        if sum(int(high) - int(low) for low, high in _RANGE.findall(match["tasks"])) > _LARGEST:
            return None
        try:
            tasks = parse_array(match["tasks"], _LARGEST).ids
        except ValueError:
            return None
    return JobId(int(match["job"]), tasks, match["step"] or "", bool(match["tasks"]))
