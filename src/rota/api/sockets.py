"""Sockets to serve on, of this machine alone."""

from __future__ import annotations

import os
import socket
from ipaddress import ip_address
from typing import TYPE_CHECKING

from rota.model import InputError

if TYPE_CHECKING:
    from pathlib import Path

#: Connections that may wait.
BACKLOG = 1024
_LONGEST_PATH = 107


def unix_socket(path: Path, mode: int) -> socket.socket:
    """Make a Unix socket.

    Args:
        path: Its path.
        mode: Its permissions.

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
        path.chmod(mode)
        made.listen(BACKLOG)
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


def url_of(made: socket.socket) -> str:
    """Give the address of a TCP socket as a URL."""
    host, port = made.getsockname()[:2]
    return f"http://[{host}]:{port}" if made.family is socket.AF_INET6 else f"http://{host}:{port}"


def tcp_socket(address: str, field: str) -> socket.socket:
    """Make a TCP socket on loopback.

    Args:
        address: ``HOST:PORT``.
        field: The option in which it is.

    Raises:
        InputError: it cannot be made, or is not on loopback.
    """
    host, _, port = address.rpartition(":")
    host = (host or "127.0.0.1").strip("[]").replace("localhost", "127.0.0.1")
    try:
        ip = ip_address(host)
        number = int(port)
    except ValueError:
        raise InputError(f"{address!r} is not HOST:PORT with an address of this machine", field=field) from None
    if not ip.is_loopback:
        raise InputError(f"{host} is not on loopback: for other machines put a proxy with TLS before it", field=field)
    made = socket.socket(socket.AF_INET6 if ip.version == 6 else socket.AF_INET)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, number))
        made.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        made.close()
        raise InputError(f"{address}: {error}", field=field) from None
    return made
