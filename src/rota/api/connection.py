"""Connections: who is at the other end, and how long they may take."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from rota.controller.crowd import peer_of

if TYPE_CHECKING:
    from asyncio import TimerHandle, Transport
    from collections.abc import Callable

#: Seconds within which a request has to be there, up to its body.
PATIENCE = 10.0


class Peer(NamedTuple):
    """Who is at the other end of a connection."""

    #: User and group, as the kernel tells of a Unix socket; ``None``: the connection came by TCP.
    user: tuple[int, int] | None
    transport: Transport


class Connection(H11Protocol):
    """uvicorn's connection, which puts a `Peer` into the scope of requests as ``state["peer"]``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waiting: TimerHandle | None = None
        #: Is called when it is closed.
        self.when_closed: Callable[[], None] = lambda: None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Notice who has connected."""
        super().connection_made(transport)
        user = _user(transport.get_extra_info("socket"))
        self.app_state = {**self.app_state, "peer": Peer(user, transport)}
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take data. Time runs from the first byte of a request until it has begun."""
        before = cast("RequestResponseCycle | None", self.cycle)  # there is none before the first request
        idle = before is None or before.response_complete
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()
        elif idle:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Notice the end."""
        self._stop_waiting()
        super().connection_lost(exc)
        self.when_closed()

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(PATIENCE, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def refusal(why: str) -> bytes:
    """Give an answer to whatever is asked on a connection that is not taken."""
    body = json.dumps({"type": "about:blank", "title": why, "status": 503}).encode()
    head = "HTTP/1.1 503 Service Unavailable", "Content-Type: application/problem+json", f"Content-Length: {len(body)}"
    return "\r\n".join((*head, "Connection: close", "", "")).encode() + body


def _user(connection: socket.socket) -> tuple[int, int] | None:
    return peer_of(connection)[1:] if connection.family == socket.AF_UNIX else None
