"""slurmrestd's paths: what a real one answered on a cluster like this, and its OpenAPI. See data/README.md."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatch
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from rota.testing.live import LiveCluster

from .client import Answer, Client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .conftest import Served

_DATA = Path(__file__).parent / "data"
_RECORDED: list[dict[str, Any]] = json.loads((_DATA / "slurmrestd.json").read_text())
_OPENAPI = json.loads((_DATA / "slurm-v0.0.38.json").read_text())
_PREFIX = "/slurm/v0.0.38"
_CONF = """
ClusterName=rig
SlurmctldHost=vm
GresTypes=gpu
AccountingStorageTRES=gres/gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
NodeName=n[01-04] CPUs=4 Sockets=1 CoresPerSocket=4 RealMemory=8000 TmpDisk=1000 Gres=gpu:2 Feature=virt
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60
PartitionName=high Nodes=ALL MaxTime=60 PriorityJobFactor=10 PriorityTier=1
PartitionName=short Nodes=n[01-02] MaxTime=10 DefaultTime=5
"""
#: Differences in what is answered.
_KNOWN = {
    "*_time": "another time",
    "*.last_busy": "likewise",
    "*.last_sched_evaluation": "likewise",
    "*job_id": "the recorded cluster had jobs before",
    "*.dependency": "likewise",
    "GET /diag: statistics*": "likewise; and what rota does not count",
    "GET /job/*.flags": "what Slurm notes for itself is left out",
    "GET /job/{array}*.sockets": "numbers of cores are not shown",
    "*.standard_error": "the names of files are shown, whether they were given or not",
    "*.standard_input": "likewise",
    "GET /job/*.account": "another user",
    "*.association_id": "likewise",
    "*.group_*": "likewise",
    "*.user_*": "likewise",
    "*.priority": "another priority plugin",
    "GET /job/{array}*.tasks": "tasks on each node count as for sbatch, not only if their number is given",
    "GET /job/{array}*.cpus": "likewise",
    "GET /job/{array}*.tres_req_str": "likewise",
    "GET /job/{one}*.node_count": "up to two nodes are two, as for sbatch: slurmrestd's job had one",
    "GET /job/{one}*.nodes": "likewise",
    "GET /job/{one}*.job_resources.*": "likewise",
    "GET /job/{one}*.tres_alloc_str": "likewise",
}
#: What this machine may have as the recorded one had it.
_OF_THE_MACHINE = ("cpu_load", "free_memory", "operating_system", "address", "hostname", "port", "architecture")
#: Properties that every recorded submission has.
_ALWAYS = {"environment", "current_working_directory", "standard_output"}
#: Refusals with another status or another number.
_REFUSALS = {
    'POST /job/submit {"nodes": 99}': "slurmrestd takes it, and says that it cannot start; rota refuses it, as sbatch",
    'POST /job/submit {"time_limit": 1000, "partition": "short", "hold": true}': "rota tells that it is held",
    'POST /job/submit {"tasks": "two"}': "Slurm has a number for numbers",
    'POST /job/{held} {"nosuch": 1}': "slurmrestd says that all is well, with errors",
    'POST /job/{held} {"time_limit": "x"}': "likewise",
    "DELETE /job/{held}?signal=USR1": "Slurm says that the job cannot be altered now, rota that it does not run",
}


class Pair(NamedTuple):
    """A request, and both answers: status, and data without ``meta``."""

    title: str
    recorded: tuple[int, Any]
    here: tuple[int, Any]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Pair]]:
    with LiveCluster(tmp_path_factory.mktemp("slurmrestd"), _CONF, ["--http"]) as cluster:
        client = Client(cluster.state / "http.sock")
        ids: dict[str, str] = {}
        yield [
            Pair(_title(one), (one["status"], one.get("answer")), _replayed(cluster, client, one, ids))
            for one in _RECORDED
        ]


def _title(one: dict[str, Any]) -> str:
    body = one.get("body")
    if isinstance(body, dict) and isinstance(body.get("job"), dict):
        job = body["job"]
        script = {} if "script" in body else {"script": None}
        environment = {} if isinstance(job.get("environment"), dict) else {"environment": job.get("environment")}
        body = {**script, **environment, **{key: value for key, value in job.items() if key not in _ALWAYS}}
    return f"{one['method']} {one['path']}" + ("" if body is None else f" {json.dumps(body)}")


def _replayed(cluster: LiveCluster, client: Client, one: dict[str, Any], ids: dict[str, str]) -> tuple[int, Any]:
    """Ask what was asked, about the jobs of this cluster."""
    body, path = one.get("body"), one["path"]
    for name, number in ids.items():
        path = path.replace(f"{{{name}}}", number)
        body = (
            body
            if body is None or isinstance(body, str)
            else json.loads(json.dumps(body).replace(f"{{{name}}}", number))
        )

    def ask() -> tuple[int, Any]:
        answer = client.ask(one["method"], _PREFIX + path, body, one.get("headers"))
        return answer.status, _data(answer)

    states = [job["job_state"] for job in (one.get("answer") or {}).get("jobs", [])]
    if states:
        cluster.wait(lambda: [job["job_state"] for job in ask()[1]["jobs"]] == states)
    status, data = ask()
    if isinstance(body, dict) and data is not None and "job_id" in data and (name := body["job"].get("name")):
        ids[{"arr": "array"}.get(name, name)] = str(data["job_id"])
    return status, data


def _data(answer: Answer) -> Any:
    try:
        data = answer.data
    except ValueError:
        return None
    return {key: value for key, value in data.items() if key != "meta"} if "errors" in data else None


def _numbers(data: Any) -> set[int]:
    """Give Slurm's numbers of errors."""
    errors = (data or {}).get("errors", [])
    return {one[key] for one in errors for key in ("error_number", "error_code", "errno") if key in one}


def test_refusals(pairs: list[Pair]) -> None:
    differ = {
        one.title: (one.recorded[0], _numbers(one.recorded[1]), one.here[0], _numbers(one.here[1]))
        for one in pairs
        if (one.recorded[0], _numbers(one.recorded[1])) != (one.here[0], _numbers(one.here[1]))
    }
    assert {title: found for title, found in differ.items() if title not in _REFUSALS} == {}
    assert [title for title in _REFUSALS if title not in differ] == []


def _differences(mine: Any, slurms: Any, path: str = "") -> Iterator[str]:
    """Name what differs in keys, their order, types or values."""
    if isinstance(mine, dict) and isinstance(slurms, dict):
        if list(mine) != list(slurms):
            yield path
        for key in mine.keys() & slurms.keys():
            yield from _differences(mine[key], slurms[key], f"{path}.{key}".lstrip("."))
    elif isinstance(mine, list) and isinstance(slurms, list) and mine and len(mine) == len(slurms):
        for place, (one, other) in enumerate(zip_longest(mine, slurms)):
            yield from _differences(one, other, f"{path}.{place}")
    elif mine != slurms or type(mine) is not type(slurms):
        yield path


def test_objects(pairs: list[Pair]) -> None:
    found = {
        f"{one.title}: {path}"
        for one in pairs
        if one.recorded[0] == 200 and one.title not in _REFUSALS
        for path in _differences(one.here[1], one.recorded[1])
        if not path.endswith(_OF_THE_MACHINE)
    }
    assert [path for path in sorted(found) if not any(fnmatch(path, one) for one in _KNOWN)] == []
    assert [one for one in _KNOWN if not any(fnmatch(path, one) for path in found)] == []


# ---- Slurm's OpenAPI ---------------------------------------------------------------------------------------------

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def _violations(schema: dict[str, Any], data: Any, path: str = "") -> Iterator[str]:
    """Name what the schema has otherwise: keys that it does not have, and other types."""
    if "$ref" in schema:
        schema = _OPENAPI["schemas"][schema["$ref"].rpartition("/")[2]]
    kind = schema.get("type")
    if kind and (not isinstance(data, _TYPES[kind]) or (kind != "boolean" and isinstance(data, bool))):
        yield f"{path}: {type(data).__name__}, not {kind}"
    elif isinstance(data, list):
        for one in data:
            yield from _violations(schema.get("items", {}), one, f"{path}[]")
    elif isinstance(data, dict) and "properties" in schema:
        for key, value in data.items():
            if key in schema["properties"]:
                yield from _violations(schema["properties"][key], value, f"{path}.{key}")
            else:
                yield f"{path}.{key}: not there"


def _operation(title: str) -> dict[str, Any]:
    """Give the operation of a request; the first path that fits."""
    method, path = title.split()[:2]
    for known, operations in sorted(_OPENAPI["paths"].items(), key=lambda pair: "{" in pair[0]):
        pattern = re.sub(r"\{.*?\}", "[^/]+", known.removeprefix(_PREFIX))
        if re.fullmatch(pattern, path.partition("?")[0]):
            found: dict[str, Any] = operations.get(method.lower(), {})
            return found
    return {}


def test_answers_are_those_of_the_openapi(pairs: list[Pair]) -> None:
    mine, slurms, checked = set(), set(), set()
    for one in pairs:
        operation = _operation(one.title)
        if operation.get("answer") and one.recorded[0] == one.here[0] == 200:
            name = operation["operationId"].removeprefix("slurm_v0_0_38_")
            checked.add(name)
            mine |= {f"{name}{found}" for found in _violations(operation["answer"], one.here[1])}
            slurms |= {f"{name}{found}" for found in _violations(operation["answer"], one.recorded[1])}
    assert checked == {
        "diag", "get_job", "get_node", "get_partition", "get_partitions", "get_reservations", "ping",
        "slurmctld_get_licenses", "submit_job",
    }  # fmt: skip
    assert mine <= slurms  # what slurmrestd itself does not keep to


def test_all_paths_are_there(served: Served) -> None:
    here = served.client.get("/openapi.json")["paths"]
    ours = {path: set(operations) for path, operations in here.items() if path.startswith(_PREFIX)}
    slurms = {
        re.sub(r"(node|partition|reservation)_name", "name", path): set(operations)
        for path, operations in _OPENAPI["paths"].items()
    }
    assert ours == slurms


# ---- what generated clients send ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/jobs/", "/ping//", "/node/n1/", "/job/{held}/"])
def test_slashes_at_the_end_change_nothing(served: Served, path: str) -> None:
    """As slurmrestd of 22.05.8 answered; before v0.0.38 its OpenAPI had such paths."""
    job_id = served.cluster.submit("-H", "--wrap", "true")
    assert served.client.ask("GET", f"{_PREFIX}{path.format(held=job_id)}").data["errors"] == []
    served.cluster.run("scancel", str(job_id))


def test_an_update_with_what_a_generated_client_always_sends(served: Served) -> None:
    """`openapi-slurm-0-0-38-client` of PyPI adds these two, which are defaults of the OpenAPI, to all properties."""
    job_id = served.cluster.submit("-H", "-t", "9", "--wrap", "true")
    always = {"open_mode": "append", "oversubscribe": False}
    answer = served.client.ask("POST", f"{_PREFIX}/job/{job_id}", {**always, "time_limit": 4, "mail_type": "END"})
    assert (answer.status, answer.data["errors"]) == (200, [])
    assert served.client.get(f"/v1/jobs/{job_id}")["time_limit"] == 240
    served.cluster.run("scancel", str(job_id))


@pytest.mark.parametrize("body", ["7", "null", '"x"', "[]", '[{"name": "x"}]'])
def test_an_update_that_is_no_object_changes_nothing(served: Served, body: str) -> None:
    job_id = served.cluster.submit("-H", "-J", "before", "--wrap", "true")
    assert served.client.ask("POST", f"{_PREFIX}/job/{job_id}", body).status == 400
    assert served.client.get(f"/v1/jobs/{job_id}")["name"] == "before"
    served.cluster.run("scancel", str(job_id))
