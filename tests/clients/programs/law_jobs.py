"""Jobs by law's manager for Slurm, which end, fail and are cancelled; prints what it hears of them."""

import time
from pathlib import Path

import law

law.contrib.load("slurm")
from law.contrib.slurm import SlurmJobFileFactory, SlurmJobManager, get_slurm_version  # noqa: E402

print(get_slurm_version())
manager, files = SlurmJobManager(), SlurmJobFileFactory(dir=str(Path.cwd()))
jobs = []
for command in ("true", "false", "sleep 600"):
    written, _ = files(command=command, partition="debug", job_name="law", stdout="out-%j")
    jobs.append(manager.submit(written))
print(jobs)


def told() -> list[tuple[str, int | None]]:
    found = manager.query(jobs)
    return [(found[job]["status"], found[job]["code"]) for job in jobs]


while told()[:2] != [("finished", 0), ("failed", 1)] or told()[2][0] != "running":
    time.sleep(0.2)
print(told())
manager.cancel([jobs[2]])
while told()[2][0] == "running":
    time.sleep(0.2)
print(told()[2][0], manager.query(jobs[2])["error"])
