"""Changes of the requests of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.core.job import QueueRecord
from rota.core.jobs.admission import admit, check_moved, require_possible
from rota.core.jobs.checks import require_pending
from rota.core.jobs.new_jobs import dependencies_of, give_qos, make_job, with_switch_wait
from rota.core.limits.licenses import LicensesWanted
from rota.model import LONGEST, Errno, JobState, Reason, RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.core.cluster import Cluster
    from rota.core.job import Job
    from rota.core.jobs.lifecycle import Lifecycle


#: Fields of `JobSpec` that matter once the job is queued again, and can change while it runs.
_OF_RUNNING = frozenset({"nice", "requeue", "switch_wait", "switches"})
#: Those that do not matter any more: an update of them is none.
_OF_NO_ACCOUNT = frozenset({"deadline", "time_min"})
#: Fields of `JobSpec` that owners of jobs can only take back.
_OF_OPERATORS = frozenset({"contiguous", "deadline", "oversubscribe"})


def check_update(life: Lifecycle, job: Job, changes: Mapping[str, Any], uid: int = 0) -> None:
    """Check that a job's request can be changed, which of a running one is so for some of it only.

    Args:
        life: The owner of the jobs.
        job: The job.
        changes: Fields of `JobSpec` with their new values.
        uid: User id of the user who asks. Users cannot raise priorities, time limits of running jobs, or those of
            pending ones above ``MaxTime`` of their partition.

    Raises:
        RequestError: the new request cannot be met or is not allowed, or the job's state does not permit the change.
    """
    cluster = life.cluster
    if uid:
        _check_as_user(job, changes)
    if job.state is JobState.RUNNING:
        limit = changes.get("time_limit", 0)
        if limit is None or not 0 <= limit <= LONGEST:
            raise RequestError(f"Requested time limit is invalid: {limit} s", Errno.INVALID_TIME_LIMIT)
        if fixed := changes.keys() - _OF_RUNNING - _OF_NO_ACCOUNT - {"time_limit", "licenses", "name"}:
            raise RequestError(
                f"job {job.job_id} runs: {', '.join(sorted(fixed))} cannot change", Errno.JOB_NOT_PENDING
            )
        if "licenses" in changes:
            cluster.licenses.check(changes["licenses"])
        return
    require_pending(job)
    if job.alloc:
        raise RequestError(f"job {job.job_id} is completing: wait until it is queued again", Errno.JOB_NOT_PENDING)
    if changes.get("priority") and job.priority == 0:
        raise RequestError(f"job {job.job_id} is held: release it first", Errno.JOB_HELD)
    fresh = _as_changed(cluster, job, changes)
    if "partition" in changes:
        check_moved(fresh)
    cluster.licenses.check(fresh.spec.licenses)
    if cluster.policy.restricts and changes.keys() & {"account", "qos", "user", "user_id", "partition"}:
        cluster.policy.check_rights(fresh, by_operator=not uid)
    if changes.get("reservation"):
        cluster.reservations.admit(fresh)
    if "dependency" in changes:
        cluster.dependencies.check(job, dependencies_of(fresh.spec))


def _check_as_user(job: Job, changes: Mapping[str, Any]) -> None:
    """Check that a user, who is no operator, may make some changes of their job.

    Raises:
        RequestError: they may not.
    """
    spec, priority = job.spec, changes.get("priority")
    limit = changes.get("time_limit")
    most = job.time_limit if job.state is JobState.RUNNING else job.partition.max_time
    if limit is not None and most is not None and limit > max(most, job.time_limit):
        raise RequestError("Access/permission denied: only an operator gives it more time", Errno.ACCESS_DENIED)
    if changes.get("nice", 0) < 0 or (priority or 0) > job.priority:
        raise RequestError("Access/permission denied: only an operator raises priorities", Errno.ACCESS_DENIED)
    if priority and priority != job.priority:
        raise RequestError(f"only an operator sets the priority of job {job.job_id}", Errno.PRIORITY_NOT_KEPT)
    for name in _OF_OPERATORS & changes.keys():
        if changes[name] and changes[name] != getattr(spec, name):
            raise RequestError(f"Access/permission denied: only an operator sets {name}", Errno.ACCESS_DENIED)
    if changes.keys() & {"user", "user_id", "group_id"}:
        raise RequestError("Access/permission denied: only an administrator gives jobs away", Errno.ACCESS_DENIED)


def _as_changed(cluster: Cluster, job: Job, changes: Mapping[str, Any]) -> Job:
    """Make the record that a job would have after some changes.

    Raises:
        RequestError: it could never run any more.
    """
    spec = job.spec._replace(**changes)
    if spec.switches:
        spec = with_switch_wait(cluster.state, spec)
    fresh = make_job(job.job_id, spec, job.submit_time, admit(cluster.state, spec))
    if job.units:
        require_possible(cluster.state, fresh)
    give_qos(cluster, fresh)
    return fresh


def update_job(life: Lifecycle, job: Job, changes: Mapping[str, Any]) -> None:
    """Change a job's request, after `check_update`."""
    if job.state is JobState.RUNNING:
        _change_running(life, job, changes)
        return
    cluster = life.cluster
    fresh = _as_changed(cluster, job, changes)
    spec = fresh.spec
    cluster.withdraw(job)
    before = job.spec.reservation
    job.spec, job.nice, job.user_name = spec, spec.nice, fresh.user_name
    job.partition, job.units, job.time_limit = fresh.partition, fresh.units, fresh.time_limit
    job.give_records(QueueRecord(job, one.partition, one.units, one.rank) for one in fresh.records)
    job.assoc = job.request_class = None
    job.switches = fresh.switches
    job.show()
    if "dependency" in changes:
        job.dependencies = dependencies_of(spec)
    cluster.readmit(job)
    if before and before != spec.reservation:
        cluster.reservations.left(before)
    if "priority" in changes and spec.priority is not None:
        job.priority, job.admin_priority = spec.priority, True
        job.reason = Reason.NONE
        if spec.priority == 0:
            job.reason = Reason.JOB_HELD_ADMIN
            life.priorities.held(job)
    if job.priority:
        life.priorities.ask(job)
    cluster.queue.insert(job)
    if job.priority and cluster.reasons.are_found:
        cluster.queue.untested[job.job_id] = Reason.NONE
        if job.is_queued:
            job.reason = Reason.NONE


def _change_running(life: Lifecycle, job: Job, changes: Mapping[str, Any]) -> None:
    cluster = life.cluster
    if "licenses" in changes:
        cluster.queue.limited -= job.may_be_held_back
        for one in job.start_limits:
            if isinstance(one, LicensesWanted):
                one.ended(job)
        for record in (job, *job.records):
            record.start_limits = tuple(one for one in record.start_limits if not isinstance(one, LicensesWanted))
        job.spec = job.spec._replace(licenses=changes["licenses"])
        cluster.give_licenses(job)
        cluster.queue.limited += job.may_be_held_back
    if "name" in changes:
        cluster.dependencies.rename(job, changes["name"])
    job.spec = job.spec._replace(**{name: changes[name] for name in _OF_RUNNING & changes.keys()})
    job.nice = job.spec.nice
    if "time_limit" in changes:
        job.time_limit = changes["time_limit"]
        life.runs.expect_end(job, max((job.start_time or 0) + job.time_limit, cluster.state.now))
    job.show()
    cluster.queue.changed = True
