"""Job arrays, by the rules of sbatch's manual page; more in data/real_slurm/arrays.txt."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rota.core import events as ev
from rota.core.snapshot import save
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


def _again(rota: Harness, *names: str, hold: bool = False) -> None:
    """Queue tasks again that have ended, those of one record as ``1_1-3``."""
    over = {f"{job.array_job_id}_{fold_tasks(job.tasks)}": job for job in rota.finished}
    for job in [over[name] for name in names]:
        rota.send(
            ev.Resubmit(
                job_id=job.job_id,
                spec=job.spec,
                restart_count=job.restart_count + 1,
                hold=hold,
                array_job_id=job.array_job_id,
                tasks=job.tasks,
            )
        )


@pytest.mark.parametrize("sched", SCHEDULERS)
@pytest.mark.parametrize("restarts", [False, True])
def test_tasks_that_have_ended_run_again_beside_the_others(sched: str, *, restarts: bool) -> None:
    with Harness(cluster(cpus=2), sched=sched) as rota:
        rota.submit(array="1-5", job_id=1)
        rota.end(2)
        rota.end(3, 1)
        assert shown(rota) == {"1_3": "R", "1_4": "R", "1_5": "PD"}
        _again(rota, "1_1", "1_2")
        if restarts:
            rota.restart()
        assert shown(rota) == {"1_1": "PD", "1_2": "PD", "1_3": "R", "1_4": "R", "1_5": "PD"}
        for job_id in (4, 5):
            rota.end(job_id)
        assert len([1 for state in shown(rota).values() if state == "R"]) == 2
        while rota.engine.jobs:
            rota.end(next(job.job_id for job in rota.engine.jobs.values() if job.state is JobState.RUNNING))
        assert not rota.engine.state.arrays
        assert not rota.refused
        assert not rota.faults


@pytest.mark.parametrize("restarts", [False, True])
def test_of_an_array_that_is_over_tasks_run_again(*, restarts: bool) -> None:
    with Harness(cluster(cpus=4)) as rota:
        rota.submit(array="1-3%1", job_id=1)
        for job_id, code in ((2, 0), (3, 1), (1, 0)):
            rota.end(job_id, code)
        assert not rota.engine.jobs
        _again(rota, "1_1", hold=True)
        _again(rota, "1_2", "1_3")
        if restarts:
            rota.restart()
        every = rota.submit(job_id=20, dependency="afterok:1")
        assert shown(rota) == {"1_1": "PD", "1_2": "R", "1_3": "PD", "20": "PD"}  # one at a time
        rota.end(3)
        rota.send(ev.Release(job_id=1, task_id=1))
        rota.end(1)
        assert rota.reason(every) is Reason.DEPENDENCY
        rota.end(2)
        assert shown(rota) == {"20": "R"}  # all of them have completed by now
        assert not rota.engine.state.arrays


def test_an_array_that_is_over_is_known_to_have_failed_when_others_run_again() -> None:
    with Harness(cluster(cpus=4)) as rota:
        rota.submit(array="1-3", job_id=1)
        for job_id, code in ((2, 1), (3, 0), (1, 0)):
            rota.end(job_id, code)
        _again(rota, "1_2")
        waits = rota.submit(job_id=20, dependency="afterok:1")
        one = rota.submit(job_id=21, dependency="afterok:1_3")
        rota.restart()
        assert shown(rota) == {"1_2": "R", "20": "PD", "21": "R"}
        rota.end(3)
        assert rota.reason(waits.job_id) is Reason.DEPENDENCY_NEVER_SATISFIED
        assert one.job_id in rota.engine.jobs


@pytest.mark.parametrize("restarts", [False, True])
def test_what_was_cancelled_as_one_record_waits_as_one_again(*, restarts: bool) -> None:
    with Harness(cluster(cpus=1)) as rota:
        rota.submit(array="1-5", job_id=1, hold=True)
        rota.send(ev.Cancel(job_id=1, task_id=2))
        rota.send(ev.Cancel(job_id=1))
        _again(rota, "1_2", "1_1,3-5", hold=True)
        if restarts:
            rota.restart()
        assert shown(rota) == {"1_2": "PD", "1_[1,3-5]": "PD"}
        rota.send(ev.Release(job_id=1))
        assert shown(rota) == {"1_2": "R", "1_[1,3-5]": "PD"}
        while rota.engine.jobs:
            rota.end(next(job.job_id for job in rota.engine.jobs.values() if job.state is JobState.RUNNING))
        ids = [job.job_id for job in rota.finished if job.state is JobState.COMPLETED]
        assert sorted(ids) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("job_id", "array", "tasks"),
    [
        (2, 1, ()),  # none of its tasks
        (2, 1, (9,)),  # it has no such task
        (3, 1, (1,)),  # the job lives
        (2, 1, (2,)),  # the task lives
        (2, 1, (3,)),  # the task waits
        (1, 1, (1,)),  # the record lives
        (4, 1, (1,)),  # no task had this id so far
        (2, 1, (1, 2)),  # a task's job is no record
        (10, 8, (1,)),  # of no array that could have been
        (2, None, (1,)),  # of no array
        (2, -1, (1,)),
        (2, 2**70, (1,)),
    ],
)
def test_what_was_no_task_or_has_not_ended_is_not_queued_again(
    job_id: int, array: int | None, tasks: tuple[int, ...]
) -> None:
    with Harness(cluster(cpus=1)) as rota:
        rota.submit(array="1-4", job_id=1)
        rota.end(2)
        rota.submit(job_id=9, cpus=1)
        before = json.dumps(save(rota.engine))
        request = rota.finished[0].spec
        rota.send(ev.Resubmit(job_id=job_id, spec=request, restart_count=1, array_job_id=array, tasks=tasks))
        assert len(rota.refused) == 1
        assert json.dumps(save(rota.engine)) == before


@pytest.mark.parametrize("first", [1, 2])
def test_a_task_that_runs_again_waits_for_the_same_task_of_the_other_array(first: int) -> None:
    with Harness(cluster(cpus=8)) as rota:
        rota.submit(array="1-2", job_id=10)
        rota.submit(array="1-2", job_id=20, dependency="aftercorr:10")
        for job_id in (11, 10, 21, 20):
            rota.end(job_id)
        for name in (f"10_{first}", "20_1", "20_2"):
            _again(rota, name, hold=name.startswith("10"))
        assert shown(rota) == {f"10_{first}": "PD", f"20_{first}": "PD", f"20_{3 - first}": "R"}


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


def test_aftercorr_makes_no_more_jobs_at_once_than_a_request_may_name() -> None:
    with Harness(cluster(cpus=8, MaxArraySize="10000", MaxJobCount="30000")) as rota:
        rota.submit(array="0-9998", job_id=10)
        with pytest.raises(RequestError, match="more than 5,000 tasks"):
            rota.submit(array="0-9998", job_id=10_100, dependency="aftercorr:10")
        rota.submit(array="0-9998", job_id=10_100, dependency="afterany:10")


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
        ("", "'' has no tasks"),
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
