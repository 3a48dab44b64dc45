"""Jobs of rota's own live queue are looked up by their ids, as a real Slurm's are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rota.jobmeta import Lookups

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster


def test_a_live_job_and_one_that_has_ended(rota_cluster: LiveCluster) -> None:
    ended = rota_cluster.run("sbatch", "--parsable", "--wait", "-J", "a|b\nc", "-o", "out", "--wrap", "true").stdout
    held = rota_cluster.run("sbatch", "--parsable", "-H", "-J", "held", "-o", "out", "--wrap", "true").stdout
    ids = [ended.strip(), held.strip()]
    with rota_cluster.on_path(), Lookups(variable="SLURM_JOB_ID") as lookups:
        answers = lookups.lookup([*ids, "99999"])
    user = rota_cluster.run("id", "-un").stdout.strip()
    assert [(job["user"], job["state"], job["ended"]) for job in answers.jobs.values()] == [
        (user, "COMPLETED", True),
        (user, "PENDING", False),
    ]
    assert str(answers.jobs[ids[0]]["name"]).startswith("a|b")
    assert answers.jobs[ids[0]]["cwd"] == str(rota_cluster.directory)
    assert answers.jobs[ids[0]]["end"] >= answers.jobs[ids[0]]["submit"]  # type: ignore[operator]
    assert (answers.unknown, answers.failed) == (["99999"], [])
    said = json.loads(rota_cluster.rota("jobstats", "lookup", "slurm_job_id", *ids, "--json").stdout)
    assert said["jobs"] == answers.jobs
