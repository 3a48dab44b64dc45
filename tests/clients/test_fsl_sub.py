"""fsl_sub: a configuration made of the cluster's partitions, a job, an array after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program


def test_jobs(program: Program, cluster: LiveCluster) -> None:
    found = program("fsl-sub", "fsl_sub_config", "slurm").stdout
    assert "  debug: # Queue name\n" in found
    assert "    time: 1440 # Maximum job run time in minutes\n    max_slots: 4 #" in found
    (cluster.directory / "fsl.yml").write_text(found.replace("method: shell\n", "method: slurm\n"))
    (cluster.directory / "commands").write_text("echo one\necho two\nfalse\n")
    of_fsl = {"FSLSUB_CONF": str(cluster.directory / "fsl.yml"), "FSLDIR": ""}
    first = program("fsl-sub", "fsl_sub", "-q", "debug", "-R", "1", "-N", "first", "echo", "hi", environment=of_fsl)
    words = ("-q", "debug", "-j", first.stdout.strip(), "-t", "commands", "-N", "several")
    several = program("fsl-sub", "fsl_sub", *words, environment=of_fsl).stdout.strip()
    cluster.idle()
    assert (cluster.directory / f"first.o{first.stdout.strip()}").read_text() == "hi\n"
    said = [(cluster.directory / f"several.o{several}.{task}").read_text() for task in (1, 2, 3)]
    assert said == ["one\n", "two\n", ""]
    listed = cluster.run("sacct", "-nXP", "-j", several, "-o", "State,ExitCode").stdout.split()
    assert listed == ["COMPLETED|0:0", "COMPLETED|0:0", "FAILED|1:0"]
