"""Jobs by pysqa, the second after the first; prints what it hears of them, and cancels the second."""

import time
from pathlib import Path

from pysqa import QueueAdapter

queue = QueueAdapter(queue_type="SLURM")
work = Path("work").absolute()
work.mkdir()


def submit(name: str, command: str, **further: object) -> int:
    """Submit a job of two processors and one GiB."""
    return queue.submit_job(
        job_name=name, working_directory=str(work), cores=2, command=command, partition="debug", memory_max=1, **further
    )


first = submit("first", "until test -e go; do sleep 0.1; done", run_time_max=120)
second = submit("a-name-of-more-than-fifteen-letters", "sleep 600", dependency_list=[str(first)])
while queue.get_status_of_job(first) != "running":
    time.sleep(0.1)
listed = queue.get_queue_status().sort_values("jobid")
print(*listed["jobname"], *listed["status"], set(listed["working_directory"]) == {str(work)}, sep="|")
(work / "go").touch()
while queue.get_status_of_job(second) != "running":
    time.sleep(0.1)
print(queue.get_status_of_jobs([first, second]))
queue.delete_job(process_id=second)
while queue.get_status_of_jobs([second]) != ["finished"]:  # for a moment it is Slurm's own "cg"
    time.sleep(0.1)
print(queue.get_status_of_jobs([first, second]))
