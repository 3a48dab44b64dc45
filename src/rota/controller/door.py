"""The socket on which a controller takes commands."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.controller.desk import Desk

_BACKLOG = 1024
#: For how many seconds a controller that goes down goes on to answer commands.
_PATIENCE = 2.0
#: Turns of the event loop after which those who have connected are at the desk; asyncio takes half of them.
_TURNS = 10


class Door:
    """The socket in the working directory, whose path may be longer than that of a socket may be.

    Args:
        desk: Takes the commands.
    """

    #: Name of the socket.
    PATH = Path("rota.sock")

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._server: asyncio.AbstractServer | None = None
        self._inode = 0
        self._opening: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Make the socket, and listen.

        Raises:
            OSError: it cannot be made.
        """
        made = socket.socket(socket.AF_UNIX)
        try:
            self._inode = _bind(made, self.PATH)
        except OSError:
            made.close()
            raise
        self.close(keep=True)
        self._server = await asyncio.start_unix_server(self._desk.serve, sock=made)

    def look(self) -> None:
        """Make the socket again if somebody has removed it."""
        if self._is_there() or (self._opening is not None and not self._opening.done()):
            return
        self._opening = asyncio.get_running_loop().create_task(self._open_again())

    async def _open_again(self) -> None:
        with suppress(OSError):  # the directory is gone too; the next look may find it
            await self.open()

    def _is_there(self) -> bool:
        try:
            return self.PATH.stat().st_ino == self._inode
        except OSError:
            return False

    async def leave(self) -> None:
        """Let no more commands in, and see those answered that are."""
        if self._is_there():
            self.PATH.unlink()
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        self.close()
        await self._desk.finish(_PATIENCE)

    def close(self, *, keep: bool = False) -> None:
        """Stop listening, and remove the socket unless it is kept."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if not keep and self._is_there():
            self.PATH.unlink()


def _bind(made: socket.socket, path: Path) -> int:
    """Bind a socket, and listen; give its inode."""
    path.unlink(missing_ok=True)
    made.bind(str(path))
    path.chmod(0o666 if os.geteuid() == 0 else 0o600)
    made.listen(_BACKLOG)
    return path.stat().st_ino
