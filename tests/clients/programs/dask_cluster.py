"""A cluster of dask whose workers are jobs: scaled to two, used, scaled down, then left to grow and shrink by itself.

Prints what the workers have computed, and how many there were. Ends when no job is left.
"""

import subprocess
import time

from dask.distributed import Client
from dask_jobqueue import SLURMCluster


def square(number: int) -> int:
    """Square a number."""
    return number * number


def jobs() -> int:
    """Count the jobs in the queue."""
    listed = subprocess.run(["squeue", "-h", "--me"], check=True, capture_output=True, text=True)
    return len(listed.stdout.splitlines())


def wait_for(number: int) -> None:
    """Wait until so many jobs are left."""
    while jobs() != number:
        time.sleep(0.1)


if __name__ == "__main__":
    cluster = SLURMCluster(
        queue="debug",
        cores=2,
        processes=1,
        memory="400MB",
        walltime="00:05:00",
        log_directory="logs",
        local_directory="local",
        death_timeout=60,
        scheduler_options={"dashboard": False},
        worker_extra_args=["--no-dashboard"],
        job_extra_directives=["--comment='a worker'"],
    )
    client = Client(cluster)
    cluster.scale(jobs=2)
    client.wait_for_workers(2)
    print(sum(client.gather(client.map(square, range(100)))))
    print(len(client.scheduler_info()["workers"]), "workers in", jobs(), "jobs")
    cluster.scale(1)
    wait_for(1)
    cluster.adapt(minimum_jobs=0, maximum_jobs=2, interval="200ms", wait_count=2)
    wait_for(0)
    print(client.submit(square, 12).result())
    wait_for(0)
    cluster.adapt(minimum_jobs=1, maximum_jobs=2, interval="200ms", wait_count=2)
    client.wait_for_workers(1)
    client.close()
    cluster.close()
    wait_for(0)
