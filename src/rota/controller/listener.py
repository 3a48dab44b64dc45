"""A listening socket. asyncio's own makes a reader, a writer and a task for everybody who connects, and asks later.

This one hands on the bare connection, so that whoever has too many is refused before anything else is made for them. A
few are taken at a time: other work goes on between, however fast they come. When no file can be opened it refuses with
one that it has kept for that, says so, and goes on as soon as there is room.
"""

from __future__ import annotations

import asyncio
import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

#: Connections that are taken in a turn of the event loop.
_AT_A_TIME = 32
#: Seconds until it is tried again, if not even a refusal was possible.
_REST = 0.1
_FULL = frozenset({errno.EMFILE, errno.ENFILE})
_NOBODY = (BlockingIOError, InterruptedError, ConnectionAbortedError)


class Listener:
    """Takes connections, from now on.

    Args:
        listening: The socket, which is closed with this.
        take: Is handed each connection, and closes it.
        refusal: What a connection is told for which there is no file.
        full: Is told why one could not be taken.
    """

    def __init__(
        self,
        listening: socket.socket,
        take: Callable[[socket.socket], object],
        *,
        refusal: bytes,
        full: Callable[[OSError], object],
    ) -> None:
        self._listening = listening
        self._take = take
        self._refusal = refusal
        self._full = full
        self._loop = asyncio.get_running_loop()
        self._kept = -1
        self._keep_one()
        self._again: asyncio.TimerHandle | None = None
        listening.setblocking(False)
        self._loop.add_reader(listening, self._accept_some)

    def drain(self) -> None:
        """Take all who have connected so far."""
        while self._accept_some():
            pass

    def close(self) -> None:
        """Take nobody any more."""
        self._loop.remove_reader(self._listening)
        self._listening.close()
        if self._again is not None:
            self._again.cancel()
        if self._kept >= 0:
            os.close(self._kept)

    async def wait_closed(self) -> None:
        """Do nothing: `close` has done it all. uvicorn wants it."""

    def _accept_some(self) -> bool:
        """Take some; say whether there may be more."""
        for _ in range(_AT_A_TIME):
            try:
                connection, _address = self._listening.accept()
            except _NOBODY:
                return False
            except OSError as error:
                self._full(error)
                if error.errno in _FULL and self._refuse_one():
                    continue
                self._rest()
                return False
            connection.setblocking(False)
            self._take(connection)
        return True

    def _refuse_one(self) -> bool:
        """Refuse one with the file that is kept for that; ``False``: there is none."""
        if self._kept < 0:
            self._keep_one()
        if self._kept < 0:
            return False
        os.close(self._kept)
        self._kept = -1
        try:
            connection, _address = self._listening.accept()
        except OSError:
            return False  # somebody else was faster, or there is nobody any more
        finally:
            self._keep_one()
        refuse(connection, self._refusal)
        self._keep_one()
        return True

    def _keep_one(self) -> None:
        if self._kept < 0:
            with suppress(OSError):
                self._kept = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _rest(self) -> None:
        self._loop.remove_reader(self._listening)
        self._again = self._loop.call_later(_REST, self._loop.add_reader, self._listening, self._accept_some)


def refuse(connection: socket.socket, refusal: bytes) -> None:
    """Say why nobody listens, if that can be said at once, and close a connection."""
    with connection, suppress(OSError):
        connection.setblocking(False)
        connection.send(refusal)
