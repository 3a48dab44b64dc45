"""Apps of parsl in blocks that are jobs: two nodes each, with a worker on each, started by `srun`.

Prints what the apps give, the hosts they ran on as Slurm names them, and the number of jobs before and after the blocks
have been given back because nothing was left to do.
"""

import subprocess
import time
from pathlib import Path

import parsl
from parsl import bash_app, python_app
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SrunLauncher
from parsl.providers import SlurmProvider


@python_app
def square(number: int) -> int:
    """Square a number, not at once."""
    import time

    time.sleep(0.2)
    return number * number


@python_app
def node() -> str:
    """Say on which node this is."""
    import os
    import time

    time.sleep(0.2)
    return os.environ["SLURMD_NODENAME"]


@python_app
def broken(number: int) -> int:
    """Fail."""
    return 1 // number


@bash_app
def shell(stdout: str = "shell.out") -> str:
    """Say how a shell sees its job."""
    return "echo $HELLO: $SLURM_JOB_NUM_NODES nodes, $SLURM_NTASKS tasks"


def jobs() -> int:
    """Count the jobs in the queue."""
    listed = subprocess.run(["squeue", "-h", "--me"], check=True, capture_output=True, text=True)
    return len(listed.stdout.splitlines())


if __name__ == "__main__":
    provider = SlurmProvider(
        partition="debug",
        nodes_per_block=2,
        cores_per_node=2,
        mem_per_node=1,
        init_blocks=1,
        max_blocks=2,
        walltime="00:05:00",
        exclusive=False,
        scheduler_options="#SBATCH --comment='a block'",
        worker_init="export HELLO=there",
        launcher=SrunLauncher(overrides="--cpu-bind=none"),
    )
    executor = HighThroughputExecutor(
        label="blocks", provider=provider, max_workers_per_node=1, address="127.0.0.1", heartbeat_period=2
    )
    config = Config(executors=[executor], strategy="htex_auto_scale", max_idletime=2, strategy_period=0.5)
    with parsl.load(config):
        squares = [square(number) for number in range(10)]
        print(sum(future.result() for future in squares), jobs() > 0)
        print(*sorted({future.result() for future in [node() for _ in range(10)]} & {"n1", "n2"}))
        shell().result()
        print(Path("shell.out").read_text(), end="")
        print(type(broken(0).exception()).__name__)
        while jobs():
            time.sleep(0.1)
        print("given back")
        print(sum(future.result() for future in [square(number) for number in range(10)]))
    while jobs():
        time.sleep(0.1)
