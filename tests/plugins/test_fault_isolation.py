"""A plugin cannot take the cluster down: whatever a function does, the outcome is the documented one.

Every function is made to misbehave in every way, one at a time, while jobs go through a whole life. The schedule must
be that of a FIFO, the fault counted under plugin and symbol, and its message must name what was wrong.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rota.core import events as ev
from rota.core.effects import PluginFault
from rota.model import Errno, JobState, NodeState, PartitionState, PriorityFactorsRequest, RequestError
from rota.testing import Harness, cluster, priority, scheduler

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import SimpleNamespace

#: What a function does instead of its work, and what the message must then say.
MISDEEDS: dict[str, tuple[Callable[..., object], str]] = {
    "raises": (lambda *_: 1 // 0, "raised ZeroDivisionError"),
    "exits": (lambda *_: sys.exit(3), "raised SystemExit"),
    "None": (lambda *_: None, "returned None"),
    "-1": (lambda *_: -1, "returned -1"),
    "2**40": (lambda *_: 2**40, "returned 1099511627776"),
    "text": (lambda *_: "text", "returned 'text'"),
    "True": (lambda *_: True, "returned True"),
    "False": (lambda *_: False, "returned False"),
    "float": (lambda *_: 1.5, "returned 1.5"),
    "array": (lambda *_: np.zeros(2), "returned array"),
    "unprintable": (lambda *_: _Unprintable(), "returned"),
    "numpy": (lambda *_: np.int64(0), ""),
}
ALWAYS = frozenset({"raises", "exits"})
_STATUS = frozenset(MISDEEDS) - {"numpy"}
_NUMBER = frozenset(MISDEEDS) - {"numpy"}
#: What counts as misbehaviour of each function; the result of a void function is of no interest to anybody.
FAULTS: dict[str, frozenset[str]] = {
    "slurm_sched_p_reconfig": _STATUS,
    "slurm_sched_p_schedule": _STATUS,
    "slurm_sched_p_newalloc": _STATUS,
    "slurm_sched_p_freealloc": _STATUS,
    "slurm_sched_p_initial_priority": _NUMBER,
    "slurm_sched_p_job_is_pending": ALWAYS,
    "slurm_sched_p_partition_change": ALWAYS,
    "slurm_sched_p_get_conf": frozenset(MISDEEDS) - {"None", "text"},
    "priority_p_set": _NUMBER,
    "priority_p_reconfig": ALWAYS,
    "priority_p_set_max_cluster_usage": _STATUS,
    "priority_p_set_assoc_usage": ALWAYS,
    "priority_p_get_priority_factors_list": frozenset(MISDEEDS) - {"None"},
}
_JOB = {"slurm_sched_p_newalloc", "slurm_sched_p_freealloc", "slurm_sched_p_initial_priority", "priority_p_set"}


class _Unprintable:
    """Nothing can be done with it."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


def _harness(symbol: str, function: Callable[..., object]) -> Harness:
    fifo: dict[str, Any] = {"priority_p_set": lambda last, job: last - 1}
    changed: dict[str, Any] = {symbol: function}
    if symbol.startswith("slurm_"):
        return Harness(sched=scheduler(**changed), priority=priority(**fifo))
    return Harness(sched=scheduler(), priority=priority(**fifo | changed))


def _whole_life(rota: Harness) -> None:
    rota.submit(cpus=3, run=100)
    rota.submit(cpus=4, run=50)
    rota.submit(cpus=1, run=10)
    rota.reconfigure(cluster(cpus=4))
    rota.partition("batch", PartitionState.UP)
    rota.engine.view.factors(PriorityFactorsRequest())
    rota.engine.view.associations()
    rota.engine.view.scheduler_parameters()
    rota.run_to_end()


@pytest.mark.parametrize("misdeed", MISDEEDS)
@pytest.mark.parametrize("symbol", FAULTS)
def test_whatever_a_function_does_fifo_goes_on(symbol: str, misdeed: str) -> None:
    function, words = MISDEEDS[misdeed]
    with _harness(symbol, function) as rota:
        _whole_life(rota)
        # A priority of 0, which only NumPy's gives, holds: that is what it is for.
        if misdeed == "numpy" and symbol in {"priority_p_set", "slurm_sched_p_initial_priority"}:
            assert all(job.priority == 0 for job in rota.live)
            return
        assert rota.starts == {1: 0, 2: 100, 3: 150}
        assert rota.count(JobState.COMPLETED) == 3
        plugin = "sched/test" if symbol.startswith("slurm_") else "priority/test"
        expected = {(plugin, symbol)} if misdeed in FAULTS[symbol] else set()
        assert set(rota.engine.faults) == expected
        for fault in rota.faults:
            assert (fault.plugin, fault.symbol) == (plugin, symbol)
            assert words in fault.message
            assert (fault.job_id is not None) == (symbol in _JOB)
        assert bool(rota.faults) == bool(expected)


def test_every_function_of_both_apis_is_tried() -> None:
    listed = {*vars(scheduler()), *vars(priority())}
    assert set(FAULTS) == {name for name in listed if name.startswith(("slurm_sched_p_", "priority_p_"))}


@pytest.mark.parametrize("misdeed", ["numpy", "unsigned"])
def test_integers_of_numpy_are_integers(misdeed: str) -> None:
    value = np.int32(7) if misdeed == "numpy" else np.uint64(7)
    with Harness(priority=priority(priority_p_set=lambda last, job: value)) as rota:
        job = rota.submit()
        assert (job.priority, type(job.priority)) == (7, int)
        assert not rota.engine.faults


def test_a_wrong_priority_still_lets_jobs_start_in_order_of_submission() -> None:
    with Harness(priority=priority(priority_p_set=lambda last, job: "high")) as rota:
        assert [rota.submit(cpus=4).priority for _ in range(3)] == [4294901759, 4294901758, 4294901757]


def test_a_fault_says_where_the_plugin_raised() -> None:
    with Harness(sched=scheduler(slurm_sched_p_schedule=MISDEEDS["raises"][0])) as rota:
        rota.submit()
        assert __file__ in rota.faults[0].message


def test_a_fault_gives_the_plugins_own_errno() -> None:
    plugin = scheduler(slurm_sched_p_schedule=lambda: -1, errno=Errno.NODES_BUSY)
    with Harness(sched=plugin) as rota:
        rota.submit()
        assert "errno 2016 (NODES_BUSY)" in rota.faults[0].message


def test_a_scheduler_that_took_over_and_then_fails_is_replaced_by_the_main_pass() -> None:
    plugin = scheduler(slurm_sched_p_schedule=lambda: -1)
    with Harness(sched=plugin) as rota:
        plugin.ctld.disable_main_pass()
        assert rota.submit().state is JobState.RUNNING


@pytest.mark.parametrize("answer", [lambda: 0, lambda: 1 // 0], ids=["works", "raises"])
def test_background_work_reaches_its_plugin_or_its_fault_the_administrator(answer: Callable[[], int]) -> None:
    got: list[object] = []
    with Harness() as rota:
        rota.propose(lambda ctld: ctld.in_background(answer, got.append))
        assert (got, [fault.symbol for fault in rota.faults]) in (([0], []), ([], ["in_background"]))


# ---- callbacks ----------------------------------------------------------------------------------------------------


def _boom(*_: object) -> None:
    raise KeyError("boom")


@pytest.mark.parametrize(
    "register",
    [
        lambda ctld: ctld.at(10, _boom),
        lambda ctld: ctld.every(10, _boom),
        lambda ctld: ctld.before_pass(_boom),
        lambda ctld: ctld.in_background(lambda: 1, _boom),
    ],
    ids=["at", "every", "before_pass", "in_background"],
)
def test_a_callback_that_raises_is_a_fault_in_its_name(register: Callable[[Any], object]) -> None:
    with Harness() as rota:
        rota.propose(register)
        rota.wait(15)
        job = rota.submit()
        assert rota.engine.faults[("sched/builtin", "_boom")] >= 1
        assert rota.state(job) is JobState.RUNNING


def test_a_callback_that_registers_itself_again_does_not_hang_the_pass() -> None:
    plugin = scheduler()

    def again() -> None:
        plugin.ctld.before_pass(again)

    with Harness(sched=plugin) as rota:
        plugin.ctld.before_pass(again)
        assert rota.submit().state is JobState.RUNNING


# ---- nonsense through the controller ------------------------------------------------------------------------------


def _stranger() -> Any:
    """Make a job of another engine, pending there."""
    with Harness() as other:
        other.submit(cpus=4)
        return other.submit(cpus=1)


#: Proposals that make no sense, to a cluster where job 1 runs, job 2 waits, job 3 is held and job 4 is over. Each is
#: given the controller and the job that is over. The engine gives a reason why not, or raises into the plugin: a fault.
NONSENSE: dict[str, Callable[[Any, Any], object]] = {
    "start a running job": lambda ctld, over: ctld.start(ctld.jobs[1]),
    "start a job that is over": lambda ctld, over: ctld.start(over),
    "start a held job": lambda ctld, over: ctld.start(ctld.jobs[3]),
    "start a job of another engine": lambda ctld, over: ctld.start(_stranger()),
    "start what does not fit": lambda ctld, over: ctld.start(ctld.jobs[2]),
    "start nothing": lambda ctld, over: ctld.start(None),
    "start on resources that are not free": lambda ctld, over: ctld.start(ctld.jobs[2], 4),
    "start on too few resources": lambda ctld, over: ctld.start(ctld.jobs[2], 1),
    "start on a negative number": lambda ctld, over: ctld.start(ctld.jobs[2], -1),
    "start on text": lambda ctld, over: ctld.start(ctld.jobs[2], "all"),
    "start on a fraction": lambda ctld, over: ctld.start(ctld.jobs[2], 2.0),
    "requeue a pending job": lambda ctld, over: ctld.requeue(ctld.jobs[2]),
    "requeue a job that is over": lambda ctld, over: ctld.requeue(over),
    "requeue a job of another engine": lambda ctld, over: ctld.requeue(_stranger()),
    "hold a running job": lambda ctld, over: ctld.hold(ctld.jobs[1]),
    "hold a job that is over": lambda ctld, over: ctld.hold(over),
    "release a running job": lambda ctld, over: ctld.release(ctld.jobs[1]),
    "release a job of another engine": lambda ctld, over: ctld.release(_stranger()),
    "a negative priority": lambda ctld, over: ctld.set_priority(ctld.jobs[2], -1),
    "a priority that is too large": lambda ctld, over: ctld.set_priority(ctld.jobs[2], 2**32),
    "a priority in text": lambda ctld, over: ctld.set_priority(ctld.jobs[2], "high"),
    "a fractional priority": lambda ctld, over: ctld.set_priority(ctld.jobs[2], 5.0),
    "a priority for a running job": lambda ctld, over: ctld.set_priority(ctld.jobs[1], 5),
    "a priority for a job that is over": lambda ctld, over: ctld.set_priority(over, 5),
    "a priority for a job of another engine": lambda ctld, over: ctld.set_priority(_stranger(), 5),
    "a timer in the past": lambda ctld, over: ctld.at(ctld.now - 1, print),
    "a timer now": lambda ctld, over: ctld.at(ctld.now, print),
    "a timer between seconds": lambda ctld, over: ctld.at(ctld.now + 0.5, print),
    "a timer at no time": lambda ctld, over: ctld.at(float("nan"), print),
    "a period of nothing": lambda ctld, over: ctld.every(0, print),
    "a fractional period": lambda ctld, over: ctld.every(1.5, print),
    "a key that raises": lambda ctld, over: ctld.rank_queue(lambda job: 1 // 0),
    "a new job in the list of jobs": lambda ctld, over: ctld.jobs.update({7: over}),
}


@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_refused_and_changes_nothing(nonsense: Callable[[Any, Any], object]) -> None:
    with Harness() as rota:
        rota.submit(job_id=4, cpus=1)
        rota.end(4)
        rota.submit(job_id=1, cpus=3)
        rota.submit(job_id=2, cpus=2)
        rota.submit(job_id=3, hold=True)
        before = [repr(job) for job in rota.live]
        answer = rota.propose(lambda ctld: nonsense(ctld, rota.finished[0]))
        assert [repr(job) for job in rota.live] == before
        # Refused with a reason, or raised into the plugin: never silently accepted.
        assert answer is not None or rota.engine.faults
        assert len(rota.launches) == 2
        assert type(rota.engine.wakeup) is int
        rota.release(3)
        rota.end(1)
        assert rota.running == [2, 3]


def test_a_job_started_twice_in_one_pass_is_started_once() -> None:
    plugin = scheduler()

    def schedule() -> int:
        for job in plugin.ctld.queue:
            first, second = plugin.ctld.start(job), plugin.ctld.start(job)
            assert first is None
            assert second is not None
        return 0

    plugin.slurm_sched_p_schedule = schedule
    with Harness(sched=plugin) as rota:
        rota.submit(cpus=1)
        assert len(rota.launches) == 1
        assert not rota.engine.faults


def test_the_nodes_of_others_are_not_to_be_had() -> None:
    with Harness(cluster(nodes=4)) as rota:
        rota.submit(cpus=2)
        rota.submit(cpus=3)
        rota.submit(cpus=1, hold=True)
        for nodes in (0b0001, 0b0110, 0b10000, 0b1111, 0b1100):
            assert rota.propose(lambda ctld, nodes=nodes: ctld.start(ctld.jobs[2], nodes)) is not None  # type: ignore[misc]
        assert rota.running == [1]


@pytest.mark.parametrize("resources", [np.int64(2), True], ids=["numpy", "bool"])
def test_resources_of_a_job_are_a_plain_integer_whatever_the_plugin_gave(resources: int) -> None:
    with Harness(cluster(nodes=4), passes=False) as rota:
        job = rota.submit(cpus=1)
        rota.propose(lambda ctld: ctld.start(job, resources))
        assert type(job.alloc) is int
        assert type(rota.ctld.free) is int
        assert rota.state(job) is JobState.RUNNING


# ---- re-entrance --------------------------------------------------------------------------------------------------


def _pricing(act: Callable[[Any, Any], object]) -> SimpleNamespace:
    plugin = scheduler()

    def initial_priority(last_prio: int, job: Any) -> int:
        act(plugin.ctld, job)
        return last_prio - 1

    plugin.slurm_sched_p_initial_priority = initial_priority
    return plugin


@pytest.mark.parametrize(
    "act",
    [
        lambda ctld, job: ctld.hold(job),
        lambda ctld, job: ctld.release(job),
        lambda ctld, job: ctld.start(job),
        lambda ctld, job: ctld.requeue(job),
        lambda ctld, job: ctld.set_priority(job, 5),
        lambda ctld, job: ctld.main_pass(),
    ],
    ids=["hold", "release", "start", "requeue", "set_priority", "main_pass"],
)
def test_a_job_that_is_just_being_given_its_priority_cannot_be_moved(act: Callable[[Any, Any], object]) -> None:
    with Harness(sched=_pricing(act)) as rota:
        jobs = [rota.submit(cpus=4, run=10) for _ in range(3)]
        rota.hold(jobs[2])
        rota.release(jobs[2])
        assert [fault.message for fault in rota.faults if "RequestError" not in fault.message] == []
        rota.run_to_end()
        assert rota.starts == {1: 0, 2: 10, 3: 20}


@pytest.mark.parametrize("symbol", ["slurm_sched_p_newalloc", "slurm_sched_p_job_is_pending"])
@pytest.mark.parametrize("act", ["start all", "main pass", "requeue"])
@pytest.mark.parametrize("config", [cluster(cpus=4), cluster(nodes=4)], ids=["processors", "nodes"])
def test_a_plugin_that_acts_while_it_is_told_of_something_gives_nothing_twice(
    symbol: str, act: str, config: Any
) -> None:
    plugin = scheduler()
    budget = [20]

    def told(*_: object) -> int:
        budget[0] -= 1
        if act == "main pass":
            plugin.ctld.main_pass()
        elif act == "requeue" and budget[0] > 0:
            for job in plugin.ctld.running:
                plugin.ctld.requeue(job)
        elif act == "start all":
            for job in reversed(plugin.ctld.queue):
                plugin.ctld.start(job)
        return 0

    setattr(plugin, symbol, told)
    with Harness(config, sched=plugin, passes=False) as rota:
        for cpus in (1, 1, 3, 1, 2, 1):
            rota.submit(cpus=cpus, run=10)
        rota.run_pass()  # the harness checks the invariants
        assert not rota.engine.faults
        for _ in range(40):
            rota.run_pass()
            rota.wait(10)
        assert rota.count(JobState.COMPLETED) == 6


def test_a_key_that_moves_jobs_while_the_queue_is_ranked_does_not_corrupt_it() -> None:
    with Harness() as rota:
        rota.submit(cpus=4)
        for _ in range(3):
            rota.submit(cpus=4)

        def key(job: Any) -> float:
            rota.ctld.hold(job)
            return 0.0

        rota.propose(lambda ctld: ctld.rank_queue(key))
        for job in rota.live[1:]:
            rota.release(job)
        assert len(rota.queue) == 3


def test_faults_are_effects_for_the_administrator_and_a_request_that_fails_is_not_one() -> None:
    with Harness(sched=scheduler(slurm_sched_p_schedule=lambda: -1)) as rota:
        rota.submit()
        assert isinstance(rota.effects[-2], PluginFault) or isinstance(rota.effects[-1], PluginFault)
        counted = sum(rota.engine.faults.values())
        with pytest.raises(RequestError):
            rota.node("n7", NodeState.DOWN)
        rota.engine.handle(ev.Tick(), rota.now)
        assert sum(rota.engine.faults.values()) == counted
