"""Maestro (maestrowf): a study whose steps are jobs, one after another, for each value of a parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program

_STUDY = """
description:
    name: hello
    description: Two steps as jobs.
batch:
    type: slurm
    host: here
    bank: root
    queue: debug
study:
    - name: say
      description: Say something
      run:
          cmd: $(LAUNCHER) echo "hello $(WHO)" > said
          procs: 2
          walltime: "00:05:00"
    - name: read
      description: Read it
      run:
          cmd: cat $(say.workspace)/said > read
          depends: [say]
          procs: 1
          walltime: "00:05:00"
    - name: fails
      description: Fails
      run:
          cmd: exit 3
          procs: 1
          walltime: "00:05:00"
global.parameters:
    WHO:
        values: [ann, ben]
        label: WHO.%%
"""


def test_study(program: Program, cluster: LiveCluster) -> None:
    (cluster.directory / "study.yaml").write_text(_STUDY)
    words = ("run", "-y", "-fg", "-s", "1", "-o", "out", "study.yaml")
    program("maestro", "maestro", *words, environment={"USER": "root"}, status=2)
    read = sorted(path.read_text() for path in (cluster.directory / "out").glob("read/*/read"))
    assert read == ["hello ann\n" * 2, "hello ben\n" * 2]
    rows = cluster.run("sacct", "-X", "-n", "-P", "-o", "JobName%20,State,ReqCPUS,Timelimit").stdout.splitlines()
    expected = [
        f"{step}_WHO.{who}|COMPLETED|{cpus}|00:05:00"
        for step, cpus in (("say", 2), ("read", 1))
        for who in ("ann", "ben")
    ]
    assert sorted(rows) == sorted([*expected, "fails|FAILED|1|00:05:00"])
    status = (cluster.directory / "out" / "status.csv").read_text().splitlines()
    states = {line.split(",")[0]: line.split(",")[3] for line in status[1:]}
    assert (states.pop("fails"), set(states.values())) == ("FAILED", {"FINISHED"})
