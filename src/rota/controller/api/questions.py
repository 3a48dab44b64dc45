"""What can be asked: the parameters of each question, and how they are read from JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from rota.core.plain import PlainError, shape_of
from rota.model import Errno, RequestError

T = TypeVar("T")


class Nothing(NamedTuple):
    """A question without parameters."""


class Page(NamedTuple):
    """A part of a list."""

    limit: int = 100
    offset: int = 0


class JobsAsked(NamedTuple):
    """Live jobs with ids above ``after``, in the order of their ids. An empty text lets all through."""

    after: int = 0
    limit: int = 100
    user: str = ""
    account: str = ""
    partition: str = ""
    name: str = ""
    #: Slurm's base state: PENDING, RUNNING.
    state: str = ""


class Accounted(NamedTuple):
    """Jobs of the accounting, live and ended. Times are Unix seconds, ``None``: open."""

    start: int | None = None
    end: int | None = None
    user: str = ""
    account: str = ""
    state: str = ""
    limit: int = 100
    offset: int = 0


class Named(NamedTuple):
    """One thing by name: a job id, a node. Empty: all."""

    name: str = ""


class Changed(NamedTuple):
    """What has changed since a time, Unix seconds; 0: everything."""

    update_time: int = 0


class Queried(NamedTuple):
    """Jobs of the accounting, by the parameters of slurmrestd's query."""

    query: Mapping[str, str] = {}


class Submitting(NamedTuple):
    """A batch job."""

    script: str
    arguments: tuple[str, ...] = ()
    #: Where it runs; empty: in the user's home directory.
    directory: str = ""
    environment: Mapping[str, str] = {}
    #: Words of `sbatch`.
    options: tuple[str, ...] = ()


class SlurmSubmission(NamedTuple):
    """A batch job as slurmrestd takes it, as JSON text."""

    body: str


class SlurmUpdate(NamedTuple):
    """An update of a job as slurmrestd takes it, as JSON text."""

    job: str
    body: str


class Ending(NamedTuple):
    """The end of a job, or a signal for it."""

    job: str
    #: A name or a number; empty: the job is cancelled.
    signal: str = ""


class Ordering(NamedTuple):
    """A command of ``scontrol`` about a job: hold, uhold, release, requeue, requeuehold, suspend, resume."""

    job: str
    command: str


class Updating(NamedTuple):
    """An update of a job, with keys and values of ``scontrol update``."""

    job: str
    changes: Mapping[str, str]


def read(kind: type[T], text: str) -> T:
    """Read the parameters of a question.

    Raises:
        RequestError: they are not of this kind, or hold text that no program could be given.
    """
    try:
        data = json.loads(text)
        shape = shape_of(kind)
        found: T = shape.decode(data)
        problem = shape.problem(found)
    except (ValueError, RecursionError, PlainError) as error:
        raise RequestError(f"a question that cannot be read: {error}", Errno.INVALID_EVENT) from None
    if problem:
        raise RequestError(problem.strip(" .:"), Errno.INVALID_EVENT)
    check_texts(data)
    return found


def check_texts(data: Any) -> None:
    """Check that all texts can be arguments of programs and names of files.

    Raises:
        RequestError: one has a NUL, or halves of characters.
    """
    for text in _texts(data):
        if "\0" in text or not _is_whole(text):
            raise RequestError(f"{text[:40]!r} has a character that no text may have", Errno.INVALID_EVENT)


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _texts(data: Any) -> Iterator[str]:
    queue = [data]
    while queue:
        one = queue.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            queue += one
        elif isinstance(one, dict):
            queue += [*one, *one.values()]
