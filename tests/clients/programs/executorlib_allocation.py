"""Calls by executorlib in steps of the job that it is in; prints where they were."""

import os

from executorlib import SlurmJobExecutor


def place(number: int) -> tuple[int, bool, str]:
    """Say in which step it is."""
    return number, os.environ["SLURM_STEP_ID"].isdigit(), os.environ["SLURM_STEP_NUM_TASKS"]


if __name__ == "__main__":
    with SlurmJobExecutor(max_workers=2) as executor:  # a step for each call
        calls = [executor.submit(place, number, resource_dict={"cores": 1}) for number in range(4)]
        print([call.result() for call in calls])
    with SlurmJobExecutor(max_workers=2, block_allocation=True) as executor:  # a step for each worker
        calls = [executor.submit(place, number) for number in range(4)]
        print([call.result() for call in calls])
