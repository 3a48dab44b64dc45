"""A workflow of Toil, of which one job fails at first; prints what it returns.

It takes Toil's own command line.
"""

import os
from pathlib import Path

from toil.common import Toil
from toil.job import Job

SMALL = {"cores": 1, "memory": "100M", "disk": "1M"}


def hello(job: Job, name: str) -> str:
    """Greet somebody, and say how many processors there are."""
    return f"{name} {os.environ['SLURM_CPUS_ON_NODE']}"


def flaky(job: Job, marker: str) -> str:
    """Fail the first time."""
    if not Path(marker).exists():
        Path(marker).touch()
        raise RuntimeError("the first time")
    return "again"


def gather(job: Job, *found: str) -> list[str]:
    """Put results together."""
    return list(found)


def root(job: Job, marker: str) -> object:
    """Make the jobs."""
    children = [
        job.addChildJobFn(hello, "ann", **{**SMALL, "cores": 2}),
        job.addChildJobFn(flaky, marker, **SMALL),
    ]
    return job.addFollowOnJobFn(gather, *(child.rv() for child in children), **SMALL).rv()


if __name__ == "__main__":
    with Toil(Job.Runner.getDefaultArgumentParser().parse_args()) as toil:
        print(toil.start(Job.wrapJobFn(root, str(Path("marker").absolute()), **SMALL)))
