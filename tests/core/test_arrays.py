"""Job arrays, by the rules of sbatch's manual page; more in data/real_slurm/arrays.txt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.core import events as ev
from rota.model import Errno, JobState, PartitionState, Reason, RequestError
from rota.model.array import fold_tasks, parse_array
from rota.testing import Harness, cluster, partition

if TYPE_CHECKING:
    from rota.core.effects import Kill

SCHEDULERS = ("sched/builtin", "sched/backfill", "sched/easy", "sched/conservative")


def shown(rota: Harness) -> dict[str, str]:
    """Give the states of all live jobs, by the names that users see."""
    jobs = rota.engine.jobs.values()
    return {f"{job.array.job_id}_{job.array_task}" if job.array else str(job.job_id): job.state.compact for job in jobs}


@pytest.mark.parametrize("sched", SCHEDULERS)
def test_tasks_start_as_there_is_room_and_the_last_takes_over_the_record(sched: str) -> None:
    with Harness(cluster(cpus=4), sched=sched) as rota:
        record = rota.submit(array="1-10:2", cpus=2, limit=100, run=100)
        assert shown(rota) == {"1_[5,7,9]": "PD", "1_1": "R", "1_3": "R"}
        assert (record.waiting_tasks, record.state, record.job_id) == (3, JobState.PENDING, 1)
        rota.until(100)
        assert shown(rota) == {"1_9": "PD", "1_5": "R", "1_7": "R"}
        rota.until(200)
        assert shown(rota) == {"1_9": "R"}
        assert (record.task_id, record.state) == (9, JobState.RUNNING)
        rota.until(300)
        assert [(job.task_id, job.start_time, job.job_id) for job in rota.finished] == [
            (1, 0, 2),
            (3, 0, 3),
            (5, 100, 4),
            (7, 100, 5),
            (9, 200, 1),
        ]
        assert not rota.engine.state.arrays
        assert not rota.faults


@pytest.mark.parametrize("sched", SCHEDULERS)
def test_no_more_tasks_run_than_the_throttle_allows_and_others_pass(sched: str) -> None:
    with Harness(cluster(cpus=8), sched=sched) as rota:
        record = rota.submit(array="0-5%2", cpus=1, limit=100, run=50)
        other = rota.submit(cpus=6, limit=1000)
        assert other.state is JobState.RUNNING
        assert (len([1 for state in shown(rota).values() if state == "R"]), rota.reason(record)) == (
            3,
            Reason.JOB_ARRAY_TASK_LIMIT,
        )
        rota.until(50)
        assert shown(rota) == {"1_[4-5%2]": "PD", "7": "R", "1_2": "R", "1_3": "R"}
        rota.until(150)
        assert shown(rota) == {str(other.job_id): "R"}
        assert not rota.faults


def test_a_record_of_several_partitions_splits_into_each() -> None:
    parts = [partition("a", (0, 1)), partition("b", (2, 3))]
    with Harness(cluster(nodes=4, partitions=parts)) as rota:
        rota.submit(array="1-5", partition="a,b")
        running = [job for job in rota.engine.jobs.values() if job.state is JobState.RUNNING]
        assert sorted(job.partition.name for job in running) == ["a", "a", "b", "b"]
        assert len(rota.ctld.queue) == 2
        rota.end(running[2])
        assert len(rota.ctld.queue) == 0


def test_one_task_is_cancelled_or_held_by_itself() -> None:
    with Harness(cluster(cpus=1)) as rota:
        record = rota.submit(array="1-4")
        rota.send(ev.Cancel(job_id=1, task_id=3))
        assert [(job.task_id, job.state) for job in rota.finished] == [(3, JobState.CANCELLED)]
        rota.send(ev.Hold(job_id=1, task_id=2))
        assert shown(rota) == {"1_1": "R", "1_2": "PD", "1_4": "PD"}
        rota.send(ev.Cancel(job_id=1, task_id=1))
        assert shown(rota) == {"1_2": "PD", "1_4": "R"}
        rota.send(ev.Cancel(job_id=1))
        assert shown(rota) == {}
        assert record.state is JobState.CANCELLED
        rota.send(ev.Cancel(job_id=1, task_id=2))
        assert [one.errno for one in rota.refused] == [Errno.INVALID_JOB_ID]


class Unending(Harness):
    """A cluster whose jobs do not end when they are told to."""

    def kill(self, effect: Kill) -> None:
        pass


def test_the_tasks_that_wait_are_held_and_released_whatever_others_do() -> None:
    with Unending(cluster(cpus=2)) as rota:
        record = rota.submit(array="1-4")
        rota.send(ev.Cancel(job_id=1, task_id=1))
        for request, reason in ((ev.Hold, Reason.JOB_HELD_ADMIN), (ev.Release, Reason.RESOURCES)):
            rota.send(request(job_id=1, request_id=1))
            assert (rota.refused, rota.reason(record), record.array_task) == ([], reason, "[3-4]")
        rota.send(ev.Release(job_id=1, task_id=1))
        assert [one.errno for one in rota.refused] == [Errno.JOB_NOT_PENDING]


def test_what_waits_of_an_array_is_cancelled_as_one_record() -> None:
    with Harness(cluster(cpus=1)) as rota:
        record = rota.submit(array="1-1000")
        rota.cancel(record)
        assert [job.state for job in rota.finished] == [JobState.CANCELLED] * 2
        assert not rota.engine.state.arrays


def test_a_task_that_is_queued_again_waits_by_itself() -> None:
    with Harness(cluster(cpus=1), priority="priority/multifactor") as rota:
        rota.submit(array="1-3", limit=100)
        rota.partition("batch", state=PartitionState.DOWN)
        rota.send(ev.Requeue(job_id=1, task_id=1))
        assert shown(rota) == {"1_1": "PD", "1_[2-3]": "PD"}
        rota.partition("batch", state=PartitionState.UP)
        rota.run_to_end()
        assert sorted(job.task_id or 0 for job in rota.finished) == [1, 2, 3]
        assert not rota.faults


def test_arrays_outlive_a_restart() -> None:
    with Harness(cluster(cpus=2), sched="sched/backfill") as rota:
        rota.submit(array="1-6%1", limit=100, run=100)
        rota.until(150)
        before = shown(rota)
        assert before == {"1_2": "R", "1_[3-6%1]": "PD"}
        rota.restart()
        assert shown(rota) == before
        for _ in range(4):
            rota.end(next(job.job_id for job in rota.engine.jobs.values() if job.state is JobState.RUNNING))
        assert shown(rota) == {"1_6": "R"}


def test_jobs_wait_for_all_tasks_or_for_one() -> None:
    with Harness(cluster(cpus=8)) as rota:
        rota.submit(array="1-3", job_id=10)
        every = rota.submit(job_id=20, dependency="afterok:10")
        one = rota.submit(job_id=21, dependency="afterok:10_2")
        failed = rota.submit(job_id=22, dependency="afternotok:10")
        tasks = dict(rota.engine.state.arrays[10].tasks)
        rota.end(tasks[2])
        assert (one.state, every.state) == (JobState.RUNNING, JobState.PENDING)
        rota.end(tasks[1], 1)
        assert rota.reason(every) is Reason.DEPENDENCY
        rota.end(tasks[3])
        assert rota.reason(every) is Reason.DEPENDENCY_NEVER_SATISFIED
        assert failed.state is JobState.RUNNING


def test_aftercorr_is_task_by_task() -> None:
    with Harness(cluster(cpus=8)) as rota:
        rota.submit(array="1-3", job_id=10)
        rota.submit(array="1-3", job_id=20, dependency="aftercorr:10")
        tasks = dict(rota.engine.state.arrays[10].tasks)
        rota.end(tasks[2])
        assert [
            job.task_id for job in rota.engine.jobs.values() if job.job_id >= 20 and job.start_time is not None
        ] == [2]
        rota.end(tasks[1], 1)
        rota.end(tasks[3])
        states = {job.task_id: rota.reason(job) for job in rota.engine.jobs.values() if job.job_id >= 20}
        assert states == {1: Reason.DEPENDENCY_NEVER_SATISFIED, 2: Reason.NONE, 3: Reason.NONE}


def test_tasks_beyond_the_window_of_planning_are_not_planned_one_by_one() -> None:
    with Harness(cluster(cpus=1, SchedulerParameters="bf_max_job_array_resv=3"), sched="sched/backfill") as rota:
        record = rota.submit(array="1-9", limit=600)
        rota.until(30)
        assert record.planned_start == 600
        last = rota.submit(limit=60, cpus=1)
        rota.until(60)
        assert last.planned_start == 600 + 3 * 600


@pytest.mark.parametrize(
    ("text", "ids", "throttle"),
    [("1-3", (1, 2, 3), 0), ("0-15:4%2", (0, 4, 8, 12), 2), ("7,1,3-4,3", (1, 3, 4, 7), 0), ("5", (5,), 0)],
)
def test_what_is_read(text: str, ids: tuple[int, ...], throttle: int) -> None:
    assert parse_array(text) == (ids, throttle)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "'' is no task id"),
        ("5-1", "has no tasks"),
        ("1-5:0", "has no tasks"),
        ("1-1001", "task 1001 is not below 1001: MaxArraySize"),
        ("1-5%x", "after % stands"),
        ("a", "is no task id"),
    ],
)
def test_what_cannot_be_read(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_array(text)
    with Harness() as rota, pytest.raises(RequestError, match="Invalid job array specification") as refused:
        rota.submit(array=text or "x")
    assert refused.value.errno is Errno.INVALID_ARRAY


def test_ids_are_folded() -> None:
    assert fold_tasks((1, 2, 3, 7)) == "1-3,7"
    assert fold_tasks((0, 5, 10)) == "0,5,10"
    assert fold_tasks((0, 6, 12)) == "0-12:6"
    assert fold_tasks(range(20)) == "0-19"
