"""Requests of all kinds to the service: whatever comes, there is an answer, and it is never a defect."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .lustre import DAY, JOBS, TARGETS
from .schemathesis import find_nothing, needs_schemathesis

if TYPE_CHECKING:
    from pathlib import Path

    from .lustre import Lustre

#: This one does not end.
_LEFT_OUT = {"/lustre/v1/events"}
#: Texts that somewhere mean something.
_WORDS = st.sampled_from(
    [
        *(
            "",
            "0",
            "1",
            "-1",
            "600",
            str(DAY),
            str(DAY + 600),
            "1e400",
            "nan",
            "2023-11-15T00:00:00Z",
            "9" * 30,
            "true",
        ),
        *("job", "user", "id", "target", "kind", "operation", "read_bytes", "open.latency", "read_bytes,open.samples"),
        *("kind=OST", "job=9", "user=", "=", "operation=open", "sum", "average", "\x00", "ƒ", "%s", "/", "\ud800"),
        *TARGETS,
        *JOBS,
    ]
)
_ANY = _WORDS | st.text(max_size=20) | st.integers().map(str) | st.floats().map(str)
_ORIGINAL = (
    *("metrics", "job", "begin", "end", "latest", "update", "max_points", "num_points", "reduce_fn", "group_by"),
    *("kind", "id", "filesystem"),
)


def _text(text: str) -> str:
    return text.encode(errors="replace").decode()


@settings(max_examples=3 * settings().max_examples)
@given(data=st.data())
def test_all_operations(lustre: Lustre, data: st.DataObject) -> None:
    found: dict[str, Any] = json.loads(lustre.client.ask("GET", "/openapi.json").text)["paths"]
    path = data.draw(st.sampled_from(sorted(found.keys() - _LEFT_OUT)))
    names = [one["name"] for one in found[path]["get"].get("parameters", []) if one["in"] == "query"]
    names += _ORIGINAL if path.startswith("/api") else ()
    query = [(name, _text(data.draw(_ANY))) for name in data.draw(st.lists(st.sampled_from([*names, "x"]), max_size=6))]
    for part in ("job", "target"):
        path = path.replace(f"{{{part}}}", quote(_text(data.draw(_ANY)), safe="") or "x")
    path = path.replace("{job:anything}", "9")
    answer = lustre.client.ask("GET", f"{path}?{urlencode(query)}")
    assert answer.status < 500, answer.text
    if path.startswith("/lustre") and answer.status >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.data["status"] == answer.status
    assert "Traceback" not in lustre.log.read_text()


@pytest.mark.slow
@needs_schemathesis
def test_schemathesis_finds_nothing(lustre: Lustre, tmp_path: Path) -> None:
    openapi = lustre.client.get("/openapi.json")
    token = (lustre.store / "token").read_text().strip()
    checks = "not_a_server_error,content_type_conformance,response_schema_conformance,status_code_conformance"
    find_nothing(tmp_path, openapi, lustre.port, token, paths="^/(?!lustre/v1/events)", checks=checks)
    assert "Traceback" not in lustre.log.read_text()
