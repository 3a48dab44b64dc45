"""Commands of ``scontrol`` beside what Slurm 22.05.8 printed: ``recorded/scontrol.txt``, by ``recorded/scontrol.sh``.

Times, hosts, process ids and the order of steps differ. A step has as much memory as its job has on its nodes, in Slurm
as much as others left it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONF = """
FirstJobId=1001
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[01-04] CPUs=4 RealMemory=8000
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100
"""
_RECORDED = (Path(__file__).parent / "recorded" / "scontrol.txt").read_text()
_CASES = [
    (command, [line for line in lines if not line.startswith("rc=")], int(lines[-1].removeprefix("rc=")))
    for command, *lines in (block.splitlines() for block in re.split(r"(?m)^##### ", _RECORDED)[1:])
]
_STEPS = "srun -N2 -n4 sleep 600 & until squeue -h -s | grep -q $SLURM_JOB_ID.0; do :; done\n"
_STEPS += "srun -N1 -n1 --overlap sleep 600 & wait"
_VARYING = re.compile(
    r"(?<=StartTime=)\S+|(?<=SrunHost:Pid=)[^(]\S+|(?<=UserId=)\d+"
    r"|(?<=mem=)\w+|(?<=NodeList=)n\S+|(?<=^o\| )\d+ +STEPS +"
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with LiveCluster(tmp_path_factory.mktemp("scontrol"), _CONF) as found:
        yield found


@pytest.fixture(scope="module")
def jobs(cluster: LiveCluster) -> dict[str, str]:
    """The jobs of the recording: their ids by name."""
    (cluster.directory / "batch.sh").write_text("#!/bin/bash\nsleep 600\n")
    found = {
        "STEPS": cluster.submit("-N2", "-n4", "--mem=200", "-o", "/dev/null", stdin=f"#!/bin/bash\n{_STEPS}\n"),
        "BATCH": cluster.submit("-n1", "--mem=200", "-t", "60", "batch.sh"),
        "HELD": cluster.submit("-H", "batch.sh"),
    }
    cluster.wait(lambda: len(cluster.run("squeue", "-h", "-s").stdout.splitlines()) == 4)
    cluster.wait(lambda: "1001     1 " in cluster.run("scontrol", "listpids").stdout)
    return {name: str(job_id) for name, job_id in found.items()}


def _comparable(lines: list[str]) -> list[str]:
    """Replace what varies, and sort the records of steps."""
    text = "\n".join(_VARYING.sub("#", line) for line in lines)
    records = text.removesuffix("\no| ").split("\no| \n")
    return sorted(records) if "StepId=" in text else text.splitlines()


@pytest.mark.parametrize(("command", "lines", "status"), _CASES, ids=[case[0] for case in _CASES])
def test_as_recorded(cluster: LiveCluster, jobs: dict[str, str], command: str, lines: list[str], status: int) -> None:
    asked = command
    for name, job_id in jobs.items():
        asked = asked.replace(name, job_id)
    done = cluster.run("bash", "-c", asked, check=False)
    found = [*(f"o| {line}" for line in done.stdout.splitlines()), *(f"e| {line}" for line in done.stderr.splitlines())]
    for name, job_id in jobs.items():
        found = [re.sub(rf"\b{job_id}\b", name, line) for line in found]
    assert _comparable(found) == _comparable(lines)
    assert done.returncode == status


def test_processes_are_listed_with_their_tasks(cluster: LiveCluster, jobs: dict[str, str]) -> None:
    head, *lines = cluster.run("scontrol", "listpids", jobs["STEPS"]).stdout.splitlines()
    assert head == "PID      JOBID    STEPID   LOCALID GLOBALID"
    found = [tuple(line.split()[1:]) for line in lines]
    assert {one[3] for one in found if one[1] == "0"} == {"0", "1", "2", "3"}
    assert {one[2] for one in found if one[1] == "0"} <= {"0", "1", "2"}
    assert found[0] == (jobs["STEPS"], "batch", "0", "0")
    for line in lines:
        assert Path(f"/proc/{line.split()[0]}").exists()


@pytest.mark.parametrize(
    "words",
    [
        *("abort", "cancel_reboot n01", "completing", "fsdampeningfactor 2", "notify 1 x", "pidinfo 1", "reboot n01"),
        *("setdebug info", "setdebugflags +backfill", "schedloglevel 0", "shutdown", "takeover", "token", "top 1"),
        *("write config", "show slurmd"),
    ],
)
def test_what_rota_does_not_do_is_refused_by_name(cluster: LiveCluster, words: str) -> None:
    done = cluster.run("scontrol", *words.split(), check=False)
    assert done.returncode == 1
    assert re.fullmatch(r"scontrol: error: .*\b\w+ is not supported by rota\n", done.stderr)


def test_a_file_that_cannot_be_written(cluster: LiveCluster, jobs: dict[str, str]) -> None:
    done = cluster.run("scontrol", "write", "batch_script", jobs["BATCH"], "/nowhere/x.sh", check=False)
    assert done.stdout == ""
    assert "/nowhere/x.sh" in done.stderr


def test_gres_of_jobs_as_recorded(tmp_path: Path) -> None:
    conf = f"GresTypes=gpu\nAccountingStorageTRES=gres/gpu\n{_CONF}"
    with LiveCluster(tmp_path, conf.replace("RealMemory=8000", "RealMemory=8000 Gres=gpu:a100:2")) as cluster:
        told = cluster.run("bash", str(Path(__file__).parent / "recorded" / "gres.sh")).stdout
    assert told.splitlines() == (Path(__file__).parent / "recorded" / "gres.txt").read_text().splitlines()
