"""Prometheus's remote write 1.0: the sums of ``/metrics``, sent to a server after each step that was written.

For servers that nobody can ask from outside. Sums only grow, so that one that could not be sent is in the next; nothing
is kept to be sent again. The text is protobuf, in a block of Snappy: the few forms of the two that are needed here are
written by hand, as neither has a place among the dependencies.
"""

from __future__ import annotations

import socket
import struct
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Event, Thread
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import pyarrow as pa

from rota import __version__
from rota.api.lustre.exporter import families
from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prometheus_client.metrics_core import Metric

    from rota.lustre.service import Service

#: Seconds between two looks whether something was written, and for an answer.
_LOOK, _PATIENCE = 0.25, 10.0
#: Wire types of protobuf.
_VARINT, _DOUBLE, _BYTES = 0, 1, 2


class RemoteWrite:
    """Sends, from a thread of its own, as long as the context lasts, and once at its end.

    Args:
        service: Whose sums.
        url: Where to, such as ``http://prometheus:9090/api/v1/write``.
        token: To be sent as a bearer's; empty: none.
        report: Takes a line for the administrator.

    Raises:
        InputError: the address is none.
    """

    def __init__(self, service: Service, url: str, token: str, report: Callable[[str], object]) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.fragment:
            raise InputError(f"{url!r} is not http://HOST:PORT/PATH", field="--remote-write")
        self._service = service
        self._url = url
        self._where = parts
        self._report = report
        self._error = ""
        self._headers = {
            "Content-Type": "application/x-protobuf",
            "Content-Encoding": "snappy",
            "X-Prometheus-Remote-Write-Version": "0.1.0",
            "User-Agent": f"rota/{__version__}",
            **({"Authorization": f"Bearer {token}"} if token else {}),
        }
        self._labels = {"job": "rota_lustre", "instance": socket.gethostname()}
        self._stop = Event()
        self._thread = Thread(target=self._run, name="remote write", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(2 * _PATIENCE)

    def _run(self) -> None:
        sent = -1
        while not self._stop.wait(_LOOK):
            if (until := self._service.until) > sent >= 0:
                self._send()
            sent = until
        self._send()

    def _send(self) -> None:
        """Send all sums, and report what is new of it."""
        try:
            self._post(written(families(self._service), self._labels, int(self._service.now() * 1000)))
            error = ""
        except (OSError, HTTPException) as failure:
            error = f"error: {self._url}: what was counted cannot be sent: {str(failure) or type(failure).__name__}"
        if error != self._error:
            self._report(error or f"{self._url}: what is counted can be sent again")
        self._error = error

    def _post(self, body: bytes) -> None:
        kind = HTTPSConnection if self._where.scheme == "https" else HTTPConnection
        connection = kind(self._where.hostname or "", self._where.port, timeout=_PATIENCE)
        try:
            path = self._where.path or "/"
            connection.request(
                "POST", f"{path}?{self._where.query}" if self._where.query else path, body, self._headers
            )
            answer = connection.getresponse()
            said = answer.read(200).decode(errors="replace").strip()
        finally:
            connection.close()
        if answer.status // 100 != 2:
            raise OSError(f"{answer.status} {answer.reason}{': ' if said else ''}{said}")


def written(found: Iterable[Metric], labels: Mapping[str, str], moment: int) -> bytes:
    """Write metrics as a request.

    Args:
        found: The metrics.
        labels: That all of them get.
        moment: Milliseconds since 1970.
    """
    series = []
    for family in found:
        for sample in family.samples:
            named = sorted({**labels, **sample.labels, "__name__": sample.name}.items())
            told = b"".join(
                _bytes(1, _bytes(1, name.encode()) + _bytes(2, value.encode())) for name, value in named if value
            )
            value = _tag(1, _DOUBLE) + struct.pack("<d", sample.value) + _tag(2, _VARINT) + _varint(moment)
            series.append(_bytes(1, told + _bytes(2, value)))
    request = b"".join(series)
    return bytes(pa.compress(request, codec="snappy", asbytes=True))


def _bytes(field: int, data: bytes) -> bytes:
    return _tag(field, _BYTES) + _varint(len(data)) + data


def _tag(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
