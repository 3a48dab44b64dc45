"""What every request has to pass, before anything else looks at it.

On TCP the header ``Host`` must name this machine itself, so that no web page can reach the cluster through a name that
it has pointed here. Bodies are bounded, must arrive in time, and answers must be taken in time.
"""

from __future__ import annotations

import asyncio
import json
from time import perf_counter
from typing import TYPE_CHECKING, Any

from fastapi import HTTPException

from rota.api.connection import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from rota.api.connection import Peer

    #: Is told method, path as in the routes, status and seconds of each request.
    Told = Callable[[str, str, int, float], None]

#: Largest body, bytes. Quoted once more it must not be too large for the controller: see `rota.controller.wire`.
LARGEST = 4_000_000
#: Seconds for which a client may take nothing of an answer.
_STUCK = 30.0
_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))


class Guard:
    """Wraps an application.

    Args:
        app: The application.
        told: Is told of each request.
    """

    def __init__(self, app: ASGIApp, told: Told) -> None:
        self._app = app
        self._told = told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request."""
        if scope["type"] != "http":
            return
        peer: Peer = scope["state"]["peer"]
        begun, status = perf_counter(), 0

        async def send_in_time(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            try:
                async with asyncio.timeout(_STUCK):
                    await send(message)
            except TimeoutError:
                peer.transport.abort()

        try:
            _check(scope, peer)
            await self._app(scope, _bounded(receive), send_in_time)
        except HTTPException as error:
            if not status:
                await _answer(send_in_time, error)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._told(scope["method"], route, status, perf_counter() - begun)


def _stop(status: int, text: str) -> HTTPException:
    """Give what ends a request: the application tells it, if it has begun with the request."""
    return HTTPException(status, text, {"Connection": "close"})


def _check(scope: Scope, peer: Peer) -> None:
    headers: dict[bytes, bytes] = dict(scope["headers"])
    host = headers.get(b"host", b"").decode("latin-1").lower()
    name = host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
    if peer.user is None and name not in _HOSTS:
        raise _stop(421, "this is reached as localhost only")
    length = headers.get(b"content-length", b"0")
    if not length.isdigit() or int(length[:20]) > LARGEST:
        raise _stop(413, f"a body has at most {LARGEST} bytes")


def _bounded(receive: Receive) -> Receive:
    """Receive a body that is not too large, and is there in time."""
    left, whole = LARGEST, False

    async def bounded() -> Message:
        nonlocal left, whole
        if whole:  # what comes now is the end of the connection
            return await receive()
        try:
            async with asyncio.timeout(PATIENCE):
                message = await receive()
        except TimeoutError:
            raise _stop(408, "the request has not arrived in time") from None
        left -= len(message.get("body", b""))
        if left < 0:
            raise _stop(413, f"a body has at most {LARGEST} bytes")
        whole = not message.get("more_body", False)
        return message

    return bounded


async def _answer(send: Send, error: HTTPException) -> None:
    body: dict[str, Any] = {"type": "about:blank", "title": error.detail, "status": error.status_code}
    headers = [(b"content-type", b"application/problem+json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": error.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
