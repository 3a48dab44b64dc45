"""The place of a supervisor: the state directory, and the lock that says that nobody else is there."""

from __future__ import annotations

import fcntl
import os

LOCK = "supervisor.lock"
#: The file descriptor of the lock, which is open for as long as the process lives.
_LOCK_FD = 3


def take(directory: str) -> bool:
    """Be in the state directory, which is made again if it is gone, with the lock on it.

    Args:
        directory: The path that it had. It may have another one now, and is this process's current directory then.

    Returns:
        ``False``: a supervisor of another cluster has the place. This process stays where it was.

    Raises:
        OSError: the directory cannot be made.
    """
    before = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not _is_there():
            os.makedirs(directory, 0o700, exist_ok=True)
            os.chdir(directory)
        if _has_lock():
            return True
        os.fchdir(before)
        return False
    finally:
        os.close(before)


def _is_there() -> bool:
    """Whether the current directory has not been removed."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _has_lock() -> bool:
    lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.path.samestat(os.fstat(lock), os.fstat(_LOCK_FD)):
            return True
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.dup2(lock, _LOCK_FD, inheritable=False)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
