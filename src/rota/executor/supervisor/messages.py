"""Files of messages, which are bounded."""

from __future__ import annotations

import os

#: Where tracebacks go.
ERRORS = "supervisor.err"
#: Bytes of a file of messages before older ones are set aside.
_MOST_SAID = 1 << 18


def bound(fd: int, path: str) -> None:
    """Set what is in a file of messages aside if it is much: users can have some written, as often as they like.

    Args:
        fd: The file, open for writing at its end: whoever has it open so as well goes on in it.
        path: Its path. What is set aside goes to a file beside it: ``PATH.1``.
    """
    size = os.fstat(fd).st_size
    if size <= _MOST_SAID:
        return
    try:
        said = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        aside = os.open(path + ".1", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        os.sendfile(aside, said, size - _MOST_SAID, _MOST_SAID)
        os.close(said)
        os.close(aside)
    except FileNotFoundError:
        pass  # somebody has removed it
    os.ftruncate(fd, 0)
