"""Jobs by simple-slurm: an array, one that waits for it, two signals, a step; prints what it hears of them."""

import time
from datetime import timedelta
from pathlib import Path

from simple_slurm import Slurm

output = f"{Slurm.JOB_ARRAY_MASTER_ID}_{Slurm.JOB_ARRAY_ID}.out"
array = Slurm(array=range(3), cpus_per_task=1, job_name="array", output=output, time=timedelta(minutes=2, seconds=5))
array.add_cmd("sleep 1")
first = array.sbatch("echo task", Slurm.SLURM_ARRAY_TASK_ID, verbose=False)

after = Slurm("--partition", "debug", parsable=True, dependency={"afterok": first}, job_name="after")
after.set_shell("/bin/bash")
after.set_time("0-0:5").set_comment('"two words"').set_open_mode("append")
second = after.sbatch("trap 'echo told' TERM; sleep 600 & wait; sleep 600", verbose=False)

queue = after.squeue
while queue.jobs.get(second, {"ST": "PD"})["ST"] == "PD":
    time.sleep(0.1)
    queue.update_squeue()
(job,) = queue.get_filtered_jobs("after").values()
print(*(Path(f"{first}_{task}.out").read_text().strip() for task in range(3)))
print(job["ST"], job["CPUS"], job["MIN_MEMORY"], job["NODELIST(REASON)"])

after.scancel.signal_job(second)  # TERM, which goes to steps only
after.scancel.signal_job(second)  # KILL
while second in queue.jobs:
    time.sleep(0.1)
    queue.update_squeue()
print("gone")

Slurm(hold=True).sbatch("true", verbose=False)
array.scancel.cancel_all()
queue.update_squeue()
print(queue.jobs)

print(Slurm(ntasks=2, mem="50M", time="0:5:0").srun("echo", "$((6 * 7))"))
