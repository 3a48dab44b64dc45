"""Dependencies, by the rules of sbatch's manual page; more in data/real_slurm/dependencies.txt."""

from __future__ import annotations

import pytest

from rota.core import events as ev
from rota.model import JobState, Reason
from rota.model.dependency import parse_dependency
from rota.testing import Harness, cluster

WAITS, NEVER = (JobState.PENDING, Reason.DEPENDENCY), (JobState.PENDING, Reason.DEPENDENCY_NEVER_SATISFIED)


def where(rota: Harness, job: object) -> tuple[JobState, Reason]:
    return job.state, rota.reason(job)  # type: ignore[attr-defined,arg-type] # a Job


@pytest.mark.parametrize(
    ("kind", "exit_code", "starts"),
    [
        ("afterany", 0, True),
        ("afterany", 1, True),
        ("afterok", 0, True),
        ("afterok", 1, False),
        ("afternotok", 1, True),
        ("afternotok", 0, False),
    ],
)
def test_a_job_waits_for_anothers_end(kind: str, exit_code: int, starts: bool) -> None:
    with Harness(cluster(cpus=4)) as rota:
        first = rota.submit()
        job = rota.submit(dependency=f"{kind}:{first.job_id}")
        assert where(rota, job) == WAITS
        assert job.eligible_time is None
        rota.wait(5)
        rota.end(first, exit_code)
        assert where(rota, job) == ((JobState.RUNNING, Reason.NONE) if starts else NEVER)
        assert job.eligible_time == (5 if starts else None)


def test_after_is_about_the_start_and_some_minutes() -> None:
    with Harness(cluster(cpus=1)) as rota:
        first, second = rota.submit(), rota.submit()
        soon = rota.submit(dependency=f"after:{second.job_id}")
        late = rota.submit(dependency=f"after:{first.job_id}+10")
        assert (where(rota, soon), where(rota, late)) == (WAITS, WAITS)
        rota.until(599)
        assert where(rota, late) == WAITS
        rota.until(600)
        assert rota.reason(late) is Reason.PRIORITY
        rota.cancel(second)
        assert rota.reason(soon) is Reason.RESOURCES  # it comes first


@pytest.mark.parametrize(("sign", "waits"), [(",", True), ("?", False)])
def test_all_or_any(sign: str, waits: bool) -> None:
    with Harness(cluster(cpus=4)) as rota:
        one, two = rota.submit(), rota.submit()
        job = rota.submit(dependency=f"afterok:{one.job_id}{sign}afternotok:{two.job_id}")
        rota.end(one)
        assert (where(rota, job) == WAITS) is waits
        rota.end(two, 1)
        assert job.state is JobState.RUNNING


def test_never_of_one_is_never_of_all_but_not_of_any() -> None:
    with Harness(cluster(cpus=4)) as rota:
        one, two = rota.submit(), rota.submit()
        every = rota.submit(dependency=f"afterok:{one.job_id}:{two.job_id}")
        either = rota.submit(dependency=f"afterok:{one.job_id}?afterok:{two.job_id}")
        rota.end(one, 1)
        assert (where(rota, every), where(rota, either)) == (NEVER, WAITS)
        rota.end(two)
        assert either.state is JobState.RUNNING


def test_singletons_run_one_after_the_other() -> None:
    with Harness(cluster(cpus=4)) as rota:
        first = rota.submit(user="ann", name="sim")
        jobs = [rota.submit(user="ann", name="sim", dependency="singleton") for _ in range(2)]
        other = rota.submit(user="bob", name="sim", dependency="singleton")
        assert other.state is JobState.RUNNING
        assert [where(rota, job) for job in jobs] == [WAITS, WAITS]
        rota.end(first)
        assert [job.state for job in jobs] == [JobState.RUNNING, JobState.PENDING]
        rota.cancel(jobs[0])
        assert jobs[1].state is JobState.RUNNING


def test_jobs_are_forgotten_after_minjobage_and_then_satisfy_everything() -> None:
    with Harness(cluster(cpus=4, MinJobAge="60")) as rota:
        first = rota.submit()
        rota.end(first, 1)
        rota.wait(30)
        assert where(rota, rota.submit(dependency=f"afterok:{first.job_id}")) == NEVER
        rota.wait(31)
        rota.end(rota.submit())
        assert rota.submit(dependency=f"afterok:{first.job_id}").state is JobState.RUNNING
        assert rota.submit(dependency="afterok:999").state is JobState.RUNNING


@pytest.mark.parametrize(
    ("parameters", "wanted", "killed"), [("", True, True), ("kill_invalid_depend", None, True), ("", None, False)]
)
def test_a_job_that_waits_in_vain_is_cancelled_if_that_is_wanted(
    parameters: str, wanted: bool | None, killed: bool
) -> None:
    with Harness(cluster(cpus=4, DependencyParameters=parameters)) as rota:
        first = rota.submit()
        job = rota.submit(dependency=f"afterok:{first.job_id}", kill_on_invalid_dep=wanted)
        rota.end(first, 1)
        assert job.state is (JobState.CANCELLED if killed else JobState.PENDING)
        assert job.reason is Reason.DEPENDENCY_NEVER_SATISFIED


def test_of_a_job_that_has_waited_in_vain_what_it_waited_for_is_shown() -> None:
    """As Slurm 22.05.8 does, by ``scontrol show job`` and ``squeue``."""
    with Harness(cluster(cpus=4)) as rota:
        failed, ended, runs = rota.submit(), rota.submit(), rota.submit()
        rota.end(ended)
        wanted = f"afterok:{runs.job_id}:{failed.job_id}:{ended.job_id}"
        job = rota.submit(dependency=wanted, kill_on_invalid_dep=True)
        rota.end(failed, 1)
        (record,) = (one for one in rota.finished if one.job_id == job.job_id)
        shown = rota.engine.view.ended(record).dependency
        assert shown == f"afterok:{runs.job_id}(unfulfilled),afterok:{failed.job_id}(failed)"
        (record,) = (one for one in rota.finished if one.job_id == failed.job_id)
        assert rota.engine.view.ended(record).dependency == ""


def test_after_a_burst_buffer_is_after_the_end() -> None:
    """As in a Slurm 22.05.8 without burst buffers."""
    with Harness(cluster(cpus=4)) as rota:
        first = rota.submit()
        job = rota.submit(dependency=f"afterburstbuffer:{first.job_id}")
        assert where(rota, job) == WAITS
        assert rota.engine.view.line(job).dependency == f"afterburstbuffer:{first.job_id}(unfulfilled)"
        rota.end(first, 1)
        assert job.state is JobState.RUNNING


def test_of_a_job_that_waits_in_vain_only_what_is_not_satisfied_is_shown() -> None:
    """As Slurm 22.05.8 does."""
    with Harness(cluster(cpus=4)) as rota:
        failed, runs = rota.submit(), rota.submit()
        rota.end(failed, 1)
        job = rota.submit(dependency=f"afternotok:{failed.job_id},afterok:{failed.job_id},afterany:{runs.job_id}")
        assert where(rota, job) == NEVER
        shown = rota.engine.view.line(job).dependency
        assert shown == f"afterok:{failed.job_id}(failed),afterany:{runs.job_id}(unfulfilled)"


def test_a_job_that_is_queued_again_is_still_waited_for() -> None:
    with Harness(cluster(cpus=4)) as rota:
        first = rota.submit(requeue=True)
        job = rota.submit(dependency=f"afterany:{first.job_id}")
        rota.requeue(first)
        assert (first.state, where(rota, job)) == (JobState.RUNNING, WAITS)


def test_dependencies_outlive_a_restart() -> None:
    with Harness(cluster(cpus=4)) as rota:
        failed, runs = rota.submit(), rota.submit()
        rota.end(failed, 1)
        job = rota.submit(dependency=f"afternotok:{failed.job_id},afterok:{runs.job_id}")
        rota.restart()
        late = rota.submit(dependency=f"afterok:{failed.job_id}")
        assert (where(rota, rota.job(job.job_id)), where(rota, late)) == (WAITS, NEVER)
        rota.end(runs.job_id)
        assert rota.job(job.job_id).state is JobState.RUNNING


def test_a_job_is_given_up_when_it_could_not_end_by_its_deadline() -> None:
    """It needs 100 of the 250 seconds, so the second 151 is too late."""
    with Harness(cluster(cpus=1)) as rota:
        rota.submit(limit=1000)
        job = rota.submit(limit=100, deadline=250)
        rota.until(150)
        assert job.state is JobState.PENDING
        rota.until(151)
        assert (job.state, job.reason, job.end_time) == (JobState.DEADLINE, Reason.DEADLINE, 151)


def test_a_job_that_could_never_end_by_its_deadline_is_given_up_at_once_if_it_may_start() -> None:
    with Harness(cluster(cpus=1)) as rota:
        assert rota.submit(limit=100, deadline=99).state is JobState.DEADLINE
        held = rota.submit(limit=100, deadline=200, hold=True)
        rota.until(150)
        assert rota.live == [held]
        rota.release(held)
        assert rota.finished[-1].job_id == held.job_id
        assert held.reason is Reason.DEADLINE


def test_a_job_with_a_shorter_limit_ends_by_its_deadline() -> None:
    with Harness(cluster(cpus=1)) as rota:
        rota.submit(limit=200)
        job = rota.submit(limit=100, time_min=40, deadline=250)
        rota.until(200)
        assert (job.state, job.time_limit) == (JobState.RUNNING, 50)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("afterok", "names no job"),
        ("after:x", "'x' is no job's number"),
        ("afterok:1+5", "only after takes a time"),
        ("during:1", "is none of after, afterany"),
        ("singleton:4", "takes no job"),
    ],
)
def test_what_cannot_be_read(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_dependency(text)


def test_it_is_written_as_it_was_read() -> None:
    for text in ("after:1+5,afterok:2,singleton", "afterany:1?aftercorr:2"):
        assert str(parse_dependency(text)) == text


@pytest.mark.parametrize("restarts", [False, True])
def test_a_singleton_waits_for_the_tasks_of_an_array(restarts: bool) -> None:
    with Harness(cluster(cpus=4)) as rota:
        array = rota.submit(name="x", user="ann", array="0-2%1").job_id
        single = rota.submit(name="x", user="ann", dependency="singleton").job_id
        rota.end(array + 1)
        rota.send(ev.Cancel(job_id=array, task_id=2))  # the second task runs
        if restarts:
            rota.restart()
        assert rota.reason(single) is Reason.DEPENDENCY
        rota.end(array + 2)
        assert rota.state(single) is JobState.RUNNING
