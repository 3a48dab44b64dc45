"""Job records, made from requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.core.arrays import JobArray
from rota.core.job import Job, QueueRecord
from rota.core.jobs.admission import MAX_JOB_ID, admit, check_ids
from rota.model import Errno, RequestError
from rota.model.array import fold_tasks, parse_array
from rota.model.bounds import MOST_JOBS
from rota.model.dependency import DependencyType, parse_dependency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.core.cluster import Cluster
    from rota.core.state import ClusterState
    from rota.model import JobSpec, Partition
    from rota.model.array import ArrayTasks
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
    job.give_records(QueueRecord(job, *one, rank) for rank, one in enumerate(found))
    return job


class Place(NamedTuple):
    """The place in its array of a job that has ended, and is queued again."""

    array_job_id: int
    #: Its task; several: those that had not started when the job ended, which was the array's record.
    tasks: tuple[int, ...]


def new_job(cluster: Cluster, job_id: int, spec: JobSpec, place: Place | None = None) -> Job:
    """Make the record of a new job, with its array, dependencies and licences.

    Args:
        cluster: The cluster.
        job_id: Its id.
        spec: The request.
        place: Its place in its array, if it is queued again; ``None``: it is new, or of no array.

    Raises:
        RequestError: the request can never be met, or its syntax is wrong.
    """
    state = cluster.state
    if spec.switches:
        spec = with_switch_wait(state, spec)
    if place is None and (job_id in state.jobs or state.arrays or not 0 < job_id < MAX_JOB_ID):
        check_ids(state, job_id)
    job = make_job(job_id, spec, state.now, admit(state, spec))
    if cluster.accounts.tree.has_default_qos:
        give_qos(cluster, job)
    if place is not None:
        _find_array(cluster, job, place)
    elif spec.array:
        _make_array(state, job)
    if spec.dependency:
        job.dependencies = dependencies_of(spec)
        if place is None and job.array is not None:
            _check_tasks(job.dependencies, job.array)
        if job.array is not None and job.task_id is not None:
            job.dependencies = dependencies_of_task(state, job, job.array, job.task_id)
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


def are_task_by_task(wanted: Dependencies | None) -> bool:
    """Whether each task of an array waits for a task of another one (``aftercorr``), for which it becomes a job."""
    return wanted is not None and any(one.type is DependencyType.AFTER_CORR for one in wanted.each)


def _check_tasks(wanted: Dependencies | None, array: JobArray[Job]) -> None:
    """Check that no more jobs are made at once of the tasks of a new array than a request may name.

    Raises:
        RequestError: they are more.
    """
    if len(array.pending) > MOST_JOBS and are_task_by_task(wanted):
        raise RequestError(f"aftercorr: the array has more than {MOST_JOBS:,} tasks", Errno.DEPENDENCY)


def dependencies_of_task(state: ClusterState, job: Job, array: JobArray[Job], task_id: int) -> Dependencies | None:
    """Give the dependencies that a job of an array has as one of its tasks: ``aftercorr`` is on the same task."""
    wanted = job.dependencies
    if wanted is None:
        return None
    each = (
        one._replace(task_id=task_id)
        if one.type is DependencyType.AFTER_CORR and state.arrays.get(one.job_id, array).has(task_id)
        else one
        for one in wanted.each
    )
    return wanted._replace(each=tuple(each))


def _make_array(state: ClusterState, job: Job) -> None:
    """Make the array of a new job, whose record becomes that of the pending tasks.

    Raises:
        RequestError: the syntax is wrong, or there are too many tasks.
    """
    tasks = _tasks_of(state, job.spec)
    if len(tasks.ids) > (most := state.settings.max_array_tasks):
        raise RequestError(
            f"Invalid job array specification: {len(tasks.ids)} tasks, max_array_tasks={most}", Errno.INVALID_ARRAY
        )
    check_ids(state, job.job_id, len(tasks.ids))
    array = JobArray[Job](job.job_id, tasks)
    array.record = job
    _give_array(job, array)


def _find_array(cluster: Cluster, job: Job, place: Place) -> None:
    """Find the array of a job that is queued again, or make it anew if all of its tasks have ended.

    Raises:
        RequestError: it cannot have been of this array, or lives.
    """
    state = cluster.state
    array = state.arrays.get(place.array_job_id)
    if array is None:
        tasks = _tasks_of(state, job.spec)
        check_ids(state, place.array_job_id, len(tasks.ids))
        array = JobArray.of_ended(place.array_job_id, tasks)
        cluster.dependencies.tell_of_ended(array)
    if job.job_id in state.jobs or not array.has_ended(job.job_id, place.tasks):
        raise RequestError(
            f"job {job.job_id} cannot be task {fold_tasks(place.tasks)} of array {place.array_job_id}, which has ended",
            Errno.INVALID_JOB_ID,
        )
    if len(place.tasks) == 1:
        job.task_id = place.tasks[0]
    _give_array(job, array)


def _tasks_of(state: ClusterState, spec: JobSpec) -> ArrayTasks:
    try:
        return parse_array(spec.array, state.settings.max_array_size)
    except ValueError as error:
        raise RequestError(str(error), Errno.INVALID_ARRAY) from None


def _give_array(job: Job, array: JobArray[Job]) -> None:
    job.array = array
    for record in (job, *job.records):
        record.start_limits = (array,)
    job.show()
