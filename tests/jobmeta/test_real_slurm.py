"""Jobs of a real Slurm are looked up: Debian's, which is 22.05."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from rota.jobmeta import Lookups

from .real_slurm import real_slurm, skip_unless_there, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    skip_unless_there()
    with real_slurm(tmp_path_factory.mktemp("slurm")):
        yield


def _sbatch(name: str, *options: str) -> str:
    words = ["sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null", "-J", name, *options]  # noqa: S108
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def test_live_and_finished_jobs(slurm: None) -> None:
    finished = _sbatch("finished", "-A", "phys", "--wait", "--wrap", "true")
    until("sh", "-c", f"sacct -n -X -j {finished} -o State | grep COMPLETED")  # the database learns it a little later
    failed = _sbatch("other", "--uid=nobody", "-A", "phys", "--wrap", "false")
    held = _sbatch("held", "-H", "--wrap", "true")
    array = _sbatch("array", "-a", "1-2", "--wrap", "sleep 600")
    with Lookups() as lookups:
        answers = lookups.lookup([finished, failed, held, array, "99999"], "slurm_job_id")
        elements = subprocess.run(
            ["squeue", "-h", "-r", "-n", "array", "-o", "%A"], capture_output=True, text=True, check=True
        ).stdout.split()
        assert {job["name"] for job in lookups.lookup(elements, "slurm_job_id").jobs.values()} == {"array"}
    job = answers.jobs[finished]
    assert (job["user"], job["uid"], job["account"], job["name"]) == ("root", 0, "phys", "finished")
    assert (job["partition"], job["qos"], job["state"], job["ended"]) == ("debug", "normal", "COMPLETED", True)
    assert (job["cwd"], job["cluster"], job["nodes"]) == ("/tmp", "test", 1)  # noqa: S108
    times = [job[name] for name in ("submit", "start", "end")]
    assert times == sorted(times)
    assert abs(int(times[0]) - os.stat("/proc/self").st_mtime) < 86400  # seconds since 1970  # noqa: PTH116
    assert answers.jobs[failed]["user"] == "nobody"
    assert (answers.jobs[held]["state"], answers.jobs[held]["ended"]) == ("PENDING", False)
    assert "start" not in answers.jobs[held]
    assert (answers.unknown, answers.faults) == (["99999"], [])


@pytest.mark.parametrize("sign", ["\n", "\x1f", "|", "\x1e\n99999|root|0|"])
def test_names_of_any_kind_label_no_other_job(slurm: None, sign: str) -> None:
    job_id = _sbatch(f"a{sign}b", "-H", "--wrap", "true")
    after = _sbatch("after", "-H", "--wrap", "true")
    with Lookups() as lookups:
        answers = lookups.lookup([job_id, after, "99999"], "slurm_job_id")
    assert answers.unknown == ["99999"]
    assert answers.jobs[job_id]["name"] == "a" + "".join(c if c.isprintable() else "?" for c in sign) + "b"
    assert (answers.jobs[after]["name"], answers.jobs[after]["cwd"]) == ("after", "/tmp")  # noqa: S108


def test_without_accounting_squeue_is_asked(slurm: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a slurm.conf of which sacct says that accounting is disabled."""
    job_id = _sbatch("queued", "-H", "--wrap", "true")
    with open(os.environ["SLURM_CONF"]) as conf:  # noqa: PTH123
        lines = [line for line in conf if not line.startswith("AccountingStorage")]
    (tmp_path / "slurm.conf").write_text("".join(lines))
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    with Lookups() as lookups:
        answers = lookups.lookup([job_id, "99999"], "slurm_job_id")
    assert (answers.jobs[job_id]["user"], answers.jobs[job_id]["name"]) == ("root", "queued")
    assert (answers.unknown, answers.faults) == (["99999"], [])


def test_a_controller_that_cannot_be_reached(slurm: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.environ["SLURM_CONF"]) as conf:  # noqa: PTH123
        text = conf.read()
    without = ("AccountingStorage", "SlurmctldPort")
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith(without)]
    (tmp_path / "slurm.conf").write_text("".join(lines) + "SlurmctldPort=1\n")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    with Lookups(timeout=60) as lookups:
        answers = lookups.lookup(["1"], "slurm_job_id")
    assert answers.failed == ["1"]
    assert "squeue failed with exit status 1: " in answers.faults[0]
