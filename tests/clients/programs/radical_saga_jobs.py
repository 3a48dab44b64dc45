"""Jobs by radical.saga: one that ends well, one that fails, one that is suspended, resumed and cancelled."""

import time
from pathlib import Path

from radical import saga


def submit(service: saga.job.Service, name: str, command: str) -> saga.job.Job:
    """Run a shell command in a job of one processor."""
    wanted = saga.job.Description()
    wanted.executable, wanted.arguments = "/bin/sh", ["-c", f"'{command}'"]
    wanted.name, wanted.output, wanted.error = name, f"{name}.out", f"{name}.err"
    wanted.environment = {"WHO": "ann"}
    wanted.working_directory = str(Path.cwd())
    wanted.queue, wanted.wall_time_limit = "debug", 5
    wanted.total_cpu_count, wanted.total_physical_memory = 1, 100
    job = service.create_job(wanted)
    job.run()
    return job


service = saga.job.Service("slurm://localhost")
well, badly = submit(service, "well", "echo $WHO"), submit(service, "badly", "exit 3")
for job in (well, badly):
    job.wait()
    print(job.name, job.state, job.exit_code)
print(Path("well.out").read_text().strip())
third = submit(service, "third", "sleep 600")
while third.state != saga.job.RUNNING:
    time.sleep(0.1)
third.suspend()
print(third.state)
third.resume()
print(third.state)
third.cancel()
third.wait()
print(third.state)
service.close()
