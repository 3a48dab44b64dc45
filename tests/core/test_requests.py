"""Requests of users and administrators: hold, release, begin times, and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rota.core import events as ev
from rota.model import YEAR, Errno, JobState, NodeState, PartitionState, Reason, RequestError
from rota.model.read_only import write
from rota.testing import Harness, cluster, partition

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.core.job import Job


@pytest.mark.parametrize(
    ("by_user", "reason"), [(True, Reason.JOB_HELD_USER), (False, Reason.JOB_HELD_ADMIN)], ids=["user", "admin"]
)
def test_a_held_job_has_priority_0_and_waits_until_it_is_released(by_user: bool, reason: Reason) -> None:
    with Harness() as rota:
        running = rota.submit(cpus=4)
        job = rota.submit(cpus=1)
        rota.hold(job, by_user=by_user)
        rota.end(running)
        assert (rota.state(job), job.priority, rota.reason(job)) == (JobState.PENDING, 0, reason)
        rota.release(job)
        assert rota.state(job) is JobState.RUNNING
        assert job.priority > 0


def test_a_job_submitted_held_is_the_users_to_release() -> None:
    with Harness() as rota:
        job = rota.submit(hold=True)
        assert (job.priority, rota.reason(job), job.eligible_time) == (0, Reason.JOB_HELD_USER, None)
        rota.wait(10)
        rota.release(job)
        assert (rota.state(job), job.eligible_time) == (JobState.RUNNING, 10)


def _set_priority_0(rota: Harness, job: Job) -> None:
    rota.send(ev.UpdateJob(job_id=job.job_id, changes={"priority": 0}))


@pytest.mark.parametrize(("flags", "seen"), [("", [0, None, 50]), ("ACCRUE_ALWAYS", [0, 0, 0])])
@pytest.mark.parametrize("hold", [Harness.hold, _set_priority_0])
def test_when_a_job_that_was_held_is_eligible(
    hold: Callable[[Harness, Job], None], flags: str, seen: list[int | None]
) -> None:
    """``EligibleTime`` and ``AccrueTime`` of Slurm 22.05.8: Unknown as long as the job is held, and then anew."""
    with Harness(cluster(cpus=4, PriorityFlags=flags)) as rota:
        rota.submit(cpus=4)
        job = rota.submit(cpus=4)
        found = [job.eligible_time]
        hold(rota, job)
        found.append(job.eligible_time)
        rota.wait(50)
        rota.release(job)
        assert [*found, job.eligible_time] == seen


def test_releasing_a_job_that_is_not_held_changes_nothing() -> None:
    with Harness() as rota:
        rota.submit(cpus=4)
        job = rota.submit(cpus=4)
        before = job.priority
        rota.release(job)
        assert (job.priority, rota.reason(job)) == (before, Reason.RESOURCES)


def test_a_released_job_goes_to_the_end_of_the_line() -> None:
    with Harness() as rota:
        rota.submit(cpus=4)
        first, second = rota.submit(cpus=1), rota.submit(cpus=1)
        rota.hold(first)
        rota.release(first)
        assert rota.queue == [second.job_id, first.job_id]


def test_a_job_does_not_start_before_its_begin_time() -> None:
    with Harness(now=1000) as rota:
        job = rota.submit(begin=1500)
        assert (rota.reason(job), rota.engine.wakeup, job.eligible_time) == (Reason.BEGIN_TIME, 1500, None)
        rota.wait(499)
        assert rota.state(job) is JobState.PENDING
        rota.wait(1)
        assert (job.start_time, job.eligible_time) == (1500, 1500)


def test_a_begin_time_that_is_past_does_not_matter() -> None:
    with Harness(now=1000) as rota:
        assert rota.submit(begin=900).start_time == 1000


def test_a_job_held_at_its_begin_time_starts_when_it_is_released() -> None:
    with Harness() as rota:
        job = rota.submit(begin=100)
        rota.hold(job)
        assert rota.reason(job) is Reason.JOB_HELD_ADMIN
        rota.wait(200)
        assert rota.reason(job) is Reason.JOB_HELD_ADMIN
        rota.release(job)
        assert job.start_time == 200


def test_a_job_released_before_its_begin_time_waits_for_it() -> None:
    with Harness() as rota:
        job = rota.submit(begin=100, hold=True)
        rota.release(job)
        assert rota.reason(job) is Reason.BEGIN_TIME
        rota.wait(100)
        assert job.start_time == 100


def test_a_cancelled_pending_job_never_runs_and_leaves_no_trace() -> None:
    with Harness() as rota:
        rota.submit(cpus=4)
        job = rota.submit(cpus=4)
        rota.wait(7)
        rota.cancel(job)
        assert (rota.state(job), job.start_time, job.end_time) == (JobState.CANCELLED, None, 7)
        assert rota.kills == []
        assert rota.queue == []


def test_a_cancelled_held_job_is_over() -> None:
    with Harness() as rota:
        job = rota.submit(hold=True)
        rota.cancel(job)
        assert [record.job_id for record in rota.finished] == [job.job_id]
        assert job.reason is Reason.JOB_HELD_USER  # as in Slurm, it stays


def test_the_time_limit_is_the_jobs_else_the_partitions_default_else_its_maximum_else_a_year() -> None:
    parts = [partition("all"), partition("short", max_time=600), partition("both", default_time=60, max_time=600)]
    with Harness(cluster(cpus=8, partitions=parts)) as rota:
        limits = [rota.submit(partition=part, limit=None).time_limit for part in ("all", "short", "both")]
        assert limits == [365 * 86400, 600, 60]
        assert rota.submit(partition="both", limit=500).time_limit == 500


def _machine() -> Harness:
    parts = [
        partition("batch", range(4)),
        partition("drained", range(4), state=PartitionState.DRAIN),
        partition("inactive", range(4), state=PartitionState.INACTIVE),
    ]
    return Harness(cluster(nodes=4, cpus_per_node=2, partitions=parts))


@pytest.mark.parametrize(
    ("fields", "errno", "words"),
    [
        ({"job_id": 1}, Errno.DUPLICATE_JOB_ID, "there is a job 1 already"),
        ({"partition": "fast"}, Errno.INVALID_PARTITION_NAME, "batch, drained, inactive"),
        ({"partition": "drained"}, Errno.PARTITION_NOT_AVAIL, "DRAIN"),
        ({"partition": "inactive"}, Errno.PARTITION_NOT_AVAIL, "INACTIVE"),
        ({"cpus": 0}, Errno.TOO_MANY_REQUESTED_CPUS, "at least 1"),
        ({"cpus": -2}, Errno.TOO_MANY_REQUESTED_CPUS, "at least 1"),
        ({"limit": -1}, Errno.INVALID_TIME_LIMIT, "-1"),
        ({"priority": -1}, Errno.INTERNAL, "-1"),
        ({"priority": 2**32}, Errno.INTERNAL, "4294967296"),
    ],
)
def test_a_submission_that_cannot_be_met_is_refused_with_a_number_and_a_sentence(
    fields: dict[str, Any], errno: Errno, words: str
) -> None:
    with _machine() as rota:
        rota.submit(job_id=1)
        with pytest.raises(RequestError, match=words) as caught:
            rota.submit(**{"job_id": 2} | fields)
        assert caught.value.errno is errno
        assert [job.job_id for job in rota.live] == [1]
        assert rota.refused[0].job_id == fields.get("job_id", 2)


@pytest.mark.parametrize(
    ("fields", "errno", "words", "reason"),
    [
        ({"cpus": 9}, Errno.TOO_MANY_REQUESTED_CPUS, "9 requested", Reason.PARTITION_CONFIG),
        ({"nodes": 5}, Errno.INVALID_NODE_COUNT, "5 nodes", Reason.PARTITION_NODE_LIMIT),
        ({"cpus": 3, "max_nodes": 1}, Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE, "3 processors", None),
    ],
)
def test_what_can_never_run_waits_as_in_slurm_or_is_refused(
    fields: dict[str, Any], errno: Errno, words: str, reason: Reason | None
) -> None:
    """The reasons are those of data/real_slurm/linear.txt, `impossible-waits`."""
    with _machine() as rota:
        if reason is None:
            with pytest.raises(RequestError, match=words) as caught:
                rota.submit(**fields)
            assert caught.value.errno is errno
        else:
            assert rota.reason(rota.submit(**fields).job_id) is reason
        held = rota.submit(hold=True, **fields)
        assert rota.reason(held.job_id) is Reason.JOB_HELD_USER
        rota.release(held)
        assert rota.reason(held.job_id) is (reason or Reason.BAD_CONSTRAINTS)
        rota.engine.refuse_impossible()
        with pytest.raises(RequestError, match=words) as caught:
            rota.submit(hold=True, **fields)
        assert caught.value.errno is errno


@pytest.mark.parametrize("gres", ["gpu:0", "nosuch:0", "gpu:nosuch:0", "gpu:0,nosuch:0"])
def test_none_of_a_kind_of_gres_can_be_had_anywhere(gres: str) -> None:
    """Slurm 22.05.8 takes each of these, and refuses ``nosuch:1``; submitit writes ``--gpus-per-node=0``."""
    with Harness() as rota:
        assert rota.state(rota.submit(gres=gres)) is JobState.RUNNING


def test_without_a_default_partition_one_must_be_named() -> None:
    config = cluster(cpus=4)
    write(config.partitions[0], default=False)
    with Harness(config) as rota:
        with pytest.raises(RequestError) as caught:
            rota.submit()
        assert caught.value.errno is Errno.DEFAULT_PARTITION_NOT_SET
        assert rota.submit(partition="batch").state is JobState.RUNNING


@pytest.mark.parametrize(
    ("request_", "errno"),
    [
        (lambda rota, job: rota.node("n9", NodeState.DOWN), Errno.INVALID_NODE_NAME),
        (lambda rota, job: rota.partition("fast", PartitionState.DOWN), Errno.INVALID_PARTITION_NAME),
        (lambda rota, job: rota.cancel(99), Errno.INVALID_JOB_ID),
    ],
    ids=["node", "partition", "cancel"],
)
def test_a_request_that_makes_no_sense_for_a_running_job_is_refused(
    request_: Callable[[Harness, Job], None], errno: Errno
) -> None:
    with _machine() as rota:
        job = rota.submit()
        with pytest.raises(RequestError) as caught:
            request_(rota, job)
        assert caught.value.errno is errno
        assert rota.state(job) is JobState.RUNNING


def test_a_pending_job_cannot_be_requeued() -> None:
    with Harness() as rota:
        job = rota.submit(hold=True)
        with pytest.raises(RequestError) as caught:
            rota.requeue(job)
        assert caught.value.errno is Errno.JOB_NOT_RUNNING


def test_licences_of_a_running_job_change_at_once() -> None:
    """As with Slurm; see also ``licenses.txt`` of what a real one did."""
    with Harness(cluster(cpus=4, Licenses="lic:3")) as rota:

        def change(**changes: Any) -> None:
            rota.send(ev.UpdateJob(job_id=job.job_id, changes=changes))

        job, other = rota.submit(run=100), rota.submit(licenses="lic:2")
        change(licenses="lic:3")  # of which one only is free
        waits = rota.submit(licenses="lic:1")
        assert rota.reason(waits) is Reason.LICENSES
        rota.restart()
        rota.end(other)
        assert (rota.state(waits.job_id), rota.engine.view.licenses()[0].used) == (JobState.PENDING, 3)
        change(licenses="lic:2", time_limit=7200)
        assert rota.state(waits.job_id) is JobState.RUNNING
        assert rota.job(job.job_id).end_time == 7200
        change(licenses="lic:4")
        change(num_cpus=2)
        said = [one.message for one in rota.refused]
        assert "Invalid license specification: lic:4 requested, there are lic:3" in said[0]
        assert "num_cpus cannot change" in said[1]
        assert rota.engine.view.licenses()[0].used == 3
        change(licenses="")
        rota.wait(100)
        assert rota.state(job.job_id) is JobState.COMPLETED
        assert rota.engine.view.licenses()[0].used == 1


def test_users_give_pending_jobs_as_much_time_as_the_partition_allows() -> None:
    """As Slurm 22.05.8 answered a user who asked for more, and root."""
    with Harness(cluster(nodes=1, partitions=[partition("main", max_time=3600)])) as rota:
        job = rota.submit(limit=300, user_id=1000, hold=True)
        for uid, limit in ((1000, 3600), (1000, 3660), (1000, YEAR), (0, YEAR), (1000, 600)):
            rota.send(ev.UpdateJob(job_id=job.job_id, uid=uid, changes={"time_limit": limit}))
            assert (job.time_limit == limit) == (uid == 0 or limit <= 3600)
        assert [one.errno for one in rota.refused] == [Errno.ACCESS_DENIED] * 2
