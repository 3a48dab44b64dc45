"""The supervisor's log: what has begun and ended, a JSON object on each line, with its number and a sum.

A line that is torn, since the machine went down or the disk was full, is left out when the log is read, and taken back
when it is written. Lines that were altered, or are missing, are found by sums and numbers; and those at the end by a
file that has the number of the last one, and is overwritten after each: the *tail*. Then the log is *damaged*: it may
have had runs of which nothing is known.

The keeper has notes of its own: two processes that write one file would be in each other's way when it is written anew.
"""

from __future__ import annotations

import fcntl
import json
import os
from itertools import pairwise
from zlib import crc32

from rota.executor.supervisor.kernel import boot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Record = dict[str, Any]

LOG = "supervisor.log"
TAIL = "supervisor.tail"
NOTES = "keeper.log"
#: Where a log that was damaged is kept.
DAMAGED = "supervisor.log.damaged"
#: The log is written anew when it is larger than this and most of it is history. Bytes.
_COMPACT_FROM = 1 << 18
#: Bytes of the tail.
_TAIL_SIZE = 128

encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def lines_of(records: Iterable[Record], number: int = 0) -> bytes:
    """Give records as lines: each with its number, from one on or 0 for all, and its sum."""
    lines = []
    for record in records:
        text = f"{encode(record)} {number}"
        lines.append(f"{text} {crc32(text.encode()):08x}\n")
        number += bool(number)
    return "".join(lines).encode()


def tail_of(first: int, last: int, boot: str) -> bytes:
    """Give the tail of a log."""
    return lines_of([{"is": "tail", "first": first, "boot": boot}], last).ljust(_TAIL_SIZE)


def record_in(line: bytes) -> tuple[int, Record] | None:
    """Read a line: its number, and the record. ``None``: it is torn, or not as it was written."""
    text, _, written = line.rpartition(b" ")
    try:
        if written.decode() != f"{crc32(text):08x}":
            return None
        data, _, number = text.rpartition(b" ")
        record = json.loads(data)
    except ValueError:
        return None
    return (int(number), record) if isinstance(record, dict) and "is" in record else None


def notes_in(data: bytes) -> tuple[list[Record], int]:
    """Give the records of the keeper's notes, and how many lines are none."""
    lines = [line for line in data.split(b"\n") if line]
    found = [one[1] for line in lines if (one := record_in(line)) is not None]
    found += _old_records([line for line in lines if line.endswith(b"}")])  # of the keeper of an older rota
    return found, len(lines) - len(found)


def records_in(data: bytes, tail: bytes | None, boot: str) -> tuple[list[Record], int, int, list[str]]:
    """Read a log.

    Args:
        data: The log, up to its last whole line.
        tail: The file that has the number of the last line; ``None``: there is none.
        boot: This boot of the machine. What was not synchronised before another one may be gone, or torn, at the end.

    Returns:
        The records, the numbers of the first and of the next one, and what is wrong.
    """
    lines = data.split(b"\n")[:-1]
    if tail is None and all(line.endswith(b"}") for line in lines):  # that of an older rota, or none
        return _old_records(lines), 1, 1, []
    found = [(place, record_in(line)) for place, line in enumerate(lines, 1)]
    kept = record_in(tail.strip()) if tail else None
    is_this_boot = kept is None or kept[1].get("boot") == boot
    while not is_this_boot and found and found[-1][1] is None:
        found.pop()
    wrong = [f"line {place} is not as it was written" for place, one in found if one is None]
    numbers = [one[0] for _, one in found if one is not None]
    wrong += [f"number {one + 1} is missing" for one, then in pairwise(numbers) if then != one + 1]
    first, last = (numbers[0], numbers[-1]) if numbers else (1, 0)
    if kept is None:
        wrong.append(f"{TAIL}, which tells how long it is, is gone or not as it was written")
    elif is_this_boot and (first, last) != (kept[1]["first"], kept[0]) and not _is_newer(first, last, kept):
        wrong.append(f"it has numbers {first} to {last}, and had {kept[1]['first']} to {kept[0]}")
    records = [one[1] for _, one in found if one is not None]
    return records, first, max(last, kept[0] if kept else 0) + 1, wrong


def _old_records(lines: list[bytes]) -> list[Record]:
    records = []
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and "is" in record:
            records.append(record)
    return records


def _is_newer(first: int, last: int, kept: tuple[int, Record]) -> bool:
    """Whether a log is one that was written, or written to, just before its tail would have been."""
    return last > kept[0] and first in (kept[1]["first"], kept[0] + 1)


class Log:
    """The log of the state directory, which is the current directory."""

    __slots__ = ("_boot", "_fd", "_first", "_kept", "_next", "_size", "_tail", "is_to_be_written_anew", "wrong")

    def __init__(self) -> None:
        self._fd = self._tail = -1
        #: Bytes in the file, up to the last whole line.
        self._size = 0
        #: Bytes after it was last written anew.
        self._kept = 0
        #: Numbers of the first line and of the next one.
        self._first = self._next = 1
        #: What is wrong with what was read.
        self.wrong: list[str] = []
        #: Whether it was damaged, or is that of an older rota.
        self.is_to_be_written_anew = False
        self._boot = boot()

    def open(self) -> list[Record]:
        """Open the log, cut off a torn last line, and give the records."""
        is_new = not os.path.exists(LOG)
        tail = _read_file(TAIL)
        self._fd = os.open(LOG, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        data = _read_all(self._fd)
        self._size = data.rfind(b"\n") + 1
        if self._size < len(data):
            os.ftruncate(self._fd, self._size)
        records, self._first, self._next, self.wrong = records_in(data[: self._size], tail, self._boot)
        self.is_to_be_written_anew = bool(self.wrong) or tail is None
        if is_new:
            self.wrong.append("there was none")
        elif self.wrong:
            _write_file(DAMAGED, data)
        return records

    def append(self, records: Iterable[Record], *, sync: bool = True) -> None:
        """Append records, all or none.

        Raises:
            OSError: they could not be written, for example because the disk is full.
        """
        records = list(records)
        if not records:
            return
        data = lines_of(records, self._next)
        try:
            if os.write(self._fd, data) < len(data):
                raise OSError("no space left for the log")
            if sync:
                os.fdatasync(self._fd)
        except OSError:
            os.ftruncate(self._fd, self._size)
            raise
        self._size += len(data)
        self._next += len(records)
        try:
            self._write_tail()
        except OSError:
            pass  # the records are there, and whoever reads them knows that they may be ahead of the tail

    def _write_tail(self) -> None:
        if self._tail < 0:
            self._tail = os.open(TAIL, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.pwrite(self._tail, tail_of(self._first, self._next - 1, self._boot), 0)

    @property
    def is_long(self) -> bool:
        """Whether it is worth writing anew."""
        return self._size > _COMPACT_FROM and self._size > 2 * self._kept

    @property
    def is_in_place(self) -> bool:
        """Whether the file is the one that this process writes, and as long."""
        try:
            found = os.stat(LOG)
            os.stat(TAIL)
        except OSError:
            return False
        return found.st_ino == os.fstat(self._fd).st_ino and found.st_size == self._size

    def rewrite(self, records: Iterable[Record]) -> None:
        """Replace the whole log."""
        records = list(records)
        data = lines_of(records, self._next)
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
        self._first, self._next = self._next, self._next + len(records)
        if self._tail >= 0:
            os.close(self._tail)
            self._tail = -1
        self._write_tail()
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
        records, wrong = notes_in(_read_all(fd))
        if wrong:
            os.write(2, f"{NOTES}: {wrong} lines are not as they were written\n".encode())
        digest(records)
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


def _read_file(name: str) -> bytes | None:
    try:
        fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return _read_all(fd)
    finally:
        os.close(fd)


def _write_file(name: str, data: bytes) -> None:
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, data)
    except OSError:
        pass  # the disk is full
    finally:
        os.close(fd)
