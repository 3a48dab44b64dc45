"""The rules of Integrated Manager for Lustre.

They are those of its `MetricResource` (``chroma_api/utils.py``): which parameters exclude each other, the texts of its
faults, and that all of them are told at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from .lustre import DAY, JOBS, LONG, TARGETS

if TYPE_CHECKING:
    from .lustre import Lustre

_MANDATORY = "This field is mandatory when latest=false"
_BEGIN, _END = "2023-11-15T00:00:00Z", "2023-11-15T00:20:00Z"
_OST0, OST1, MDT = TARGETS
#: What job number n of `JOBS` has read in all: n times 10, 20, … 1200 bytes.
_READ = sum(range(10, LONG + 1, 10))


def _ask(lustre: Lustre, path: str, /, **query: Any) -> tuple[int, Any]:
    answer = lustre.client.ask("GET", f"/api/target/{path}?{urlencode(query)}")
    return answer.status, answer.data


def _total(points: list[dict[str, Any]], label: str, seconds: int) -> float:
    return sum(float(point["data"].get(label, 0)) for point in points) * seconds


@pytest.mark.parametrize(
    ("query", "faults"),
    [
        ({}, {"begin": [_MANDATORY]}),
        ({"begin": "yesterday", "end": "x"}, {"begin": ["Malformed time string"], "end": ["Malformed time string"]}),
        (
            {"update": "true", "latest": "true", "begin": _BEGIN},
            {"update": ["update and latest are mutually exclusive"], "end": None},
        ),
        ({"update": "1", "begin": _BEGIN}, {"end": [_MANDATORY]}),
        (
            {"begin": _BEGIN, "num_points": "x", "max_points": "y"},
            {
                "num_points": ["num_points must be a valid integer"],
                "max_points": ["max_points must be a valid integer"],
                "end": [_MANDATORY],
            },
        ),
        ({"latest": "true", "num_points": "2"}, {"num_points": ["num_points requires a fixed begin and end"]}),
        (
            {"latest": "true", "job": "user", "metrics": "read_bytes,write_bytes"},
            {"job": ["Job metrics must be a single string", "Job metrics and latest are incompatible"]},
        ),
        ({"begin": _BEGIN, "job": "user"}, {"job": ["Job metrics must be a single string"]}),
        (
            {"begin": _BEGIN, "group_by": "kind"},
            {"reduce_fn": ["This field is mandatory if 'group_by' is specified"]},
        ),
    ],
)
def test_faults_are_told_all_at_once(lustre: Lustre, query: dict[str, str], faults: dict[str, Any]) -> None:
    status, data = _ask(lustre, "metric/", **query)
    assert status == 400
    assert data == {field: texts for field, texts in faults.items() if texts is not None}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"begin": _BEGIN, "job": "user", "metrics": "stats_open"}, "job"),
        ({"begin": _BEGIN, "metrics": "stats_open"}, "metrics"),
        ({"begin": _BEGIN, "reduce_fn": "max"}, "reduce_fn"),
        ({"begin": _END, "end": _BEGIN}, "end"),
        ({"begin": _BEGIN, "max_points": "0"}, "max_points"),
    ],
)
def test_what_the_original_did_not_expect_is_a_fault_too(lustre: Lustre, query: dict[str, str], field: str) -> None:
    """There it was an internal error, or nothing."""
    status, data = _ask(lustre, "metric/", **query)
    assert (status, list(data)) == (400, [field])


def test_a_list_has_all_targets_and_all_metrics(lustre: Lustre) -> None:
    status, data = _ask(lustre, "metric/", begin=_BEGIN, end=_END, max_points=2)
    assert status == 200
    assert list(data) == sorted(TARGETS)
    assert [point["ts"] for point in data[MDT]] == ["2023-11-15T00:00:00+00:00", "2023-11-15T00:10:00+00:00"]
    metadata = {"read_bytes": 0, "write_bytes": 0, "read_iops": 0, "write_iops": 0, "metadata_iops": 1.5}
    assert [point["data"] for point in data[MDT]] == [metadata, metadata]
    assert _total(data[OST1], "read_bytes", 600) == pytest.approx((1 + 3 + 5) * _READ)


def test_one_target(lustre: Lustre) -> None:
    status, data = _ask(lustre, f"{OST1}/metric/", begin=_BEGIN, end=_END, metrics="read_iops,read_bytes", max_points=1)
    assert status == 200
    assert data == [{"ts": "2023-11-15T00:00:00+00:00", "data": {"read_iops": 0.9, "read_bytes": 9 * _READ / LONG}}]
    assert _ask(lustre, "nope/metric/", begin=_BEGIN)[0] == 404


@pytest.mark.parametrize("job", ["id", "missing"])
def test_jobs_by_their_ids(lustre: Lustre, job: str) -> None:
    """A field that nothing has acts like the id."""
    _, data = _ask(lustre, "metric/", begin=_BEGIN, end=_END, job=job, metrics="read_iops", kind="OST", max_points=1)
    jobs = list(JOBS)
    assert {target: points[0]["data"] for target, points in data.items()} == {
        _OST0: {jobs[1]: 0.2, jobs[3]: 0.4},
        OST1: {jobs[0]: 0.1, jobs[2]: 0.3, jobs[4]: 0.5},
    }


def test_jobs_that_share_a_label_are_one(lustre: Lustre) -> None:
    _, data = _ask(lustre, f"{MDT}/metric/", begin=_BEGIN, end=_END, job="user", metrics="metadata_iops", max_points=1)
    assert data[0]["data"] == {"ann": pytest.approx(0.3), "bob": 0.3, list(JOBS)[3]: 0.4, "9": 0.5}


def test_targets_together_and_by_an_attribute(lustre: Lustre) -> None:
    query = {"begin": _BEGIN, "end": _END, "metrics": "read_iops", "max_points": 1}
    time = "2023-11-15T00:00:00+00:00"
    assert _ask(lustre, "metric/", **query, reduce_fn="sum")[1] == [{"ts": time, "data": {"read_iops": 1.5}}]
    assert _ask(lustre, "metric/", **query, reduce_fn="average")[1] == [{"ts": time, "data": {"read_iops": 0.5}}]
    by_kind = _ask(lustre, "metric/", **query, reduce_fn="average", group_by="kind")[1]
    assert by_kind == {
        "OST": [{"ts": time, "data": {"read_iops": 0.75}}],
        "MDT": [{"ts": time, "data": {"read_iops": 0.0}}],
    }
    # An attribute that no target has discards all of them.
    assert _ask(lustre, "metric/", **query, reduce_fn="sum", group_by="colour")[1] == {}


def test_exactly_so_many_points(lustre: Lustre) -> None:
    """Whatever divides the time, and with the same sum."""
    _, data = _ask(lustre, f"{OST1}/metric/", begin=DAY + 55, end=DAY + LONG, num_points=7, metrics="read_iops")
    assert len(data) == 7
    assert data[0]["ts"] == "2023-11-15T00:00:55+00:00"
    assert [point["data"]["read_iops"] for point in data] == pytest.approx([0.9] * 7)


def test_the_latest(lustre: Lustre) -> None:
    """The last whole step, in which nothing was done here."""
    _, data = _ask(lustre, f"{MDT}/metric/", latest="true", metrics="metadata_iops")
    assert [point["data"] for point in data] == [{"metadata_iops": 0.0}]


def test_an_update_is_what_came_since_the_end(lustre: Lustre) -> None:
    query = {"begin": _BEGIN, "end": DAY + 600, "update": "true", "metrics": "metadata_iops", "max_points": 10_000}
    _, data = _ask(lustre, f"{MDT}/metric/", **query)
    assert data[0]["ts"] <= "2023-11-15T00:10:00+00:00"
    assert data[-1]["ts"] > "2026"


def test_only_get(lustre: Lustre) -> None:
    assert lustre.client.ask("POST", "/api/target/metric/", {}).status == 405
