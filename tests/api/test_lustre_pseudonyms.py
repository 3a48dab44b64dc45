"""A service that is shown to others: jobs and users are told apart, and nothing says who they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from rota.lustre.store import Reader, veil_of

from .conftest import free_port
from .lustre import DAY, EVER, JOBS, LONG, fill, serving
from .services import done

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .client import Client

_WHEN = f"begin={DAY}&end={DAY + LONG}"
#: All that tells who somebody is.
_REAL = {str(value) for fields in JOBS.values() for value in fields.values()} | {*JOBS} - {"9"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pseudonyms")
    fill(made / "store")
    (made / "empty").mkdir()
    return made


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    options = ("--source", f"dir:{folder / 'empty'}", "--keep", EVER, "--pseudonyms", "all")
    with serving(folder / "store", folder / "log", free_port(), *options) as found:
        yield found.client


def _top(client: Client, group: str, more: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/lustre/v1/top?{_WHEN}&by={group}&metrics=read_bytes{more}")["rows"]
    return found


def test_no_answer_says_who_somebody_is(client: Client) -> None:
    jobs = [one["label"] for one in _top(client, "job")]
    assert len(jobs) == len(JOBS)
    paths = [f"/lustre/v1/{kind}?{_WHEN}&by={group}" for kind in ("top", "series") for group in ("job", "user", "name")]
    paths += [f"/lustre/v1/jobs/{quote(job)}" for job in jobs]
    original = "begin=2023-11-15T00:00:00Z&end=2023-11-15T00:20:00Z&job=user&metrics=read_bytes"
    paths += ["/metrics?jobs=10", "/lustre/v1/status", f"/api/target/metric/?{original}"]
    for path in paths:
        answer = client.ask("GET", path)
        assert answer.status == 200, answer.text
        text = answer.text
        words = {word.strip('"') for word in text.replace("\\n", " ").replace(",", " ").replace(":", " ").split()}
        assert not words & _REAL, path
        assert not any(json.dumps(job) in text for job in JOBS), path


def test_pseudonyms_tell_apart_and_choose(client: Client) -> None:
    users = _top(client, "user")
    named = {one["label"] for one in users}
    assert len(named) == 3  # ann, bob, and nobody knows
    assert all(name == "" or name.startswith("user-") for name in named)
    for user in users:
        if user["label"]:
            mine = _top(client, "job", f"&where={quote('user=' + user['label'])}")
            sums = [sum(one["totals"]["read_bytes"] for one in some) for some in (mine, [user])]
            assert sums[0] == sums[1]
    assert client.ask("GET", "/lustre/v1/jobs/4103947").status == 404


def test_pseudonyms_outlive_the_service(folder: Path, client: Client) -> None:
    before = {one["label"] for one in _top(client, "user")}
    key = folder / "store" / "pseudonyms.key"
    assert key.stat().st_mode & 0o777 == 0o600
    with Reader(folder / "store", veil_of(folder / "store", ["user"])).look() as look:
        job = look.job("4103947")  # jobs are shown now
        assert job is not None
        fields = look.fields([job.code])[0]
    assert (fields["user"] in before, fields["account"]) == (True, "physics")


def test_a_field_that_there_is_not(tmp_path: Path) -> None:
    refused = done("jobstats", "serve", "--store", str(tmp_path), "--pseudonyms", "user,shoe")
    assert refused.returncode == 2
    assert "shoe is none of all, job, " in refused.stderr
