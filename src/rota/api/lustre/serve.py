"""Sockets, uvicorn, and the end, of the service that tells who loads a Lustre file system."""

from __future__ import annotations

import grp
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rota.api.lustre.access import make_token
from rota.api.lustre.app import make_app
from rota.api.server import Server
from rota.api.sockets import tcp_socket, unix_socket, url_of
from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import APIRouter

    from rota.lustre.service import Service

#: The socket in the directory of the store.
SOCKET = "http.sock"
_MOST_CONNECTIONS = 256


def serve_lustre(
    service: Service,
    folder: Path,
    tcp: str,
    *,
    group: str,
    public: bool,
    ready: Callable[[list[str]], None],
    pages: APIRouter | None = None,
) -> None:
    """Serve until told to end.

    Args:
        service: What is served; it is started and stopped.
        folder: Directory of the store, in which the Unix socket and the token are.
        tcp: ``HOST:PORT`` of a TCP socket on loopback; empty: none.
        group: Name of a group whose members may use the Unix socket too; empty: none.
        public: Whether no token is needed on TCP.
        ready: Is called with the addresses when requests are taken.
        pages: Paths of pages that ask them.

    Raises:
        InputError: an address or the group cannot be used.
    """
    os.chdir(folder)  # its path may be longer than that of a socket may be
    target = Path(SOCKET)
    token = "" if public or not tcp else make_token(Path())
    sockets = [unix_socket(target, 0o660 if group else 0o600)]
    if group:
        _give(target, folder, group)
    sockets += [tcp_socket(tcp, "--http")] if tcp else []
    server = Server(make_app(service, token, pages), _MOST_CONNECTIONS, service.end_streams)
    signal.signal(signal.SIGTERM, server.end)
    service.start()
    try:
        ready([str(folder / target), *map(url_of, sockets[1:])])
        server.run(sockets)
    finally:
        service.stop()
        with suppress(OSError):
            target.unlink()


def _give(target: Path, folder: Path, group: str) -> None:
    """Let a group reach the socket."""
    try:
        number = grp.getgrnam(group).gr_gid
        os.chown(target, -1, number)
        os.chown(folder, -1, number)
        folder.chmod(0o710)
    except (KeyError, OSError) as error:
        raise InputError(f"the socket cannot be given to that group: {error}", field="--group") from None
