"""An array of calls by submitit, one of which fails; prints the state of each, and what it returned or raised."""

import submitit


def work(number: int) -> int:
    """Square a number that is not negative."""
    if number < 0:
        raise ValueError(number)
    return number * number


executor = submitit.AutoExecutor(folder="logs/%j", cluster="slurm")
executor.update_parameters(timeout_min=2, cpus_per_task=1, mem_gb=0.1, slurm_array_parallelism=2)
jobs = executor.map_array(work, [2, 3, -1])
for job in jobs:
    error = job.exception()
    job.get_info(mode="force")
    print(job.state, type(error).__name__ if error else job.result())
