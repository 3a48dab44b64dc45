"""uvicorn, set up the way all that rota serves needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import uvicorn

from rota.api.connection import Connection
from rota.api.sockets import BACKLOG

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from starlette.types import ASGIApp

#: Seconds for which answers may go on when the process is to end; and an idle connection stays open.
_LAST, _IDLE = 2, 30


class Server(uvicorn.Server):
    """A server that ends by SIGTERM, at any time.

    Args:
        app: The application.
        most: Connections at a time.
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
            backlog=BACKLOG,
            limit_concurrency=most,
            timeout_keep_alive=_IDLE,
            timeout_graceful_shutdown=_LAST,
        )
        super().__init__(config)
        self._ending = ending

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal while it serves."""
        self._ending()
        super().handle_exit(sig, frame)

    def end(self, *_: object) -> None:
        """Take a signal at any other time: one that has ended it comes again when it has ended."""
        if not self.should_exit:
            raise SystemExit(0)
