"""A queue adapter of FireWorks: what `qlaunch` does with the queue, without its database."""

from __future__ import annotations

import sys
from pathlib import Path

from fireworks.user_objects.queue_adapters.common_adapter import CommonAdapter


def main() -> None:
    """Print the job's id, and how many jobs the user has before and after."""
    here = Path.cwd()
    queue = CommonAdapter(
        "SLURM",
        "fw",
        rocket_launch=f"srun -l hostname > {here}/ran; until [ -e {here}/go ]; do sleep 0.1; done",
        nodes=2,
        ntasks=2,
        ntasks_per_node=1,
        walltime="00:05:00",
        queue="debug",
        account="root",
        job_name="fw",
    )
    Path("fw.sh").write_text(queue.get_script_str(str(here)))
    before = queue.get_njobs_in_queue(sys.argv[1])
    job = queue.submit_to_queue("fw.sh")
    print(job, before, queue.get_njobs_in_queue(sys.argv[1]))
    Path("go").touch()


if __name__ == "__main__":
    main()
