"""Usage enforcement: running jobs that end when a limit is reached; more in data/real_slurm/limits.txt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.accounting import AssociationTree
from rota.core import events as ev
from rota.model import Association, JobState, Qos, Reason
from rota.testing import Harness, cluster, with_parameters
from rota.testing.builders import accounting_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.core.job import Job
    from rota.model import ClusterConfig, JobRecord

_CONFIG = cluster(
    cpus=16,
    AccountingStorageEnforce="limits,qos",
    PriorityDecayHalfLife="0",
    PriorityUsageResetPeriod="YEARLY",
)


def _tree(
    qos: Mapping[str, str] | None = None,
    account: Mapping[str, str] | None = None,
    user: Mapping[str, str] | None = None,
    *,
    usage_factor: float = 1.0,
) -> AssociationTree:
    """Make the associations of ann and bob in one account, with one QOS."""
    one = Qos(name="q", id=1, limits=dict(qos or {}), usage_factor=usage_factor)
    places = [
        Association(id=1, account="root", qos=("q",), default_qos="q"),
        Association(id=2, account="phys", parent_id=1, limits=dict(account or {})),
        Association(id=3, account="phys", user="ann", parent_id=2, limits=dict(user or {})),
        Association(id=4, account="phys", user="bob", parent_id=2),
    ]
    return AssociationTree("cluster", places, qos=[one])


def _rota(tree: AssociationTree, config: ClusterConfig = _CONFIG) -> Harness:
    return Harness(config, priority="priority/multifactor", associations=tree)


def _submit(rota: Harness, cpus: int, user: str = "ann", *, limit: int = 3600, run: int | None = None) -> Job:
    return rota.submit(cpus=cpus, user=user, account="phys", limit=limit, run=run)


def _end(job: Job | JobRecord) -> tuple[JobState, Reason, int | None]:
    return job.state, job.reason, job.end_time


def _timed_out(time: int) -> tuple[JobState, Reason, int]:
    return JobState.TIMEOUT, Reason.TIME_LIMIT, time


@pytest.mark.parametrize("owner", ["qos", "account", "user"])
@pytest.mark.parametrize(("limit", "end"), [({"GrpTRESMins": "cpu=100"}, 750), ({"GrpWall": "10"}, 600)])
def test_a_job_ends_in_the_second_in_which_the_limit_is_used_up(owner: str, limit: dict[str, str], end: int) -> None:
    """8 CPUs for 750 s, or one job for 600 s: between two periods of usage, which are 300 s long."""
    tree = _tree(*(limit if one == owner else None for one in ("qos", "account", "user")))
    with _rota(tree) as rota:
        job = _submit(rota, 8)
        rota.until(end - 1)
        assert job.state is JobState.RUNNING
        rota.run_to_end()
        assert _end(job) == _timed_out(end)


def test_jobs_that_start_and_end_meanwhile_change_when_that_is() -> None:
    """6000 CPU seconds: 8 CPUs for 500 s are 4000, 4 CPUs for 200 s 800, which leaves 1200 or 150 s of the first."""
    with _rota(_tree({"GrpTRESMins": "cpu=100"})) as rota:
        first = _submit(rota, 8)
        rota.until(100)
        second = _submit(rota, 4, "bob", run=200)
        rota.until(400)
        third = _submit(rota, 2, run=50)
        rota.run_to_end()
        assert (second.state, third.state) == (JobState.COMPLETED, JobState.COMPLETED)
        assert _end(first) == _timed_out((6000 - 4 * 200 - 2 * 50) // 8 + 1)


def test_all_jobs_that_the_limit_is_about_end_and_no_others_do() -> None:
    with _rota(_tree(user={"GrpWall": "10"})) as rota:
        jobs = [_submit(rota, 1), _submit(rota, 1), _submit(rota, 1, "bob", run=900)]
        waiting = _submit(rota, 14)
        rota.run_to_end(10_000)
        assert [_end(job) for job in jobs[:2]] == [_timed_out(300)] * 2
        assert jobs[2].state is JobState.COMPLETED
        assert rota.reason(waiting) is Reason.ASSOC_GRP_WALL


def test_a_job_that_the_limit_is_not_about_uses_of_it() -> None:
    """The first has a QOS with a limit of its own, and is there before anybody asks for the account's."""
    tree = _tree({"GrpWall": "60"}, {"GrpWall": "10"})
    tree.qos["other"] = Qos(name="other", id=2)
    tree.associations[0].qos = ("q", "other")
    with _rota(tree) as rota:
        first, second = _submit(rota, 1, run=1000), _submit(rota, 1, run=100)
        rota.until(50)
        third = rota.submit(cpus=1, user="ann", account="phys", qos="other", limit=3600)
        rota.run_to_end()
        assert (first.state, second.state) == (JobState.COMPLETED, JobState.COMPLETED)
        assert _end(third) == _timed_out((600 - 100 + 50) // 2)


def test_a_usage_factor_counts() -> None:
    with _rota(_tree({"GrpTRESMins": "cpu=100"}, usage_factor=2.0)) as rota:
        job = _submit(rota, 8)
        rota.run_to_end()
        assert _end(job) == _timed_out(375)


def test_usage_that_fades_lets_a_job_run_on() -> None:
    """With a half-life of an hour a job that would have used it up in 750 s has, after two periods, used less."""
    with _rota(_tree({"GrpTRESMins": "cpu=100"}), with_parameters(_CONFIG, PriorityDecayHalfLife="1:00:00")) as rota:
        job = _submit(rota, 8)
        rota.run_to_end()
        decay = 1 - 0.693 / 3600
        used = 2400 * decay**300 * (1 + decay**300)
        until = next(second for second in range(300) if used + 8 * second * decay**second >= 6000)
        assert _end(job) == _timed_out(600 + until)
        assert until > 150


def test_what_can_never_be_used_up_ends_nobody() -> None:
    """Usage decays as fast as one CPU adds to it, long before the limit."""
    with _rota(_tree({"GrpTRESMins": "cpu=100"}), with_parameters(_CONFIG, PriorityDecayHalfLife="1:00:00")) as rota:
        job = _submit(rota, 1, limit=86400, run=80_000)
        rota.run_to_end()
        assert _end(job) == (JobState.COMPLETED, Reason.NONE, 80_000)


def test_with_safe_nothing_ends() -> None:
    with _rota(_tree({"GrpWall": "60"}), with_parameters(_CONFIG, AccountingStorageEnforce="safe,qos")) as rota:
        job = _submit(rota, 8, run=1800)
        rota.until(300)
        rota.send(accounting_of(_tree({"GrpWall": "5"})))
        rota.run_to_end()
        assert job.state is JobState.COMPLETED


def test_a_limit_that_is_lowered_counts_at_once() -> None:
    """Of a job's own TRES minutes whole minutes count: 8 CPUs have used up 100 after 13 minutes."""
    with _rota(_tree({"GrpWall": "60", "MaxTRESMinsPerJob": "cpu=1000"})) as rota:
        first, second = _submit(rota, 8, "bob"), _submit(rota, 4)
        rota.until(300)
        rota.send(accounting_of(_tree({"GrpWall": "60", "MaxTRESMinsPerJob": "cpu=100"})))
        rota.until(1000)
        assert _end(first) == _timed_out(13 * 60)
        rota.send(accounting_of(_tree({"GrpWall": "20"})))
        rota.run_to_end()
        assert _end(second) == _timed_out(1001)


def test_a_restart_forgets_nothing() -> None:
    with _rota(_tree({"GrpTRESMins": "cpu=100"})) as rota:
        job_id = _submit(rota, 8).job_id
        rota.until(320)
        rota.restart()
        rota.run_to_end()
        assert _end(rota.finished[-1]) == _timed_out(750)
        assert rota.finished[-1].job_id == job_id


def test_a_limit_that_is_used_up_does_not_cancel_what_is_to_be_queued_again() -> None:
    with Harness(
        _CONFIG, priority="priority/multifactor", associations=_tree({"GrpTRESMins": "cpu=10"}), performs=False
    ) as rota:
        job = _submit(rota, 1)
        rota.until(500)
        rota.requeue(job)
        rota.until(700)  # the limit is used up at 600, while the job is still completing
        assert (job.state, job.alloc > 0) == (JobState.PENDING, True)
        rota.end(job)
        assert (job.state, job.restart_count) == (JobState.PENDING, 1)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_suspended_job_that_is_stopped_is_charged_until_it_has_ended(restarts: bool) -> None:
    with Harness(_CONFIG, priority="priority/multifactor", associations=_tree(), performs=False) as rota:
        job = _submit(rota, 2).job_id
        rota.until(100)
        rota.send(ev.Suspend(job_id=job))
        rota.until(300)
        rota.cancel(job)
        if restarts:
            rota.restart()
        rota.until(330)
        rota.end(job)
        assert rota.ctld.keep_usage().raw[0] == 2 * (100 + 30)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_job_that_completes_counts_for_what_it_might_have_used(restarts: bool) -> None:
    tree = _tree({"GrpTRESRunMins": "cpu=100"})
    with Harness(_CONFIG, priority="priority/multifactor", associations=tree, performs=False) as rota:
        job = _submit(rota, 1, limit=6000)
        rota.until(3000)
        rota.cancel(job)
        if restarts:
            rota.restart()
        waits = _submit(rota, 1, limit=3060)  # a minute more than is left
        assert rota.reason(waits) is Reason.QOS_GRP_CPU_RUN_MIN
        assert _submit(rota, 1, limit=3000).state is JobState.RUNNING
