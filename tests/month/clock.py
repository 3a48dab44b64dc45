"""A clock that this process moves, for programs that preload ``clock.c``: it goes on when nobody is busy any more.

What a Slurm of thirty daemons needs a month for passes in some minutes, and each of its timers goes off at its time.
All of them and this process share one processor, on which they go first and this process goes before all others: while
it runs, none of them could. They have a control group of their own, whose processor time tells whether any of them ran
while this process slept. So the machine may have other things to do.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECOND = 1_000_000_000
_SLOTS = 4096
_HEAD = 64
#: One who waits: until when (ns), when the clock stops for it, which thread (0: nobody), the word that wakes it, which
#: begins at the byte `_WOKEN`, and whether something happens then.
_SLOT = np.dtype(
    [("until", "<i8"), ("stop", "<i8"), ("thread", "<i4"), ("woken", "<u4"), ("event", "<i4"), ("spare", "<i4")]
)
_WOKEN = 20
_NEVER = np.iinfo(np.int64).max
_FUTEX, _WAKE = 202, 1  # of x86-64
#: Real seconds without any processor time after which nobody is busy; `clock.c` naps for less.
_QUIET = 0.0012
#: Real-time priorities: of this process, and of the programs.
_OURS, _THEIRS = 1, 2
#: Those who look every second do so that far (ns) after the whole second.
_PHASE = _SECOND // 2
#: Seconds between the clock's stops while nothing happens.
_STEP = 10
#: Seconds after something happened in which nobody is late.
_AFTER = 5
_LIBC = ctypes.CDLL(None, use_errno=True)


class MovedClock:
    """The clock and the programs that it is for.

    Args:
        folder: An empty directory in memory, which all users can reach.
        begin: Unix time: it begins half a second before, so that all look half a second after what happens.
    """

    def __init__(self, folder: Path, begin: int) -> None:
        self._path = folder / "clock"
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
        self._time[0] = begin * _SECOND - _PHASE
        #: Until when it goes slowly, ns.
        self._slow_until = 0
        self._group = Path("/sys/fs/cgroup/cpuacct") / f"moved-{os.getpid()}"
        #: Threads without which the clock does not move: they wait for its time, or they are busy.
        self._awaited: list[int] = []
        #: How often the clock was moved.
        self.moves = 0

    def __enter__(self) -> Self:
        """Make the control group, and take a processor: whatever starts from now on shares it."""
        self._group.mkdir()
        self._usage = os.open(self._group / "cpuacct.usage", os.O_RDONLY)
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        _go_at(_OURS)
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Kill what is left in the control group."""
        os.close(self._usage)
        while left := (self._group / "cgroup.procs").read_text().split():
            subprocess.run(["kill", "-9", *left], check=False, capture_output=True)
            time.sleep(0.1)
        self._group.rmdir()

    @property
    def now(self) -> int:
        """The Unix time that it shows."""
        return int(self._time[0]) // _SECOND

    def environment(self, kind: str = "") -> dict[str, str]:
        """Give what programs need for this clock to be theirs.

        Args:
            kind: ``late``: it does not stop for them; ``event``: when they have waited, something happens.
        """
        words = {"MOVED_CLOCK": str(self._path), "LD_PRELOAD": str(self._library)}
        return words | ({f"MOVED_CLOCK_{kind.upper()}": "1"} if kind else {})

    @contextmanager
    def first(self) -> Iterator[None]:
        """Give a context in which programs are started that go before this process."""
        _go_at(_THEIRS)
        try:
            yield
        finally:
            _go_at(_OURS)

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
        while (used := int(os.pread(self._usage, 32, 0))) != before or not self._wait():
            before = used
            time.sleep(_QUIET)

    def _wait(self) -> bool:
        return not self._awaited or bool(np.isin(self._awaited, self._slots["thread"]).all())

    def happen(self) -> None:
        """Go slowly from now on, as something happens now: nobody is late for some seconds."""
        self._slow_until = int(self._time[0]) + _AFTER * _SECOND

    def go_to(self, end: int) -> None:
        """Move the clock, stopping where somebody waits for the time; return when nobody is busy.

        It stops half a second before too, so that those who look every second look half a second after it.
        """
        for until in (end * _SECOND - _PHASE, end * _SECOND):
            while (now := int(self._time[0])) < until:
                look = (now + _PHASE) // _SECOND * _SECOND + _PHASE if now < self._slow_until else now + _STEP * _SECOND
                stop = self._slots["stop"]
                self._move(min(int(stop[stop > now].min(initial=_NEVER)), until, look))

    def go_slowly(self, seconds: int) -> None:
        """Move the clock a second at a time."""
        for _ in range(seconds):
            self._move(int(self._time[0]) + _SECOND)

    def _move(self, to: int) -> None:
        self._time[0] = to
        self.moves += 1
        due = np.flatnonzero((self._slots["until"] <= to) & (self._slots["thread"] != 0))
        if self._slots["event"][due].any():
            self.happen()
        for slot in due.tolist():
            word = self._address + slot * _SLOT.itemsize + _WOKEN
            self._slots["woken"][slot] = 1
            woken = _LIBC.syscall(_FUTEX, ctypes.c_void_p(word), _WAKE, 1, None, None, 0)
            if not woken and not Path(f"/proc/{self._slots['thread'][slot]}").exists():
                self._slots[slot] = (_NEVER, _NEVER, 0, 0, 0, 0)  # it was killed
        self.settle()


def _go_at(priority: int) -> None:
    """Take a real-time priority, which programs that are started inherit."""
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(priority))
