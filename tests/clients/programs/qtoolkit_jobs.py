"""Jobs by qtoolkit: one on two nodes, which is cancelled, and an array; prints what it hears of them."""

import getpass
import time
from datetime import timedelta
from pathlib import Path

from qtoolkit.core.data_objects import QResources, QState
from qtoolkit.io.slurm import SlurmIO
from qtoolkit.manager import QueueManager

queue = QueueManager(SlurmIO())
work = Path("work").absolute()
work.mkdir()
large = QResources(
    queue_name="debug",
    job_name="large",
    memory_per_thread=100,
    nodes=2,
    processes_per_node=1,
    threads_per_process=2,
    time_limit=timedelta(minutes=5),
    output_filepath="%x.out",
    scheduler_kwargs={"exclude_nodes": "n1", "hint": "nomultithread", "licenses": ""},
)
done = queue.submit("srun echo $WHO; sleep 600", large, work_dir=work, environment={"environ": {"WHO": "ann"}})
print(done.status, done.stderr)
output = work / "large.out"
while (job := queue.get_job(done.job_id)).state != QState.RUNNING or not (output.exists() and output.read_text()):
    time.sleep(0.1)
print(job.name, job.queue_name, job.info.memory, job.info.nodes, job.info.cpus, job.info.time_limit)
for listed in (queue.get_jobs_list(jobs=[done.job_id]), queue.get_jobs_list(user=getpass.getuser())):
    print(*(f"{one.name} {one.state} {one.info.cpus} {one.info.time_limit}" for one in listed))
print(output.read_text().split())
print(queue.cancel(done.job_id).status)
while (job := queue.get_job(done.job_id)).state == QState.RUNNING:
    time.sleep(0.1)
print(job.sub_state)

small = QResources(processes=1, njobs=2, memory_per_thread=100, time_limit=60)
done = queue.submit("until test -e go; do sleep 0.1; done", small, work_dir=work)
while any(one.state != QState.RUNNING for one in queue.get_jobs_list(jobs=[done.job_id])):
    time.sleep(0.1)
tasks = sorted(one.job_id for one in queue.get_jobs_list(jobs=[done.job_id]))
print(tasks == [f"{done.job_id}_1", f"{done.job_id}_2"])
(work / "go").touch()
while queue.get_jobs_list(jobs=[done.job_id]):
    time.sleep(0.1)

refused = queue.submit("true", QResources(processes=1, queue_name="nosuch"), work_dir=work)
print(refused.status, refused.exit_code, refused.stderr.splitlines()[-1])
print(queue.get_job(999999))
