"""The supervisor's log: what has begun and ended, a JSON object on each line.

A line that is torn, since the machine went down or the disk was full, is left out when the log is read, and taken back
when it is written. The keeper has notes of its own: two processes that write one file would be in each other's way when
it is written anew.
"""

from __future__ import annotations

import fcntl
import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Record = dict[str, Any]

LOG = "supervisor.log"
NOTES = "keeper.log"
#: The log is written anew when it is larger than this and most of it is history. Bytes.
_COMPACT_FROM = 1 << 18

encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def lines_of(records: Iterable[Record]) -> bytes:
    """Give records as lines."""
    return b"".join(encode(record).encode() + b"\n" for record in records)


def records_in(data: bytes) -> list[Record]:
    """Give the records of a file, without lines that are torn or no records."""
    records = []
    for line in data.split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and "is" in record:
            records.append(record)
    return records


class Log:
    """The log of the state directory, which is the current directory."""

    __slots__ = ("_fd", "_kept", "_size")

    def __init__(self) -> None:
        self._fd = -1
        #: Bytes in the file, up to the last whole line.
        self._size = 0
        #: Bytes after it was last written anew.
        self._kept = 0

    def open(self) -> list[Record]:
        """Open the log, cut off a torn last line, and give the records."""
        self._fd = os.open(LOG, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        data = _read_all(self._fd)
        self._size = data.rfind(b"\n") + 1
        if self._size < len(data):
            os.ftruncate(self._fd, self._size)
        return records_in(data[: self._size])

    def append(self, records: Iterable[Record], *, sync: bool = True) -> None:
        """Append records, all or none.

        Raises:
            OSError: they could not be written, for example because the disk is full.
        """
        data = lines_of(records)
        if not data:
            return
        try:
            if os.write(self._fd, data) < len(data):
                raise OSError("no space left for the log")
            if sync:
                os.fdatasync(self._fd)
        except OSError:
            os.ftruncate(self._fd, self._size)
            raise
        self._size += len(data)

    @property
    def is_long(self) -> bool:
        """Whether it is worth writing anew."""
        return self._size > _COMPACT_FROM and self._size > 2 * self._kept

    def rewrite(self, records: Iterable[Record]) -> None:
        """Replace the whole log."""
        data = lines_of(records)
        name = LOG + ".new"
        fd = os.open(name, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            if os.write(fd, data) < len(data):
                raise OSError("no space left for the log")
            os.fdatasync(fd)
            os.rename(name, LOG)
        except OSError:
            os.close(fd)
            raise
        os.close(self._fd)
        self._fd, self._size, self._kept = fd, len(data), len(data)
        sync_directory()


def sync_directory() -> None:
    """Have the names in the state directory on disk."""
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    os.fsync(fd)
    os.close(fd)


def note(record: Record) -> None:
    """Append a record to the keeper's notes."""
    fd = _open_notes()
    try:
        os.write(fd, b"\n" + lines_of([record]))  # on a line of its own, even after a torn one
        os.fdatasync(fd)
    finally:
        os.close(fd)


def take_notes(digest: Callable[[list[Record]], None]) -> None:
    """Hand the keeper's notes to a function, and drop them when it returns."""
    try:
        if not os.stat(NOTES).st_size:
            return
    except OSError:
        return
    fd = _open_notes()
    try:
        digest(records_in(_read_all(fd)))
        os.ftruncate(fd, 0)
    finally:
        os.close(fd)


def _open_notes() -> int:
    """Open the notes, with the lock on them, which goes with the file or the process."""
    fd = os.open(NOTES, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


def _read_all(fd: int) -> bytes:
    data = bytearray()
    while chunk := os.pread(fd, 1 << 20, len(data)):
        data += chunk
    return bytes(data)
