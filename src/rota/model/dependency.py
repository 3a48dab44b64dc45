"""Job dependencies, as ``sbatch --dependency`` takes them: ``afterok:12:13,afterany:14``."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from rota.model.bounds import MOST_JOBS, TooManyError

_JOB = re.compile(r"(?P<job>\d{1,10})(?:_(?P<task>\d{1,9}))?(?:\+(?P<minutes>\d{1,7}))?", re.ASCII)

_PROBLEM = "Job dependency problem"


class DependencyType(StrEnum):
    """Slurm's dependency types, as users write them."""

    #: The other job has started or was cancelled, some minutes ago if a time is given.
    AFTER = "after"
    #: The other job has ended.
    AFTER_ANY = "afterany"
    #: The other job has completed with exit code 0.
    AFTER_OK = "afterok"
    #: The other job has failed.
    AFTER_NOT_OK = "afternotok"
    #: The other job has ended, and its burst buffers are staged out. There are none, so this is ``afterany``.
    AFTER_BURST_BUFFER = "afterburstbuffer"
    #: As ``afterok``, between the tasks of the same id of two job arrays.
    AFTER_CORR = "aftercorr"
    #: All earlier jobs of the same name and user have ended.
    SINGLETON = "singleton"


class Dependency(NamedTuple):
    """One dependency of a job."""

    type: DependencyType
    #: The other job; 0 for ``singleton``.
    job_id: int = 0
    #: Seconds after the other job's start; for ``after`` only.
    seconds: int = 0
    #: Task id, where the other job is a task of a job array; ``None``: the whole job.
    task_id: int | None = None

    @property
    def key(self) -> int | tuple[int, int]:
        """The job or array (its id) or task (array job id, task id) that it refers to."""
        return self.job_id if self.task_id is None else (self.job_id, self.task_id)

    def __str__(self) -> str:
        """Give the dependency as users write it."""
        return self.text("" if self.task_id is None else f"_{self.task_id}")

    def text(self, task: str) -> str:
        """Give the dependency with another text in the place of the task."""
        delay = f"+{self.seconds // 60}" if self.seconds else ""
        return f"{self.type}:{self.job_id}{task}{delay}" if self.job_id else str(self.type)


class Dependencies(NamedTuple):
    """All dependencies of a job."""

    each: tuple[Dependency, ...]
    #: Whether one of them is enough (joined by ``?``).
    any_of: bool = False

    def __str__(self) -> str:
        """Give the dependencies as users write them."""
        return ("?" if self.any_of else ",").join(map(str, self.each))


def parse_dependency(text: str) -> Dependencies:
    """Parse the value of ``--dependency``.

    Raises:
        ValueError: the text is not ``type:job[+minutes][:job …]``, a job id alone or ``singleton``, joined by ``,``
            (all of them must be satisfied) or ``?`` (any one; also where both are used).
    """
    if len(re.findall("[,?:]", text)) > MOST_JOBS:
        raise TooManyError(text, MOST_JOBS, "jobs")
    found: list[Dependency] = []
    for item in re.split("[,?]", text):
        name, *jobs = item.split(":")
        if name.isdigit() and not jobs:  # an old syntax of Slurm: the same as afterany
            name, jobs = DependencyType.AFTER_ANY, [name]
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
