"""Files of messages for the administrator, which are bounded."""

from __future__ import annotations

import os

#: Bytes of messages before older ones are set aside.
_MOST = 1 << 18


def bound(fd: int) -> None:
    """Set what is in a file of messages aside if it is much: users can have some written, as often as they like.

    Args:
        fd: The file, open for writing at its end: whoever has it open so as well goes on in it. What is set aside goes
            to a file beside it, with ``.1`` after its name.
    """
    size = os.fstat(fd).st_size
    if size <= _MOST:
        return
    path, opened = os.readlink(f"/proc/self/fd/{fd}"), []
    try:
        opened.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        opened.append(os.open(path + ".1", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
        os.sendfile(opened[1], opened[0], size - _MOST, _MOST)
    except OSError:
        pass  # somebody has removed it, or there is no room for what was said
    for one in opened:
        os.close(one)
    os.ftruncate(fd, 0)
