"""The functions of the three kinds of plugins, guarded: what the engine calls."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rota.core.plugin_api.guard import PLUGIN_ERRORS, describe_error
from rota.core.plugin_api.values import problem_of_factors, right_shares
from rota.model import PriorityFactors
from rota.resources import first_fit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.core.plugin_api.guard import PluginGuard
    from rota.model import Association, PriorityFactorsRequest
    from rota.resources import Candidates, Needs

    #: Needs, and the arrays of the candidates: nodes, processors, busy, weights.
    _Question = tuple[Needs, bytes, bytes, bytes, bytes, bytes]

T = TypeVar("T")
#: Classes of whole numbers; those derived from them may do anything when they are compared.
_INTEGERS = frozenset({int, np.int32, np.int64, np.uint32, np.uint64, np.intp, np.int16, np.uint16, np.int8, np.uint8})
_ARRAYS = attrgetter("required", "least_loaded", "granule", "own_granule", "together")
#: Largest number of candidates in all cached calls of the node selection plugin: some tens of MB.
_REMEMBERED = 2_000_000


class PriorityCalls:
    """The priority plugin, guarded."""

    __slots__ = ("_factors", "_guard", "_set_assoc_usage", "reconfig", "set", "set_max_cluster_usage")

    def __init__(self, guard: PluginGuard) -> None:
        self._guard = guard
        #: ``priority_p_set(last_prio, job_ptr)``
        self.set = guard.priority("priority_p_set")
        self.reconfig = guard.notify("priority_p_reconfig")
        self._factors = guard.function("priority_p_get_priority_factors_list")
        self._set_assoc_usage = guard.notify("priority_p_set_assoc_usage")
        self.set_max_cluster_usage = guard.status("priority_p_set_max_cluster_usage")

    def set_assoc_usage(self, assoc: Association) -> None:
        """``priority_p_set_assoc_usage(assoc)``; what is not a number becomes 0 by default."""
        self._set_assoc_usage(assoc)
        if problem := right_shares(assoc):
            self._guard.report("priority_p_set_assoc_usage", None, problem)

    def factors(self, request: PriorityFactorsRequest) -> Sequence[PriorityFactors]:
        """``priority_p_get_priority_factors_list(req_msg)``; empty by default."""
        symbol = "priority_p_get_priority_factors_list"
        try:
            answer = self._factors(request)
        except PLUGIN_ERRORS as error:
            self._guard.raised(symbol, None, error)
            return []
        try:
            factors = [] if answer is None else list(answer)
        except PLUGIN_ERRORS:
            factors = [answer]
        if not all(type(item) is PriorityFactors for item in factors):
            self._guard.returned(symbol, None, answer, "PriorityFactors in a list, or None")
            return []
        for item in factors:
            try:
                problem = problem_of_factors(item)
            except PLUGIN_ERRORS as error:
                problem = f"of which {describe_error(error)}"
            if problem:
                self._guard.report(symbol, None, f"returned PriorityFactors {problem}")
                return []
        return factors


class SelectCalls:
    """The node selection plugin, guarded. Without a plugin, or if it fails, the first nodes that fit are selected.

    Valid results are cached: the plugin must have no state, and most calls are repeated in the next backfill cycle.
    """

    __slots__ = ("_answers", "_guard", "_size", "_test")

    def __init__(self, guard: PluginGuard | None) -> None:
        self._guard = guard
        self._test = None if guard is None else guard.function("select_p_job_test")
        #: Results by needs and candidates.
        self._answers: dict[_Question, list[tuple[int, int]] | None] = {}
        #: Number of candidates in all cached calls.
        self._size = 0

    def job_test(self, needs: Needs, candidates: Candidates) -> list[tuple[int, int]] | None:
        """``select_p_job_test(needs, candidates)``."""
        if self._guard is None or self._test is None:
            return first_fit(needs, candidates)
        question = (
            needs,
            candidates.nodes.tobytes(),
            candidates.cpus.tobytes(),
            b"" if candidates.busy is None else candidates.busy.tobytes(),
            b"" if candidates.idle is None else candidates.idle.tobytes(),
            candidates.weight.tobytes(),
        )
        if question in self._answers:
            return self._answers[question]
        for array in (*candidates, *_ARRAYS(needs), *(nodes for nodes, _ in needs.counted)):
            if array is not None:  # the pool knows these arrays as well
                array.flags.writeable = False
        symbol = "select_p_job_test"
        try:
            picked = self._test(needs, candidates)
            if picked is None or _is_choice(picked, needs, candidates):
                self._remember(question, picked)
                return picked  # type: ignore[no-any-return] # it has been checked
        except PLUGIN_ERRORS as error:
            self._guard.raised(symbol, None, error)
        else:
            self._guard.returned(symbol, None, picked, "candidates with enough of their processors, or None")
        return first_fit(needs, candidates)

    def _remember(self, question: _Question, picked: list[tuple[int, int]] | None) -> None:
        self._size += len(question[1]) // 8
        if self._size > _REMEMBERED:
            self._answers.clear()
            self._size = 0
        self._answers[question] = picked if picked is None else list(picked)


def _is_choice(picked: list[tuple[int, int]], needs: Needs, candidates: Candidates) -> bool:
    """Whether a result is valid: enough nodes and processors, all of them candidates."""
    nodes = [node for node, _ in picked]
    if not len(set(nodes)) == len(nodes) >= max(needs.min_nodes, 1):
        return False
    positions = candidates.nodes.searchsorted(nodes).tolist()
    known, cpus, last = candidates.nodes, candidates.cpus, len(candidates.nodes)
    return sum(count for _, count in picked) >= needs.cpus and all(
        position < last
        and known[position] == node
        and 0 < count <= cpus[position]
        and type(node) in _INTEGERS
        and type(count) in _INTEGERS
        for position, (node, count) in zip(positions, picked, strict=True)
    )


class SchedCalls:
    """The scheduler plugin, guarded."""

    __slots__ = (
        "_guard",
        "freealloc",
        "initial_priority",
        "job_is_pending",
        "newalloc",
        "partition_change",
        "reconfig",
        "schedule",
    )

    def __init__(self, guard: PluginGuard) -> None:
        self._guard = guard
        self.reconfig = guard.status("slurm_sched_p_reconfig")
        self.schedule = guard.makes_pass("slurm_sched_p_schedule")
        self.newalloc = guard.about_job("slurm_sched_p_newalloc")
        self.freealloc = guard.about_job("slurm_sched_p_freealloc")
        self.initial_priority = guard.priority("slurm_sched_p_initial_priority")
        pending = "slurm_sched_p_job_is_pending"
        self.job_is_pending = guard.notify(pending) if guard.own(pending) else None
        self.partition_change = guard.notify("slurm_sched_p_partition_change")

    def statistics(self, read: Callable[[object], T]) -> T | None:
        """Read the plugin's statistics of its cycles with a function; ``None`` by default."""
        try:
            return read(self._guard.kept("statistics"))
        except PLUGIN_ERRORS as error:
            self._guard.raised("statistics", None, error)
            return None

    def get_conf(self) -> str | None:
        """``slurm_sched_p_get_conf()``; ``None`` by default."""
        symbol = "slurm_sched_p_get_conf"
        try:
            text = self._guard.function(symbol)()
        except PLUGIN_ERRORS as error:
            self._guard.raised(symbol, None, error)
            return None
        if text is None or type(text) is str:
            return text
        self._guard.returned(symbol, None, text, "text or None")
        return None
