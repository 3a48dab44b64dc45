"""What becomes of jobs when nodes fail in a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.model import JobSpec, JobState, NodeState, Reason
from rota.replays import ReplayOptions, Scenario
from rota.replays import driver as driver_module
from rota.replays.failures import Failure, node_changes
from rota.replays.run import Replay
from rota.results.schedule import STATES
from rota.testing import cluster, with_parameters
from rota.workload import Workload

from .conftest import failure, log_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from rota.model import ClusterConfig, JobRecord

UP, DRAIN, DOWN = NodeState.UP, NodeState.DRAIN, NodeState.DOWN
NAMES = ("n01", "n02", "n03", "gn1")
SCHEDULERS = ("sched/builtin", "sched/easy", "sched/conservative", "sched/backfill")
#: Chance that hypothesis draws, and therefore shrinks.
RANDOMS = st.randoms(use_true_random=False)


class Wish(NamedTuple):
    """A job as its user wants it."""

    submit: int
    run: int
    nodes: int
    limit: int
    requeue: bool = False


def log_of_wishes(wishes: Sequence[Wish]) -> Workload:
    """Make a log of requests, which a job that may be queued again is one of."""
    columns = {
        "submit_time": [one.submit for one in wishes],
        "run_time": [one.run for one in wishes],
        "requested_procs": [one.nodes for one in wishes],
        "requested_time": [one.limit for one in wishes],
    }
    requests = tuple(JobSpec(num_cpus=one.nodes, time_limit=one.limit, requeue=one.requeue) for one in wishes)
    return Workload.build("scenario.events", columns, requests=requests)


def ran(
    log: Workload,
    config: ClusterConfig,
    failures: Sequence[Failure],
    scheduler: str = "sched/builtin",
    pass_per: str = "instant",
) -> tuple[dict[int, tuple[int, int, str]], int]:
    """Replay; give start, end and state of each job, and when the clock stopped."""
    options = ReplayOptions(scheduler=scheduler, failures=failures, pass_per=pass_per, check=True)
    with Replay(Scenario(log, config, options)) as run:
        assert not run.run()
        schedule = run.result().schedule
        columns = (schedule.job_id, schedule.start, schedule.end, schedule.state)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {job_id: (start, end, str(STATES[state])) for job_id, start, end, state in rows}, run.engine.view.now


FOUR_NODES = cluster(nodes=4, JobRequeue="0")


@pytest.mark.parametrize("pass_per", ["instant", "event"])
@pytest.mark.parametrize("scheduler", ["sched/builtin", "sched/easy", "sched/conservative"])
def test_an_example_worked_out_by_hand(scheduler: str, pass_per: str) -> None:
    log = log_of_wishes(
        [
            Wish(0, 100, 2, 120, requeue=True),  # 1: n0 and n1 at 0; lost at 40, and n0 and n3 are free then
            Wish(0, 50, 1, 60),  # 2: n2 at 0
            Wish(5, 30, 1, 30),  # 3: n3 at 5, which drains at 10 and lets it end
            Wish(20, 20, 1, 60),  # 4: n3 takes nobody until 40, when 1 comes before it; n2 at 50
            Wish(60, 10, 4, 60),  # 5: n1 is back at 100, 1 ends at 140
            Wish(145, 100, 1, 200),  # 6: n0 at 150, when 5 has ended; lost at 200, and may not be queued again
            Wish(160, 20, 4, 30),  # 7: n0 is back at 300
        ]
    )
    failures = [
        failure(10, 30, DRAIN, "n3"),
        failure(40, 60, DOWN, "n1"),
        failure(200, 100, DOWN, "n0"),
        failure(400, None, DOWN, "n0", "n1", "n2", "n3"),  # when all is over
    ]
    assert ran(log, FOUR_NODES, failures, scheduler, pass_per) == (
        {
            1: (40, 140, "COMPLETED"),
            2: (0, 50, "COMPLETED"),
            3: (5, 35, "COMPLETED"),
            4: (50, 70, "COMPLETED"),
            5: (140, 150, "COMPLETED"),
            6: (150, 200, "NODE_FAIL"),
            7: (300, 320, "COMPLETED"),
        },
        320,
    )


def test_interchangeable_processors_fail_together() -> None:
    log = log_of_wishes([Wish(0, 100, 2, 100), Wish(0, 100, 1, 150, requeue=True), Wish(60, 10, 1, 10)])
    found, _ = ran(log, cluster(cpus=4), [failure(50, 30, DOWN, "n0")])
    assert found == {1: (0, 50, "NODE_FAIL"), 2: (80, 180, "COMPLETED"), 3: (80, 90, "COMPLETED")}


def test_interchangeable_processors_drain_together() -> None:
    log = log_of_wishes([Wish(0, 100, 2, 100), Wish(60, 10, 1, 10), Wish(60, 10, 3, 10)])
    # At 80 two processors are free again, for job 2; job 3 needs one of job 1's.
    found, _ = ran(log, cluster(cpus=4), [failure(50, 30, DRAIN, "n0")])
    assert found == {1: (0, 100, "COMPLETED"), 2: (80, 90, "COMPLETED"), 3: (100, 110, "COMPLETED")}


def test_jobs_of_a_log_that_says_nothing_of_it_are_requeued_as_slurm_conf_says() -> None:
    log, failures = log_of((0, 100, 1, 100)), [failure(50, 1, DOWN, "n0")]
    assert ran(log, FOUR_NODES, failures)[0] == {1: (0, 50, "NODE_FAIL")}
    # JobRequeue is 1 by default; another node is free at once.
    assert ran(log, cluster(nodes=4), failures)[0] == {1: (50, 150, "COMPLETED")}


@pytest.mark.parametrize(("most", "lost", "held"), [("", 5, False), ("", 6, True), ("2", 2, False), ("2", 3, True)])
def test_a_job_that_is_lost_too_often_is_held(most: str, lost: int, held: bool) -> None:
    # Slurm's MaxBatchRequeue is 5 by default (man slurm.conf).
    machine = cluster(nodes=4, MaxBatchRequeue=most)
    failures = [failure(50 * i, 10, DOWN, "n0") for i in range(1, lost + 1)]
    with Replay(Scenario(log_of((0, 100, 4, 120)), machine, ReplayOptions(failures=failures))) as run:
        run.run(10_000)
        live = run.engine.jobs
        assert [run.engine.view.reason(job) for job in live.values()] == ([Reason.JOB_HOLD_MAX_REQUEUE] if held else [])


@pytest.mark.parametrize("pass_per", ["instant", "event"])
def test_within_one_second(pass_per: str) -> None:
    # n0 to n2 fail at 50. Job 1 reaches its limit then, by its end, and job 2 is stopped there: they are over. Job 3
    # would have ended by itself, but is lost. Job 4 comes then and finds n3, which has just come back.
    log = log_of_wishes([Wish(0, 50, 1, 50), Wish(0, 60, 1, 50), Wish(0, 50, 1, 60), Wish(50, 10, 1, 10)])
    failures = [failure(50, 100, DOWN, "n0", "n1", "n2"), failure(0, 50, DOWN, "n3")]
    found, _ = ran(log, FOUR_NODES, failures, pass_per=pass_per)
    assert found == {
        1: (0, 50, "COMPLETED"),
        2: (0, 50, "TIMEOUT"),
        3: (0, 50, "NODE_FAIL"),
        4: (50, 60, "COMPLETED"),
    }


@pytest.mark.parametrize("pass_per", ["instant", "event"])
def test_a_job_is_lost_once_when_several_nodes_fail_in_a_second(pass_per: str) -> None:
    log = log_of_wishes([Wish(0, 100, 1, 100, requeue=True)])
    with Replay(
        Scenario(log, FOUR_NODES, ReplayOptions(failures=[failure(10, 20, DOWN, "n0", "n1", "n2")], pass_per=pass_per))
    ) as run:
        run.run(run.moment("15"))
        # Had there been a pass after each node, it would have started on n1 and on n2 to be lost again.
        (job,) = run.engine.jobs.values()
        assert (job.restart_count, job.start_time, job.alloc_nodes) == (1, 10, 0b1000)


def test_a_job_lost_twice_runs_its_whole_time_after_all() -> None:
    log = log_of_wishes([Wish(0, 100, 4, 120, requeue=True)])
    found, _ = ran(log, FOUR_NODES, [failure(90, 10, DOWN, "n0"), failure(190, 10, DOWN, "n3")])
    assert found == {1: (200, 300, "COMPLETED")}


def test_the_end_of_a_lost_run_is_none_of_the_next() -> None:
    # The lost run would have ended at 100, the next one does at 130; job 2, which ends at 100 too, is not mistaken.
    log = log_of_wishes([Wish(0, 100, 1, 200, requeue=True), Wish(0, 100, 1, 200)])
    found, _ = ran(log, FOUR_NODES, [failure(30, 10, DOWN, "n0")])
    assert found == {1: (30, 130, "COMPLETED"), 2: (0, 100, "COMPLETED")}


def test_failures_before_the_first_job_count() -> None:
    found, _ = ran(log_of((100, 10, 4, 10)), FOUR_NODES, [failure(0, 150, DOWN, "n2"), failure(20, 30, DOWN, "n1")])
    assert found == {1: (150, 160, "COMPLETED")}


def test_a_job_that_no_node_is_left_for_is_told_of() -> None:
    told: list[str] = []
    options = ReplayOptions(failures=[failure(5, None, DOWN, "n0")], report=told.append, scheduler="sched/builtin")
    with Replay(Scenario(log_of((0, 10, 1, 10), (5, 10, 4, 10)), FOUR_NODES, options)) as run:
        assert not run.run()
        run.result()
    assert told == ["1 of 2 jobs has not ended: 1 PENDING, ReqNodeNotAvail"]


def test_timers_do_not_make_a_job_give_up_a_node_that_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    # The priority plugin's timer, PriorityCalcPeriod, calls every 300 s: far more often until the node is back.
    monkeypatch.setattr(driver_module, "_IDLE_TICKS", 10)
    failures = [failure(0, 10**5, DOWN, "n0")]
    options = ReplayOptions(priority="priority/multifactor", failures=failures)
    with Replay(Scenario(log_of((0, 10, 4, 10)), FOUR_NODES, options)) as run:
        run.run()
        schedule = run.result().schedule
    assert (schedule.start.tolist(), schedule.end.tolist()) == ([10**5], [10**5 + 10])


def test_jobs_that_are_lost_again_and_again_are_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "_FUTILE_LAUNCHES", 10)
    failures = [failure(50 * i, 10, DOWN, "n0") for i in range(1, 31)]
    patient = cluster(nodes=4, MaxBatchRequeue="100")
    found, _ = ran(log_of_wishes([Wish(0, 100, 4, 120, requeue=True)]), patient, failures)
    assert found == {1: (1510, 1610, "COMPLETED")}


def test_a_replay_that_is_over_is_not_played_again() -> None:
    with Replay(
        Scenario(log_of((0, 10, 1, 10)), FOUR_NODES, ReplayOptions(failures=[failure(20, 5, DOWN, "n0")]))
    ) as run:
        assert not run.run(run.moment("15"))
        events = run.engine.events
        assert not run.run()
        assert (run.engine.events, run.engine.jobs) == (events, {})


def test_no_run_is_remembered_when_all_is_over() -> None:
    # Runs are stopped whose end would have come then (job 1), later (2), and in the second of another's end (3, 4).
    log = log_of_wishes([Wish(0, 50, 1, 60), Wish(0, 70, 1, 80), Wish(0, 60, 1, 90), Wish(0, 60, 1, 90)])
    with Replay(Scenario(log, FOUR_NODES, ReplayOptions(failures=[failure(50, 5, DOWN, "n0", "n1", "n3")]))) as run:
        run.run()
        assert not run._driver._stopped


# ---- whatever happens ---------------------------------------------------------------------------------------------

MACHINES = tuple(
    with_parameters(machine, MaxBatchRequeue="1000")  # nobody is held in the end
    for machine in (
        cluster(nodes=8),
        cluster(cpus=8),
        cluster(nodes=4, cpus_per_node=2, SelectType="select/cons_tres"),
    )
)


def some_jobs(rng: Random) -> list[Wish]:
    """Draw jobs as KTH-SP2 has them: many small ones, limits rarely hit and now and then far too long."""
    wishes, now = [], 0
    for _ in range(rng.randint(1, 25)):
        now += rng.choice((0, 0, 1, 10, 60))
        run = rng.choice((0, 1, 10, 30, 100))
        limit = rng.choice((run, run + 1, 2 * run, 10 * run, 60)) or 60
        wishes.append(Wish(now, run, rng.choice((1, 1, 1, 2, 4, 8)), limit, rng.random() < 0.5))
    return wishes


def some_failures(rng: Random, config: ClusterConfig) -> list[Failure]:
    """Draw failures, all of which end."""
    names = [node.name for node in config.nodes]
    return [
        Failure(
            time=rng.randint(0, 400),
            nodes=tuple(rng.sample(names, rng.randint(1, len(names)))),
            duration=rng.choice((1, 5, 30, 200)),
            state=rng.choice((DOWN, DOWN, DRAIN)),
        )
        for _ in range(rng.randint(0, 12))
    ]


def state_of(name: str, time: int, failures: Sequence[Failure]) -> NodeState:
    """Say what state a node has, by looking at every failure: the definition, and no clever way to work it out."""
    holding = {
        one.state
        for one in failures
        if name in one.nodes and one.duration is not None and one.time <= time < one.time + one.duration
    }
    return DOWN if DOWN in holding else DRAIN if DRAIN in holding else UP


def require_that_nodes_count(run: Replay, failures: Sequence[Failure], *, has_timer: bool) -> None:
    """Look at a moment: no job is on a node that is down, none began on one that was not up."""
    view = run.engine.view
    run.engine.check_invariants()
    for node in view.nodes():
        wanted = state_of(node.name, view.now, failures)
        assert (node.base_state == "DOWN", "DRAIN" in node.flags) == (wanted is DOWN, wanted is DRAIN)
        for job in map(run.engine.jobs.__getitem__, node.jobs):
            if job.state is JobState.RUNNING:
                assert wanted is not DOWN
                begun = job.start_time or 0
                # What a timer starts comes before the changes of that second.
                seconds = (begun, begun - 1) if has_timer else (begun,)
                assert UP in [state_of(node.name, second, failures) for second in seconds]


@given(rng=RANDOMS, config=st.sampled_from(MACHINES), pass_per=st.sampled_from(("instant", "event")))
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_whatever_fails_every_job_ends_once(scheduler: str, rng: Random, config: ClusterConfig, pass_per: str) -> None:
    wishes, failures = some_jobs(rng), some_failures(rng, config)
    changes = node_changes(failures, config.nodes, 0)
    options = ReplayOptions(scheduler=scheduler, failures=failures, pass_per=pass_per, check=True)
    finished: list[int] = []
    with Replay(Scenario(log_of_wishes(wishes), config, options)) as run:
        note = run._driver._on_finished

        def on_finished(row: int, job: JobRecord) -> None:
            finished.append(row)
            note(row, job)

        run._driver._on_finished = on_finished
        for time in sorted({change.time for change in changes}):
            if not run.run(time):
                break
            require_that_nodes_count(run, failures, has_timer=scheduler == "sched/backfill")
        run.run()
        schedule = run.result().schedule
        faults = run.engine.faults
    assert not faults
    assert sorted(finished) == list(range(len(wishes)))
    lost = {change.time for change in changes if change.state is DOWN}
    for wish, start, length, state in zip(
        wishes, schedule.start.tolist(), schedule.run.tolist(), schedule.state.tolist(), strict=True
    ):
        assert start >= wish.submit
        if STATES[state] is JobState.NODE_FAIL:
            assert not wish.requeue
            assert start + length in lost
            assert length <= min(wish.run, wish.limit)
        else:
            assert STATES[state] is (JobState.COMPLETED if wish.run <= wish.limit else JobState.TIMEOUT)
            assert length == min(wish.run, wish.limit)


@given(rng=RANDOMS, scheduler=st.sampled_from(SCHEDULERS))
def test_failures_that_are_never_reached_change_nothing(rng: Random, scheduler: str) -> None:
    log = log_of_wishes(some_jobs(rng))
    for config in MACHINES:
        late = [failure(10**6, 10, DOWN, config.nodes[0].name)]
        assert ran(log, config, late, scheduler) == ran(log, config, [], scheduler)
