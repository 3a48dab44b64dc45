"""Nodes of jobs and plans in the page, encoded like the schedule.

A set of nodes is a list of runs of adjacent nodes with the same number of processors each, as (nodes skipped since the
run before, nodes, processors). Each set is written once, and jobs refer to it by its number. To keep the page small, a
long log with nodes is cut to the jobs that ran around the longest queue, and the plans of that time.
"""

from __future__ import annotations

from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.config.hostlist import NodeNames, read_counts
from rota.results.plan_history import MAX_PLANNED
from rota.results.report.columns import differences, pack, zigzag

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rota.results.plan_history import Plan, PlanHistory, PlannedJob
    from rota.results.schedule import Schedule

    #: Indices of nodes, with the number of processors on each.
    Given = tuple[tuple[int, int], ...]

#: Largest number of allocations in a page, a job on several nodes counting once for each.
MAX_PIECES = 300_000
#: Largest number of runs of nodes in the plans of a page.
MAX_PLANNED_RUNS = 150_000


def plan_data(schedule: Schedule, history: PlanHistory, busy: int) -> dict[str, Any]:
    """Encode what the page draws of plans and nodes.

    Args:
        schedule: The jobs.
        history: The plans.
        busy: Unix time of the longest queue.
    """
    sets = _Sets(history)
    given = _nodes_of_jobs(schedule, sets)
    shown, span = _stretch(schedule, given, busy)
    plans = [plan for plan in history.plans if span is None or span[0] <= plan.time <= span[1]]
    while len(plans) > 1 and sum(_runs(sets, plan) for plan in plans) > MAX_PLANNED_RUNS:
        plans = plans[::2]
    numbers = np.zeros(len(schedule), np.int64)
    if schedule.nodes is not None:
        numbers[:] = [sets.number(one) if chosen else 0 for one, chosen in zip(given, shown, strict=True)]
    moments = _moments(plans, schedule, sets)
    return {
        "nodes": [list(node) for node in history.nodes],
        "span": span,
        "most": MAX_PLANNED,
        "moments": moments,
        "placed": {"sets": sets.packed(), "count": len(schedule), "data": pack([zigzag(numbers)])},
    }


class _Sets:
    """Numbers sets of nodes from 1; 0 is no set. ``sizes`` are the processors of each node, empty without nodes."""

    def __init__(self, history: PlanHistory) -> None:
        self._names = NodeNames(name for name, _ in history.nodes)
        self.sizes = [cpus for _, cpus in history.nodes]
        self._places: dict[str, list[int]] = {}
        self._numbers: dict[Given, int] = {(): 0}

    def places(self, hostlist: str) -> list[int]:
        found = self._places.get(hostlist)
        if found is None:
            found = self._places[hostlist] = self._names.places(hostlist)
        return found

    def shared_out(self, hostlist: str, cpus: int) -> Given:
        """Distribute processors over nodes evenly, as far as each node has them."""
        places = self.places(hostlist) if self.sizes else []
        each = -(-cpus // len(places)) if places else 0
        return tuple((place, min(each, self.sizes[place])) for place in places)

    def number(self, given: Given) -> int:
        return self._numbers.setdefault(given, len(self._numbers))

    def packed(self) -> dict[str, Any]:
        """Give all sets: the number of runs of each, then the runs."""
        runs = [list(runs_of(given)) for given in self._numbers if given]
        counts = np.array([len(some) for some in runs], np.int64)
        flat = np.array(list(chain.from_iterable(chain.from_iterable(runs))), np.int64)
        return {"count": len(counts), "numbers": len(flat), "data": pack([zigzag(counts), zigzag(flat)])}


def runs_of(given: Given) -> Iterable[tuple[int, int, int]]:
    """Give the runs of a set: nodes skipped since the run before, number of nodes, processors of each."""
    after = 0
    # Index minus rank is the number of nodes skipped so far, and equal for adjacent nodes.
    for (passed_over, cpus), some in groupby(enumerate(given), lambda item: (item[1][0] - item[0], item[1][1])):
        yield passed_over - after, len(list(some)), cpus
        after = passed_over


def _nodes_of_jobs(schedule: Schedule, sets: _Sets) -> list[Given]:
    if schedule.nodes is None or schedule.node_cpus is None:
        return [()] * len(schedule)
    known: dict[tuple[str, str], Given] = {}
    for texts in zip(schedule.nodes, schedule.node_cpus, strict=True):
        if texts not in known:
            known[texts] = tuple(zip(sets.places(texts[0]), read_counts(texts[1]), strict=True))
    return [known[texts] for texts in zip(schedule.nodes, schedule.node_cpus, strict=True)]


def _stretch(schedule: Schedule, given: Sequence[Given], busy: int) -> tuple[list[bool], list[int] | None]:
    """Choose the jobs whose nodes are in the page; give the range of their starts, or ``None`` for all jobs."""
    pieces = np.array([len(one) for one in given], np.int64)
    if pieces.sum() <= MAX_PIECES:
        return [True] * len(given), None
    order = np.argsort(schedule.start, kind="stable")
    starts, total = schedule.start[order], np.cumsum(pieces[order])
    middle = int(np.searchsorted(starts, busy))
    before = int(total[middle - 1]) if middle else 0
    least = min(max(before - MAX_PIECES // 2, 0), int(total[-1]) - MAX_PIECES)
    inside = (total - pieces[order] >= least) & (total <= least + MAX_PIECES) & (starts >= 0)
    shown = np.zeros(len(given), bool)
    shown[order[inside]] = True
    return shown.tolist(), [int(starts[inside].min()), int(starts[inside].max())]


def _runs(sets: _Sets, plan: Plan) -> int:
    return sum(len(list(runs_of(sets.shared_out(job.nodes, job.cpus)))) for job in plan.planned)


def _moments(plans: Sequence[Plan], schedule: Schedule, sets: _Sets) -> dict[str, Any]:
    """Encode the plans: columns by moment, and columns by planned job."""
    jobs: list[tuple[Plan, PlannedJob]] = [(plan, job) for plan in plans for job in plan.planned]
    row_of = {job_id: row for row, job_id in enumerate(schedule.job_id.tolist())} if jobs else {}
    reasons = {reason: place for place, reason in enumerate(dict.fromkeys(job.reason for _, job in jobs))}
    columns = [
        differences(_column(plan.time for plan in plans)),
        zigzag(_column(plan.waiting for plan in plans)),
        zigzag(_column(len(plan.planned) for plan in plans)),
        differences(_column(row_of[job.job_id] for _, job in jobs)),
        zigzag(_column(job.place for _, job in jobs)),
        zigzag(_column(job.start - plan.time for plan, job in jobs)),
        zigzag(_column(job.cpus for _, job in jobs)),
        zigzag(_column(sets.number(sets.shared_out(job.nodes, job.cpus)) for _, job in jobs)),
        zigzag(_column(reasons[job.reason] for _, job in jobs)),
    ]
    return {
        "count": len(plans),
        "planned": len(jobs),
        "reasons": list(reasons),
        "closed": [
            [
                [one.what, one.begin, one.end, [place for place, _ in sets.shared_out(one.nodes, 0)]]
                for one in plan.closed
            ]
            for plan in plans
        ],
        "data": pack(columns),
    }


def _column(values: Iterable[int]) -> NDArray[np.int64]:
    return np.fromiter(values, np.int64)
