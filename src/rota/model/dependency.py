"""What a job waits for: ``afterok:12:13,afterany:14`` and the like, as ``sbatch --dependency`` takes it."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

_JOB = re.compile(r"(?P<job>\d{1,10})(?:_(?P<task>\d{1,9}))?(?:\+(?P<minutes>\d{1,7}))?", re.ASCII)

_PROBLEM = "Job dependency problem"


class DependencyType(StrEnum):
    """Slurm's types, as users write them."""

    #: Once the job has started, or was cancelled; perhaps some minutes later.
    AFTER = "after"
    #: Once it is over.
    AFTER_ANY = "afterany"
    #: Once it has ended well.
    AFTER_OK = "afterok"
    #: Once it has ended, and not well.
    AFTER_NOT_OK = "afternotok"
    #: As ``afterok``, task by task of an array.
    AFTER_CORR = "aftercorr"
    #: Once all jobs of before of the same name and user are over.
    SINGLETON = "singleton"


class Dependency(NamedTuple):
    """One thing that a job waits for."""

    type: DependencyType
    #: 0 for ``singleton``.
    job_id: int = 0
    #: After the start; of ``after`` alone.
    seconds: int = 0
    #: Of a job array; ``None``: all of it.
    task_id: int | None = None

    @property
    def key(self) -> int | tuple[int, int]:
        """What it waits for: a job or array, or one task."""
        return self.job_id if self.task_id is None else (self.job_id, self.task_id)

    def __str__(self) -> str:
        """Give it as users write it."""
        task = "" if self.task_id is None else f"_{self.task_id}"
        delay = f"+{self.seconds // 60}" if self.seconds else ""
        return f"{self.type}:{self.job_id}{task}{delay}" if self.job_id else str(self.type)


class Dependencies(NamedTuple):
    """All that a job waits for."""

    each: tuple[Dependency, ...]
    #: One of them is enough.
    any_of: bool = False

    def __str__(self) -> str:
        """Give it as users write it."""
        return ("?" if self.any_of else ",").join(map(str, self.each))


def parse_dependency(text: str) -> Dependencies:
    """Read what follows ``--dependency=``.

    Raises:
        ValueError: not ``type:job[+minutes][:job …]``, a job alone or ``singleton``, joined by ``,`` (all of them) or
            ``?`` (any: so it is with both).
    """
    found: list[Dependency] = []
    for item in re.split("[,?]", text):
        name, *jobs = item.strip().split(":")
        if name.isdigit():  # as Slurm once had it
            name, jobs = DependencyType.AFTER_ANY, [name, *jobs]
        try:
            kind = DependencyType(name.lower())
        except ValueError:
            raise ValueError(f"{_PROBLEM}: {name!r} is none of {', '.join(DependencyType)}") from None
        if kind is DependencyType.SINGLETON:
            if jobs:
                raise ValueError(f"{_PROBLEM}: {item!r}: singleton takes no job")
            found.append(Dependency(kind))
            continue
        if not jobs:
            raise ValueError(f"{_PROBLEM}: {item!r} names no job: {kind}:1234")
        found += [_dependency(kind, job) for job in jobs]
    return Dependencies(tuple(found), "?" in text)


def _dependency(kind: DependencyType, text: str) -> Dependency:
    match = _JOB.fullmatch(text)
    if match is None or int(match["job"]) == 0:
        raise ValueError(f"{_PROBLEM}: {text!r} is no job's number")
    if match["minutes"] and kind is not DependencyType.AFTER:
        raise ValueError(f"{_PROBLEM}: {text!r}: only after takes a time")
    task = None if match["task"] is None else int(match["task"])
    return Dependency(kind, int(match["job"]), int(match["minutes"] or 0) * 60, task)
