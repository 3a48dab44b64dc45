"""What Lightning's `SLURMEnvironment` (2.6.6) reads in a task, and what its handler of SIGUSR1 does."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path


def requeue(*_: object) -> None:
    """Have the first task requeue the job, of an array by `A_T`."""
    if os.environ["SLURM_PROCID"] == "0":
        job = "{SLURM_ARRAY_JOB_ID}_{SLURM_ARRAY_TASK_ID}".format(**os.environ)
        subprocess.run(["scontrol", "requeue", job], check=True)


signal.signal(signal.SIGUSR1, requeue)
assert os.environ["SLURM_JOB_NAME"] not in {"bash", "interactive"}
first = re.sub(r"\[(.*?)[,-].*\]", "\\1", os.environ["SLURM_NODELIST"])
names = "NTASKS", "PROCID", "LOCALID", "NODEID", "NTASKS_PER_NODE", "NNODES"
print(first, *(os.environ[f"SLURM_{name}"] for name in names), flush=True)
Path(f"ready-{os.environ['SLURM_PROCID']}").touch()
while os.environ.get("SLURM_RESTART_COUNT", "0") == "0" and sys.argv[1:] == ["wait"]:
    time.sleep(0.1)
