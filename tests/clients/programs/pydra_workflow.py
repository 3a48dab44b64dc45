"""A workflow of pydra whose tasks are jobs, and a task that runs again when its job was cancelled.

pydra reads annotations as types, so they are not postponed.
"""

import sys
from pathlib import Path

from pydra import Submitter, Workflow, mark


@mark.task
def square(x: int) -> int:
    import os

    assert os.environ["SLURM_JOB_ID"]
    return x * x


@mark.task
def again(x: int) -> int:
    import os
    import time

    if "SLURM_RESTART_COUNT" not in os.environ:
        time.sleep(600)
    return x + int(os.environ["SLURM_RESTART_COUNT"])


def squares() -> None:
    """Print squares."""
    flow = Workflow(name="squares", input_spec=["x"], cache_dir=Path("cache").absolute())
    flow.split("x", x=[1, 2, 3])
    flow.add(square(name="square", x=flow.lzin.x))
    flow.set_output([("out", flow.square.lzout.out)])
    with Submitter(plugin="slurm", sbatch_args="--mem=200", poll_delay=1) as submitter:
        submitter(flow)
    print([one.output.out for one in flow.result()])


def cancelled() -> None:
    """Print 42, if the job was cancelled once: pydra requeues it."""
    task = again(name="again", x=41, cache_dir=Path("cache").absolute())
    task(plugin="slurm", plugin_kwargs={"sbatch_args": "-J again", "poll_delay": 1})
    print(task.result().output.out)


if __name__ == "__main__":
    {"squares": squares, "cancelled": cancelled}[sys.argv[1]]()
