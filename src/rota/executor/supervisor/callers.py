"""The socket on which callers are served: JSON objects, one a line, both ways.

A caller gets a greeting (``hello``), reports of all that is known, and ``known``; then reports as things happen, and
``done`` with the number of each request. Only the user of this process and root are served.
"""

from __future__ import annotations

import json
import os
import socket
import struct

from rota.executor.supervisor.log import encode
from rota.executor.supervisor.loop import IN, OUT
from rota.executor.supervisor.shortage import missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rota.executor.supervisor.log import Record
    from rota.executor.supervisor.loop import Loop

SOCKET = "supervisor.sock"
#: Bytes that wait for a caller, or of one request, beyond which it is cut off.
_MOST_OUT = 1 << 27
_MOST_IN = 1 << 26
#: Seconds until a caller is taken for whom there was no file.
_REST = 0.1


class Caller:
    """A connection."""

    __slots__ = ("connection", "inbox", "outbox")

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        #: The beginning of a request.
        self.inbox = b""
        #: What has not been sent.
        self.outbox = bytearray()


class Callers:
    """Serves connections.

    Args:
        loop: The loop.
        greeting: Function that gives what a new caller is told.
        request: Function that takes a request.
    """

    def __init__(self, loop: Loop, greeting: Callable[[], list[Record]], request: Callable[[Record], None]) -> None:
        self._loop = loop
        self._greeting = greeting
        self._request = request
        self._callers: dict[int, Caller] = {}
        self._listener: socket.socket | None = None
        self._inode = 0
        #: Reports that have not been handed to the callers.
        self._reports: list[Record] = []

    @property
    def are_there(self) -> bool:
        """Whether there are any."""
        return bool(self._callers)

    # ---- the socket -------------------------------------------------------------------------------------------

    def listen(self) -> None:
        """Make the socket, in the current directory. One that is there is nobody's: the caller has the lock."""
        self._close_listener()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        name = SOCKET + ".new"
        for old in (name, SOCKET):
            try:
                os.unlink(old)
            except FileNotFoundError:
                pass
        listener.bind(name)
        os.chmod(name, 0o600)
        listener.listen(64)
        # Nobody sees it before it is ready.
        os.rename(name, SOCKET)
        self._inode = os.stat(SOCKET).st_ino
        self._listener = listener
        self._loop.watch(listener.fileno(), self._accept)

    @property
    def can_be_found(self) -> bool:
        """Whether the socket is still in its place."""
        try:
            return os.stat(SOCKET).st_ino == self._inode
        except OSError:
            return False

    def close(self) -> None:
        """Cut off all callers, and take no more."""
        self._close_listener()
        for caller in list(self._callers.values()):
            self._drop(caller)

    def _close_listener(self) -> None:
        if self._listener is not None:
            self._loop.unwatch(self._listener.fileno())
            self._listener.close()
            self._listener = None

    def _accept(self, _: int) -> None:
        assert self._listener is not None  # noqa: S101 - it is watched
        try:
            connection, _address = self._listener.accept()
        except OSError as error:
            if missing(error):
                self._rest()
            return
        _pid, uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if uid not in (0, os.geteuid()):
            connection.close()
            return
        connection.setblocking(False)
        caller = self._callers[connection.fileno()] = Caller(connection)
        # What was reported before it came is in its greeting.
        self.flush()
        self._loop.watch(connection.fileno(), lambda events: self._serve(caller, events))
        caller.outbox += b"".join(encode(record).encode() + b"\n" for record in self._greeting())
        self._send(caller)

    def _rest(self) -> None:
        """Take nobody for a while: there is no file for them."""
        listener = self._listener
        assert listener is not None  # noqa: S101 - somebody has connected
        self._loop.unwatch(listener.fileno())

        def watch() -> None:
            if listener is self._listener:
                self._loop.watch(listener.fileno(), self._accept)

        self._loop.after(_REST, watch)

    # ---- one caller -------------------------------------------------------------------------------------------

    def _serve(self, caller: Caller, events: int) -> None:
        if events & OUT:
            self._send(caller)
        if not events & ~OUT:
            return
        try:
            data = caller.connection.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(caller)
            return
        *lines, caller.inbox = (caller.inbox + data).split(b"\n")
        if not all(self._take(line) for line in lines) or len(caller.inbox) > _MOST_IN:
            self._drop(caller)

    def _take(self, line: bytes) -> bool:
        """Carry out a request; ``False``: it makes no sense, and the caller is to be cut off."""
        try:
            self._request(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            os.write(2, f"request refused: {type(error).__name__}: {error}\n".encode())
            return False
        return True

    def _send(self, caller: Caller) -> None:
        try:
            sent = caller.connection.send(caller.outbox) if caller.outbox else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            sent = len(caller.outbox)  # it has closed the connection, perhaps after a last request
        del caller.outbox[:sent]
        if len(caller.outbox) > _MOST_OUT:
            self._drop(caller)
        elif caller.connection.fileno() in self._callers:
            events = IN | OUT if caller.outbox else IN
            self._loop.watch(caller.connection.fileno(), lambda events: self._serve(caller, events), events)

    def _drop(self, caller: Caller) -> None:
        fd = caller.connection.fileno()
        if self._callers.pop(fd, None) is not None:
            self._loop.unwatch(fd)
            caller.connection.close()

    # ---- all callers ------------------------------------------------------------------------------------------

    def report(self, record: Record) -> None:
        """Report to all callers, at the next `flush`."""
        self._reports.append(record)

    def flush(self) -> None:
        """Send the reports."""
        if not self._reports:
            return
        data = b"".join(encode(record).encode() + b"\n" for record in self._reports)
        self._reports.clear()
        for caller in list(self._callers.values()):
            idle = not caller.outbox
            caller.outbox += data
            if idle:
                self._send(caller)


def checked(request: dict[str, Any]) -> dict[str, Any]:
    """Check a request to launch a run.

    Raises:
        TypeError: a part of it is of the wrong type.
        KeyError: a part of it is missing.
    """
    for names, kind in _PARTS.items():
        for name in names:
            if not isinstance(request[name], kind) or isinstance(request[name], bool) is not (kind is bool):
                raise TypeError(f"{name} is {request[name]!r}")
    if not request["argv"]:
        raise TypeError("argv is empty")
    return request


_PARTS: dict[tuple[str, ...], Any] = {
    ("job", "run", "uid", "gid", "memory", "prolog_epilog_timeout"): int,
    ("mark", "prolog", "epilog", "cwd", "stdin", "stdout", "stderr"): str,
    ("argv", "groups", "cpus"): list,
    ("env", "own_env", "rlimits"): dict,
    ("append",): bool,
    ("umask",): int | None,
}
