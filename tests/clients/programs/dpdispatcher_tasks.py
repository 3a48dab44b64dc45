"""Tasks by DPDispatcher, as jobs of two and as tasks of job arrays; prints what they wrote."""

import logging
from pathlib import Path

from dpdispatcher import Machine, Resources, Submission, Task

logging.disable(logging.INFO)
base = Path.cwd()
for number in range(4):
    (base / "here" / f"task{number}").mkdir(parents=True)
for kind, of_kind in (("Slurm", {}), ("SlurmJobArray", {"slurm_job_size": 1})):
    machine = {
        "batch_type": kind,
        "context_type": "LocalContext",
        "local_root": f"{base}/here",
        "remote_root": f"{base}/there",
    }
    resources = {
        "number_node": 1,
        "cpu_per_node": 2,
        "gpu_per_node": 0,
        "queue_name": "debug",
        "group_size": 2,
        "custom_flags": ["#SBATCH --mem=100M", "#SBATCH --time=0:5:0"],
        "kwargs": of_kind,
    }
    # It hands in again what it has never seen running.
    tasks = [
        Task(
            command=f"echo {kind} {number} $SLURM_NTASKS_PER_NODE; sleep 2",
            task_work_path=f"task{number}/",
            forward_files=[],
            backward_files=["log"],
            outlog="log",
            errlog="err",
        )
        for number in range(4)
    ]
    submission = Submission(
        work_base=".",
        machine=Machine.load_from_dict(machine),
        resources=Resources.load_from_dict(resources),
        task_list=tasks,
    )
    submission.run_submission(check_interval=1, clean=False)
    print([(base / "here" / f"task{number}" / "log").read_text().split() for number in range(4)])
