"""The process: sockets, uvicorn, and its end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from rota.api.app import make_app
from rota.api.connection import Connection
from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

#: The socket in the state directory.
SOCKET = "http.sock"
_BACKLOG, _MOST_CONNECTIONS = 1024, 512
#: Seconds for which answers may go on when the process is to end; and an idle connection stays open.
_LAST, _IDLE = 2, 30
_LONGEST_PATH = 107


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
    sockets = [_unix(target), *([_tcp(tcp)] if tcp else [])]
    config = uvicorn.Config(
        make_app(),
        http=Connection,
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=_LAST,
    )
    shown = [str(state / target), *(f"http://{one.getsockname()[0]}:{one.getsockname()[1]}" for one in sockets[1:])]
    ready(shown)
    signal.signal(signal.SIGTERM, _end)  # uvicorn sends it again when it has ended
    try:
        asyncio.run(_serve(uvicorn.Server(config), sockets, lifeline=lifeline))
    finally:
        with suppress(OSError):
            target.unlink()


def _end(*_: object) -> None:
    raise SystemExit(0)


async def _serve(server: uvicorn.Server, sockets: list[socket.socket], *, lifeline: bool) -> None:
    if lifeline:
        loop = asyncio.get_running_loop()

        def read() -> None:
            if not os.read(sys.stdin.fileno(), 4096):
                loop.remove_reader(sys.stdin)
                server.should_exit = True

        loop.add_reader(sys.stdin, read)
    await server.serve(sockets=sockets)


def _unix(path: Path) -> socket.socket:
    """Make a Unix socket: for all users if root serves, else for its own.

    Raises:
        InputError: it cannot be made, or somebody serves there.
    """
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise InputError(f"a socket's path has at most {_LONGEST_PATH} bytes", path=path)
    made = socket.socket(socket.AF_UNIX)
    try:
        if _answers(path):
            raise InputError("another process serves there", path=path)
        if path.is_socket():
            path.unlink()
        os.umask(0o177)
        made.bind(str(path))
        path.chmod(0o666 if os.geteuid() == 0 else 0o600)
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        raise InputError(f"the socket cannot be made: {error.strerror}", path=path) from None
    return made


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


def _tcp(address: str) -> socket.socket:
    """Make a TCP socket on loopback.

    Raises:
        InputError: it cannot be made, or is not on loopback.
    """
    host, _, port = address.rpartition(":")
    host = (host or "127.0.0.1").strip("[]").replace("localhost", "127.0.0.1")
    try:
        ip = ip_address(host)
        number = int(port)
    except ValueError:
        raise InputError(f"{address!r} is not HOST:PORT with an address of this machine", field="--tcp") from None
    if not ip.is_loopback:
        raise InputError(f"{host} is not on loopback: for other machines put a proxy with TLS before it", field="--tcp")
    made = socket.socket(socket.AF_INET6 if ip.version == 6 else socket.AF_INET)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, number))
        made.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        made.close()
        raise InputError(f"{address}: {error}", field="--tcp") from None
    return made
