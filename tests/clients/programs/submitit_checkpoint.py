"""Calls by submitit that are told to stop: one before its time limit, one by hand. Both go on where they were.

Prints what each gives in the end: the number of the run that ended it, and the steps that it has made in all.
"""

import subprocess
import time
from pathlib import Path

import submitit
from submitit.helpers import Checkpointable, DelayedSubmission


class Count(Checkpointable):
    """Counts for ever in its first run, and in the next says how often it was started, and whether it had counted."""

    def __init__(self) -> None:
        self.run = 0
        self.steps = 0

    def __call__(self, started: str) -> tuple[int, bool]:
        """Count."""
        self.run += 1
        while self.run == 1:
            self.steps += 1
            Path(started).touch()
            time.sleep(0.1)
        return self.run, self.steps > 0

    def checkpoint(self, started: str) -> DelayedSubmission:
        """Give the call that goes on."""
        return DelayedSubmission(self, started)


executor = submitit.AutoExecutor(folder="logs/%j", cluster="slurm", slurm_max_num_timeout=2)
# The first is told 30 seconds after its start, 30 before its time limit.
executor.update_parameters(timeout_min=1, slurm_signal_delay_s=30)
timed = executor.submit(Count(), "timed")
executor.update_parameters(timeout_min=10, slurm_signal_delay_s=90)
told = executor.submit(Count(), "told")
while not Path("told").exists():
    time.sleep(0.1)
subprocess.run(["scancel", told.job_id, "--signal", "USR2"], check=True)
print("told", *told.result())
print("timed", *timed.result())
