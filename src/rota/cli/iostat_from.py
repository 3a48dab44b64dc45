"""Where `rota iostat` has its numbers from: a service that runs, or sources that it reads itself."""

from __future__ import annotations

import json
import math
import socket
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode, urlsplit

from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rota.lustre.labels import Names
    from rota.lustre.service import Service

#: Seconds for an answer.
_PATIENCE = 30.0


@dataclass(frozen=True)
class Asked:
    """What is asked."""

    #: The field by which to group.
    by: str
    #: The metric by which groups are largest.
    sort: str
    #: Seconds to look back.
    last: float
    #: How many groups.
    top: int
    #: Conditions ``FIELD=VALUE``.
    where: Sequence[str]


class Numbers(Protocol):
    """Something that has numbers."""

    def top(self, asked: Asked) -> dict[str, Any]:
        """Give a document of the form `rota.api.lustre.forms.Top`."""

    def status(self) -> dict[str, Any]:
        """Give a document of the form `rota.api.lustre.forms.Status`."""


class Server:
    """A service that runs.

    Args:
        where: Path of its Unix socket, or ``http://HOST:PORT``.
        token: What it wants to be told on TCP.
    """

    def __init__(self, where: str, token: str) -> None:
        self._where = where
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def top(self, asked: Asked) -> dict[str, Any]:
        """Ask for the groups that did most."""
        query = {"by": asked.by, "sort": asked.sort, "last": asked.last, "top": asked.top, "where": list(asked.where)}
        return self._get(f"/lustre/v1/top?{urlencode(query, doseq=True)}")

    def status(self) -> dict[str, Any]:
        """Ask how it is."""
        return self._get("/lustre/v1/status")

    def _get(self, path: str) -> dict[str, Any]:
        connection = self._connection()
        try:
            connection.request("GET", path, headers=self._headers)
            answer = connection.getresponse()
            found: dict[str, Any] = json.loads(answer.read())
        except (OSError, HTTPException, ValueError) as error:
            text = f"no service answers there ({error}): start `rota jobstats serve`, or name a --source"
            raise InputError(text, path=self._where) from None
        finally:
            connection.close()
        if answer.status != 200:
            raise InputError(str(found.get("title")), path=self._where, field=found.get("field"))
        return found

    def _connection(self) -> HTTPConnection:
        if self._where.startswith("http://"):
            parts = urlsplit(self._where)
            return HTTPConnection(parts.hostname or "", parts.port or 80, timeout=_PATIENCE)
        return _OnSocket(self._where)


class _OnSocket(HTTPConnection):
    """HTTP on a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_PATIENCE)
        self._path = path

    def connect(self) -> None:
        """Connect."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(_PATIENCE)
        self.sock.connect(self._path)


@contextmanager
def read_sources(texts: tuple[str, ...], interval: int, timeout: float, names: Names) -> Iterator[Numbers]:
    """Read sources until the end, and keep what they say in a folder that goes away.

    Args:
        texts: The sources as they are written.
        interval: Seconds between two readings.
        timeout: Seconds for one command.
        names: Knows jobs.

    Raises:
        InputError: a source cannot be read so.
    """
    from rota.cli.jobstats_serve import feeds_of
    from rota.lustre.clock import SteadyClock
    from rota.lustre.deltas import Deltas
    from rota.lustre.service import Service
    from rota.lustre.store import tiers_of

    feeds = feeds_of(texts, timeout, Deltas())
    with tempfile.TemporaryDirectory(prefix="rota-iostat-") as folder:
        clock = SteadyClock()
        reading = Service(Path(folder), tiers_of(interval), feeds, names, clock=clock, report=lambda _: None)
        begin = math.ceil(clock() / interval) * interval
        reading.start()
        try:
            while not _is_ready(reading.status()):
                time.sleep(0.05)
            yield _Direct(reading, begin)
        finally:
            reading.stop()


def _is_ready(status: dict[str, Any]) -> bool:
    """Say whether a whole step has been read.

    Raises:
        InputError: no source can be read.
    """
    states = status["sources"]
    if all(one["failures"] and not one["readings"] for one in states):
        raise InputError(states[0]["error"], field="--source")
    return bool(status["writing"]["times"] >= 2)


class _Direct:
    """Sources that this process reads itself.

    Args:
        reading: Reads them.
        begin: The first whole step, Unix seconds.
    """

    def __init__(self, reading: Service, begin: int) -> None:
        self._reading = reading
        self._begin = begin

    def top(self, asked: Asked) -> dict[str, Any]:
        """Say which groups did most."""
        from rota.api.lustre import answers
        from rota.lustre.measures import METRICS, NOT_KNOWN
        from rota.lustre.query import Question, ask, filters_of

        with self._reading.reader.look() as look:
            begin = max(look.until - asked.last, self._begin)
            where = filters_of(asked.where)
            metrics = (*METRICS, NOT_KNOWN)
            question = Question(begin, look.until, metrics, asked.by, where, top=asked.top, by=asked.sort)
            self._reading.require_fields(look, question)
            return answers.top(look, ask(look, question), asked.by, asked.sort)

    def status(self) -> dict[str, Any]:
        """Say how the sources are."""
        return self._reading.status()
