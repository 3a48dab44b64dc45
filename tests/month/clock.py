"""A clock that this process moves, for programs that preload ``clock.c``: it goes on when nobody is busy any more.

What a Slurm of thirty daemons needs a month for passes in some minutes, and each of its timers goes off at its time.
The programs have a control group of their own. Somebody is busy if its processor time grows, or if anything on the
machine runs but this process: so it must have nothing else to do.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import time
from pathlib import Path
from typing import Self

import numpy as np

_SECOND = 1_000_000_000
_SLOTS = 4096
_HEAD = 64
#: One who waits: until when (ns), since when, which thread (0: nobody), and the word that wakes it,
#: which begins at the byte `_WOKEN`.
_SLOT = np.dtype([("until", "<i8"), ("since", "<i8"), ("thread", "<i4"), ("woken", "<u4")])
_WOKEN = 20
_NEVER = np.iinfo(np.int64).max
_FUTEX, _WAKE = 202, 1  # of x86-64
#: Real seconds without any processor time after which nobody is busy.
_QUIET = 0.0008
#: Who waits for less (ns) does so again and again, and may be late by a step.
_OFTEN = 4 * _SECOND
_LIBC = ctypes.CDLL(None, use_errno=True)


class MovedClock:
    """The clock and the programs that it is for.

    Args:
        folder: An empty directory in memory, which all users can reach.
        begin: Unix time that it shows at first.
        step: Seconds after which the clock stops although nobody waits for that time but those who look again and
            again.
    """

    def __init__(self, folder: Path, begin: int, step: int) -> None:
        self._path, self._step = folder / "clock", step * _SECOND
        self._library = folder / "clock.so"
        source = Path(__file__).with_name("clock.c")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", self._library, source, "-ldl"], check=True)
        self._path.write_bytes(bytes(_HEAD + _SLOTS * _SLOT.itemsize))
        self._path.chmod(0o666)
        with self._path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), 0)
        self._time = np.frombuffer(self._page, "<i8", 1)
        self._slots = np.frombuffer(self._page, _SLOT, offset=_HEAD)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._page)) + _HEAD
        self._time[0] = begin * _SECOND
        self._group = Path("/sys/fs/cgroup/cpuacct") / f"moved-{os.getpid()}"
        #: Threads without which the clock does not move: they wait for its time, or they are busy.
        self._awaited: list[int] = []
        #: How often the clock was moved.
        self.moves = 0

    def __enter__(self) -> Self:
        """Make the control group."""
        self._group.mkdir()
        self._usage = os.open(self._group / "cpuacct.usage", os.O_RDONLY)
        self._load = os.open("/proc/loadavg", os.O_RDONLY)
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Kill what is left in the control group."""
        os.close(self._usage)
        os.close(self._load)
        while left := (self._group / "cgroup.procs").read_text().split():
            subprocess.run(["kill", "-9", *left], check=False, capture_output=True)
            time.sleep(0.1)
        self._group.rmdir()

    @property
    def now(self) -> int:
        """The Unix time that it shows."""
        return int(self._time[0]) // _SECOND

    def environment(self, *, late: bool = False) -> dict[str, str]:
        """Give what programs need for this clock to be theirs; it does not stop for those that may be ``late``."""
        words = {"MOVED_CLOCK": str(self._path), "LD_PRELOAD": str(self._library)}
        return words | ({"MOVED_CLOCK_LATE": "1"} if late else {})

    def add(self, process: int, *, awaited: bool = False) -> None:
        """Bring a program into the control group, with those that it starts from now on.

        Args:
            process: Its process id.
            awaited: Whether its first thread is busy whenever it does not wait for the clock: it may wait for others.
        """
        (self._group / "cgroup.procs").write_text(str(process))
        self._awaited += [process] * awaited

    def settle(self) -> None:
        """Wait until nobody is busy."""
        before = -1
        while (used := int(os.pread(self._usage, 32, 0))) != before or self._running() > 1 or not self._wait():
            before = used
            time.sleep(_QUIET)

    def _wait(self) -> bool:
        return not self._awaited or bool(np.isin(self._awaited, self._slots["thread"]).all())

    def _running(self) -> int:
        """Give how many threads of the machine run or could, with this one: see proc(5) on loadavg."""
        return int(os.pread(self._load, 64, 0).split()[3].partition(b"/")[0])

    def go_to(self, end: int) -> None:
        """Move the clock, stopping where somebody waits for the time; return when nobody is busy."""
        while (now := int(self._time[0])) < end * _SECOND:
            until = self._slots["until"]
            awaited = until[(until > now) & (until - self._slots["since"] > _OFTEN) & (self._slots["thread"] != 0)]
            first = int(awaited.min(initial=_NEVER))
            self._move(min(first, end * _SECOND, now + self._step))

    def go_slowly(self, seconds: int) -> None:
        """Move the clock a second at a time, so that those who look again and again are not late."""
        for _ in range(seconds):
            self._move(int(self._time[0]) + _SECOND)

    def _move(self, to: int) -> None:
        self._time[0] = to
        self.moves += 1
        due = np.flatnonzero((self._slots["until"] <= to) & (self._slots["thread"] != 0))
        for slot in due.tolist():
            word = self._address + slot * _SLOT.itemsize + _WOKEN
            self._slots["woken"][slot] = 1
            woken = _LIBC.syscall(_FUTEX, ctypes.c_void_p(word), _WAKE, 1, None, None, 0)
            if not woken and not Path(f"/proc/{self._slots['thread'][slot]}").exists():
                self._slots[slot] = (_NEVER, 0, 0, 0)  # it was killed
        self.settle()
