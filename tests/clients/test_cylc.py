"""Cylc: a workflow of two cycles whose tasks are jobs; one is tried again, one is stopped when the workflow is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .conftest import ENVIRONMENTS

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program

_GLOBAL = f"""
[platforms]
    [[slurm]]
        hosts = localhost
        install target = localhost
        job runner = slurm
        cylc path = {ENVIRONMENTS / "cylc" / "bin"}
        submission polling intervals = PT2S
        execution polling intervals = PT2S
"""
#: Jobs of Cylc begin as login shells.
_FLOW = """
[scheduling]
    cycling mode = integer
    initial cycle point = 1
    final cycle point = 2
    [[graph]]
        P1 = \"\"\"
            post[-P1] => prep => run<i> => post
        \"\"\"
[task parameters]
    i = 1..2
[runtime]
    [[root]]
        platform = slurm
        execution time limit = PT5M
        [[[directives]]]
            --mem = 100
    [[prep]]
        script = echo $SLURM_JOB_NAME
    [[run<i>]]
        script = srun -l echo $CYLC_TASK_PARAM_i; test $CYLC_TASK_TRY_NUMBER = $CYLC_TASK_CYCLE_POINT
        execution retry delays = PT1S
        [[[directives]]]
            --ntasks = 2
    [[post]]
        script = true
"""
_FOREVER = """
[scheduling]
    [[graph]]
        R1 = waits
[runtime]
    [[waits]]
        platform = slurm
        script = sleep 600
"""


def test_workflows(program: Program, cluster: LiveCluster) -> None:
    home = cluster.directory
    environment = {"HOME": str(home), "USER": "root", "LOGNAME": "root"}
    for name, text in (("squares", _FLOW), ("forever", _FOREVER)):
        (home / "flows" / name).mkdir(parents=True)
        (home / "flows" / name / "flow.cylc").write_text(text)
    (home / ".cylc" / "flow").mkdir(parents=True)
    (home / ".cylc" / "flow" / "global.cylc").write_text(_GLOBAL)
    program("cylc", "cylc", "vip", "--no-detach", str(home / "flows" / "squares"), environment=environment)
    cluster.idle()
    rows = cluster.run("sacct", "-X", "-n", "-P", "-o", "JobName,State,ReqCPUS").stdout.splitlines()
    runs = [f"run_i{i}.{cycle}" for cycle in (1, 2) for i in (1, 2)]
    assert sorted(row.replace(".squares/run1", "") for row in rows) == sorted(
        [f"{task}.{cycle}|COMPLETED|1" for task in ("prep", "post") for cycle in (1, 2)]
        + [f"{run}|COMPLETED|2" for run in runs]
        + [f"{run}|FAILED|2" for run in runs if run.endswith("2")]  # the first try of the second cycle
    )
    out = (home / "cylc-run/squares/run1/log/job/2/run_i2/02/job.out").read_text()
    assert "0: 2\n" in out
    assert "1: 2\n" in out

    program("cylc", "cylc", "vip", str(home / "flows" / "forever"), environment=environment)
    cluster.wait(lambda: cluster.run("squeue", "-h", "-o", "%T").stdout == "RUNNING\n")
    program("cylc", "cylc", "stop", "--kill", "forever", environment=environment)
    cluster.idle()
    states = cluster.run("sacct", "-X", "-n", "-P", "-o", "State", "--name", "waits.1.forever/run1").stdout
    assert states.startswith("CANCELLED by")
