"""Requests of all kinds: whatever comes, there is an answer, and it is never a defect.

`schemathesis` does the same with its own ideas in the slow tests.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.testing.live import LiveCluster

from .client import Answer, Client
from .conftest import free_port
from .schemathesis import find_nothing, needs_schemathesis

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Nothing starts, whatever is submitted.
_CONF = """
ClusterName=fuzz
NodeName=n[1-2] CPUs=4
PartitionName=debug Nodes=ALL Default=YES State=DOWN
"""
#: These take long: see test_own and test_events.
_LEFT_OUT = {"/v1/events", "/v1/forecast"}


class Fuzzed:
    def __init__(self, cluster: LiveCluster, port: int) -> None:
        self.cluster = cluster
        self.port = port
        self.client = Client(cluster.state / "http.sock")
        self.openapi = self.client.get("/openapi.json")
        self.pid = cluster.pid()

    def is_well(self) -> bool:
        """Whether the controller has had no defect."""
        return self.cluster.pid() == self.pid and "defect" not in (self.cluster.state / "controller.log").read_text()


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    port = free_port()
    with LiveCluster(tmp_path_factory.mktemp("fuzz"), _CONF, ["--http-tcp", f"127.0.0.1:{port}"]) as cluster:
        yield Fuzzed(cluster, port)
        assert "Traceback" not in (cluster.state / "http.log").read_text()


_LEAF = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30)
_ANY = st.recursive(
    _LEAF, lambda one: st.lists(one, max_size=4) | st.dictionaries(st.text(max_size=10), one, max_size=4), max_leaves=8
)
#: Texts that somewhere mean something.
_TEXT = st.text(max_size=30) | st.sampled_from(
    [
        "1",
        "2_1",
        "0",
        "-1",
        "1-2",
        "n1",
        "debug",
        "1:00",
        "now+1",
        "#!/bin/sh\n",
        "/",
        "9" * 11,
        "a=b",
        "--wrap=x",
        "%s",
    ]
)


def _of(schema: dict[str, Any], schemas: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Draw what a schema allows, more or less, or something else."""
    if "$ref" in schema:
        return _of(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "string": _TEXT,
        "integer": st.integers() | st.integers(0, 50),
        "number": st.floats(allow_nan=False),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    if "anyOf" in schema:
        found = st.one_of([_of(one, schemas) for one in schema["anyOf"]])
    elif "enum" in schema:
        found = st.sampled_from(schema["enum"])
    elif schema.get("type") == "array":
        found = st.lists(_of(schema.get("items", {}), schemas), max_size=3)
    elif schema.get("type") == "object":
        rest = schema.get("additionalProperties")
        fields = {name: _of(one, schemas) for name, one in schema.get("properties", {}).items()}
        needed = {name: fields.pop(name) for name in schema.get("required", [])}
        more = st.dictionaries(_TEXT, _of(rest, schemas) if isinstance(rest, dict) else _LEAF, max_size=3)
        found = st.fixed_dictionaries(needed, optional=fields)
        found = st.builds(lambda one, other: {**other, **one}, found, more if rest else st.just({}))
    else:
        found = kinds.get(schema.get("type", ""), _ANY)
    return st.one_of([found] * 9 + [_ANY])


def _check(fuzzed: Fuzzed, path: str, answer: Answer) -> None:
    assert "Traceback" not in answer.text
    if answer.status >= 400:
        data = answer.data
        if path.startswith("/slurm") and answer.status in {400, 500} and "errors" in data:
            numbers = [one.get("error_number", one.get("error_code", one.get("errno"))) for one in data["errors"]]
            assert numbers
            assert 2090 not in numbers  # Slurm's ESLURM_INTERNAL, which stands for a defect
        else:
            assert answer.headers["content-type"] == "application/problem+json"
            assert data["status"] == answer.status < 500
    assert fuzzed.is_well()


@settings(max_examples=4 * settings().max_examples)
@given(data=st.data())
def test_all_operations(fuzzed: Fuzzed, data: st.DataObject) -> None:
    schemas = fuzzed.openapi["components"]["schemas"]
    operations = [
        (path, method)
        for path, methods in fuzzed.openapi["paths"].items()
        for method in methods
        if path not in _LEFT_OUT
    ]
    path, method = data.draw(st.sampled_from(operations))
    operation = fuzzed.openapi["paths"][path][method]
    target, query, headers = path, {}, {}
    for parameter in operation.get("parameters", []):
        value = data.draw(_of(parameter["schema"], schemas))
        if parameter["in"] == "path":
            target = target.replace(f"{{{parameter['name']}}}", _quoted(value) or "x")
        elif parameter["in"] == "query" and data.draw(st.booleans()):
            query[parameter["name"]] = _text(value)
    body = None
    if "requestBody" in operation:
        (schema,) = (one["schema"] for one in operation["requestBody"]["content"].values())
        body = json.dumps(data.draw(_of(schema, schemas)))
        if data.draw(st.integers(0, 9)) == 0:
            headers["Content-Type"] = data.draw(st.sampled_from(["text/plain", "application/x-yaml", "x", ""]))
    answer = fuzzed.client.ask(method.upper(), f"{target}?{urlencode(query)}", body, headers)
    _check(fuzzed, path, answer)


def _text(value: Any) -> str:
    return (value if isinstance(value, str) else json.dumps(value)).encode(errors="replace").decode()


def _quoted(value: Any) -> str:
    return quote(_text(value), safe="")


@given(body=st.binary(max_size=200), path=st.sampled_from(["/v1/jobs", "/slurm/v0.0.38/job/submit"]))
def test_bodies_that_are_no_json(fuzzed: Fuzzed, body: bytes, path: str) -> None:
    _check(fuzzed, path, fuzzed.client.ask("POST", path, body))


_HUGE = {"array": "0-9999999"}
_HUGE_ARRAY = json.dumps({"script": "#!/bin/sh\n", "options": _HUGE, "job": {"environment": {"A": "b"}, **_HUGE}})


@pytest.mark.parametrize("path", ["/v1/jobs", "/slurm/v0.0.38/job/submit"])
@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000,
        '{"script":' * 10_000,
        '{"script": "#!/bin/sh\\n\\u0000", "job": {"environment": {"A": "b"}}}',
        '{"script": "#!/bin/sh\\n\\ud800", "job": {"environment": {"A": "b"}}}',
        '{"script": "#!/bin/sh\\n", "environment": {"": "b"}, "job": {"environment": {"=": "b"}}}',
        '{"script": "#!/bin/sh\\n", "job": {"environment": {"A": "b"}, "tasks": 1' + "0" * 5000 + "}}",
        '{"script": "#!/bin/sh\\n", "job": {"environment": {"A": "b"}, "tasks": 1e400, "nodes": NaN}}',
        _HUGE_ARRAY,
    ],
)
def test_bodies_that_have_hurt_others(fuzzed: Fuzzed, path: str, body: str) -> None:
    answer = fuzzed.client.ask("POST", path, body)
    assert answer.status >= 400
    _check(fuzzed, path, answer)


@pytest.mark.slow
@needs_schemathesis
def test_schemathesis_finds_nothing(fuzzed: Fuzzed, tmp_path: Path) -> None:
    token = fuzzed.cluster.rota("token").stdout.strip()
    # slurmrestd has status 500 for what it refuses, so that of its paths only the forms are checked.
    for paths, checks in (
        ("^/v1/(?!events|forecast)", "not_a_server_error,content_type_conformance,response_schema_conformance"),
        ("^/slurm/", "content_type_conformance,response_schema_conformance"),
    ):
        find_nothing(tmp_path, fuzzed.openapi, fuzzed.port, token, paths=paths, checks=checks)
    assert fuzzed.is_well()
