"""Uses each operation of a client that was generated from the OpenAPI of slurmrestd v0.0.38: URL, token."""

import sys
import time

import openapi_client as slurm
from openapi_client.api.slurm_api import SlurmApi

where = slurm.Configuration(host=sys.argv[1], api_key={"token": sys.argv[2], "user": "nobody"})
api = SlurmApi(slurm.ApiClient(where))

assert [one.ping for one in api.slurm_v0038_ping().pings] == ["UP"]
assert api.slurm_v0038_diag().statistics.jobs_submitted == 0
assert api.slurm_v0038_slurmctld_get_licenses().licenses == []
assert [one.name for one in api.slurm_v0038_get_nodes().nodes] == ["n1", "n2", "n3", "n4"]
assert api.slurm_v0038_get_node("n2").nodes[0].cpus == 4
assert [one.name for one in api.slurm_v0038_get_partitions().partitions] == ["debug"]
assert api.slurm_v0038_get_partition("debug").partitions[0].total_nodes == 4
assert api.slurm_v0038_get_reservations().reservations == []


def submit(**more: object) -> str:
    properties = {"environment": {"PATH": "/usr/bin:/bin"}, "standard_output": "/dev/null", "tasks": 2, **more}
    job = slurm.V0038JobProperties(current_working_directory="/", **properties)
    answer = api.slurm_v0038_submit_job(slurm.V0038JobSubmission(script="#!/bin/sh\nsleep 300\n", job=job))
    return str(answer.job_id)


def job_of(job_id: str) -> slurm.V0038JobResponseProperties:
    (found,) = api.slurm_v0038_get_job(job_id).jobs
    return found


held, runs = submit(name="held", hold=True, time_limit=9), submit(name="runs")
api.slurm_v0038_update_job(held, slurm.V0038JobProperties(environment={}, time_limit=4))
assert (job_of(held).job_state, job_of(held).time_limit) == ("PENDING", 4)
while job_of(runs).job_state != "RUNNING":
    time.sleep(0.1)
assert (job_of(runs).name, job_of(runs).job_resources.nodes) == ("runs", "n1")
assert sorted(one.name for one in api.slurm_v0038_get_jobs().jobs) == ["held", "runs"]
for job_id in (held, runs):
    api.slurm_v0038_cancel_job(job_id)
while {job_of(held).job_state, job_of(runs).job_state} != {"CANCELLED"}:
    time.sleep(0.1)
refusal = ""
try:
    api.slurm_v0038_get_job("99999")
except slurm.ApiException as error:
    refusal = f"{error.status} {error.body}"
assert refusal.startswith("500 ")
assert "Invalid job id specified" in refusal
print("over")
