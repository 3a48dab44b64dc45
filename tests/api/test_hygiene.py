"""What no request may do: reach a cluster through a foreign name, fill the memory, hold a connection, hide a defect."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

from .client import Client
from .conftest import CONF, serving

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Served


_HEAD = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer "


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.2", "[::1", "10.0.0.1:80"])
def test_on_tcp_only_names_of_this_machine_are_served(served: Served, host: str) -> None:
    token = served.cluster.rota("token").stdout.strip()
    assert served.with_token(token).ask("GET", "/v1/jobs", headers={"Host": host}).status == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "LOCALHOST:80", "[::1]:80"])
def test_those_names(served: Served, host: str) -> None:
    token = served.cluster.rota("token").stdout.strip()
    assert served.with_token(token).ask("GET", "/v1/jobs", headers={"Host": host}).status == 200


def test_no_other_origin_is_allowed(served: Served) -> None:
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for method in ("GET", "OPTIONS"):
        answer = served.client.ask(method, "/v1/jobs", headers=headers)
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert served.client.ask("OPTIONS", "/v1/jobs", headers=headers).status == 405


def test_bodies_are_bounded(served: Served) -> None:
    large = served.client.ask("POST", "/v1/jobs", headers={"Content-Length": str(5 << 20)})
    assert large.status == 413
    token = served.cluster.rota("token").stdout.strip().encode()
    with _raw(served) as connection:
        connection.sendall(_HEAD + token + b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        with suppress(OSError):  # it may be closed before the end
            for _ in range(5):
                connection.sendall(b"100000\r\n" + b"x" * (1 << 20) + b"\r\n")
        assert b" 413 " in connection.recv(1000).partition(b"\r\n")[0]
    assert served.client.ask("POST", "/v1/jobs", headers={"Content-Length": "-1"}).status == 400


def test_a_client_that_sends_too_much_can_read_the_answer(served: Served) -> None:
    # http.client, as most clients, reads the answer when it has sent the body: RFC 9112, 9.5.
    for body in (b"x" * (5 << 20), b"x" * (30 << 20)):
        assert served.client.ask("POST", "/v1/jobs", body).status == 413
    connection = served.client.connection()
    connection.request("POST", "/v1/jobs", iter([b"x" * (1 << 20)] * 8), encode_chunked=True)
    answer = connection.getresponse()
    assert (answer.status, answer.headers["content-type"]) == (413, "application/problem+json")
    connection.close()


@pytest.mark.parametrize(
    "path", ["/v1/jobs", "/v1/nodes", "/metrics", "/openapi.json", "/slurm/v0.0.38/ping", "/nosuch"]
)
def test_head_is_answered_as_get_without_the_body(served: Served, path: str) -> None:
    # RFC 9110, 9.3.2.
    head, whole = served.client.ask("HEAD", path), served.client.ask("GET", path)
    assert (head.status, head.text) == (whole.status, "")
    assert head.headers["content-type"] == whole.headers["content-type"]


def test_head_of_what_is_only_posted(served: Served) -> None:
    assert served.client.ask("HEAD", "/slurm/v0.0.38/job/submit").status == 405


def test_head_of_a_stream_ends(served: Served) -> None:
    connection = served.client.connection()
    for _ in range(2):  # the connection can be used again
        connection.request("HEAD", "/v1/events")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"")
        assert answer.headers["content-type"].startswith("text/event-stream")
    connection.close()


def _raw(served: Served) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", served.port), timeout=60)
    made.settimeout(60)
    return made


@pytest.mark.slow
def test_a_request_that_does_not_come_to_its_end_is_given_up(served: Served) -> None:
    with _raw(served) as connection:
        connection.sendall(b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        assert connection.recv(1000) == b""  # closed, without an answer
    token = served.cluster.rota("token").stdout.strip().encode()
    with _raw(served) as connection:
        connection.sendall(_HEAD + token + b"\r\nContent-Length: 100\r\n\r\n{")
        assert b" 408 " in connection.recv(1000).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    "data",
    [
        b"\0" * 1000,
        b"GET\r\n\r\n",
        b"GET /v1/jobs HTTP/9.9\r\n\r\n",
        b"GET /v1/jobs HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
        b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /v1/jobs HTTP/1.1\r\n" + b"X: y\r\n" * 50_000 + b"\r\n",
    ],
)
def test_what_is_no_http_is_refused_and_others_are_served(served: Served, data: bytes) -> None:
    with _raw(served) as connection:
        connection.sendall(data)
        answer = connection.recv(1000)
    assert answer == b"" or answer.split(b" ")[1] in {b"400", b"401", b"421"}
    assert served.client.ask("GET", "/v1/jobs").status == 200


def test_many_connections_at_once(served: Served) -> None:
    waiting = [_raw(served) for _ in range(100)]
    assert served.client.ask("GET", "/v1/jobs").status == 200
    for one in waiting:
        one.close()


# ---- the process ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_without_a_controller_it_says_so_and_goes_on_when_there_is_one(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, CONF) as cluster, serving(cluster, "--socket", str(tmp_path / "s")):
        client = Client(tmp_path / "s")
        assert client.ask("GET", "/v1/jobs").status == 200
        cluster.rota("down")
        answer = client.ask("GET", "/v1/jobs")
        assert (answer.status, answer.headers["content-type"]) == (503, "application/problem+json")
        assert client.ask("GET", "/slurm/v0.0.38/ping").status == 503
        cluster.up()
        assert client.ask("GET", "/v1/jobs").status == 200
        taken = cluster.rota("http", "--state", str(cluster.state), "--socket", str(tmp_path / "s"), check=False)
        assert (taken.returncode, "another process serves there" in taken.stderr) == (2, True)
        assert client.ask("GET", "/v1/jobs").status == 200
    assert not (tmp_path / "s").exists()


@pytest.mark.slow
def test_it_ends_with_a_controller_that_has_started_it(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, CONF, ["--http"]) as cluster:
        sock = cluster.state / "http.sock"
        assert Client(sock).ask("GET", "/v1/jobs").status == 200
        assert re.search(r"HTTP at \S+http.sock", (cluster.state / "controller.log").read_text())
        cluster.kill()
        cluster.wait(lambda: not sock.exists())


@pytest.mark.slow
def test_it_is_started_again_when_it_was_killed(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, CONF, ["--http"]) as cluster:
        sock = cluster.state / "http.sock"
        os.kill(_who_serves(sock), signal.SIGKILL)
        cluster.wait(lambda: _is_served(sock))
        assert cluster.pid() is not None
        assert "HTTP has ended with status -9" in (cluster.state / "controller.log").read_text()


def _who_serves(sock: Path) -> int:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(sock))
        data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(data[:4], sys.byteorder)


def _is_served(sock: Path) -> bool:
    try:
        return Client(sock).ask("GET", "/v1/jobs").status == 200
    except OSError:
        return False


def test_the_mode_of_the_socket_is_for_whom_the_cluster_is(served: Served) -> None:
    mode = (served.cluster.state / "http.sock").stat().st_mode & 0o777
    assert mode == (0o666 if os.geteuid() == 0 else 0o600)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0:0",
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in ("192.0.2.1:80", "[::]:0", "nohost", "127.0.0.1:x", "127.0.0.1:99999")
        ),
    ],
)
def test_only_loopback_is_served(tmp_path: Path, address: str) -> None:
    cluster = LiveCluster(tmp_path, CONF, ["--http-tcp", address])
    with pytest.raises(AssertionError, match="rota: error: rota http: "):
        cluster.up()
    cluster.wait(lambda: cluster.pid() is None)


_WITHOUT = """
import sys
class Nothing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {"fastapi", "uvicorn", "prometheus_client", "starlette", "pydantic"}:
            raise ImportError(name)
sys.meta_path.insert(0, Nothing())
import importlib.util
real = importlib.util.find_spec
needed = {"fastapi", "uvicorn", "prometheus_client"}
importlib.util.find_spec = lambda name, *rest: None if name in needed else real(name, *rest)
from rota.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_without_the_extra_http_says_what_to_install_and_the_rest_works(tmp_path: Path) -> None:
    cluster = LiveCluster(tmp_path, CONF)
    script = tmp_path / "without.py"
    script.write_text(_WITHOUT)
    refused = cluster.run(sys.executable, str(script), "up", "--http", check=False)
    assert (refused.returncode, "pip install 'rota[http]'" in refused.stderr) == (2, True)
    cluster.wait(lambda: cluster.pid() is None)
    cluster.run(sys.executable, str(script), "up", "--config", str(cluster.conf))
    cluster.rota("down")


def test_nothing_of_http_is_loaded_unless_it_is_asked_for() -> None:
    code = "import rota.cli.serve, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
    assert not {"fastapi", "uvicorn", "starlette", "pydantic", "prometheus_client", "rota.api"} & set(loaded)
