"""A small HTTP client, over the Unix socket of a cluster or over TCP."""

from __future__ import annotations

import json
import socket
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_PATIENCE = 60.0


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def data(self) -> Any:
        return json.loads(self.text)


class _OnSocket(HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(_PATIENCE)
        self.sock.connect(str(self._path))


class Client:
    """Asks.

    Args:
        where: Path of a socket, or a TCP port.
        headers: Sent with each request.
    """

    def __init__(self, where: Path | int, headers: Mapping[str, str] | None = None) -> None:
        self._where = where
        self._headers = headers or {}

    def connection(self) -> HTTPConnection:
        if isinstance(self._where, int):
            return HTTPConnection("127.0.0.1", self._where, timeout=_PATIENCE)
        return _OnSocket(self._where)

    def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        """Send a request, a text as it is and everything else as JSON."""
        connection = self.connection()
        try:
            data = body if body is None or isinstance(body, str | bytes) else json.dumps(body)
            kind = {} if body is None else {"Content-Type": "application/json"}
            connection.request(method, path, data, {**kind, **self._headers, **(headers or {})})
            got = connection.getresponse()
            return Answer(got.status, {key.lower(): value for key, value in got.getheaders()}, got.read().decode())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """Get something that is there."""
        answer = self.ask("GET", path)
        assert answer.status == 200, answer.text
        return answer.data

    def post(self, path: str, body: Any) -> Any:
        """Post something that is taken."""
        answer = self.ask("POST", path, body)
        assert answer.status == 200, answer.text
        return answer.data
