"""Why is a part of the machine idle while jobs wait? Use by node type and GRES, the queue by reason, arrivals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.config.hostlist import NodeNames, read_counts
from rota.results.node_types import type_by_node, type_names
from rota.results.report import steps, wording
from rota.results.report.render import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rota.results.plan_history import NodeKind, PlanHistory
    from rota.results.schedule import ReplayResult, Schedule

#: Largest number of reasons with a colour of their own; the others share a grey one.
MAX_REASONS = 6
#: Largest number of node types with a picture of their own.
MAX_KINDS = 12
_HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the machine: the nodes of a type, or a GRES; and how much of it was in use."""

    label: str
    #: What it consists of: ``87 nodes of 32 processors, CPU-Gold-6130, OPA``.
    details: str
    #: Number of processors, or of a GRES.
    size: int
    use: steps.StepFunction
    #: Mean number of pending jobs that could use it, over the plans in which there were any; ``None``: not known.
    wanted: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleRow:
    """A part of the machine while jobs waited; use and idleness are means over that time."""

    label: str
    details: str
    size: int
    used: float
    idle: float
    #: Mean number of waiting jobs that could use it; ``None``: not known.
    wanted: float | None


def parts(result: ReplayResult) -> list[Part]:
    """Divide the machine into node types, the largest first, then GRES; empty if only processors are known."""
    schedule, history = result.schedule, result.plans
    if history is None or schedule.nodes is None or schedule.node_cpus is None:
        return []
    kinds = sorted(range(len(history.kinds)), key=lambda i: -history.kinds[i].count * history.kinds[i].cpus)
    names, used = type_names(history.kinds), _processors_by_kind(schedule, history)
    by_type = [
        Part(
            label=names[i],
            details=_details(history.kinds[i]),
            size=history.kinds[i].count * history.kinds[i].cpus,
            use=_use(schedule, used[:, i]),
            wanted=_wanted(history, i),
        )
        for i in kinds[:MAX_KINDS]
    ]
    return by_type + _gres_parts(schedule, history.kinds)


def idle_rows(result: ReplayResult, machine: Sequence[Part]) -> list[IdleRow]:
    """Say how much of each part was in use while jobs waited; empty if none ever waited."""
    waits = waiting_time(result.schedule)
    if not len(waits):
        return []
    rows = []
    for part in machine:
        used = _mean_over(part.use, waits)
        rows.append(
            IdleRow(
                label=part.label,
                details=part.details,
                size=part.size,
                used=used,
                idle=part.size - used,
                wanted=part.wanted,
            )
        )
    return rows


def verdict(result: ReplayResult, rows: Sequence[IdleRow]) -> str:
    """Say in words how much was idle while jobs waited, and why those that waited did; empty if none did.

    Args:
        result: The result.
        rows: The parts of the machine.
    """
    schedule, machine = result.schedule, max(result.machine_procs, 1)
    waits = waiting_time(schedule)
    first, last = steps.horizon(schedule)
    if not len(waits) or last <= first:
        return ""
    share = (waits[:, 1] - waits[:, 0]).sum() / (last - first)
    idle = 1 - _mean_over(steps.busy_processors(schedule), waits) / machine
    queue = _mean_over(steps.waiting_jobs(schedule), waits)
    told = (
        f"Jobs waited in {_percent(share)} of the time, {wording.count(queue)} of them on average, "
        f"and meanwhile {_percent(idle)} of the processors were idle."
    )
    types = [row for row in rows if row.wanted is not None]
    if len(types) > 1 and idle > 0:
        most = max(types, key=lambda row: row.idle)
        told += (
            f" The largest part of these was on {most.label}: {wording.count(most.idle)} of its "
            f"{wording.count(most.size)}, which {wording.count(most.wanted or 0)} of the waiting jobs could have used."
        )
    totals = _reasons(result.plans)
    whole = sum(totals.values())
    if not whole:
        return told
    ways = ", ".join(f"{reason} ({_percent(jobs / whole)})" for reason, jobs in list(totals.items())[:3])
    return f"{told} Their reasons were {ways}."


def reason_data(history: PlanHistory | None) -> dict[str, Any] | None:
    """Give the pending jobs by reason, and their processors, at the moments of the plans; ``None``: nobody waited."""
    totals = _reasons(history)
    if history is None or not totals:
        return None
    named = list(totals)[:MAX_REASONS]
    lines = []
    for name in named if len(totals) == len(named) else [*named, ""]:
        jobs, cpus = [], []
        for plan in history.plans:
            mine = [one for one in plan.reasons if one.reason == name or (not name and one.reason not in named)]
            jobs.append(sum(one.jobs for one in mine))
            cpus.append(sum(one.cpus for one in mine))
        lines.append({"name": name or "other reasons", "other": not name, "jobs": jobs, "procs": cpus})
    return {"t": [plan.time for plan in history.plans], "lines": lines}


def part_data(machine: Sequence[Part], edges: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Give the share of each part in use over time."""
    found = []
    for part in machine:
        mean = steps.binned(part.use, edges).mean
        found.append({"name": part.label, "mean": numbers(np.append(mean, mean[-1:]) / max(part.size, 1))})
    return found


def arrivals(schedule: Schedule, edges: NDArray[np.int64]) -> list[float]:
    """Give the number of jobs submitted an hour, over time; the last value is repeated."""
    counts, _ = np.histogram(schedule.submit, edges)
    rate = counts / np.diff(edges) * _HOUR
    return numbers(np.append(rate, rate[-1:]))


def waiting_time(schedule: Schedule) -> NDArray[np.int64]:
    """Give the stretches of time in which jobs waited, as rows of begin and end."""
    queue = steps.waiting_jobs(schedule)
    busy = np.concatenate(([False], queue.values > 0, [False]))
    edges = np.flatnonzero(busy[1:] != busy[:-1])
    return queue.times[edges].reshape(-1, 2)


def _mean_over(function: steps.StepFunction, stretches: NDArray[np.int64]) -> float:
    """Give the mean of a step function over some stretches of time."""
    times = np.unique(np.concatenate((function.times, stretches.ravel())))
    inside = np.searchsorted(stretches.ravel(), times[:-1], side="right") % 2 == 1
    widths = np.diff(times)[inside]
    return float((function.at(times[:-1])[inside] * widths).sum() / max(int(widths.sum()), 1))


def _reasons(history: PlanHistory | None) -> dict[str, int]:
    """Count pending jobs by reason over all plans, the most frequent first."""
    totals: dict[str, int] = {}
    for plan in history.plans if history is not None else ():
        for one in plan.reasons:
            totals[one.reason] = totals.get(one.reason, 0) + one.jobs
    return dict(sorted(totals.items(), key=lambda item: -item[1]))


def _percent(share: float) -> str:
    """Format a fraction in a sentence: two decimals would be read as exact."""
    return f"{share * 100:.1f} %"


def _wanted(history: PlanHistory, kind: int) -> float | None:
    found = [plan.usable[kind].jobs for plan in history.plans if plan.usable and plan.reasons]
    return float(np.mean(found)) if found else None


def _processors_by_kind(schedule: Schedule, history: PlanHistory) -> NDArray[np.int64]:
    """Count each job's processors on the nodes of each type."""
    names, kinds = NodeNames(name for name, _ in history.nodes), type_by_node(history)
    known: dict[tuple[str, str], NDArray[np.int64]] = {}
    rows = []
    for texts in zip(schedule.nodes or (), schedule.node_cpus or (), strict=True):
        if texts not in known:
            places = [kinds[place] for place in names.places(texts[0])] if texts[0] else []
            cpus = read_counts(texts[1]) if texts[0] else []
            known[texts] = np.bincount(places, cpus, len(history.kinds)).astype(np.int64)
        rows.append(known[texts])
    return np.array(rows, np.int64).reshape(len(rows), len(history.kinds))


def _use(schedule: Schedule, amount: NDArray[np.int64]) -> steps.StepFunction:
    """Sum up what the jobs that run have of something."""
    mine = (schedule.start >= 0) & (amount > 0)
    end = np.where(schedule.end >= 0, schedule.end, steps.horizon(schedule)[1])
    return steps.step_function(schedule.start[mine], end[mine], amount[mine])


def _gres_parts(schedule: Schedule, kinds: Sequence[NodeKind]) -> list[Part]:
    sizes: dict[str, int] = {}
    for kind in kinds:
        for text in kind.gres:
            name, count = _read_gres(text)
            sizes[f"gres/{name}"] = sizes.get(f"gres/{name}", 0) + kind.count * count
    if schedule.gres is None:
        return []
    held = [dict(one.split("=") for one in text.split(",") if one) for text in schedule.gres]
    return [
        Part(
            label=name,
            details=f"{size} on all nodes",
            size=size,
            use=_use(schedule, np.array([int(one.get(name, 0)) for one in held], np.int64)),
        )
        for name, size in sizes.items()
    ]


def _read_gres(text: str) -> tuple[str, int]:
    """Split ``gpu:tesla:2`` into name and count; without a count there is one."""
    name, *rest = text.partition("(")[0].split(":")
    return name, int(rest[-1]) if rest and rest[-1].isdigit() else 1


def _details(kind: NodeKind) -> str:
    parts = [f"{kind.count} × {kind.cpus} processors", *kind.gres, *kind.features]
    return ", ".join(parts)
