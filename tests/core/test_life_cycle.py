"""Changes of job states: every transition of the table can be observed, and no other.

Over 400 lines: it has a scenario for each transition of the table.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from rota.core import events as ev
from rota.core.job import Job
from rota.core.jobs.transitions import TRANSITIONS, Trigger, change_state
from rota.listings.job_facts import eligible_time
from rota.model import Errno, InvariantError, JobState, NodeState, Partition, Reason, RequestError
from rota.testing import Harness, cluster, spec

if TYPE_CHECKING:
    from collections.abc import Callable


def _started(rota: Harness) -> Job:
    return rota.submit(cpus=1)


def _cancelled_while_pending(rota: Harness) -> Job:
    job = rota.submit(cpus=1, hold=True)
    rota.cancel(job)
    return job


def _ended(rota: Harness) -> Job:
    job = rota.submit(cpus=1)
    rota.end(job)
    return job


def _failed(rota: Harness) -> Job:
    job = rota.submit(cpus=1)
    rota.end(job, exit_code=3)
    return job


def _timed_out(rota: Harness) -> Job:
    job = rota.submit(cpus=1, limit=60)
    rota.wait(60)
    return job


def _cancelled_while_running(rota: Harness) -> Job:
    job = rota.submit(cpus=1)
    rota.cancel(job)
    return job


def _not_launched(rota: Harness) -> Job:
    job = rota.submit(cpus=1, requeue=False)
    rota.launch_fails(job)
    return job


def over(rota: Harness) -> list[int]:
    return [record.job_id for record in rota.finished]


def _lost_its_node(rota: Harness) -> Job:
    job = rota.submit(cpus=1, requeue=False)
    rota.node("n0", NodeState.DOWN)
    return job


def _requeued(rota: Harness) -> Job:
    job = rota.submit(cpus=4, requeue=True)
    rota.node("n0", NodeState.DOWN)
    return job


def _past_its_deadline(rota: Harness) -> Job:
    rota.submit(cpus=4)
    job = rota.submit(limit=60, deadline=61)
    rota.wait(2)
    return job


def _preempted(rota: Harness) -> Job:
    job = rota.submit()
    rota.engine.lifecycle.runs.stop(job, Trigger.PREEMPT)
    rota.end(job)
    return job


def _out_of_memory(rota: Harness) -> Job:
    job = rota.submit()
    rota.send(ev.JobEnded(job_id=job.job_id, signal=9, outcome=ev.Outcome.OUT_OF_MEMORY))
    return job


def _not_booted(rota: Harness) -> Job:
    job = rota.submit(requeue=False)
    rota.send(ev.LaunchFailed(job_id=job.job_id, boot=True))
    return job


def _suspended(rota: Harness) -> Job:
    job = rota.submit(requeue=False)
    rota.send(ev.Suspend(job_id=job.job_id))
    return job


def _resumed(rota: Harness) -> Job:
    job = _suspended(rota)
    rota.send(ev.Resume(job_id=job.job_id))
    return job


def _suspended_and(**how: Any) -> Callable[[Harness], Job]:
    def scenario(rota: Harness) -> Job:
        job = _suspended(rota)
        rota.send(ev.JobEnded(job_id=job.job_id, **how))
        return job

    return scenario


def _suspended_and_cancelled(rota: Harness) -> Job:
    job = _suspended(rota)
    rota.cancel(job)
    return job


def _suspended_and_requeued(rota: Harness) -> Job:
    job = rota.submit(cpus=4, requeue=True)
    rota.send(ev.Suspend(job_id=job.job_id))
    rota.node("n0", NodeState.DOWN)
    return job


def _suspended_and_lost(rota: Harness) -> Job:
    job = _suspended(rota)
    rota.node("n0", NodeState.DOWN)
    return job


def _suspended_and_not_launched(*, boot: bool) -> Callable[[Harness], Job]:
    def scenario(rota: Harness) -> Job:
        job = _suspended(rota)
        rota.send(ev.LaunchFailed(job_id=job.job_id, boot=boot))
        return job

    return scenario


#: How each transition of the table comes about.
SCENARIOS: dict[tuple[JobState, Trigger], Callable[[Harness], Job]] = {
    (JobState.PENDING, Trigger.START): _started,
    (JobState.PENDING, Trigger.CANCEL): _cancelled_while_pending,
    (JobState.PENDING, Trigger.DEADLINE): _past_its_deadline,
    (JobState.RUNNING, Trigger.EXIT_OK): _ended,
    (JobState.RUNNING, Trigger.EXIT_ERROR): _failed,
    (JobState.RUNNING, Trigger.TIME_LIMIT): _timed_out,
    (JobState.RUNNING, Trigger.CANCEL): _cancelled_while_running,
    (JobState.RUNNING, Trigger.LAUNCH_FAIL): _not_launched,
    (JobState.RUNNING, Trigger.NODE_LOST): _lost_its_node,
    (JobState.RUNNING, Trigger.REQUEUE): _requeued,
    (JobState.RUNNING, Trigger.PREEMPT): _preempted,
    (JobState.RUNNING, Trigger.OUT_OF_MEMORY): _out_of_memory,
    (JobState.RUNNING, Trigger.BOOT_FAIL): _not_booted,
    (JobState.RUNNING, Trigger.SUSPEND): _suspended,
    (JobState.SUSPENDED, Trigger.RESUME): _resumed,
    (JobState.SUSPENDED, Trigger.EXIT_OK): _suspended_and(),
    (JobState.SUSPENDED, Trigger.EXIT_ERROR): _suspended_and(exit_code=1),
    (JobState.SUSPENDED, Trigger.OUT_OF_MEMORY): _suspended_and(outcome=ev.Outcome.OUT_OF_MEMORY),
    (JobState.SUSPENDED, Trigger.LAUNCH_FAIL): _suspended_and_not_launched(boot=False),
    (JobState.SUSPENDED, Trigger.BOOT_FAIL): _suspended_and_not_launched(boot=True),
    (JobState.SUSPENDED, Trigger.CANCEL): _suspended_and_cancelled,
    (JobState.SUSPENDED, Trigger.NODE_LOST): _suspended_and_lost,
    (JobState.SUSPENDED, Trigger.REQUEUE): _suspended_and_requeued,
}
#: Why the job of each scenario is where it ends up.
REASONS = {
    Trigger.EXIT_ERROR: Reason.NON_ZERO_EXIT_CODE,
    Trigger.TIME_LIMIT: Reason.TIME_LIMIT,
    Trigger.LAUNCH_FAIL: Reason.JOB_LAUNCH_FAILURE,
    Trigger.NODE_LOST: Reason.NODE_DOWN,
    Trigger.DEADLINE: Reason.DEADLINE,
    Trigger.OUT_OF_MEMORY: Reason.OUT_OF_MEMORY,
    Trigger.BOOT_FAIL: Reason.JOB_LAUNCH_FAILURE,
    Trigger.REQUEUE: Reason.RESOURCES,  # a pass has tested it on the nodes that are left
}
_ALL = [pytest.param(*pair, id=f"{pair[0]}-{pair[1].name}") for pair in product(JobState, Trigger)]


def test_every_transition_has_a_scenario() -> None:
    assert set(SCENARIOS) == set(TRANSITIONS)


@pytest.mark.parametrize(("state", "trigger"), [one for one in _ALL if tuple(one.values) in TRANSITIONS])
def test_an_allowed_transition_happens(state: JobState, trigger: Trigger) -> None:
    with Harness() as rota:
        job = SCENARIOS[state, trigger](rota)
        assert rota.state(job) is TRANSITIONS[state, trigger]
        expected = REASONS.get(trigger, Reason.NONE)
        if (state, trigger) == (JobState.PENDING, Trigger.CANCEL):  # it keeps the one for which it waited
            expected = Reason.JOB_HELD_USER
        assert job.reason is expected
        assert (job.job_id in over(rota)) is job.state.finished


@pytest.mark.parametrize(("state", "trigger"), [one for one in _ALL if tuple(one.values) not in TRANSITIONS])
def test_a_transition_that_is_not_in_the_table_cannot_happen(state: JobState, trigger: Trigger) -> None:
    job = Job(1, spec(), 0, Partition(name="batch", nodes=1), 1)
    job.state = state
    with pytest.raises(InvariantError, match=trigger.name):
        change_state(job, trigger)
    assert job.state is state


@pytest.mark.parametrize(
    "scenario",
    [pytest.param(one, id=f"{key[0]}-{key[1].name}") for key, one in SCENARIOS.items() if TRANSITIONS[key].finished],
)
def test_a_job_that_is_over_stays_as_it_is(scenario: Callable[[Harness], Job]) -> None:
    with Harness() as rota:
        job = scenario(rota)
        before = (rota.state(job), job.reason, job.start_time, job.end_time, job.exit_code)
        rota.wait(5)
        for request in (rota.cancel, rota.hold, rota.release, rota.requeue):
            with pytest.raises(RequestError) as caught:
                request(job)
            assert caught.value.errno is Errno.INVALID_JOB_ID
        rota.send(ev.JobEnded(job_id=job.job_id, restart_count=job.restart_count, exit_code=9))
        rota.send(ev.LaunchFailed(job_id=job.job_id, restart_count=job.restart_count))
        assert (rota.state(job), job.reason, job.start_time, job.end_time, job.exit_code) == before
        assert over(rota) == [job.job_id]


@pytest.mark.parametrize("news", [ev.JobEnded(job_id=1), ev.LaunchFailed(job_id=1)])
def test_news_of_a_run_that_never_was_changes_nothing(news: ev.Event) -> None:
    with Harness() as rota:
        job = rota.submit(hold=True)
        assert rota.send(news) == []
        assert rota.send(type(news)(job_id=99)) == []  # type: ignore[call-arg]
        assert rota.state(job) is JobState.PENDING


def test_a_job_runs_from_its_start_to_its_end() -> None:
    with Harness(now=1000) as rota:
        job = rota.submit(cpus=2, limit=60, run=40)
        assert (rota.state(job), job.start_time, job.end_time) == (JobState.RUNNING, 1000, 1060)
        rota.wait(100)
        assert (rota.state(job), job.start_time, job.end_time) == (JobState.COMPLETED, 1000, 1040)
        assert rota.trace == ["1000 start 1 on 0x2", "1040 COMPLETED 1 None"]


def test_the_exit_code_is_kept() -> None:
    with Harness() as rota:
        assert _failed(rota).exit_code == 3


def test_a_job_out_of_memory_has_an_exit_code_of_its_own() -> None:
    with Harness() as rota:
        job = _out_of_memory(rota)
        assert (job.exit_code, job.signal) == (0, 125)  # sacct shows 0:125, as slurm.h says of SIG_OOM


def test_a_job_over_its_limit_is_killed_and_then_ends() -> None:
    with Harness(performs=False) as rota:
        job = rota.submit(cpus=4, limit=60)
        after = rota.submit(cpus=4)
        rota.wait(60)
        assert [kill.job_id for kill in rota.kills] == [job.job_id]
        assert (rota.state(job), job.completing, after.state) == (JobState.TIMEOUT, True, JobState.PENDING)
        rota.wait(30)
        rota.end(job)
        assert (rota.state(job), job.end_time, job.completing) == (JobState.TIMEOUT, 90, False)
        assert after.start_time == 90


def test_an_end_at_the_limit_is_in_time() -> None:
    with Harness() as rota:
        job = rota.submit(limit=60, run=60)
        rota.wait(60)
        assert rota.state(job) is JobState.COMPLETED


def test_a_tick_that_comes_late_stops_the_job_late() -> None:
    with Harness() as rota:
        job = rota.submit(limit=60)
        rota.now = 500
        rota.tick()
        assert (rota.state(job), job.end_time) == (JobState.TIMEOUT, 500)


@pytest.mark.parametrize("exit_code", [0, 9])
def test_how_a_stopped_job_exits_does_not_change_why_it_was_stopped(exit_code: int) -> None:
    with Harness(performs=False) as rota:
        job = rota.submit()
        rota.cancel(job)
        assert rota.state(job) is JobState.CANCELLED
        assert job.completing
        rota.end(job, exit_code=exit_code)
        assert over(rota) == [job.job_id]
        assert rota.state(job) is JobState.CANCELLED


def test_a_completing_job_keeps_its_resources_until_it_has_ended() -> None:
    with Harness(performs=False) as rota:
        first, second = rota.submit(cpus=4), rota.submit(cpus=4)
        rota.cancel(first)
        assert rota.state(second) is JobState.PENDING
        rota.cancel(first)  # once more: nothing to be done
        assert len(rota.kills) == 1
        rota.end(first)
        assert rota.state(second) is JobState.RUNNING


def test_a_requeued_job_starts_again_as_a_new_run() -> None:
    with Harness() as rota:
        job = rota.submit(cpus=4, run=100)
        rota.wait(30)
        rota.requeue(job)
        assert (rota.state(job), job.start_time, job.restart_count) == (JobState.RUNNING, 30, 1)
        assert [launch.restart_count for launch in rota.launches] == [0, 1]
        rota.wait(70)  # the end of the first run, which nobody waits for any more
        assert rota.state(job) is JobState.RUNNING
        rota.wait(30)
        assert (rota.state(job), job.end_time) == (JobState.COMPLETED, 130)


@pytest.mark.parametrize("hold", [False, True])
def test_a_requeued_job_is_submitted_then_and_eligible_after_the_delay(hold: bool) -> None:
    """By a real Slurm 22.05.8, where it is 121 seconds, with ``scontrol requeue`` and ``scontrol requeuehold``."""
    with Harness(cluster(cpus=4, SchedulerParameters="requeue_delay=120"), now=1000) as rota:
        job = rota.submit(cpus=4)
        rota.wait(5)
        rota.send(ev.Requeue(job_id=job.job_id, hold=hold))
        (line,) = rota.engine.view.jobs()
        assert (line.submit_time, eligible_time(line)) == (1005, 1125)


def test_a_requeued_job_waits_for_its_own_end() -> None:
    with Harness(performs=False) as rota:
        job = rota.submit(cpus=1)
        rota.requeue(job)
        assert (rota.state(job), job.completing, rota.queue) == (JobState.PENDING, True, [])
        rota.run_pass()
        assert len(rota.launches) == 1
        rota.end(job)
        assert rota.state(job) is JobState.RUNNING


def test_a_requeued_job_can_be_cancelled_while_it_completes() -> None:
    with Harness(performs=False) as rota:
        job = rota.submit()
        rota.requeue(job)
        rota.cancel(job)
        assert (rota.state(job), job.completing) == (JobState.CANCELLED, True)
        rota.end(job)
        assert over(rota) == [job.job_id]


def test_a_requeued_job_can_be_held_while_it_completes() -> None:
    with Harness(performs=False) as rota:
        job = rota.submit()
        rota.requeue(job)
        rota.hold(job)
        rota.end(job)
        assert (rota.state(job), rota.reason(job)) == (JobState.PENDING, Reason.JOB_HELD_ADMIN)
        rota.release(job)
        assert rota.state(job) is JobState.RUNNING


def test_a_requeued_job_keeps_its_priority() -> None:
    with Harness() as rota:
        job = rota.submit(cpus=4)
        rota.submit(cpus=4)
        before = job.priority
        rota.requeue(job)
        assert job.priority == before
        assert rota.running == [job.job_id]


def test_a_failed_launch_of_a_job_that_may_be_requeued_holds_it() -> None:
    with Harness() as rota:
        job = rota.submit(requeue=True)
        rota.launch_fails(job)
        assert (rota.state(job), job.priority, job.restart_count) == (JobState.PENDING, 0, 1)
        assert rota.reason(job) is Reason.JOB_LAUNCH_FAILURE
        rota.release(job)
        assert rota.state(job) is JobState.RUNNING


@pytest.mark.parametrize("requeue", [True, False])
def test_a_job_for_which_there_was_no_room_waits_and_is_not_held(*, requeue: bool) -> None:
    with Harness() as rota:
        job = rota.submit(requeue=requeue)
        rota.send(ev.LaunchFailed(job_id=job.job_id, restart_count=0, again_after=60))
        assert (rota.state(job), job.restart_count, rota.reason(job)) == (JobState.PENDING, 1, Reason.BEGIN_TIME)
        assert job.priority > 0
        rota.wait(58)
        assert rota.state(job) is JobState.PENDING
        rota.wait(3)
        assert rota.state(job) is JobState.RUNNING
        rota.send(ev.LaunchFailed(job_id=job.job_id, restart_count=1, again_after=60))
        rota.cancel(job)
        assert rota.state(job) is JobState.CANCELLED


def test_a_failed_launch_of_a_job_that_was_cancelled_lets_it_go() -> None:
    with Harness(performs=False) as rota:
        job = rota.submit()
        rota.cancel(job)
        rota.launch_fails(job)
        assert rota.state(job) is JobState.CANCELLED
        assert over(rota) == [job.job_id]


def test_stale_news_of_an_earlier_run_is_passed_over() -> None:
    with Harness() as rota:
        job = rota.submit()
        rota.requeue(job)
        assert rota.send(ev.JobEnded(job_id=1, restart_count=0)) == []
        assert rota.send(ev.LaunchFailed(job_id=1, restart_count=0)) == []
        assert rota.state(job) is JobState.RUNNING


def test_time_does_not_go_back() -> None:
    with Harness(now=100) as rota:
        job = rota.submit(cpus=1)
        rota.now = 50
        rota.end(job)
        assert job.end_time == 100


def test_an_event_from_the_past_does_not_disturb_a_sleeping_timer() -> None:
    with Harness(cluster(cpus=4), sched="sched/backfill", now=100) as rota:
        rota.wait(200)
        rota.tick()
        rota.now = 40
        rota.submit(cpus=1)
        assert rota.engine.wakeup is not None
        assert rota.engine.wakeup > 300
