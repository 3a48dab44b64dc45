"""The scheduler's plans in the course of a replay.

Running jobs are not included: the schedule has them. `PlanHistory.as_dict` and `read_plans` convert to and from
``plans.json``, in which each hostlist and reason is written once.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from rota.results.stored import reading

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

#: Format of ``plans.json``; to be changed when older files can no longer be read.
PLANS_FORMAT = "rota-plans-2"
#: Largest number of jobs recorded of one plan, in queue order.
MAX_PLANNED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedJob:
    """A pending job with its planned start and nodes."""

    job_id: int
    #: Position in the queue, from 1.
    place: int
    #: Planned start, Unix seconds.
    start: int
    #: Number of processors on all nodes together.
    cpus: int
    #: Hostlist of the planned nodes; empty: left open.
    nodes: str
    #: Slurm's reason.
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnavailableNodes:
    """Nodes on which no job can start for some time, for another reason than jobs."""

    #: Why: ``DOWN``, ``DRAIN``, or ``reservation`` and its name.
    what: str
    #: Begin, Unix seconds.
    begin: int
    #: End, Unix seconds; ``None``: unknown.
    end: int | None
    #: Hostlist of the nodes.
    nodes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingJobs:
    """How many jobs waited for one reason, whether in the queue or not, and the processors that they asked for."""

    #: Slurm's reason.
    reason: str
    jobs: int
    cpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsableNodes:
    """How many pending jobs could use the nodes of a kind if these were empty, and the processors they asked for."""

    jobs: int
    cpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeKind:
    """Nodes that are alike."""

    #: Hostlist.
    nodes: str
    count: int
    #: Processors, and memory in MiB, of each node.
    cpus: int
    memory: int
    #: GRES of each, as written: ``gpu:tesla:2``.
    gres: tuple[str, ...]
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A plan at one moment."""

    #: Unix seconds.
    time: int
    #: Number of jobs in the queue, with or without a planned start.
    waiting: int
    #: Jobs with a planned start, in queue order, at most `MAX_PLANNED`.
    planned: tuple[PlannedJob, ...]
    closed: tuple[UnavailableNodes, ...]
    #: All pending jobs, by reason.
    reasons: tuple[WaitingJobs, ...] = ()
    #: By kind of nodes, in the order of `PlanHistory.kinds`.
    usable: tuple[UsableNodes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanHistory:
    """Plans over time, and the nodes of the machine."""

    #: Name and number of processors of each node, in the order of the configuration; empty for interchangeable
    #: processors.
    nodes: tuple[tuple[str, int], ...]
    #: Plans by ascending time.
    plans: tuple[Plan, ...]
    #: The nodes by kind; empty for interchangeable processors.
    kinds: tuple[NodeKind, ...] = ()

    def without(self, job_ids: Container[int]) -> PlanHistory:
        """Leave out some jobs."""
        plans = (
            replace(plan, planned=tuple(one for one in plan.planned if one.job_id not in job_ids))
            for plan in self.plans
        )
        return replace(self, plans=tuple(plans))

    def as_dict(self) -> dict[str, Any]:
        """Convert the history to JSON data."""
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
                    "reasons": [
                        [reasons.setdefault(one.reason, len(reasons)), one.jobs, one.cpus] for one in plan.reasons
                    ],
                    "usable": [[one.jobs, one.cpus] for one in plan.usable],
                }
                for plan in self.plans
            ],
            "hostlists": list(hostlists),
            "reasons": list(reasons),
            "kinds": [asdict(kind) for kind in self.kinds],
        }


def read_plans(stored: dict[str, Any], path: Path) -> PlanHistory:
    """Make the history from the data of `PlanHistory.as_dict`.

    Args:
        stored: Content of ``plans.json``.
        path: Path of the file, for error messages.

    Raises:
        InputError: the data is not such a history.
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
                    reasons=tuple(
                        WaitingJobs(reason=reasons[int(reason)], jobs=int(jobs), cpus=int(cpus))
                        for reason, jobs, cpus in plan["reasons"]
                    ),
                    usable=tuple(UsableNodes(jobs=int(jobs), cpus=int(cpus)) for jobs, cpus in plan["usable"]),
                )
                for plan in stored["plans"]
            ),
            kinds=tuple(map(_kind, stored["kinds"])),
        )


def _planned_job(row: list[Any], hostlists: list[str], reasons: list[str]) -> PlannedJob:
    job_id, place, start, cpus, nodes, reason = map(int, row)
    return PlannedJob(
        job_id=job_id, place=place, start=start, cpus=cpus, nodes=hostlists[nodes], reason=reasons[reason]
    )


def _kind(stored: dict[str, Any]) -> NodeKind:
    return NodeKind(
        nodes=str(stored["nodes"]),
        gres=tuple(map(str, stored["gres"])),
        features=tuple(map(str, stored["features"])),
        **{name: int(stored[name]) for name in ("count", "cpus", "memory")},
    )


def _closed(row: list[Any], hostlists: list[str]) -> UnavailableNodes:
    what, begin, end, nodes = row
    return UnavailableNodes(
        what=str(what), begin=int(begin), end=None if end is None else int(end), nodes=hostlists[int(nodes)]
    )
