"""How far a cluster's database has come, written outside of it.

A database cannot tell that it is an older copy of itself, or that its last commits are missing. So after each commit,
and before anybody hears of it, two small files say how far it has come: one in the state directory and one in the
spool. A database that has not come as far as they say has lost something that somebody was told. They are overwritten
in place, which costs a few microseconds, and are synchronised when the state is saved: only the loss of the machine's
power can leave them behind the database, and nothing can bring them before it.

The *generation* grows with each start of the controller, and has a random part. So a database with which somebody has
gone on elsewhere is told from this one, even if it has come as far.
"""

from __future__ import annotations

import json
import os
import secrets
from typing import TYPE_CHECKING, NamedTuple

from rota.store.connection import DatabaseError
from rota.store.sums import sum_of

if TYPE_CHECKING:
    from pathlib import Path

#: Name of the files, and bytes of each: the longest head has fewer.
NAME = "journal.head"
_SIZE = 512


class Head(NamedTuple):
    """How far the database of a cluster has come."""

    #: A random text that no other cluster has.
    cluster: str = ""
    #: See `Generation`.
    generation: str = ""
    #: Number of the last event in the journal.
    seq: int = 0
    #: No job has this id or a higher one.
    next_job_id: int = 1
    #: Number of commits that were told to somebody, and had no event.
    others: int = 0

    def is_behind(self, other: Head) -> bool:
        """Whether something is missing here that was there."""
        return self.seq < other.seq or self.next_job_id < other.next_job_id or self.others < other.others


class Generation(NamedTuple):
    """Which start of a controller wrote to the database last."""

    number: int = 0
    nonce: str = ""
    #: The nonce of the one before.
    before: str = ""

    def __str__(self) -> str:
        return f"{self.number}:{self.nonce}:{self.before}"

    @classmethod
    def read(cls, text: str) -> Generation:
        """Read what `str` gives.

        Raises:
            ValueError: it is something else.
        """
        number, nonce, before = text.split(":")
        return cls(int(number), nonce, before)

    def next(self, above: int = 0) -> Generation:
        """Give the one after it, and after a number."""
        return Generation(max(self.number, above) + 1, secrets.token_hex(4), self.nonce)

    def follows(self, other: Generation) -> bool:
        """Whether it is another one, or comes right after it: a controller may be killed between its two notes."""
        return self == other or (self.number == other.number + 1 and self.before == other.nonce)


def read_heads(state: Path) -> tuple[Head | None, list[str]]:
    """Read how far the database of a state directory has come, and what is wrong with the files that say so.

    Returns:
        The head that has come farthest, ``None``: nothing says so; and a sentence for each file that is damaged.
    """
    found: dict[Path, Head] = {}
    wrong = []
    for path in places(state):
        try:
            found[path] = _parse(path.read_bytes())
        except FileNotFoundError:
            wrong.append(f"{path} is gone")
        except (OSError, ValueError, TypeError):
            wrong.append(f"{path} is not as it was written")
    known = max(found.values(), key=_progress, default=None)
    wrong += [f"{path} is older than the other one" for path, head in found.items() if head != known]
    return known, wrong


def _progress(head: Head) -> tuple[int, ...]:
    return Generation.read(head.generation).number, head.seq, head.next_job_id, head.others


def places(state: Path) -> tuple[Path, Path]:
    """Give the paths of the files."""
    return state / NAME, state / "spool" / NAME


class Heads:
    """Writes how far a database has come.

    Args:
        state: The state directory.
    """

    def __init__(self, state: Path) -> None:
        self._state = state
        self._files: list[int] = []
        #: What was written last.
        self.head = Head()

    def write(self, head: Head, *, sync: bool = False) -> None:
        """Say how far it has come.

        Args:
            head: How far.
            sync: Whether this is on the disk afterwards.

        Raises:
            DatabaseError: it cannot be written.
        """
        if not self._files:
            self.open()
        self.head = head
        data = _format(head)
        try:
            for file in self._files:
                os.pwrite(file, data, 0)
            if sync:
                for file in self._files:
                    os.fdatasync(file)
        except OSError as error:
            raise DatabaseError(f"{NAME}: {error.strerror}") from None

    def close(self) -> None:
        """Close the files."""
        files, self._files = self._files, []
        for file in files:
            os.close(file)

    def open(self) -> None:
        """Open the files that are there now, if need be anew: somebody may have removed them.

        Raises:
            DatabaseError: they cannot be opened.
        """
        self.close()
        try:
            for path in places(self._state):
                if not path.parent.exists():
                    path.parent.mkdir()
                    path.parent.chmod(0o711)  # as `rota.controller.spool` has it
                self._files.append(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise DatabaseError(f"{NAME}: {error.strerror}") from None


def _format(head: Head) -> bytes:
    text = json.dumps(head)
    return f"{text} {sum_of(NAME, text):08x}".ljust(_SIZE - 1).encode() + b"\n"


def _parse(data: bytes) -> Head:
    """Read a file.

    Raises:
        ValueError: it is not as it was written.
    """
    text, _, written = data.decode().strip().rpartition(" ")
    if len(data) != _SIZE or written != f"{sum_of(NAME, text):08x}":
        raise ValueError("the sum is another one")
    head = Head(*json.loads(text))
    Generation.read(head.generation)
    return head
