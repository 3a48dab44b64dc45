"""Job records, made from requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core.arrays import JobArray
from rota.core.job import Job, QueueRecord
from rota.core.jobs.admission import MAX_JOB_ID, admit, check_ids
from rota.model import Errno, RequestError
from rota.model.array import parse_array
from rota.model.dependency import parse_dependency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.core.cluster import Cluster
    from rota.core.state import ClusterState
    from rota.model import JobSpec, Partition
    from rota.model.dependency import Dependencies


def make_job(job_id: int, spec: JobSpec, submit_time: int, found: Sequence[tuple[Partition, int]]) -> Job:
    """Make a job record, with a queue record for each partition if there are several.

    Args:
        job_id: Job id.
        spec: The request.
        submit_time: Unix seconds.
        found: The partitions, and the number of units that the job needs in each; 0: it can never run there.
    """
    if len(found) == 1:
        return Job(job_id, spec, submit_time, *found[0])
    serving = (one for one in found if one[1])
    job = Job(job_id, spec, submit_time, *next(serving, found[0]))
    job.records = tuple(QueueRecord(job, *one, rank) for rank, one in enumerate(found))
    return job


def new_job(cluster: Cluster, job_id: int, spec: JobSpec) -> Job:
    """Make the record of a new job, with its array, dependencies and licences.

    Raises:
        RequestError: the request can never be met, or its syntax is wrong.
    """
    state = cluster.state
    if spec.switches:
        spec = with_switch_wait(state, spec)
    if job_id in state.jobs or state.arrays or not 0 < job_id < MAX_JOB_ID:
        check_ids(state, job_id)
    job = make_job(job_id, spec, state.now, admit(state, spec))
    if cluster.accounts.tree.has_default_qos:
        give_qos(cluster, job)
    if spec.array:
        _make_array(state, job)
    if spec.dependency:
        job.dependencies = dependencies_of(spec)
    if spec.licenses:
        cluster.licenses.check(spec.licenses)
        cluster.give_licenses(job)
    return job


def with_switch_wait(state: ClusterState, spec: JobSpec) -> JobSpec:
    """Determine for how long a job waits for few switches. It keeps that when slurm.conf changes."""
    most = state.settings.max_switch_wait
    return spec._replace(switch_wait=most if spec.switch_wait < 0 else min(spec.switch_wait, most))


def give_qos(cluster: Cluster, job: Job) -> None:
    """Give a job that asks for no QOS the default one of its association. It keeps it when the default changes."""
    accounts = cluster.accounts
    if not job.spec.qos:
        job.spec = job.spec._replace(qos=accounts.default_qos(job))


def dependencies_of(spec: JobSpec) -> Dependencies | None:
    """Read the dependencies of a request.

    Raises:
        RequestError: the syntax is wrong.
    """
    try:
        return parse_dependency(spec.dependency) if spec.dependency else None
    except ValueError as error:
        raise RequestError(str(error), Errno.DEPENDENCY) from None


def _make_array(state: ClusterState, job: Job) -> None:
    """Make the array of a new job, whose record becomes that of the pending tasks.

    Raises:
        RequestError: the syntax is wrong, or there are too many tasks.
    """
    try:
        tasks = parse_array(job.spec.array, state.settings.max_array_size)
    except ValueError as error:
        raise RequestError(str(error), Errno.INVALID_ARRAY) from None
    if len(tasks.ids) > (most := state.settings.max_array_tasks):
        raise RequestError(
            f"Invalid job array specification: {len(tasks.ids)} tasks, max_array_tasks={most}", Errno.INVALID_ARRAY
        )
    check_ids(state, job.job_id, len(tasks.ids))
    job.array = JobArray(job.job_id, tasks)
    job.array.record = job
    for record in (job, *job.records):
        record.start_limits = (job.array,)
