"""What a scheduler planned in the course of a replay: its plan as it stood at some moments.

Running jobs are no part of it: when and where they ran is in the schedule. `PlanHistory.as_dict` and `read_plans` are
the two sides of ``plans.json``, where hostlists and reasons stand once each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rota.results.stored import reading

if TYPE_CHECKING:
    from pathlib import Path

#: Marks ``plans.json``; changes when old readers can no longer read it.
PLANS_FORMAT = "rota-plans-1"
#: The most jobs of one plan that are kept, first in line first.
MAX_PLANNED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedJob:
    """A job that waits, and where and when it is to start."""

    job_id: int
    #: In the queue, from 1.
    place: int
    #: Unix seconds.
    start: int
    #: Processors that it is to get, all nodes together.
    cpus: int
    #: Hostlist; empty: left open.
    nodes: str
    #: Why it waits, in Slurm's words.
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """Nodes on which no job starts for a while, for a cause that is no job."""

    #: ``DOWN``, ``DRAIN``, or ``reservation`` and its name.
    what: str
    #: Unix seconds.
    begin: int
    #: Unix seconds; ``None``: it is not known.
    end: int | None
    #: Hostlist.
    nodes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan as it stood at one moment."""

    #: Unix seconds.
    time: int
    #: Jobs in the queue, with or without a planned start.
    waiting: int
    #: First in line first, at most `MAX_PLANNED`.
    planned: tuple[PlannedJob, ...]
    closed: tuple[Closed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanHistory:
    """Plans over time, and the machine that they are for."""

    #: Name and processors, in the order of the configuration; empty where processors are interchangeable.
    nodes: tuple[tuple[str, int], ...]
    #: By time, rising.
    plans: tuple[Plan, ...]

    def as_dict(self) -> dict[str, Any]:
        """Give the history for JSON."""
        hostlists: dict[str, int] = {}
        reasons: dict[str, int] = {}
        return {
            "format": PLANS_FORMAT,
            "nodes": [list(node) for node in self.nodes],
            "plans": [
                {
                    "time": plan.time,
                    "waiting": plan.waiting,
                    "planned": [
                        [
                            *(job.job_id, job.place, job.start, job.cpus),
                            hostlists.setdefault(job.nodes, len(hostlists)),
                            reasons.setdefault(job.reason, len(reasons)),
                        ]
                        for job in plan.planned
                    ],
                    "closed": [
                        [one.what, one.begin, one.end, hostlists.setdefault(one.nodes, len(hostlists))]
                        for one in plan.closed
                    ],
                }
                for plan in self.plans
            ],
            "hostlists": list(hostlists),
            "reasons": list(reasons),
        }


def read_plans(stored: dict[str, Any], path: Path) -> PlanHistory:
    """Build the history from what `PlanHistory.as_dict` gave.

    Args:
        stored: The content of ``plans.json``.
        path: Where it was read, for messages.

    Raises:
        InputError: it is something else.
    """
    with reading("history of plans", stored, PLANS_FORMAT, path):
        hostlists, reasons = [list(map(str, stored[name])) for name in ("hostlists", "reasons")]
        return PlanHistory(
            nodes=tuple((str(name), int(cpus)) for name, cpus in stored["nodes"]),
            plans=tuple(
                Plan(
                    time=int(plan["time"]),
                    waiting=int(plan["waiting"]),
                    planned=tuple(_planned_job(job, hostlists, reasons) for job in plan["planned"]),
                    closed=tuple(_closed(one, hostlists) for one in plan["closed"]),
                )
                for plan in stored["plans"]
            ),
        )


def _planned_job(row: list[Any], hostlists: list[str], reasons: list[str]) -> PlannedJob:
    job_id, place, start, cpus, nodes, reason = map(int, row)
    return PlannedJob(
        job_id=job_id, place=place, start=start, cpus=cpus, nodes=hostlists[nodes], reason=reasons[reason]
    )


def _closed(row: list[Any], hostlists: list[str]) -> Closed:
    what, begin, end, nodes = row
    return Closed(what=str(what), begin=int(begin), end=None if end is None else int(end), nodes=hostlists[int(nodes)])
