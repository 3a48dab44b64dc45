"""Jobs by submitit: of several tasks, after one another, and one that is cancelled; prints what becomes of each."""

import time
from pathlib import Path

import submitit


def place() -> tuple[int, int, int, list[str]]:
    """Give the rank of this task, its node, how many tasks there are, and all nodes."""
    job = submitit.JobEnvironment()
    return job.global_rank, job.node, job.num_tasks, list(job.hostnames)


def read(path: str) -> str:
    """Give what a file says."""
    return Path(path).read_text()


def write(path: str, text: str) -> str:
    """Write a file, after a while."""
    time.sleep(1)
    Path(path).write_text(text)
    return path


executor = submitit.AutoExecutor(folder="logs/%j", cluster="slurm")
executor.update_parameters(timeout_min=2, slurm_wckey="")

executor.update_parameters(nodes=2, tasks_per_node=2)
tasks = executor.submit(place)
executor.update_parameters(nodes=1, tasks_per_node=1)
writer = executor.submit(write, "written", "hello")
executor.update_parameters(slurm_additional_parameters={"dependency": f"afterok:{writer.job_id}"})
reader = executor.submit(read, "written")
executor.update_parameters(slurm_additional_parameters={}, slurm_use_srun=False, slurm_comment="it's a sleeper")
with executor.batch():
    sleepers = [executor.submit(time.sleep, 1000) for _ in range(2)]

for line in tasks.results():
    print(*line)
print("after it", reader.result())
for job in sleepers:
    job.cancel()
    while not job.done(force_check=True):
        time.sleep(0.1)
    print(job.state.split(" by ")[0])
