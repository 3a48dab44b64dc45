"""The paths below ``/lustre/v1``, for a store of which all is known."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rota.api.lustre import forms as f

from .lustre import DAY, JOBS, LONG, TARGETS

if TYPE_CHECKING:
    from pydantic import BaseModel

    from .lustre import Lustre

_ALL = f"begin={DAY}&end={DAY + LONG}"
#: What job number n of `JOBS` has read in all: n times 10, 20, … 1200 bytes.
_READ = sum(range(10, LONG + 1, 10))


@pytest.mark.parametrize(
    ("path", "model"),
    [
        (f"top?{_ALL}", f.Top),
        (f"top?{_ALL}&by=user&metrics=read.latency,open.samples&top=1", f.Top),
        (f"series?{_ALL}&by=&points=7", f.Series),
        (f"heat?{_ALL}&metric=metadata_iops", f.Heat),
        ("jobs/4103947", f.Job),
        ("targets", f.Targets),
        ("fields", f.Fields),
        ("status", f.Status),
    ],
)
def test_answers_have_the_forms_of_the_openapi(lustre: Lustre, path: str, model: type[BaseModel]) -> None:
    data = lustre.client.get(f"/lustre/v1/{path}")
    assert model.model_validate(data, strict=True).model_dump() == data


def test_who_did_most_and_all_others(lustre: Lustre) -> None:
    got = lustre.client.get(f"/lustre/v1/top?{_ALL}&top=2")
    assert [(row["label"], row["totals"]["read_bytes"]) for row in got["rows"]] == [
        ("9", 5 * _READ),
        (list(JOBS)[3], 4 * _READ),
    ]
    assert [row["fields"] for row in got["rows"]] == [{}, {}]
    assert got["more"] == 3
    assert got["others"]["totals"]["read_bytes"] == (1 + 2 + 3) * _READ
    assert got["all"]["totals"]["metadata_iops"] == (1 + 2 + 3 + 4 + 5) * LONG // 10
    assert got["all"]["rates"]["metadata_iops"] == 1.5


@pytest.mark.parametrize("path", ["top?by=usr", "series?by=usr", "top?where=usr=ann", "heat?where=usr=ann"])
def test_a_field_that_nothing_has_is_refused_with_those_that_there_are(lustre: Lustre, path: str) -> None:
    got = lustre.client.ask("GET", f"/lustre/v1/{path}&{_ALL}")
    assert got.status == 400
    told = "there is no field 'usr'; there are operation, target, kind, filesystem, job, "
    assert got.data["title"].startswith(told)
    assert got.data["field"] == ("where" if "where" in path else "by")


def test_a_field_of_a_plugin_that_is_not_there_has_no_values(lustre: Lustre) -> None:
    assert [row["label"] for row in lustre.client.get(f"/lustre/v1/top?by=qos&{_ALL}")["rows"]] == [""]


def test_users_with_a_filter_over_time(lustre: Lustre) -> None:
    query = f"{_ALL}&by=user&points=2&metrics=read_bytes,read_iops&where=user=ann&where=user=bob&where=kind=OST"
    got = lustre.client.get(f"/lustre/v1/series?{query}")
    assert (got["begin"], got["end"], got["step"]) == (DAY, DAY + LONG, 600)
    first, second = sum(range(10, 601, 10)), sum(range(610, 1201, 10))
    assert [(line["label"], line["rates"]["read_bytes"]) for line in got["series"]] == [
        ("ann", [3 * first / 600, 3 * second / 600]),
        ("bob", [3 * first / 600, 3 * second / 600]),
    ]
    assert got["all"]["read_iops"] == [0.6, 0.6]


def test_the_heat_of_all_targets(lustre: Lustre) -> None:
    got = lustre.client.get(f"/lustre/v1/heat?{_ALL}&metric=read_iops&points=4")
    assert got["targets"] == sorted(TARGETS)
    # Jobs 1, 3 and 5 read from the second OST, 2 and 4 from the first; nobody reads from the MDT.
    assert got["rates"] == [[0.0] * 4, [0.6] * 4, [0.9] * 4]
    only = lustre.client.get(f"/lustre/v1/heat?{_ALL}&metric=read_iops&where=kind=MDT&where=user=ann")
    assert only["targets"] == ["scratch-MDT0000"]


@pytest.mark.parametrize("number", [1, 4])
def test_one_job(lustre: Lustre, number: int) -> None:
    """Whatever signs its id has."""
    job = list(JOBS)[number - 1]
    got = lustre.client.get(f"/lustre/v1/jobs/{quote(job, safe='')}?points=2&begin={DAY}")
    assert (got["job"], got["first"], got["last"], got["fields"]) == (job, DAY + 9, DAY + LONG, JOBS[job])
    assert got["operations"]["read_bytes"] == {"samples": number * LONG // 10, "total": number * _READ}
    assert got["operations"]["open"] == {"samples": number * LONG // 10, "total": 5 * number * LONG}
    lines = {line["label"]: line["rates"]["metadata_iops"] for line in got["history"]["series"]}
    assert lines == {TARGETS[number % 2]: [0.0, 0.0], TARGETS[2]: [number / 10] * 2}


@pytest.mark.parametrize(
    ("path", "status", "field"),
    [
        ("top?metrics=reads", 400, "metrics"),
        ("top?metrics=,", 400, "metrics"),
        ("top?sort=x", 400, "metrics"),
        ("top?begin=yesterday", 400, "begin"),
        ("top?begin=1e400", 400, "begin"),
        (f"top?begin={DAY}&end={DAY}", 400, "begin"),
        ("top?where=kind", 400, "where"),
        ("top?top=0", 422, "query.top"),
        ("top?unknown=1", 422, "query.unknown"),
        ("heat?points=9999999", 422, "query.points"),
        ("jobs/4103947?metrics=", 400, "metrics"),
        ("jobs/none", 404, None),
        ("nothing", 404, None),
    ],
)
def test_what_cannot_be_answered(lustre: Lustre, path: str, status: int, field: str | None) -> None:
    answer = lustre.client.ask("GET", f"/lustre/v1/{path}")
    assert answer.status == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.data.get("field") == field


def test_events_begin_with_what_is_there(lustre: Lustre) -> None:
    connection = lustre.client.connection()
    connection.request("GET", "/lustre/v1/events")
    answer = connection.getresponse()
    assert answer.getheader("content-type", "").startswith("text/event-stream")
    assert answer.readline() == b"event: step\n"
    assert answer.readline().startswith(b'data: {"until":')
    connection.close()


def _samples(lustre: Lustre, path: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    answer = lustre.client.ask("GET", path)
    assert answer.status == 200
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_metrics_of_jobs_are_told_if_they_are_asked_for(lustre: Lustre) -> None:
    """The jobs of this store did nothing lately; what is lately is another test's."""
    found = _samples(lustre, "/metrics")
    assert found["rota_lustre_source_up", frozenset({("source", f"dir:{lustre.store.parent / 'empty'}")})] == 1
    assert not [name for name, _ in found if name.startswith("rota_lustre_job_")]
    assert lustre.client.ask("GET", "/metrics?jobs=1001").status == 422
    assert lustre.client.ask("GET", "/metrics?jobs=1&sort=x").status == 400


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", "text/plain; version=0.0.4"),
        ("text/html", "text/plain; version=0.0.4"),
        ("application/openmetrics-text;version=1.0.0,text/plain;q=0.5", "application/openmetrics-text; version=1.0.0"),
        ("text/plain;version=1.0.0;escaping=allow-utf-8", "text/plain; version=1.0.0"),
        ("application/openmetrics-text; version=1.0.0; q=0.0, text/plain", "text/plain; version=0.0.4"),
        ("application/openmetrics-text;version=x;escaping=y", "text/plain; version=0.0.4"),
    ],
)
def test_metrics_come_in_the_form_that_is_accepted(lustre: Lustre, accept: str, form: str) -> None:
    answer = lustre.client.ask("GET", "/metrics", headers={"Accept": accept} if accept else {})
    assert answer.status == 200
    assert answer.headers["content-type"].startswith(form)
    assert answer.text.endswith("# EOF\n") is form.startswith("application")


def test_who_may_see(lustre: Lustre) -> None:
    token = (lustre.store / "token").read_text().strip()
    assert (lustre.store / "token").stat().st_mode & 0o777 == 0o600
    assert (lustre.store / "http.sock").stat().st_mode & 0o777 == 0o600
    paths = ("/lustre/v1/targets", "/metrics", "/api/target/metric/?latest=true", "/lustre/v1/events")
    for path in paths:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": "rota_lustre=wrong"}):
            answer = lustre.on_tcp(headers).ask("GET", path)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    for headers in ({"Authorization": f"Bearer {token}"}, {"Cookie": f"rota_lustre={token}"}):
        assert lustre.on_tcp(headers).ask("GET", paths[0]).status == 200
        # Not through a name that a web page has pointed here.
        assert lustre.on_tcp({**headers, "Host": "example.org"}).ask("GET", paths[0]).status == 421
