"""``MaxJobCount`` and ``MaxStepCount``. The messages are those of Slurm 22.05's sources."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster, virtual_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BUSY = "Resource temporarily unavailable\n"
_SLEEPING = "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """A cluster that knows fewer than four jobs, ended ones among them for a year."""
    conf = virtual_nodes() + "MaxJobCount=4\nMaxStepCount=2\nMinJobAge=31536000\n"
    with LiveCluster(tmp_path_factory.mktemp("most"), conf) as found:
        yield found


def test_steps_and_jobs_beyond_the_most_are_refused(cluster: LiveCluster) -> None:
    step = "srun true"
    job_id = cluster.submit("--wait", "-o", "out", "--wrap", f"{step}; {step}; {step}; echo $?")
    said = f"srun: error: Unable to create step for job {job_id}: Step limit reached for this job\n1\n"
    assert (cluster.directory / "out").read_text() == said

    cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
    waiting = cluster.submit("-H", "--wrap", "true")  # the ended ones count: this is the third
    for command in (("salloc", "true"), ("srun", "true")):
        refused = cluster.run(*command, check=False)
        assert refused.stderr.endswith(f": {_BUSY}")
        assert refused.returncode == 1
    assert cluster.run("squeue", "-h", "-o", "%i").stdout == f"{waiting}\n"


def test_each_task_of_an_array_counts(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, virtual_nodes() + "MaxJobCount=5\nMinJobAge=0\n") as cluster:
        array = cluster.submit("-H", "-a", "0-3", "--wrap", "true")
        sbatch = subprocess.Popen(
            ["sbatch", "-o", "/dev/null", "--wrap", "true"],
            env=cluster.environment,
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert sbatch.stderr is not None
        assert sbatch.stderr.readline() == _SLEEPING
        cluster.run("scancel", str(array))
        assert sbatch.communicate()[0] == f"Submitted batch job {array + 4}\n"
        cluster.kill()  # what is known of ended jobs is found again
        cluster.up()
        assert cluster.submit("-H", "-a", "0-2", "--wrap", "true")


@pytest.mark.slow
@pytest.mark.longest
def test_sbatch_gives_up_after_two_minutes(tmp_path: Path) -> None:
    with LiveCluster(tmp_path, virtual_nodes() + "MaxJobCount=1\n") as cluster:
        done = cluster.run("sbatch", "--wrap", "true", check=False, patience=240)
        hint = "sbatch: error: there are as many jobs as MaxJobCount=1 permits; wait for some\n"
        assert done.stderr == f"{_SLEEPING}{hint}sbatch: error: Batch job submission failed: {_BUSY}"
        assert done.returncode == 1


@pytest.mark.slow
def test_the_accounting_of_few_jobs_and_of_many_is_the_same(tmp_path: Path) -> None:
    """Few are read by the controller itself, many by a child of it."""
    with LiveCluster(tmp_path, virtual_nodes(4)) as cluster:
        few = cluster.submit("-a", "1-40", "-o", "/dev/null", "--wrap", "true")
        cluster.idle()
        table = ("sacct", "-n", "-P", "-o", "JobID,JobIDRaw,State,ExitCode,Start,End,NodeList")
        before = cluster.run(*table).stdout
        assert before.count("\n") == 2 * 40  # each with its batch step
        many = cluster.submit("-a", "1-101", "-o", "/dev/null", "--wrap", "true")
        cluster.idle()
        everything = cluster.run(*table).stdout
        assert everything.count("\n") == 2 * (40 + 101)
        assert everything.startswith(before)
        assert cluster.run(*table, "-j", str(few)).stdout == before
        assert before + cluster.run(*table, "-j", str(many)).stdout == everything
        assert everything.endswith(cluster.run(*table, "-j", f"{many}_101").stdout)
        assert cluster.run(*table, "-j", f"{few},{many}").stdout == everything
        assert cluster.run(*table, "--name", "nobody").stdout == ""
