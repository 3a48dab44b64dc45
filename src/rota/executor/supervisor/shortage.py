"""What a machine is short of, when something fails for want of it. It may work later, so it is tried again."""

from __future__ import annotations

import errno
import os
import time

from rota.executor.supervisor import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

PROCESSES, FILES, MEMORY, DISK = "processes", "open files", "memory", "disk space"
_MISSING = {
    errno.EAGAIN: PROCESSES,
    errno.EMFILE: FILES,
    errno.ENFILE: FILES,
    errno.ENOMEM: MEMORY,
    errno.ENOBUFS: MEMORY,
    errno.ENOSPC: DISK,
    errno.EDQUOT: DISK,
}
#: Seconds until it is tried again, at first and at most: each pause is twice as long as the one before.
FIRST, LONGEST = 0.05, 5.0
#: Seconds for which something is tried again before it is given up for now.
PATIENCE = 60.0


def missing(error: BaseException) -> str:
    """Say what was missing; empty: it failed for another reason, and would again."""
    if isinstance(error, MemoryError):
        return MEMORY
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return PROCESSES
    return _MISSING.get(error.errno or 0, "") if isinstance(error, OSError) else ""


def pauses(patience: float = PATIENCE) -> Iterator[float]:
    """Give growing pauses, as long as one is to be patient."""
    pause, until = FIRST, time.monotonic() + patience
    while time.monotonic() < until:
        yield pause
        pause = min(2 * pause, LONGEST)


def patiently(call: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """Call a function, again and again as long as something is missing, for so many seconds.

    Raises:
        OSError: it fails, for another reason or for long.
    """
    for pause in pauses(patience):
        try:
            return call()
        except OSError as error:
            if not missing(error):
                raise
            time.sleep(pause)
    return call()


def refusals() -> int:
    """Count how often this process's control groups have had no room for another process; 0: they do not tell."""
    count = 0
    for line in kernel.read("/proc/self/cgroup").decode("utf-8", "surrogateescape").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "pids"):
            continue
        root = "/sys/fs/cgroup/pids" if controllers else "/sys/fs/cgroup"
        while path.strip("/"):
            words = kernel.read(f"{root}{path}/pids.events").split()
            count += int(words[words.index(b"max") + 1]) if b"max" in words else 0
            path = path.rpartition("/")[0]
    return count


def was_full(before: int) -> bool:
    """Whether there was no room for a process, as far as can be known: since `refusals` were so many, or now."""
    if refusals() > before:
        return True
    try:
        pid = os.fork()
    except OSError:
        return True
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    return False
