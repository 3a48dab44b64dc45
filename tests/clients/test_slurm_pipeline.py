"""slurm-pipeline: steps whose scripts hand in jobs that wait for those of the steps before, and what became of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .conftest import ENVIRONMENTS

if TYPE_CHECKING:
    from rota.testing.live import LiveCluster

    from .conftest import Program

_STEPS = [
    {"name": "one", "script": "./one.sh"},
    {"name": "two", "dependencies": ["one"], "script": "./two.sh"},
    {"name": "all", "dependencies": ["two"], "collect": True, "script": "./all.sh"},
]
#: A step tells which task has become which job.
_SUBMIT = (
    'for task in {tasks}; do id=$(sbatch --parsable -n1 -o /dev/null $SP_DEPENDENCY_ARG --wrap "{command}"); '
    "echo TASK: $task $id; done\n"
)
_SCRIPTS = {
    "one": _SUBMIT.format(tasks="a b", command="sleep 1; echo $task >> one"),
    "two": _SUBMIT.format(tasks="$1", command="grep -q $1 one; echo $1 >> two"),
    "all": _SUBMIT.format(tasks="all", command="sort one two > all"),
}


def test_steps(program: Program, cluster: LiveCluster) -> None:
    (cluster.directory / "steps.json").write_text(json.dumps({"steps": _STEPS}))
    for name, script in _SCRIPTS.items():
        path = cluster.directory / f"{name}.sh"
        path.write_text(f"#!/bin/bash\n{script}")
        path.chmod(0o755)
    home = ENVIRONMENTS / "slurm-pipeline" / "bin"
    status = program("slurm-pipeline", "python", home / "slurm-pipeline.py", "-s", "steps.json").stdout
    (cluster.directory / "status.json").write_text(status)

    def shown(*words: str) -> str:
        told = program("slurm-pipeline", "python", home / "slurm-pipeline-status.py", "-s", "status.json", *words)
        return told.stdout

    cluster.wait(lambda: "Jobs finished: 5 (100.00%)" in shown())
    assert (cluster.directory / "all").read_text().split() == ["a", "a", "b", "b"]
    assert "Job 5: State=COMPLETED, NodeList=n1" in shown("--fieldNames", "State,NodeList")
    assert shown("--printUnfinished") == ""
    assert shown("--printFinal").split() == ["5"]
