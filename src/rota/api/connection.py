"""Connections: who is at the other end, how many they may have, and how long they may take.

So that nobody keeps all others out, a user has at most a quarter of the connections, on the Unix socket. Who comes by
TCP is not known before they show a token: all of them together have a half. There are no bounds for root and for who
runs the server.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

if TYPE_CHECKING:
    from asyncio import TimerHandle, Transport

#: Seconds within which a request has to be there, up to its body.
PATIENCE = 10.0
_CREDENTIALS = struct.Struct("3i")
#: Into how many parts all connections are divided, of which a user has one; and those who come by TCP.
_PARTS, _PARTS_BY_TCP = 4, 2
_CROWDED = {"type": "about:blank", "title": "you have too many connections: close some, or try it later", "status": 503}


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
        #: The user at the other end; ``None``: it is not known.
        self.uid: int | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Notice who has connected."""
        super().connection_made(transport)
        user = _user(transport.get_extra_info("socket"))
        self.app_state = {**self.app_state, "peer": Peer(user, transport)}
        self.uid = None if user is None else user[0]
        if self.uid in {0, os.geteuid()}:
            self.limit_concurrency = None
        if self._is_crowded():
            transport.write(_refusal())
            transport.close()
        else:
            self._wait()

    def _is_crowded(self) -> bool:
        """Whether who has connected has too many connections with this one."""
        if self.limit_concurrency is None:
            return False
        most = self.limit_concurrency // (_PARTS_BY_TCP if self.uid is None else _PARTS)
        return sum(cast("Connection", one).uid == self.uid for one in self.connections) > most

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

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(PATIENCE, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def _refusal() -> bytes:
    """Give an answer to whatever is asked on a connection too many."""
    body = json.dumps(_CROWDED).encode()
    head = "HTTP/1.1 503 Service Unavailable", "Content-Type: application/problem+json", f"Content-Length: {len(body)}"
    return "\r\n".join((*head, "Connection: close", "", "")).encode() + body


def _user(connection: socket.socket) -> tuple[int, int] | None:
    if connection.family != socket.AF_UNIX:
        return None
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, uid, gid = _CREDENTIALS.unpack(data)
    return uid, gid
