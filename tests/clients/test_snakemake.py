"""snakemake: a workflow as jobs, retried with more memory; arrays; Ctrl-C; and by commands of one's own."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from .conftest import PROGRAMS

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program

_WORKFLOW = ["--snakefile", str(PROGRAMS / "Snakefile"), "--jobs", "4", "--latency-wait", "30"]
_SLURM = [*_WORKFLOW, "--executor", "slurm", "--slurm-init-seconds-before-status-checks", "1"]


def _states(cluster: LiveCluster) -> list[str]:
    return [record["base_state"] for record in sorted(cluster.records(), key=lambda record: int(record["job_id"]))]


def test_workflow_with_an_array_and_a_rule_that_needs_more_memory(program: Program, cluster: LiveCluster) -> None:
    report = ["--slurm-efficiency-report", "--slurm-efficiency-report-path", "reports"]
    program("snakemake", "snakemake", *_SLURM, "--slurm-array-jobs", "small", *report)
    assert (cluster.directory / "sum.txt").read_text() == "29"
    assert sorted(_states(cluster)) == [*["COMPLETED"] * 4, "OUT_OF_MEMORY"]
    [listed] = (cluster.directory / "reports").iterdir()
    rules = {row["RuleName"] for row in csv.DictReader(listed.read_text().splitlines())}
    assert {"rule_large_wildcards_4", "rule_sum"} <= rules


def test_interrupt(program: Program, cluster: LiveCluster) -> None:
    script = "--slurm-pass-command-as-script"
    program("snakemake", "snakemake_interrupted.py", *_SLURM, script, "endless-1.txt", "endless-2.txt")
    cluster.idle()
    assert _states(cluster) == ["CANCELLED"] * 2


def test_commands_of_ones_own(program: Program, cluster: LiveCluster) -> None:
    options = "-c {threads} --mem={resources.mem_mb} -t {resources.runtime} -o %x-%j.log"
    generic = ["--executor", "cluster-generic", "--cluster-generic-submit-cmd", f"sbatch --parsable {options}"]
    program("snakemake", "snakemake", *_WORKFLOW, *generic, "small-2.txt")
    assert _states(cluster) == ["COMPLETED"]
