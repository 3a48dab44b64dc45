"""The sockets on which a controller takes commands.

There are two: that of all users, and one that only root can open. Whoever connects waits while as many others do as may
at a time, and users could see to it that these never become fewer; on the other socket they keep nobody waiting.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.controller.desk import Desk
    from rota.controller.listener import Listener

_BACKLOG = 1024
#: For how many seconds a controller that goes down goes on to answer commands.
_PATIENCE = 2.0


class Door:
    """The sockets in the working directory, whose path may be longer than that of a socket may be.

    Args:
        desk: Takes the commands.
    """

    #: Names of the sockets of all users, and of root.
    PATH, ROOT = Path("rota.sock"), Path("root.sock")

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._listeners: dict[Path, Listener] = {}
        self._inodes: dict[Path, int] = {}

    def open(self) -> None:
        """Make the sockets, and listen.

        Raises:
            OSError: they cannot be made.
        """
        for path in (self.ROOT, self.PATH):
            self._open(path)

    def _open(self, path: Path) -> None:
        made = socket.socket(socket.AF_UNIX)
        try:
            self._inodes[path] = _bind(made, path, 0o600 if path is self.ROOT or os.geteuid() else 0o666)
        except OSError:
            made.close()
            raise
        if (before := self._listeners.pop(path, None)) is not None:
            before.close()
        self._listeners[path] = self._desk.listen(made)

    def look(self) -> None:
        """Make a socket again that somebody has removed."""
        for path in (self.ROOT, self.PATH):
            if not self._is_there(path):
                with suppress(OSError):  # the directory is gone too; the next look may find it
                    self._open(path)

    def _is_there(self, path: Path) -> bool:
        try:
            return path.stat().st_ino == self._inodes[path]
        except OSError:
            return False

    async def leave(self) -> None:
        """Let no more commands in, and see those answered that are."""
        for path, listener in self._listeners.items():
            if self._is_there(path):
                path.unlink()
            listener.drain()
            listener.close()
        self._listeners.clear()
        await asyncio.sleep(0)
        await self._desk.finish(_PATIENCE)


def _bind(made: socket.socket, path: Path, mode: int) -> int:
    """Bind a socket, and listen; give its inode."""
    path.unlink(missing_ok=True)
    made.bind(str(path))
    path.chmod(mode)
    made.listen(_BACKLOG)
    return path.stat().st_ino
