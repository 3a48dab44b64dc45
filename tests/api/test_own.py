"""rota's own paths, on a real cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rota.api import models as m

if TYPE_CHECKING:
    from pydantic import BaseModel

    from .conftest import Served

_SLEEP = "#!/bin/sh\nsleep 300\n"


def _submit(served: Served, script: str = _SLEEP, **options: Any) -> int:
    body = {"script": script, "directory": str(served.cluster.directory), "options": options}
    found: int = served.client.post("/v1/jobs", body)["job_id"]
    return found


def _state(served: Served, job_id: int) -> str:
    found: str = served.client.get(f"/v1/jobs/{job_id}")["state"]
    return found


def test_a_job_from_its_submission_to_its_accounting(served: Served) -> None:
    script = '#!/bin/sh\n#SBATCH --job-name=told\necho "$GREETING $1 $(pwd)"\nexit 3\n'
    body = {
        "script": script,
        "arguments": ["there"],
        "directory": str(served.cluster.directory),
        "environment": {"GREETING": "hello", "PATH": "/usr/bin:/bin"},
        "options": {"ntasks": 2, "time": "5", "output": "out-%j", "oversubscribe": False, "comment": None},
    }
    job_id = served.client.post("/v1/jobs", body)["job_id"]
    served.cluster.wait(lambda: _state(served, job_id) == "FAILED")
    job = served.client.get(f"/v1/jobs/{job_id}")
    told = [job[key] for key in ("name", "num_cpus", "time_limit", "exit_code", "signal", "work_dir", "std_out")]
    folder = str(served.cluster.directory)
    assert told == ["told", 2, 300, 3, 0, folder, f"{folder}/out-{job_id}"]
    assert (served.cluster.directory / f"out-{job_id}").read_text() == f"hello there {folder}\n"
    assert [step["step_id"] for step in job["steps"]] == ["batch"]
    listed = served.client.get("/v1/accounting/jobs?state=FAILED&limit=1000")["jobs"]
    assert [one for one in listed if one["job_id"] == job_id] == [job]
    assert served.cluster.run("sacct", "-Xnj", str(job_id), "-o", "state,exitcode").stdout.split() == ["FAILED", "3:0"]


def test_the_options_of_sbatch_are_in_force_and_wrong_ones_are_named(served: Served) -> None:
    refused = served.client.ask("POST", "/v1/jobs", {"script": _SLEEP, "options": {"ntasks": "two"}})
    assert (refused.status, refused.data["field"], refused.data["errno"]) == (400, "ntasks", 9000)
    assert refused.headers["content-type"] == "application/problem+json"
    # Slurm's ESLURM_INVALID_PARTITION_NAME
    refused = served.client.ask("POST", "/v1/jobs", {"script": _SLEEP, "options": {"partition": "nosuch"}})
    assert (refused.status, refused.data["errno"]) == (400, 2000)
    refused = served.client.ask("POST", "/v1/jobs", {"script": "no script", "options": {}})
    assert refused.status == 400
    assert "#!/bin/sh" in refused.data["title"]


@pytest.mark.parametrize("option", ["test-only", "help", "usage", "version"])
def test_what_submits_nothing_with_sbatch_submits_nothing_here(served: Served, option: str) -> None:
    for body in (
        {"script": _SLEEP, "options": {option: True}},
        {"script": f"#!/bin/sh\n#SBATCH --{option}\nsleep 300\n"},
    ):
        refused = served.client.ask("POST", "/v1/jobs", body)
        assert (refused.status, refused.data["field"]) == (400, option)
    refused = served.client.ask("POST", "/v1/jobs", {"script": _SLEEP, "options": {"clusters": "other"}})
    assert (refused.status, "No cluster 'other'" in refused.data["title"]) == (400, True)
    assert served.client.get("/v1/jobs?name=sbatch")["jobs"] == []


@pytest.mark.parametrize(
    ("method", "path", "field"),
    [
        ("DELETE", "/v1/jobs/{job}?sig=USR1", "query.sig"),
        ("GET", "/v1/jobs?usr=root", "query.usr"),
        ("GET", "/v1/jobs?user=root&user=nobody", "query.user"),
        ("GET", "/v1/accounting/jobs?state=FAILD", "query.state"),
        ("GET", "/v1/diag?all=1", "query.all"),
        ("GET", "/v1/jobs/{job}x", "path.job"),
    ],
)
def test_what_is_mistyped_is_named(served: Served, method: str, path: str, field: str) -> None:
    job_id = _submit(served, hold=True)
    refused = served.client.ask(method, path.format(job=job_id))
    assert (refused.status, refused.data["field"]) == (422, field)
    assert _state(served, job_id) == "PENDING"
    served.client.ask("DELETE", f"/v1/jobs/{job_id}")


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain"])  # the first is what curl says
def test_a_body_that_is_not_said_to_be_json(served: Served, kind: str) -> None:
    refused = served.client.ask("POST", "/v1/jobs", {"script": _SLEEP}, {"Content-Type": kind})
    assert (refused.status, "Content-Type: application/json" in refused.data["title"]) == (415, True)


def test_orders(served: Served) -> None:
    job_id = _submit(served, hold=True, time="10")
    path = f"/v1/jobs/{job_id}"
    assert served.client.get(path)["reason"] == "JobHeldUser"
    assert served.client.ask("PATCH", path, {"changes": {"TimeLimit": "7", "Nice": 5}}).status == 200
    changed = served.client.get(path)
    assert (changed["time_limit"], changed["nice"]) == (420, 5)
    assert served.client.ask("POST", f"{path}/order", {"command": "suspend"}).status == 409
    served.client.post(f"{path}/order", {"command": "release"})
    served.cluster.wait(lambda: _state(served, job_id) == "RUNNING")
    served.client.post(f"{path}/order", {"command": "requeuehold"})
    served.cluster.wait(lambda: served.client.get(path)["state"] == "PENDING")
    assert served.client.ask("DELETE", path).status == 200
    served.cluster.wait(lambda: not served.client.get(f"/v1/jobs?after={job_id - 1}")["jobs"])
    assert served.client.get(path)["state"] == "CANCELLED"
    assert served.client.ask("DELETE", path).status == 409
    assert served.client.ask("DELETE", "/v1/jobs/999999").status == 404
    for changes in ({"JobId": "424242", "Nice": "3"}, {"NodeName": "n1", "State": "down"}, {"Nosuch": 1}):
        assert served.client.ask("PATCH", path, {"changes": changes}).status == 400


def test_orders_for_tasks_of_an_array(served: Served) -> None:
    job_id = _submit(served, array="1-2", output="/dev/null", hold=True)
    assert served.client.ask("DELETE", f"/v1/jobs/{job_id}").status == 200
    path = f"/v1/jobs/{job_id}/order"
    served.cluster.wait(lambda: served.client.ask("POST", path, {"command": "hold"}).data.get("errno") == 2084)
    assert served.client.ask("POST", path, {"command": "requeuehold"}).status == 200
    assert served.client.get(f"/v1/jobs/{job_id}_2/explain")["reason"] == "JobHeldAdmin"
    assert served.client.ask("GET", f"/v1/jobs/{job_id}_3/explain").status == 404
    refused = served.client.ask("POST", path, {"command": "requeue"})
    assert (refused.status, refused.data["errno"]) == (409, 2024)  # ESLURM_JOB_PENDING
    assert served.client.ask("POST", f"/v1/jobs/{job_id}_7/order", {"command": "requeue"}).status == 404
    assert served.client.ask("DELETE", f"/v1/jobs/{job_id}").status == 200


def test_a_signal(served: Served) -> None:
    job_id = _submit(served, output="/dev/null")
    path = f"/v1/jobs/{job_id}"
    served.cluster.wait(lambda: served.client.get(path)["state"] == "RUNNING")
    for signal in ("NOSUCH", "99", "-9"):
        assert served.client.ask("DELETE", f"{path}?signal={signal}").status == 400
    assert served.client.ask("DELETE", f"{path}?signal=KILL").status == 200
    served.cluster.wait(lambda: served.client.get(path)["state"] == "CANCELLED")


def test_lists_are_filtered_and_come_in_parts(served: Served) -> None:
    ids = [_submit(served, hold=True, partition="short", **{"job-name": f"part-{place % 2}"}) for place in range(5)]
    found: list[int] = []
    after = ids[0] - 1
    while True:
        page = served.client.get(f"/v1/jobs?partition=short&limit=2&after={after}")
        found += [job["job_id"] for job in page["jobs"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert found == ids
    named = served.client.get("/v1/jobs?name=part-1&state=PENDING")["jobs"]
    assert [job["job_id"] for job in named] == ids[1::2]
    assert served.client.get("/v1/jobs?name=part-1&state=RUNNING")["jobs"] == []
    assert served.client.get("/v1/jobs?user=nobody-of-this-name")["jobs"] == []
    served.cluster.run("scancel", *map(str, ids))


def test_tasks_of_an_array(served: Served) -> None:
    job_id = _submit(served, array="3-5", hold=True)
    assert served.client.get(f"/v1/jobs/{job_id}")["array_task"] == "[3-5]"
    assert served.client.ask("DELETE", f"/v1/jobs/{job_id}_4").status == 200
    served.cluster.wait(lambda: served.client.get(f"/v1/jobs/{job_id}")["array_task"] == "[3,5]")
    served.client.ask("DELETE", f"/v1/jobs/{job_id}")


@pytest.mark.slow
def test_the_queue_its_plan_and_why(served: Served) -> None:
    filler = _submit(served, nodes=2, exclusive=True, time="30")
    served.cluster.wait(lambda: _state(served, filler) == "RUNNING")
    first, second = (_submit(served, nodes=2, exclusive=True, time="20") for _ in range(2))
    queue = served.client.get("/v1/queue")
    assert [job["job_id"] for job in queue["jobs"]] == [first, second]
    assert [job["place"] for job in queue["jobs"]] == [1, 2]
    assert [job["job_id"] for job in served.client.get("/v1/queue?limit=1&offset=1")["jobs"]] == [second]
    assert served.client.get("/v1/queue?limit=1")["next"] == 1
    served.cluster.wait(lambda: served.client.get("/v1/plan")["jobs"][0]["planned_start"] is not None)
    end = served.client.get(f"/v1/jobs/{filler}")["end_time"]
    assert served.client.get("/v1/plan")["jobs"][0]["planned_start"] == pytest.approx(end, abs=60)
    assert served.client.get(f"/v1/jobs/{second}/explain")["place"] == 2
    forecast = served.client.get("/v1/forecast?seconds=0.2")
    assert [str(job["job"]) for job in forecast["jobs"]] == [str(first), str(second)]
    for job_id in (filler, first, second):
        served.client.ask("DELETE", f"/v1/jobs/{job_id}")


def _check(model: type[BaseModel], data: Any) -> None:
    """Check that an answer has the form that the OpenAPI promises, without more keys."""
    checked = model.model_validate(data, strict=True)
    assert set(checked.model_dump()) == set(data)


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/v1/jobs", m.Jobs),
        ("/v1/accounting/jobs", m.AccountedJobs),
        ("/v1/nodes", m.Nodes),
        ("/v1/nodes/n1", m.Node),
        ("/v1/partitions", m.Partitions),
        ("/v1/partitions/short", m.Partition),
        ("/v1/queue", m.Queue),
        ("/v1/plan", m.Plan),
        ("/v1/forecast?seconds=0.1", m.Forecast),
        ("/v1/diag", m.Diagnostics),
    ],
)
def test_answers_have_the_forms_of_the_openapi(served: Served, path: str, model: type[BaseModel]) -> None:
    held = _submit(served, hold=True)
    _check(model, served.client.get(path))
    _check(m.Job, served.client.get(f"/v1/jobs/{held}"))
    _check(m.Explanation, served.client.get(f"/v1/jobs/{held}/explain"))
    served.client.ask("DELETE", f"/v1/jobs/{held}")


def test_nodes_and_partitions_are_those_of_slurm_conf(served: Served) -> None:
    nodes = served.client.get("/v1/nodes")["nodes"]
    assert [(node["name"], node["cpus"], node["memory"]) for node in nodes] == [("n1", 4, 8000), ("n2", 4, 8000)]
    short = served.client.get("/v1/partitions/short")
    assert (short["nodes"], short["max_time"], short["default"]) == (["n1"], 600, False)
    assert served.client.ask("GET", "/v1/nodes/nosuch").status == 404
    assert served.client.ask("GET", "/v1/partitions/nosuch").status == 404
