"""A cluster of dask that is the tasks of one step: a scheduler, this program, and the others as workers."""

from dask.distributed import Client
from dask_jobqueue.slurm import SLURMRunner


def square(number: int) -> int:
    """Square a number."""
    return number * number


with SLURMRunner() as runner, Client(runner) as client:
    client.wait_for_workers(runner.n_workers)
    print(runner.n_workers, "workers:", sum(client.gather(client.map(square, range(10)))))
