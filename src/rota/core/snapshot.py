"""The engine's state as plain data, so that a controller can stop and go on later.

Plugins are not saved: they are loaded and initialised anew and find the jobs as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.core.arrays import JobArray
from rota.core.effects import Kill
from rota.core.job import Job, QueueRecord
from rota.model import InputError, JobSpec, JobState, NodeState, PartitionState, Reason
from rota.model.dependency import parse_dependency

if TYPE_CHECKING:
    from rota.core.cluster import Cluster
    from rota.core.effects import Effect
    from rota.core.engine import Engine

#: Changes when older data can no longer be read.
FORMAT = 5
#: Attributes of `Job` that are saved as they are.
_PLAIN = (
    "units",
    "time_limit",
    "priority",
    "nice",
    "admin_priority",
    "eligible_time",
    "start_time",
    "end_time",
    "alloc",
    "restart_count",
    "exit_code",
    "planned_start",
    "planned_nodes",
)


def save(engine: Engine) -> dict[str, Any]:
    """Give the state as data that JSON can hold; it shares nothing with the engine."""
    cluster, state = engine.cluster, engine.state
    engine.view.settle()  # what is owed would be lost
    usage = cluster.accounts.usage
    return {
        "format": FORMAT,
        "now": state.now,
        "boot_time": state.boot_time,
        "last_priority": cluster.last_priority,
        "nodes": {node.name: node.state.value for node in state.nodes},
        "partitions": {part.name: part.state.value for part in state.partitions.values()},
        "usage": cluster.accounts.saved if usage is None else usage.save(),
        "reservations": cluster.reservations.save(),
        "arrays": [array.save() for array in state.arrays.values()],
        "ended": cluster.dependencies.save(),
        "jobs": [_save_job(job) for job in state.jobs.values()],
        "timers": state.timers.save(),
    }


def restore(engine: Engine, saved: dict[str, Any]) -> list[Effect]:
    """Put saved state into an engine that is fresh: before its plugins' ``init``, and before any event.

    Returns:
        What is to be done: jobs that were being stopped are to be stopped, perhaps for the second time.

    Raises:
        InputError: it was saved by another version, or is of a machine with other nodes or partitions.
    """
    cluster, state = engine.cluster, engine.state
    if saved.get("format") != FORMAT:
        raise InputError(f"format {saved.get('format')!r} of the saved state is not {FORMAT}", field="format")
    for key, known in (("nodes", [node.name for node in state.nodes]), ("partitions", list(state.partitions))):
        if list(saved[key]) != known:
            raise InputError("the saved state is of a machine with others: restore it with its slurm.conf", field=key)
    state.now, state.boot_time = saved["now"], saved["boot_time"]
    cluster.last_priority = saved["last_priority"]
    cluster.accounts.saved = saved["usage"]
    cluster.dependencies.restore(saved["ended"])
    cluster.reservations.restore(saved["reservations"])
    state.arrays = {one["job_id"]: JobArray.restore(one) for one in saved["arrays"]}
    for node in state.nodes:
        node.state = NodeState(saved["nodes"][node.name])
    for part in state.partitions.values():
        part.state = PartitionState(saved["partitions"][part.name])
    for data in saved["jobs"]:
        _restore_job(cluster, data)
    state.refresh_pool()
    state.timers.restore(saved["timers"])
    engine.pass_due = True
    return [Kill(job_id=job.job_id, restart_count=job.restart_count) for job in state.completing.values()]


def _save_job(job: Job) -> dict[str, Any]:
    return {
        "job_id": job.job_id,
        "spec": job.spec._asdict(),
        "submit_time": job.submit_time,
        "partition": job.partition.name,
        "records": [[record.partition.name, record.units, record.priority] for record in job.records],
        "array": None if job.array is None else [job.array.job_id, job.task_id],
        "dependencies": None if job.dependencies is None else str(job.dependencies),
        "state": job.state.value,
        "reason": job.reason.value,
        **{name: getattr(job, name) for name in _PLAIN},
    }


def _restore_to_array(cluster: Cluster, job: Job, array_id: int, task_id: int | None) -> None:
    job.array, job.task_id = array, _ = cluster.state.arrays[array_id], task_id
    if task_id is None:
        array.record = job
    else:
        array.tasks[task_id] = job
    for record in (job, *job.records):
        record.start_limits = (array,)
    array.running += bool(job.alloc)


def _restore_job(cluster: Cluster, data: dict[str, Any]) -> None:
    """Make a job again and put it where it was."""
    state, spec = cluster.state, JobSpec(**data["spec"])
    job = Job(data["job_id"], spec, data["submit_time"], state.partitions[data["partition"]], data["units"])
    job.records = tuple(
        QueueRecord(job, state.partitions[name], units, rank) for rank, (name, units, _) in enumerate(data["records"])
    )
    for record, (_, _, priority) in zip(job.records, data["records"], strict=True):
        record.priority = priority
    for name in _PLAIN:
        setattr(job, name, data[name])
    if data["array"] is not None:
        _restore_to_array(cluster, job, *data["array"])
    if data["dependencies"] is not None:
        job.dependencies = parse_dependency(data["dependencies"])
    job.state = JobState(data["state"])
    job.reason = Reason(data["reason"])
    job.alloc_nodes = state.pool.nodes_of(job.alloc)
    cluster.policy.take_over(job)
    cluster.give_licenses(job)
    cluster.add(job)
    if job.completing:
        state.completing[job.job_id] = job
    elif job.state is JobState.RUNNING:
        state.running.add(job, (job.end_time or 0, job.job_id))
    else:
        cluster.queue.place(job)
