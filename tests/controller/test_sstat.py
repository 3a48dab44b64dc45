"""``sstat`` beside what Slurm 22.05.8 printed: ``recorded/sstat.txt``, made by ``recorded/sstat.sh``.

Measured numbers, process ids and what is cut off after them differ. So do the names of nodes where they were chosen.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from slurm.release import as_upstream

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONF = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[01-04] CPUs=4 RealMemory=8000
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100
"""
_RECORDED = as_upstream((Path(__file__).parent / "recorded" / "sstat.txt").read_text())
_TWO = "srun -n2 --exact sleep 600 & until squeue -h -s | grep -q $SLURM_JOB_ID.0; do :; done\n"
_TWO += "srun -n1 --exact sleep 600 & wait"
_JOBS = {
    "TWO": (("-n4", "--mem=2000"), _TWO),
    "BATCH": (("-n1", "--mem=200"), "sleep 600"),
    "NODES": (("-N2", "-n4", "--mem=200"), "srun -N2 -n4 sleep 600"),
    "HELD": (("-H",), "sleep 600"),
}
_CASES = [
    (command, [line for line in lines if not line.startswith("rc=")], int(lines[-1].removeprefix("rc=")))
    for command, *lines in (block.splitlines() for block in re.split(r"(?m)^##### ", _RECORDED)[1:])
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("sstat"), _CONF) as found:
        yield found


@pytest.fixture(scope="module")
def jobs(cluster: LiveCluster) -> dict[str, str]:
    """The jobs of the recording, whose steps all run: their ids by name."""
    found = {}
    for name, (options, script) in _JOBS.items():
        found[name] = str(cluster.submit("-o", "/dev/null", *options, stdin=f"#!/bin/bash\n{script}\n"))
    shown = {f"{found['TWO']}.{step}" for step in ("batch", "0", "1")}
    shown |= {f"{found['NODES']}.{step}" for step in ("batch", "0")} | {f"{found['BATCH']}.batch"}
    ids = ",".join(found[name] for name in ("TWO", "NODES", "BATCH"))

    def tasks() -> list[str]:
        return cluster.run("sstat", "-a", "-n", "-P", "-o", "JobID,Pids", "-j", ids).stdout.split()

    cluster.wait(lambda: {line.partition("|")[0] for line in tasks() if not line.endswith("|")} >= shown)
    return found


def _comparable(text: str, jobs: dict[str, str]) -> list[str]:
    """Replace what is measured by ``#``; the heading keeps its blanks, which show that columns are where they are."""
    for name, job_id in jobs.items():
        text = re.sub(rf"(?m)(^ *|job |StepId=){job_id}\b", rf"\1{name}", text)
    found = []
    for line in text.splitlines():
        if "JobID" in line or "---" in line or "error" in line or "Max" in line:
            found.append(line)
            continue
        words = re.sub(r"\bn0\d\b", "NODE", " ".join(line.split()))
        words = re.sub(r"(?<![.\w])\d[\d.:]*[KMG]?(?![.\w])", "#", words)
        words = re.sub(r"#(,#)*(,\d*\+)?", "#", words)
        words = re.sub(r"(?<==)[#\w]*\+|#?\+", "+", words)
        found.append(re.sub(r"NODE \+$", "NODE #", words))  # how many process ids fit depends on their digits
    return found


@pytest.mark.parametrize(("command", "lines", "status"), _CASES, ids=[case[0] for case in _CASES])
def test_as_recorded(cluster: LiveCluster, jobs: dict[str, str], command: str, lines: list[str], status: int) -> None:
    asked = command
    for name, job_id in jobs.items():
        asked = asked.replace(name, job_id)
    done = cluster.run("bash", "-c", asked, check=False)
    for sign, text in (("o| ", done.stdout), ("e| ", done.stderr)):
        wanted = "\n".join(line.removeprefix(sign) for line in lines if line.startswith(sign))
        assert _comparable(text.rstrip("\n"), jobs) == _comparable(wanted.rstrip("\n"), jobs)
    assert done.returncode == status


def _kib(text: str) -> float:
    """Read an amount of memory: of whole hundredths of a MiB the unit is M."""
    return float(text[:-1]) * {"K": 1, "M": 1024}[text[-1]]


def test_what_tasks_use_is_measured(cluster: LiveCluster) -> None:
    burn = "import os, time\nx = bytearray(60_000_000)\nwhile time.process_time() < 1.2: pass\n"
    (cluster.directory / "burn.py").write_text(f"{burn}print(os.getpid(), flush=True)\ntime.sleep(600)\n")
    job_id = str(cluster.submit("-n2", "-o", "pids", "--wrap", "srun -n2 python3 burn.py"))
    output = cluster.directory / "pids"
    cluster.wait(lambda: output.exists() and len(output.read_text().split()) == 2)
    fields = "Pids,NTasks,MinCPU,AveRSS,MaxVMSize"
    pids, tasks, cpu, memory, virtual = cluster.run("sstat", "-nP", "-o", fields, job_id).stdout.strip().split("|")
    assert set(output.read_text().split()) == set(pids.split(","))
    assert (tasks, cpu) == ("2", "00:00:01")  # of each
    assert _kib(memory) > 60_000
    assert _kib(virtual) >= _kib(memory)
    cluster.run("scancel", job_id)
