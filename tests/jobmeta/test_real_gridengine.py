"""Jobs of a real Grid Engine are looked up: Debian's, which is Son of Grid Engine 8.1.9."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from rota.jobmeta import Lookups

from .real_gridengine import real_gridengine, skip_unless_there
from .real_slurm import until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def gridengine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    skip_unless_there()
    with real_gridengine(tmp_path_factory.mktemp("sge")):
        yield


def _qsub(name: str, *words: str) -> str:
    options = ["-terse", "-b", "y", "-wd", "/", "-o", "/dev/null", "-j", "y", "-N", name]
    nobody: dict[str, Any] = {"user": "nobody", "group": "nogroup", "extra_groups": []}
    done = subprocess.run(["qsub", *options, *words], capture_output=True, text=True, check=True, **nobody)
    return str(done.stdout).strip().partition(".")[0]


def test_live_and_finished_jobs(gridengine: None) -> None:
    finished = _qsub("finished", "-P", "phys", "true")
    array = _qsub("array", "-t", "1-2", "sleep", "600")
    held = _qsub("<held>&", "-h", "true")
    until("qacct", "-j", finished)
    until("sh", "-c", "qstat -u '*' -s r | grep array")
    with Lookups() as lookups:
        answers = lookups.lookup([finished, array, held, "99999"], "job_id")
        of_master = lookups.lookup(["99999", "99998"], "job_id")
    job = answers.jobs[finished]
    assert (job["user"], job["group"], job["account"], job["name"]) == ("nobody", "nogroup", "phys", "finished")
    assert (job["partition"], job["ended"], job["cpus"]) == ("all.q", True, 1)
    assert job["submit"] <= job["start"] <= job["end"]  # type: ignore[operator]
    job = answers.jobs[array]
    assert (job["user"], job["uid"], job["name"], job["ended"], job["cwd"]) == ("nobody", 65534, "array", False, "/")
    assert "start" in job
    assert (job["state"] in {"r", "t"}, job["partition"], job["cpus"] in {1, 2}) == (True, "all.q", True)
    assert "h" in str(answers.jobs[held]["state"])
    assert (answers.jobs[held]["name"], "start" in answers.jobs[held]) == ("<held>&", False)
    assert (answers.unknown, answers.faults) == (["99999"], [])
    assert (of_master.unknown, of_master.faults) == (["99999", "99998"], [])
