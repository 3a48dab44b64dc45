"""uvicorn, set up the way all that rota serves needs it.

So that nobody keeps all others out, connections are given out as `rota.controller.crowd` says, on the Unix socket. Who
comes by TCP is not known before they show a token: all of them together may have as many as are free.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from typing import TYPE_CHECKING, cast

import uvicorn

from rota.api.connection import Connection, refusal
from rota.controller.crowd import Crowd, allow_many_files, most_files, peer_of
from rota.controller.listener import Listener, refuse
from rota.controller.seldom import Seldom

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from starlette.types import ASGIApp

#: Files beside connections, among them those for what is asked of the controller.
_OTHER_FILES = 100
_CROWDED = refusal("you have too many connections: close some, or try it later")
_FULL = refusal("the server has too many files open: try it later")
#: Seconds for which answers may go on when the process is to end; and an idle connection stays open.
_LAST, _IDLE = 2, 30


class Server(uvicorn.Server):
    """A server that ends by SIGTERM, at any time.

    Args:
        app: The application.
        most: Connections at a time, if so many files may be open.
        ending: Is called when it is told to end while it serves, so that streams end that would go on for ever.
    """

    def __init__(self, app: ASGIApp, most: int, ending: Callable[[], None] = lambda: None) -> None:
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            lifespan="off",
            access_log=False,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_IDLE,
            timeout_graceful_shutdown=_LAST,
        )
        super().__init__(config)
        self._ending = ending
        allow_many_files()
        self._crowd = Crowd(min(most, most_files() - _OTHER_FILES))
        self._too_many, self._is_full = Seldom(_log), Seldom(_log)
        self._coming: set[asyncio.Task[object]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen: uvicorn would let asyncio take whoever connects, and count later."""
        await self.lifespan.startup()
        listeners = [Listener(one, self._take, refusal=_FULL, full=self._tell_full) for one in sockets or ()]
        self.servers = cast("list[asyncio.Server]", listeners)  # which are closed, and no more
        self.started = True

    def _tell_full(self, error: OSError) -> None:
        self._is_full(f"error: a connection could not be taken: {error.strerror}")

    def _take(self, connection: socket.socket) -> None:
        """Take a connection; one too many is told so at once."""
        by_tcp = connection.family != socket.AF_UNIX
        who = None if by_tcp else peer_of(connection).uid
        leave = self._crowd.enter(who, lambda: who in {0, os.geteuid()}, 1.0 if by_tcp else 0.5)
        if leave is None:
            refuse(connection, _CROWDED)
            self._too_many(f"error: {'TCP' if by_tcp else f'user {who}'} has too many connections: one was refused")
            return
        made = Connection(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
        made.when_closed = leave
        loop = asyncio.get_running_loop()
        task = loop.create_task(loop.connect_accepted_socket(lambda: made, connection))
        self._coming.add(task)
        task.add_done_callback(self._coming.discard)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal while it serves."""
        self._ending()
        super().handle_exit(sig, frame)

    def end(self, *_: object) -> None:
        """Take a signal at any other time: one that has ended it comes again when it has ended."""
        if not self.should_exit:
            raise SystemExit(0)


def _log(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
