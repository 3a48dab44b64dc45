"""What every request has to pass, before anything else looks at it.

On TCP the header ``Host`` must name this machine itself, so that no web page can reach the cluster through a name that
it has pointed here. Bodies are bounded, must arrive in time, and answers must be taken in time.

``HEAD`` is answered as ``GET`` would be, without the body.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
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
#: How much of a larger body is read and dropped, bytes: clients look for an answer when they have sent it all.
_DROPPED = 16 * LARGEST
#: Seconds after which a client that sends nothing more of it is taken to wait for the answer.
_PAUSE = 1.0
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

        asked = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        try:
            await _check(scope, peer, receive)
            if asked is scope:
                await self._app(scope, _bounded(receive), send_in_time)
            else:
                await _head(self._app, asked, _bounded(receive), send_in_time)
        except HTTPException as error:
            if not status:
                await _answer(send_in_time, error)
        finally:
            route = getattr(asked.get("route"), "path", "other")
            self._told(scope["method"], route, status, perf_counter() - begun)


def _stop(status: int, text: str) -> HTTPException:
    """Give what ends a request: the application tells it, if it has begun with the request."""
    return HTTPException(status, text, {"Connection": "close"})


async def _head(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the head of what is asked for: a stream, which might go on for ever, is ended."""
    answering = asyncio.timeout(None)

    async def send_head(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            await send({"type": "http.response.body", "body": b""})
            answering.reschedule(asyncio.get_running_loop().time())

    try:
        async with answering:
            await app(scope, receive, send_head)
    except TimeoutError:
        if not answering.expired():
            raise


async def _check(scope: Scope, peer: Peer, receive: Receive) -> None:
    headers: dict[bytes, bytes] = dict(scope["headers"])
    host = headers.get(b"host", b"").decode("latin-1").lower()
    name = host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
    if peer.user is None and name not in _HOSTS:
        raise _stop(421, "this is reached as localhost only")
    length = headers.get(b"content-length", b"0")
    if not length.isdigit() or int(length[:20]) > LARGEST:
        if b"expect" not in headers:  # who waits to be told to go on has sent nothing
            await _drop(receive)
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
            if message.get("more_body", False):
                await _drop(receive)
            raise _stop(413, f"a body has at most {LARGEST} bytes")
        whole = not message.get("more_body", False)
        return message

    return bounded


async def _drop(receive: Receive) -> None:
    """Read the rest of a body that is too large: answered before, many a client only sees a broken connection."""
    left, more = _DROPPED, True
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            while more and left > 0:
                async with asyncio.timeout(_PAUSE):
                    message = await receive()
                left -= len(message.get("body", b""))
                more = message.get("more_body", False)


async def _answer(send: Send, error: HTTPException) -> None:
    body: dict[str, Any] = {"type": "about:blank", "title": error.detail, "status": error.status_code}
    headers = [(b"content-type", b"application/problem+json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": error.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
