"""slurmrestd's paths v0.0.36 and v0.0.37, and properties of jobs: what Slurm 22.05.8 answered to the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rota.testing.live import LiveCluster

from .client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONF = "NodeName=n[1-2] CPUs=4 RealMemory=4000\nPartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100\n"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with LiveCluster(tmp_path_factory.mktemp("older"), _CONF, ["--http"]) as cluster:
        yield Client(cluster.state / "http.sock")


def _get(client: Client, version: int, path: str) -> dict[str, Any]:
    answer = client.ask("GET", f"/slurm/v0.0.{version}/{path}")
    assert answer.status == 200, (version, path)
    found: dict[str, Any] = answer.data
    return found


def _submit(client: Client, version: int, **properties: object) -> tuple[int, Any]:
    job = {"environment": {"PATH": "/bin"}, "current_working_directory": "/", **properties}
    body = {"script": "#!/bin/sh\nsleep 60\n", "job": job}
    answer = client.ask("POST", f"/slurm/v0.0.{version}/job/submit", body)
    return answer.status, answer.data


def test_there_are_as_many_paths_as_in_slurm(client: Client) -> None:
    def status(version: int, path: str) -> int:
        return client.ask("GET", f"/slurm/v0.0.{version}/{path}").status

    for path in ("ping", "diag", "jobs", "nodes", "node/n1", "partitions", "partition/debug"):
        assert [status(version, path) for version in (36, 37, 38)] == [200] * 3, path
    assert [status(version, "reservations") for version in (36, 37, 38)] == [404, 200, 200]
    assert [status(version, "licenses") for version in (36, 37, 38)] == [404, 404, 200]


def test_documents_name_their_version(client: Client) -> None:
    plugins = [_get(client, version, "ping")["meta"]["plugin"] for version in (36, 37)]
    assert plugins == [
        {"type": "openapi/v0.0.36", "name": "REST v0.0.36"},
        {"type": "openapi/v0.0.37", "name": "Slurm OpenAPI v0.0.37"},
    ]


def test_objects_have_the_keys_of_their_version(client: Client) -> None:
    _, told = _submit(client, 36, standard_out="/dev/null", name="old", nodes=2, tasks=2)
    path = f"job/{told['job_id']}"
    old, new = (_get(client, version, path)["jobs"][0] for version in (37, 38))
    assert new.keys() - old.keys() == {"container", "group_name", "prefer"}
    assert old["standard_output"] == "/dev/null"
    assert old["job_resources"]["allocated_cpus"] == new["job_resources"]["allocated_cores"] == 2
    assert old["job_resources"]["allocated_nodes"].keys() == {"0", "1"}
    _, told = _submit(client, 37, standard_output="/dev/null", hold=True)
    assert _get(client, 37, f"job/{told['job_id']}")["jobs"][0]["job_resources"] == {}
    node = _get(client, 36, "node/n1")["nodes"][0]
    assert node["state"] == "allocated"  # there is no `mixed`
    assert not node.keys() & {"alloc_cpus", "partitions", "state_flags", "tres_used"}
    part = _get(client, 36, "partition/debug")["partitions"][0]
    assert (part["min_nodes_per_job"], part["nodes_online"], "state" in part) == (0, 2, False)
    assert "rpcs_by_user" not in _get(client, 37, "diag")["statistics"]


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("get_user_environment", 1, 200),
        ("get_user_environment", "10L", 200),
        ("get_user_environment", "x", 400),
        ("wait_all_nodes", 1, 200),
        ("wait_all_nodes", 2, 400),
        ("wait_all_nodes", "x", 400),
        ("cpu_binding_hint", "compute_bound", 200),
        ("cpu_binding_hint", "nomultithread", 200),
        ("cluster_constraint", "a", 200),
        ("core_specification", 1, 200),
        ("core_specification", "x", 400),
        ("thread_specification", 1, 200),
        ("profile", "task", 200),
        ("network_speed", "x", 400),
        # As the OpenAPI has them; slurmrestd refuses these.
        ("get_user_environment", True, 200),
        ("get_user_environment", False, 200),
        ("wait_all_nodes", True, 200),
    ],
)
def test_properties(client: Client, name: str, value: object, status: int) -> None:
    found = _submit(client, 38, standard_output="/dev/null", hold=True, **{name: value})
    assert found[0] == status, found
