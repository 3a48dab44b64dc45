"""Jobs of the accounting as slurmrestd lists them: what a real one answered on such a cluster. See data/README.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rota.testing.live import LiveCluster

from .client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .conftest import Served

_RECORDED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "slurmdb.json").read_text())
_PREFIX = "/slurmdb/v0.0.38"
_CONF = """
ClusterName=rig
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
NodeName=n[01-04] CPUs=4 Sockets=1 CoresPerSocket=4 RealMemory=8000
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60
PartitionName=high Nodes=ALL MaxTime=60
"""
#: What is answered otherwise, and why.
_KNOWN = {
    "/job/": "there is no such path",
    "/job/0": "slurmrestd lists all jobs",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A cluster with the recorded jobs, ended but for the held one, which is the fourth; tasks have ids at once."""
    with LiveCluster(tmp_path_factory.mktemp("slurmdb"), _CONF, ["--http"]) as cluster:
        jobs = [
            ("-J", "okjob", "-n2", "--wrap", "srun true; srun -n2 false; exit 3"),
            ("-J", "arr", "-a", "1-2", "--wrap", "sleep 1"),
            ("-J", "held", "--hold", "--comment=a b", "--wrap", "true"),
            ("-J", "bobs", "--wrap", "true"),
        ]
        for words in jobs:
            cluster.submit("-o", "/dev/null", *words)
        cluster.wait(lambda: cluster.run("squeue", "-h", "-o", "%j").stdout.split() == ["held"])
        yield Client(cluster.state / "http.sock")


@pytest.mark.parametrize("one", [one for one in _RECORDED if one["path"] not in _KNOWN], ids=lambda one: one["path"])
def test_jobs_of_a_query(client: Client, one: dict[str, Any]) -> None:
    answer = client.ask("GET", _PREFIX + one["path"].replace("{held}", "4"))
    assert (answer.status, answer.data["errors"]) == (one["status"], one["errors"])
    shown = None
    if "jobs" in answer.data:
        shown = sorted(map(_told, answer.data["jobs"]), key=lambda job: job["name"])
    assert shown == one["jobs"]


def _told(job: dict[str, Any]) -> dict[str, Any]:
    steps = [step["step"]["name"] for step in job["steps"]]
    return {"name": job["name"], "state": job["state"]["current"], "steps": steps}


def test_a_job_is_shown_as_sacct_shows_it(client: Client, served: Served) -> None:
    job_id = served.cluster.submit("-o", "/dev/null", "--wait", "--wrap", "true")
    shown = json.loads(served.cluster.run("sacct", "--json", "-j", str(job_id)).stdout)
    assert served.client.get(f"{_PREFIX}/job/{job_id}") == shown


def test_older_versions(client: Client) -> None:
    """Keys, types and names of plugins as Slurm 22.05.8 answers them; values are those of v0.0.38."""
    answers = {version: client.get(f"/slurmdb/v0.0.{version}/jobs") for version in (36, 37, 38)}
    assert [answers[version]["meta"]["plugin"] for version in (36, 37)] == [
        {"type": "openapi/dbv0.0.36", "name": "REST DB v0.0.36"},
        {"type": "openapi/dbv0.0.37", "name": "Slurm OpenAPI DB v0.0.37"},
    ]
    assert len(answers[38]["jobs"]) == 4
    for oldest, older, newest in zip(*(answers[version]["jobs"] for version in (36, 37, 38)), strict=True):
        assert newest.pop("container", "is there") is None
        assert older == newest
        older["state"]["previous"] = older["state"].pop("reason")
        assert oldest == older
    nothing = client.ask("GET", "/slurmdb/v0.0.36/job/999")
    assert (nothing.status, nothing.data["jobs"]) == (200, [])
    assert nothing.data["errors"] == client.get("/slurmdb/v0.0.38/job/999")["errors"]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("nosuch=1", {"description": "Unknown Query field"}),
        ("submit_time=2020-01-01", {"description": "submit_time is not supported by rota", "source": "submit_time"}),
        ("step=x", {"description": "Unable to parse job/step format", "source": "step"}),
        ("START_TIME=x", {"description": "Unable to parse time format", "source": "start_time"}),
    ],
)
def test_a_query_that_cannot_be_used(client: Client, query: str, told: dict[str, str]) -> None:
    """The first is slurmrestd's of 22.05.8."""
    answer = client.ask("GET", f"{_PREFIX}/jobs?{query}")
    number = {"error_number": 9000, "error": "Query empty or not RFC7320 compliant"}
    assert (answer.status, answer.data["errors"]) == (500, [{**told, **number}])


@pytest.mark.parametrize("path", ["/openapi", "/openapi/v3"])
def test_openapi_is_where_slurmrestd_has_it(client: Client, path: str) -> None:
    assert client.get(path) == client.get("/openapi.json")
