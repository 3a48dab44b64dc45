"""A project of signac-flow with two operations, the second after the first.

``init`` makes its three jobs; otherwise it takes the command line of signac-flow.
"""

import sys
from pathlib import Path

import signac
from flow import FlowProject


class Squares(FlowProject):
    """Squares of three numbers, and copies of them."""


@Squares.post.isfile("square")
@Squares.operation(directives={"walltime": 0.05, "np": 2, "memory": "100m"})
def square(job: signac.job.Job) -> None:
    """Write the square of a number."""
    Path(job.fn("square")).write_text(str(job.sp.number**2))


@Squares.pre.after(square)
@Squares.post.isfile("copy")
@Squares.operation(cmd=True, directives={"walltime": 0.05})
def copy(job: signac.job.Job) -> str:
    """Copy the square."""
    return f"echo $(cat {job.fn('square')}) on $SLURM_JOB_NODELIST > {job.fn('copy')}"


if __name__ == "__main__":
    if sys.argv[1] == "init":
        project = signac.init_project()
        for number in (2, 3, 4):
            project.open_job({"number": number}).init()
    else:
        Squares().main()
