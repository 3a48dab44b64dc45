"""Who asks is what the kernel says, or the user of a token; and nothing else."""

from __future__ import annotations

import json
import os
import pwd
import socket
from collections import Counter
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import pytest

from rota.testing.live import LiveCluster

from .client import Client
from .conftest import CONF

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .conftest import Served

_NOBODY = 65534
_AS_NOBODY = ("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--")
_ME = pwd.getpwuid(os.geteuid()).pw_name
_JOB = {"script": "#!/bin/sh\nid -un\n", "directory": "/tmp", "options": {"hold": True, "output": "/dev/null"}}  # noqa: S108
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be others")


def test_on_the_unix_socket_it_is_whom_the_kernel_tells(served: Served) -> None:
    job_id = served.client.post("/v1/jobs", _JOB)["job_id"]
    assert served.client.get(f"/v1/jobs/{job_id}")["user"] == _ME
    served.client.ask("DELETE", f"/v1/jobs/{job_id}")


def test_on_tcp_it_is_the_user_of_the_token(served: Served) -> None:
    stranger = Client(served.port)
    for path in ("/v1/jobs", "/v1/events", "/v1/forecast", "/metrics", "/slurm/v0.0.38/jobs"):
        answer = stranger.ask("GET", path)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer"), path
    token = served.cluster.rota("token").stdout.strip()
    job_id = served.with_token(token).post("/v1/jobs", _JOB)["job_id"]
    assert served.client.get(f"/v1/jobs/{job_id}")["user"] == _ME
    assert Client(served.port, {"X-SLURM-USER-TOKEN": token}).get("/slurm/v0.0.38/ping")["errors"] == []
    served.client.ask("DELETE", f"/v1/jobs/{job_id}")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(str.swapcase, id="case"),
        pytest.param(lambda text: text[:-1], id="shorter"),
        pytest.param(lambda text: f"{text}x", id="longer"),
        pytest.param(lambda text: text.rpartition("_")[0], id="no secret"),
    ],
)
def test_a_token_that_is_nearly_right_is_none(served: Served, change: Any) -> None:
    token = served.cluster.rota("token").stdout.strip()
    assert served.with_token(token).ask("GET", "/v1/jobs").status == 200
    assert served.with_token(change(token)).ask("GET", "/v1/jobs").status == 401


def test_tokens_are_listed_without_their_secret_and_revoked_at_once(served: Served) -> None:
    token = served.cluster.rota("token", "--lifetime", "1-0").stdout.strip()
    _, token_id, secret = token.split("_", 2)
    shown = served.cluster.rota("token", "--list").stdout
    assert token_id in shown
    assert secret not in shown
    assert secret not in (served.cluster.state / "rota.db").read_bytes().decode("latin-1")
    served.cluster.rota("token", "--revoke", token_id)
    assert served.with_token(token).ask("GET", "/v1/jobs").status == 401
    assert token_id not in served.cluster.rota("token", "--list").stdout
    assert served.cluster.rota("token", "--revoke", token_id, check=False).returncode == 2


def test_a_token_expires(served: Served) -> None:
    token = served.cluster.rota("token", "--lifetime", "0:01").stdout.strip()
    served.cluster.wait(lambda: served.with_token(token).ask("GET", "/v1/jobs").status == 401)


@pytest.mark.slow
def test_tokens_outlive_the_controller(tmp_path: Any) -> None:
    with LiveCluster(tmp_path, CONF, ["--http-tcp", "127.0.0.1:0"]) as cluster:
        client = Client(cluster.state / "http.sock")
        token = {"Authorization": f"Bearer {cluster.rota('token').stdout.strip()}"}
        cluster.kill()
        cluster.wait(lambda: not _serves(client))
        cluster.up()
        assert client.ask("GET", "/v1/jobs", headers=token).status == 200
        assert client.ask("GET", "/v1/jobs", headers={"Authorization": "Bearer rota_x_y"}).status == 401


def _serves(client: Client) -> bool:
    try:
        client.ask("GET", "/v1/jobs")
    except OSError:
        return False
    return True


# ---- several users ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """A cluster of root's that others can reach."""
    folder = tmp_path_factory.mktemp("shared")
    for one in (folder, *folder.parents):
        if "pytest" in one.as_posix():
            one.chmod(one.stat().st_mode | 0o011)
    with LiveCluster(folder, CONF, ["--http"]) as cluster:
        if cluster.run(*_AS_NOBODY, "curl", "--version", check=False).returncode:
            pytest.skip("another user cannot run curl")
        yield cluster


def _as_nobody(cluster: LiveCluster, method: str, path: str, body: Any = None, *headers: str) -> tuple[int, Any]:
    words = ["curl", "-s", "-X", method, "-w", "\n%{http_code}", "--unix-socket", str(cluster.state / "http.sock")]
    words += [f"http://localhost{path}", *(f"-H{one}" for one in headers)]
    words += [] if body is None else ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
    text, _, status = cluster.run(*_AS_NOBODY, *words).stdout.rpartition("\n")
    return int(status), json.loads(text) if text else None


@only_root
def test_another_user_submits_and_may_change_their_own_jobs_alone(shared: LiveCluster) -> None:
    status, found = _as_nobody(shared, "POST", "/v1/jobs", _JOB)
    assert status == 200
    theirs = found["job_id"]
    mine = Client(shared.state / "http.sock").post("/v1/jobs", _JOB)["job_id"]
    assert _as_nobody(shared, "GET", f"/v1/jobs/{theirs}")[1]["user"] == "nobody"
    for path, method, body in (
        (f"/v1/jobs/{mine}", "DELETE", None),
        (f"/v1/jobs/{mine}", "PATCH", {"changes": {"TimeLimit": "1"}}),
        (f"/v1/jobs/{mine}/order", "POST", {"command": "release"}),
        (f"/v1/jobs/{theirs}", "PATCH", {"changes": {"Nice": "-100"}}),
    ):
        assert _as_nobody(shared, method, path, body)[0] == 403, (path, body)
    # Slurm's ESLURM_ACCESS_DENIED, recorded of slurmrestd for the job of another user.
    status, answer = _as_nobody(shared, "DELETE", f"/slurm/v0.0.38/job/{mine}")
    assert (status, answer["errors"][0]["error_number"]) == (500, 2002)
    assert _as_nobody(shared, "DELETE", f"/v1/jobs/{theirs}")[0] == 200
    assert Client(shared.state / "http.sock").get(f"/v1/jobs/{mine}")["state"] == "PENDING"


@only_root
def test_headers_and_options_make_nobody_somebody_else(shared: LiveCluster) -> None:
    header = ("X-SLURM-USER-NAME: root", "X-Forwarded-User: root", "X-Remote-User: root")
    status, found = _as_nobody(shared, "POST", "/v1/jobs", _JOB, *header)
    assert (status, _as_nobody(shared, "GET", f"/v1/jobs/{found['job_id']}")[1]["user"]) == (200, "nobody")
    as_root = {**_JOB, "options": {"hold": True, "uid": "root"}}
    assert _as_nobody(shared, "POST", "/v1/jobs", as_root)[0] == 400


@only_root
def test_a_job_runs_as_who_has_submitted_it(shared: LiveCluster) -> None:
    folder = shared.directory / "theirs"
    folder.mkdir()
    folder.chmod(0o777)
    job = {"script": "#!/bin/sh\nid -u; id -g; id -G\n", "directory": str(folder), "options": {"output": "out"}}
    job_id = _as_nobody(shared, "POST", "/v1/jobs", job)[1]["job_id"]
    shared.wait(lambda: _as_nobody(shared, "GET", f"/v1/jobs/{job_id}")[1]["state"] == "COMPLETED")
    assert (folder / "out").read_text().split() == [str(_NOBODY)] * 3
    assert (folder / "out").stat().st_uid == _NOBODY


@only_root
def test_only_processes_of_root_may_ask_for_others(shared: LiveCluster) -> None:
    for who in ("user:0:0", f"user:{_NOBODY}:0", "user:0", "token:rota_x_y", "", "user:-1:0"):
        done = shared.run(*_AS_NOBODY, "rota-api", who, "jobs", "{}", check=False)
        assert done.returncode != 0, who
        assert '"jobs"' not in done.stdout
    own = shared.run(*_AS_NOBODY, "rota-api", f"user:{_NOBODY}:{_NOBODY}", "jobs", "{}")
    assert '"jobs"' in own.stdout


@only_root
def test_tokens_of_others_are_made_by_root_alone(shared: LiveCluster) -> None:
    assert shared.run(*_AS_NOBODY, "rota-call", "token", "make", "root", "0", check=False).returncode == 2
    token = shared.run("rota-call", "token", "make", "nobody", "0").stdout.strip()
    client = Client(shared.state / "http.sock", {"Authorization": f"Bearer {token}"})
    job_id = client.post("/v1/jobs", _JOB)["job_id"]
    assert client.get(f"/v1/jobs/{job_id}")["user"] == "nobody"
    roots = shared.run("rota-call", "token", "make", "", "0").stdout.split("_")[1]
    assert roots not in shared.run(*_AS_NOBODY, "rota-call", "token", "list").stdout
    assert shared.run(*_AS_NOBODY, "rota-call", "token", "revoke", roots, check=False).returncode == 2


@only_root
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '{"limit": "x"}',
        '{"limit": 1e999}',
        '{"nosuch": 1}',
        '{"name": "\\u0000"}',
        '{"name": "\\ud800"}',
        "[" * 100_000,
    ],
)
def test_questions_that_are_none(shared: LiveCluster, text: str) -> None:
    done = shared.run(*_AS_NOBODY, "rota-api", f"user:{_NOBODY}:{_NOBODY}", "jobs", text, check=False)
    assert (done.returncode, done.stderr) == (3, "")
    assert json.loads(done.stdout)["errno"] == 9000


@only_root
def test_one_user_does_not_keep_others_out(shared: LiveCluster) -> None:
    sock = shared.state / "http.sock"
    with ExitStack() as open_ones:
        streams = [open_ones.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(160)]
        os.seteuid(_NOBODY)
        try:
            for one in streams:
                one.settimeout(60)
                one.connect(str(sock))
        finally:
            os.seteuid(0)
        for one in streams:
            with suppress(BrokenPipeError):  # it has been answered already
                one.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        statuses = Counter(one.recv(12)[9:] for one in streams)
        assert statuses == {b"200": 128, b"503": 32}  # a quarter of 512
        assert Client(sock).ask("GET", "/v1/jobs").status == 200
        assert "too many connections" in _told_to_nobody(sock)


@only_root
def test_twenty_users_and_tcp_do_not_keep_root_and_others_out(shared: LiveCluster) -> None:
    sock, log = shared.state / "http.sock", shared.state / "http.log"
    said = [b"", b"GET ", b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n"]
    with ExitStack() as open_ones:
        for number in range(1000):
            one = open_ones.enter_context(socket.socket(socket.AF_UNIX))
            os.seteuid(2001 + number % 20)
            try:
                one.connect(str(sock))
                one.sendall(said[number % 3])
            except ConnectionError:
                pass  # it was refused
            finally:
                os.seteuid(0)
        assert Client(sock).ask("GET", "/v1/jobs").status == 200
        assert _as_nobody(shared, "GET", "/v1/jobs")[0] == 200
        assert len(log.read_text().splitlines()) < 5


@only_root
def test_all_who_come_by_tcp_leave_the_socket_to_others(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, CONF, ["--http-tcp", "127.0.0.1:0"]) as cluster:
        address = (cluster.state / "controller.log").read_text().partition("http://127.0.0.1:")[2]
        port = int(address.split()[0])
        with ExitStack() as open_ones:
            for _ in range(600):
                open_ones.enter_context(socket.create_connection(("127.0.0.1", port)))
            assert Client(cluster.state / "http.sock").ask("GET", "/v1/jobs").status == 200
            with socket.create_connection(("127.0.0.1", port)) as one:
                assert b"too many connections" in one.recv(1000)


def _told_to_nobody(sock: Path) -> str:
    with socket.socket(socket.AF_UNIX) as one:
        os.seteuid(_NOBODY)
        try:
            one.connect(str(sock))
        finally:
            os.seteuid(0)
        return one.recv(1000).decode()


# ---- PrivateData ------------------------------------------------------------------------------------------------


@only_root
def test_private_data_hides_what_it_hides_from_commands(tmp_path: Path) -> None:
    for one in (tmp_path, *tmp_path.parents):
        if "pytest" in one.as_posix():
            one.chmod(one.stat().st_mode | 0o011)
    with LiveCluster(tmp_path, f"{CONF}PrivateData=jobs,nodes,partitions\n", ["--http"]) as cluster:
        if cluster.run(*_AS_NOBODY, "curl", "--version", check=False).returncode:
            pytest.skip("another user cannot run curl")
        mine = Client(cluster.state / "http.sock").post("/v1/jobs", _JOB)["job_id"]
        theirs = _as_nobody(cluster, "POST", "/v1/jobs", _JOB)[1]["job_id"]
        for path in ("/v1/jobs", "/v1/queue", "/v1/accounting/jobs", "/slurm/v0.0.38/jobs"):
            status, found = _as_nobody(cluster, "GET", path)
            assert (status, [job["job_id"] for job in found["jobs"]]) == (200, [theirs]), path
        for path in (f"/v1/jobs/{mine}", f"/slurm/v0.0.38/job/{mine}"):
            assert _as_nobody(cluster, "GET", path)[0] in {404, 500}, path
        closed = [f"/v1/jobs/{theirs}/explain", "/v1/plan", "/v1/forecast", "/v1/events", "/v1/nodes", "/v1/partitions"]
        for path in (*closed, "/slurm/v0.0.38/nodes", "/slurm/v0.0.38/node/n1", "/slurm/v0.0.38/partitions"):
            assert _as_nobody(cluster, "GET", path)[0] == 403, path
        feed = cluster.run(*_AS_NOBODY, "rota-api", f"user:{_NOBODY}:{_NOBODY}", "events", "{}", check=False)
        assert feed.returncode == 3
        assert len(Client(cluster.state / "http.sock").get("/v1/jobs")["jobs"]) == 2
