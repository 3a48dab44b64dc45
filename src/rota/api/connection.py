"""Connections: who is at the other end, and how long they may take."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

if TYPE_CHECKING:
    from asyncio import TimerHandle, Transport

#: Seconds within which a request has to be there, up to its body.
PATIENCE = 10.0
_CREDENTIALS = struct.Struct("3i")


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

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Notice who has connected."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, "peer": Peer(_user(transport.get_extra_info("socket")), transport)}
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

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(PATIENCE, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def _user(connection: socket.socket) -> tuple[int, int] | None:
    if connection.family != socket.AF_UNIX:
        return None
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, uid, gid = _CREDENTIALS.unpack(data)
    return uid, gid
