"""Records what ``scontrol update`` of a real Slurm says to each key of a job, and what comes of it.

As root, with the nodes, partitions and licenses of ``test_job_updates.py``, an account phys that root is not in, and a
QOS urgent that root may use: ``python job_updates.py <asked.txt >job_updates.txt``. What is asked is a line each, of
words divided by ``!``, and ``@`` stands for the id of the job. A line of the answer is the state of the job, what was
asked, the exit status, what was said, and the keys of ``scontrol show job`` that have changed, without what is empty
at its end.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time

#: What changes by itself.
_ASIDE = frozenset({"LastSchedEval", "RunTime", "Scheduler", "Priority"})
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


def words_of(asked: str, job: str) -> list[str]:
    """Give the words of a command."""
    return ["scontrol", "update", f"jobid={job}", *(word.replace("@", job) for word in asked.split("!"))]


def fields(text: str) -> dict[str, str]:
    """Read what ``scontrol -o show job`` prints of one job."""
    line = text.partition("\n")[0]
    found = re.finditer(r"(?<!\S)([A-Za-z][\w:/]*)=(.*?)(?= +[A-Za-z][\w:/]*=|\s*$)", line)
    return {one[1]: one[2] for one in found}


def changed(before: dict[str, str], after: dict[str, str], job: str) -> str:
    """Say which fields have changed, and how."""
    keys = [key for key in sorted(before.keys() | after.keys()) if before.get(key) != after.get(key)]
    found = ", ".join(f"{key} {before.get(key)} -> {after.get(key)}" for key in keys if key not in _ASIDE)
    return _MOMENT.sub("MOMENT", found).replace(f"/{job}", "/@")


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def submitted(state: str) -> list[str]:
    """Give the command that submits a job of either state."""
    script = "sleep 300" if state == "RUNNING" else "true"
    held = [] if state == "RUNNING" else ["-H"]
    return [
        "sbatch",
        "--parsable",
        "-D",
        "/tmp",  # noqa: S108 - so it is in the recording
        "-o",
        "/dev/null",
        "-J",
        "first",
        "-n2",
        "-t50",
        *held,
        "--wrap",
        script,
    ]


def _show(job: str) -> dict[str, str]:
    return fields(_run("scontrol", "-o", "show", "job", job).stdout)


def _main() -> None:
    asked = sys.stdin.read().splitlines()
    for state in ("PENDING", "RUNNING"):
        job = ""
        for one in asked:
            if not job:
                job = _run(*submitted(state)).stdout.strip()
                while _show(job).get("JobState") != state:
                    time.sleep(0.1)
            before = _show(job)
            done = _run(*words_of(one, job))
            said = re.sub(rf"\b{job}\b", "@", (done.stdout + done.stderr).strip()).replace("\n", " / ")
            effect = changed(before, _show(job), job)
            row = " | ".join((state, one, str(done.returncode), said, effect))
            sys.stdout.write(re.sub(r"( \|\s*)+$", "", row) + "\n")
            if effect or not done.returncode:  # the next one is asked of another job
                _run("scancel", job)
                while _show(job).get("JobState") in {"RUNNING", "COMPLETING"}:
                    time.sleep(0.1)
                job = ""


if __name__ == "__main__":
    _main()
