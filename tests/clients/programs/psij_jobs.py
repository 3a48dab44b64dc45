"""Jobs by psij: one that succeeds, one that fails, one of several processes, and one that is cancelled.

Prints how each ends, the first and the last that it was told of it, and what the processes say.
"""

from datetime import timedelta
from pathlib import Path

import psij
from psij.executors.batch.slurm import SlurmExecutorConfig

config = SlurmExecutorConfig(queue_polling_interval=1, initial_queue_polling_delay=0)
executor = psij.JobExecutor.get_instance("slurm", config=config)
told: dict[str, list[str]] = {}


class Listener(psij.JobStatusCallback):
    """Notes what it is told."""

    def job_status_changed(self, job: psij.Job, status: psij.JobStatus) -> None:
        """Note a state."""
        told.setdefault(job.id, []).append(status.state.name)


executor.set_job_status_callback(Listener())


def make(name: str, executable: str, *arguments: str, **more: object) -> psij.Job:
    """Make a job."""
    attributes = psij.JobAttributes(
        duration=timedelta(minutes=3), queue_name="debug", custom_attributes={"slurm.comment": f"{name} by psij"}
    )
    spec = psij.JobSpec(
        name=name, executable=executable, arguments=list(arguments), attributes=attributes, directory=Path.cwd(), **more
    )
    return psij.Job(spec)


good = make("good", "/bin/sh", "-c", "echo $GREETING", environment={"GREETING": "hi"}, stdout_path="good.out")
bad = make("bad", "/bin/sh", "-c", "echo oh >&2; exit 7", stderr_path=Path("bad.err"))
shape = psij.ResourceSpecV1(node_count=2, processes_per_node=2, cpu_cores_per_process=1, memory=100 * 1024**2)
wide = make(
    "wide",
    "/bin/sh",
    "-c",
    "echo $SLURM_PROCID of $SLURM_NTASKS on $SLURMD_NODENAME",
    launcher="srun",
    resources=shape,
    stdout_path=Path("wide.out"),
)
sleeper = make("sleeper", "/bin/sleep", "1000", inherit_environment=False)
for job in (good, bad, wide, sleeper):
    executor.submit(job)
sleeper.wait(target_states=[psij.JobState.ACTIVE])
attached = psij.Job()
executor.attach(attached, sleeper.native_id)
sleeper.cancel()
print("attached", attached.wait().state.name)
for job in (good, bad, wide, sleeper):
    status = job.wait()
    print(job.spec.name, status.state.name, status.exit_code, told[job.id][0], told[job.id][-1])
print(Path("good.out").read_text().strip(), Path("bad.err").read_text().strip())
print("".join(sorted(Path("wide.out").read_text().splitlines(keepends=True))), end="")
print(len(executor.list()))
