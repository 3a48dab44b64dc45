"""What a selection plugin is asked again it is not asked again: good answers are remembered, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rota.core.plugin_api.calls import SelectCalls
from rota.core.plugin_api.guard import PluginGuard
from rota.model import JobSpec, Node, Partition
from rota.resources import Candidates, Needs, make_pool
from rota.testing import cluster

if TYPE_CHECKING:
    from collections.abc import Callable


class Plugin:
    """Counts how often it is asked."""

    plugin_type = "select/counting"

    def __init__(self, answer: Callable[[Candidates], Any]) -> None:
        self.asked = 0
        self.answer = answer

    def select_p_job_test(self, needs: Needs, candidates: Candidates) -> Any:
        """Give the answer."""
        self.asked += 1
        return self.answer(candidates)


def needs_of(cpus: int) -> Needs:
    """Give what a job of so many processors needs of two nodes."""
    nodes = [Node(name=f"n{number}", cpus=4, cores_per_socket=4) for number in range(2)]
    config = cluster(nodes=nodes, SelectType="select/cons_tres", SelectTypeParameters="CR_Core")
    pool: Any = make_pool(config, nodes)
    needs: Needs = pool.needs(JobSpec(cpus, 60), Partition(name="p", nodes=3))
    return needs


def candidates(*cpus: int) -> Candidates:
    """Give nodes with so many free processors."""
    return Candidates(np.arange(len(cpus)), np.array(cpus), np.ones(len(cpus), np.int64))


def calls(plugin: Plugin, faults: list[str]) -> SelectCalls:
    """Guard a plugin."""
    return SelectCalls(PluginGuard(plugin, lambda fault: faults.append(fault.message)))


@pytest.mark.parametrize("answer", [[(1, 2)], None])
def test_a_good_answer_is_remembered_for_the_same_needs_nodes_and_processors(answer: Any) -> None:
    plugin, needs, faults = Plugin(lambda _: answer), needs_of(2), list[str]()
    guarded = calls(plugin, faults)
    assert [guarded.job_test(needs, candidates(4, 4)) for _ in range(3)] == [answer] * 3
    assert plugin.asked == 1
    guarded.job_test(needs, candidates(4, 3))
    guarded.job_test(needs, Candidates(np.array([1, 5]), np.array([4, 4]), np.ones(2, np.int64)))
    guarded.job_test(needs_of(2), candidates(4, 4))
    assert plugin.asked == 4
    assert not faults


def test_an_answer_that_the_plugin_changes_afterwards_stays_what_it_was() -> None:
    given = [(1, 2)]
    guarded, needs = calls(Plugin(lambda _: given), []), needs_of(2)
    guarded.job_test(needs, candidates(4, 4))
    given[0] = (7, 99)
    assert guarded.job_test(needs, candidates(4, 4)) == [(1, 2)]


@pytest.mark.parametrize("wrong", [[(1, 1)], [(9, 2)], "nonsense"])
def test_a_fault_is_reported_each_time(wrong: Any) -> None:
    faults: list[str] = []
    plugin, needs = Plugin(lambda _: wrong), needs_of(2)
    guarded = calls(plugin, faults)
    assert [guarded.job_test(needs, candidates(4, 4)) for _ in range(2)] == [[(0, 2)]] * 2  # the first node that fits
    assert plugin.asked == len(faults) == 2


@pytest.mark.parametrize(
    ("field", "values"),
    [("weight", [1, 2]), ("busy", [True, False]), ("idle", [0.5, 1.0])],
    ids=["weight", "busy", "idle"],
)
def test_whatever_else_is_told_of_the_nodes_makes_another_question(field: str, values: list[Any]) -> None:
    plugin, needs = Plugin(lambda _: [(1, 2)]), needs_of(2)
    guarded = calls(plugin, [])
    for one in (values, values[::-1]):
        guarded.job_test(needs, candidates(4, 4)._replace(**{field: np.array(one)}))
    assert plugin.asked == 2
    assert {*candidates(4, 4)._fields} == {"nodes", "cpus", "weight", "busy", "idle"}  # all are tried here or above


def test_what_the_plugin_is_handed_it_does_not_write_to() -> None:
    def answer(given: Candidates) -> Any:
        given.cpus[:] = 99
        return [(0, 99)]

    faults: list[str] = []
    guarded, given = calls(Plugin(answer), faults), candidates(4, 4)
    assert guarded.job_test(needs_of(2), given) == [(0, 2)]  # the default
    assert given.cpus.tolist() == [4, 4]
    assert "read-only" in faults[0]


def test_numbers_of_a_class_of_the_plugin_are_no_answer() -> None:
    class Odd(int):
        pass

    faults: list[str] = []
    assert calls(Plugin(lambda _: [(0, Odd(4))]), faults).job_test(needs_of(2), candidates(4, 4)) == [(0, 2)]
    assert len(faults) == 1
