"""Calls by cluster_tools, each a task of a job array: results, an exception, one that ends and one without memory."""

import os
import time

import cluster_tools
from cluster_tools.schedulers.slurm import SlurmExecutor


def squared(number: int) -> int:
    return number * number


def failing(number: int) -> int:
    raise ValueError(number)


def ending(status: int) -> None:
    os._exit(status)


def large(size: int) -> int:
    data = bytearray(size << 20)
    time.sleep(60)
    return len(data)


def told(future: object) -> str:
    try:
        return str(future.result())
    except Exception as error:  # noqa: BLE001 -- it is told
        return f"{type(error).__name__} {str(error).split('. Please look')[0].splitlines()[-1]}"


if __name__ == "__main__":
    print(SlurmExecutor.get_max_array_size(), SlurmExecutor.get_max_submit_jobs())
    with cluster_tools.get_executor("slurm", job_resources={"mem": "200M", "time": "5", "partition": "debug"}) as pool:
        print(list(pool.map(squared, range(4))))
        print(told(pool.submit(os.getenv, "SLURM_CPUS_PER_TASK")))
        print(told(pool.submit(failing, 5)))
        print(told(pool.submit(ending, 7)))
    with cluster_tools.get_executor("slurm", job_resources={"mem": "60M", "cpus-per-task": "2"}) as pool:
        print(told(pool.submit(os.getenv, "SLURM_CPUS_PER_TASK")))
        print(told(pool.submit(large, 200)))
