"""The process: sockets, uvicorn, and its end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rota.api.app import make_app
from rota.api.server import Server
from rota.api.sockets import tcp_socket, unix_socket, url_of

if TYPE_CHECKING:
    from collections.abc import Callable

#: The socket in the state directory.
SOCKET = "http.sock"
_MOST_CONNECTIONS = 512


def serve_http(state: Path, path: Path | None, tcp: str, *, lifeline: bool, ready: Callable[[list[str]], None]) -> None:
    """Serve until told to end.

    Args:
        state: State directory of the cluster.
        path: The Unix socket; ``None``: ``http.sock`` in the state directory.
        tcp: ``HOST:PORT`` of a TCP socket on loopback; empty: none.
        lifeline: Whether to end when standard input does.
        ready: Is called with the addresses when requests are taken.

    Raises:
        InputError: an address cannot be used.
    """
    target = Path(SOCKET) if path is None else path.absolute()
    os.chdir(state)  # its path may be longer than that of a socket may be
    sockets = [unix_socket(target, 0o666 if os.geteuid() == 0 else 0o600)]
    sockets += [tcp_socket(tcp, "--tcp")] if tcp else []
    server = Server(make_app(), _MOST_CONNECTIONS)
    shown = [str(state / target), *map(url_of, sockets[1:])]
    ready(shown)
    signal.signal(signal.SIGTERM, server.end)
    try:
        asyncio.run(_serve(server, sockets, lifeline=lifeline))
    finally:
        with suppress(OSError):
            target.unlink()


async def _serve(server: Server, sockets: list[socket.socket], *, lifeline: bool) -> None:
    if lifeline:
        loop = asyncio.get_running_loop()

        def read() -> None:
            if not os.read(sys.stdin.fileno(), 4096):
                loop.remove_reader(sys.stdin)
                server.should_exit = True

        loop.add_reader(sys.stdin, read)
    await server.serve(sockets=sockets)
