"""When each function of a plugin is called, with which arguments, in which order.

The list is the historical one, as far as Slurm ever had it (spec/slurm.md, D.5): the calls of the scheduler API went
in and out of slurmctld between 2003 and 2021, and the last release with all of them is 14.11.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from rota.model import NodeState, PartitionState, PriorityFactorsRequest, RequestError
from rota.testing import Call, Harness, Recorder, cluster, partition, priority, scheduler

if TYPE_CHECKING:
    from rota.core.job import Job
    from rota.model import ClusterConfig

FIRST = 0xFFFF0000
SCHEDULE = Call("slurm_sched_p_schedule")
PENDING = Call("slurm_sched_p_job_is_pending")
PARTITION_CHANGE = Call("slurm_sched_p_partition_change")


def _initial(last_prio: int, job_id: int) -> list[Call]:
    """slurmctld asked the scheduler plugin, and every scheduler but sched/hold passed it on to the priority plugin."""
    return [
        Call("slurm_sched_p_initial_priority", (last_prio, job_id)),
        Call("priority_p_set", (last_prio, job_id)),
    ]


def _newalloc(job_id: int) -> Call:
    return Call("slurm_sched_p_newalloc", (job_id,))


def _freealloc(job_id: int) -> Call:
    return Call("slurm_sched_p_freealloc", (job_id,))


class _Recorded:
    """A harness with both plugins recorded into one list; `calls` gives what is new."""

    def __init__(self, config: ClusterConfig | None = None) -> None:
        self._calls: list[Call] = []
        self._seen = 0
        fifo = priority(priority_p_set=lambda last, job: last - 1, fini=lambda: None)
        self.rota = Harness(
            config or cluster(cpus=4), priority=Recorder(fifo, self._calls), sched=Recorder(scheduler(), self._calls)
        )

    def calls(self) -> list[Call]:
        new, self._seen = self._calls[self._seen :], len(self._calls)
        return new


def test_loading_calls_init_of_each_and_then_tells_the_size_of_the_machine() -> None:
    recorded = _Recorded(cluster(nodes=3, cpus_per_node=8, PriorityDecayHalfLife="1-0"))
    # 2.0: priority_p_set_max_cluster_usage came from the controller once the nodes were known.
    assert [(call.symbol, call.arguments[1:]) for call in recorded.calls()[:2]] == [("init", ()), ("init", ())]
    recorded = _Recorded(cluster(nodes=3, cpus_per_node=8, PriorityDecayHalfLife="1-0"))
    assert recorded.calls()[2:] == [Call("priority_p_set_max_cluster_usage", (24, 86400))]


def test_a_whole_life() -> None:
    recorded = _Recorded()
    rota = recorded.rota
    recorded.calls()

    # Submission: the priority first, then a pass. newalloc is the last step of the allocation that the pass makes.
    rota.submit(cpus=3)
    assert recorded.calls() == [*_initial(FIRST, 1), SCHEDULE, _newalloc(1)]

    # A job whose nodes are busy: selection fails, job_is_pending.
    rota.submit(cpus=2)
    assert recorded.calls() == [*_initial(FIRST - 1, 2), SCHEDULE, PENDING]

    # Holding takes priority away and asks nobody; whatever changes a job calls for a pass.
    rota.hold(2)
    assert recorded.calls() == [SCHEDULE]

    # A release computes the priority anew, by the same way as at submission.
    rota.release(2)
    assert recorded.calls() == [*_initial(FIRST - 2, 2), SCHEDULE, PENDING]

    # The end: freealloc while the job still has its resources, before the selection takes them back; then a pass.
    rota.end(1)
    assert recorded.calls() == [_freealloc(1), SCHEDULE, _newalloc(2)]

    # A requeued job is freed and given resources anew; its priority stays.
    rota.requeue(2)
    assert recorded.calls() == [_freealloc(2), SCHEDULE, _newalloc(2)]

    # A job that never got resources has none to free.
    rota.submit(cpus=4)
    recorded.calls()
    rota.cancel(3)
    assert recorded.calls() == [SCHEDULE]

    rota.close()
    assert recorded.calls() == [Call("fini"), Call("fini")]
    rota.close()
    assert recorded.calls() == []


def test_freealloc_still_sees_the_allocation_and_newalloc_already_does() -> None:
    seen: list[tuple[str, int]] = []

    def newalloc(job: Job) -> int:
        seen.append(("new", job.alloc))
        return 0

    def freealloc(job: Job) -> int:
        seen.append(("free", job.alloc))
        return 0

    plugin = scheduler(slurm_sched_p_newalloc=newalloc, slurm_sched_p_freealloc=freealloc)
    with Harness(cluster(nodes=4), sched=plugin) as rota:
        rota.end(rota.submit(cpus=2))
    assert seen == [("new", 0b11), ("free", 0b11)]


def test_a_held_job_gets_its_priority_when_it_is_released() -> None:
    recorded = _Recorded()
    recorded.calls()
    recorded.rota.submit(hold=True)
    assert recorded.calls() == [SCHEDULE]
    recorded.rota.release(1)
    assert recorded.calls() == [*_initial(FIRST, 1), SCHEDULE, _newalloc(1)]


def test_killing_frees_only_when_the_job_has_ended() -> None:
    recorded = _Recorded()
    rota = recorded.rota
    rota.submit(limit=60)
    recorded.calls()
    rota.wait(60)
    assert recorded.calls() == [_freealloc(1), SCHEDULE]


def test_reconfiguring_tells_the_priority_plugin_then_the_scheduler_then_of_the_partitions() -> None:
    recorded = _Recorded()
    recorded.calls()
    recorded.rota.reconfigure(cluster(cpus=4))
    assert recorded.calls() == [
        Call("priority_p_reconfig"),
        Call("slurm_sched_p_reconfig"),
        PARTITION_CHANGE,
        SCHEDULE,
    ]


def test_a_partition_change_is_told_and_a_pass_follows() -> None:
    recorded = _Recorded()
    recorded.calls()
    recorded.rota.partition("batch", PartitionState.DOWN)
    assert recorded.calls() == [PARTITION_CHANGE, SCHEDULE]


def test_the_size_of_the_machine_is_told_again_only_when_it_has_changed() -> None:
    recorded = _Recorded(cluster(nodes=4, cpus_per_node=2))
    rota = recorded.rota
    recorded.calls()
    rota.node("n1", NodeState.DRAIN)
    assert recorded.calls() == [SCHEDULE]
    rota.node("n1", NodeState.DOWN)
    assert recorded.calls() == [Call("priority_p_set_max_cluster_usage", (6, 604800)), SCHEDULE]
    rota.node("n1", NodeState.UP)
    assert recorded.calls() == [Call("priority_p_set_max_cluster_usage", (8, 604800)), SCHEDULE]


def test_jobs_of_a_lost_node_are_freed_before_the_pass() -> None:
    recorded = _Recorded(cluster(nodes=2))
    rota = recorded.rota
    rota.submit(cpus=1, requeue=True)
    recorded.calls()
    rota.node("n0", NodeState.DOWN)
    assert recorded.calls() == [
        Call("priority_p_set_max_cluster_usage", (1, 604800)),
        _freealloc(1),
        SCHEDULE,
        _newalloc(1),
    ]


def test_job_is_pending_is_called_for_each_partition_that_is_blocked_in_a_pass() -> None:
    parts = [partition("a", (0, 1)), partition("b", (2, 3))]
    recorded = _Recorded(cluster(nodes=4, partitions=parts))
    rota = recorded.rota
    for part in "ab":
        rota.submit(cpus=1, partition=part)
        rota.submit(cpus=2, partition=part)
        rota.submit(cpus=2, partition=part)
    recorded.calls()
    rota.run_pass()
    assert recorded.calls() == [SCHEDULE, PENDING, PENDING]


def test_what_people_ask_reaches_the_plugin_and_changes_nothing() -> None:
    recorded = _Recorded()
    engine = recorded.rota.engine
    recorded.calls()
    request = PriorityFactorsRequest(job_ids=frozenset({1}))
    assert engine.view.factors(request) == ()  # sprio
    (root,) = engine.view.associations()  # sshare
    assert root.association is not engine.cluster.accounts.tree.root
    assert engine.view.scheduler_parameters() == "(null)"  # scontrol show config
    assert recorded.calls() == [
        Call("priority_p_get_priority_factors_list", (request,)),
        Call("priority_p_set_assoc_usage", (root.association,)),
        Call("slurm_sched_p_get_conf"),
    ]


def test_get_conf_is_shown_only_where_slurm_conf_says_nothing() -> None:
    plugin = scheduler(slurm_sched_p_get_conf=lambda: "depth=3")
    with Harness(sched=plugin) as rota:
        assert rota.engine.view.scheduler_parameters() == "depth=3"
    with Harness(cluster(cpus=4, SchedulerParameters="defer"), sched=plugin) as rota:
        assert rota.engine.view.scheduler_parameters() == "defer"


def test_a_refused_submission_reaches_no_plugin() -> None:
    recorded = _Recorded()
    recorded.calls()
    with pytest.raises(RequestError):
        recorded.rota.submit(cpus=0)
    assert recorded.calls() == []


def test_how_often_and_for_which_jobs_the_functions_are_called() -> None:
    """The table of docs/plugins/sched.md: a priority for each submission, an allocation and its end for each run."""
    parts = [partition("a", (0, 1)), partition("b", (2, 3))]
    recorded = _Recorded(cluster(nodes=4, partitions=parts))
    rota = recorded.rota
    recorded.calls()
    rota.submit(cpus=1, partition="a,b", limit=60)  # job 1 is one job, wherever it may run
    rota.submit(cpus=1, array="0-4", partition="b", limit=60)  # jobs 2 to 6: five tasks in one submission
    rota.submit(cpus=1, begin_time=1000, partition="a", limit=60)  # job 7 waits for its time
    rota.submit(cpus=1, dependency="afterok:1", partition="a", limit=60)  # job 8 waits for job 1
    rota.submit(cpus=1, hold=True, partition="a")  # job 9 never runs
    rota.submit(cpus=2, partition="b", limit=60)  # job 10 waits for the array, and is cancelled
    rota.requeue(1)
    rota.cancel(10)
    with pytest.raises(RequestError):
        rota.submit(cpus=0)
    rota.end(1)
    rota.run_to_end(5000)
    calls = recorded.calls()
    count = {
        name: Counter(call.arguments[-1] for call in calls if call.symbol == name)
        for name in ("slurm_sched_p_initial_priority", "priority_p_set", "slurm_sched_p_newalloc")
    }
    assert count["slurm_sched_p_initial_priority"] == dict.fromkeys((1, 2, 7, 8, 10), 1)
    assert count["priority_p_set"] == count["slurm_sched_p_initial_priority"]
    assert sorted(count["slurm_sched_p_newalloc"].values()) == [1] * 7 + [2]
    assert count["slurm_sched_p_newalloc"][1] == 2  # it was requeued
    assert not {9, 10} & set(count["slurm_sched_p_newalloc"])
    freed = Counter(call.arguments[-1] for call in calls if call.symbol == "slurm_sched_p_freealloc")
    assert freed == count["slurm_sched_p_newalloc"]
