"""Remote write: a server that takes what Prometheus's would, read with a reader of protobuf of its own."""

from __future__ import annotations

import struct
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from rota.cli.main import main

from .conftest import free_port
from .lustre import Dumps, serving
from .test_lustre_service import _source, _wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Field = tuple[int, int | bytes]


def _fields(data: bytes) -> Iterator[Field]:
    """Read the fields of a message: numbers, and what is behind a length."""
    at = 0

    def varint() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, varint()
            continue
        length = 8 if kind == 1 else varint()
        assert kind in {1, 2}
        yield tag >> 3, data[at : at + length]
        at += length


def _pair(data: bytes) -> tuple[str, str]:
    name, value = (value.decode() for _, value in _fields(data) if isinstance(value, bytes))
    return name, value


class Taken:
    """What was sent."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        #: By name and the other labels.
        self.values: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        self.moments: set[int] = set()
        self.status = 204

    def take(self, body: bytes) -> None:
        size = shift = at = 0
        while True:  # Snappy's length
            size |= (body[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if body[at - 1] < 0x80:
                break
        for _, series in _fields(pa.decompress(body, size, codec="snappy", asbytes=True)):
            assert isinstance(series, bytes)
            parts = list(_fields(series))
            labels = [_pair(one) for number, one in parts if number == 1 and isinstance(one, bytes)]
            assert labels == sorted(labels)
            (sample,) = [one for number, one in parts if number == 2]
            assert isinstance(sample, bytes)
            found = dict(_fields(sample))
            name = dict(labels)["__name__"]
            self.values[name, frozenset(labels) - {("__name__", name)}] = struct.unpack("<d", found[1])[0]  # type: ignore[arg-type]
            self.moments.add(found[2])  # type: ignore[arg-type]

    def value(self, name: str, **labels: str) -> float | None:
        return next(
            (value for (one, of), value in self.values.items() if one == name and set(labels.items()) <= of), None
        )


@pytest.fixture
def receiver() -> Iterator[tuple[str, Taken]]:
    taken = Taken()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if taken.status == 204:
                taken.take(body)
            self.send_response(taken.status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/api/v1/write", taken
    server.shutdown()
    thread.join()
    server.server_close()


def test_sums_are_sent_after_each_step(tmp_path: Path, receiver: tuple[str, Taken]) -> None:
    url, taken = receiver
    dumps = Dumps(tmp_path / "dumps")
    source = f"dir:{dumps.folder}"
    dumps.add("fs-OST0000", "cp.0", 1, 1)
    (tmp_path / "token").write_text("secret\n")
    options = ["--source", source, "--remote-write", url, "--remote-write-token", str(tmp_path / "token")]
    name = "rota_lustre_user_write_bytes_total"
    with serving(tmp_path / "store", tmp_path / "log", free_port(), *options) as lustre:
        _wait_for(lambda: _source(lustre, source)["readings"])
        dumps.add("fs-OST0000", "cp.0", 3, 1_000_000)
        _wait_for(lambda: taken.value(name, user="root", filesystem="fs", job="rota_lustre") == 1_000_000)
        assert taken.value("rota_lustre_target_write_requests_total", target="fs-OST0000", kind="OST") == 3
        assert taken.value("rota_lustre_source_up", source=source) == 1
        taken.status = 503
        dumps.add("fs-OST0000", "cp.0", 1, 500_000)
        _wait_for(lambda: "cannot be sent: 503" in lustre.log.read_text())
        taken.status = 204
        _wait_for(lambda: taken.value(name, user="root") == 1_500_000)
        dumps.add("fs-OST0000", "cp.0", 1, 1)
    assert "can be sent again" in (tmp_path / "log").read_text()
    assert taken.headers["authorization"] == "Bearer secret"
    assert taken.headers["content-encoding"] == "snappy"
    assert len(taken.moments) > 2
    assert {len(str(moment)) for moment in taken.moments} == {13}  # milliseconds


@pytest.mark.parametrize("url", ["x", "ftp://h/", "http://", "http://u:p@h/w"])
def test_an_address_that_is_none(tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jobstats", "serve", "--store", str(tmp_path / "store"), "--source", "x", "--remote-write", url]) == 2
    assert "--remote-write" in capsys.readouterr().err
