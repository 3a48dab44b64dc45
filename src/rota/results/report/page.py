"""``report.html``: the page of one replay."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.results.report import idleness, steps, tables, wording
from rota.results.report.account_figures import account_figures
from rota.results.report.columns import encode_names, encode_schedule
from rota.results.report.distribution import ecdf, log_grid, size_classes
from rota.results.report.factors import factor_bars
from rota.results.report.groups import groupings
from rota.results.report.planning import plan_data
from rota.results.report.promises import promises
from rota.results.report.render import numbers, write_page
from rota.results.report.shares import share_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from rota.results.plan_history import PlanHistory
    from rota.results.priority_history import PriorityHistory
    from rota.results.schedule import ReplayResult, Schedule

    Numbers = NDArray[np.int64] | NDArray[np.float64]

_WEEK = 7 * 86400


def write_report(result: ReplayResult, path: Path) -> None:
    """Write the page. The same schedule gives the same bytes, however long the replay took.

    Raises:
        OSError: the file cannot be written.
    """
    schedule, machine = result.schedule, idleness.parts(result)
    idle = idleness.idle_rows(result, machine)
    write_page(
        path,
        "report.html.j2",
        title=f"{result.workload} – {result.scheduler}",
        result=result,
        policy=wording.policy(result),
        clock=wording.clock_of(result),
        span=steps.horizon(schedule),
        figures=_figures(result),
        faults=wording.faults(result),
        worst=[
            ("Longest waits", "wait", tables.longest_waits(schedule)),
            ("Greatest bounded slowdowns", "slowdown", tables.greatest_slowdowns(schedule)),
        ],
        users=tables.users(schedule),
        data=report_data(result, machine),
        history=result.priorities,
        plan_step=_plan_step(result.plans),
        promises=promises(schedule, result.plans),
        groups=[(group, group.figures(result)) for group in groupings(result)],
        verdict=idleness.verdict(result, idle),
        idle=idle,
        has_gres=any(part.label.startswith("gres/") for part in machine),
        **_fairness(result),
    )


def report_data(result: ReplayResult, machine: Sequence[idleness.Part] = ()) -> dict[str, Any]:
    """Compute what the page's scripts draw. Times are Unix seconds, durations seconds, shares from 0 to 1."""
    schedule = result.schedule
    first, last = steps.horizon(schedule)
    queue = steps.waiting_jobs(schedule)
    edges = steps.bin_edges(first, last)
    busiest = steps.busiest_week(queue, first, last)
    return {
        "clock": asdict(wording.clock_of(result)),
        "machine": result.machine_procs,
        "span": [first, last],
        "series": {
            "t": edges.tolist(),
            "busy": _curve(steps.binned(steps.busy_processors(schedule), edges), result.machine_procs),
            "jobs": _curve(steps.binned(queue, edges)),
            "procs": _curve(steps.binned(steps.waiting_processors(schedule), edges)),
        },
        "arrivals": idleness.arrivals(schedule, edges),
        "reasons": idleness.reason_data(result.plans),
        "parts": idleness.part_data(machine, edges),
        "ecdf": _distributions(schedule),
        "window": [busiest, _WEEK],
        "schedule": encode_schedule(schedule),
        "names": encode_names(schedule),
        "shares": _shares(result.priorities),
        "plan": _plan(result, busiest + _WEEK // 2),
    }


def _shares(history: PriorityHistory | None) -> dict[str, Any] | None:
    """Give the curves of fair-share; ``None`` without samples."""
    return share_data(history) if history is not None and history.usage_share.size else None


def _plan(result: ReplayResult, busy: int) -> dict[str, Any] | None:
    """Give the plans; ``None`` without any."""
    return plan_data(result.schedule, result.plans, busy) if result.plans is not None and result.plans.plans else None


def _plan_step(history: PlanHistory | None) -> int:
    """Give the mean number of seconds between plans; 0 if there are fewer than two."""
    plans = () if history is None else history.plans
    return (plans[-1].time - plans[0].time) // (len(plans) - 1) if len(plans) > 1 else 0


def _fairness(result: ReplayResult) -> dict[str, Any]:
    """Give the bars and the table of the section on fair-share; both are empty without a history."""
    history = result.priorities
    targets = {} if history is None else dict(zip(history.accounts, history.target_share.tolist(), strict=True))
    return {
        "bars": factor_bars(() if history is None else history.waits),
        "served": [] if history is None else account_figures(result.schedule, targets),
    }


def _figures(result: ReplayResult) -> list[tuple[str, str]]:
    """Give the header's figures with labels. No timing: see ``write_report``."""
    schedule, summary = result.schedule, result.summary
    wait = schedule.wait[tables.finished(schedule)]
    median, high = np.quantile(wait, (0.5, 0.95)).tolist() if len(wait) else (0.0, 0.0)
    recorded, both = schedule.recorded_wait, schedule.compared
    then = [] if recorded is None or not both.any() else [float(recorded[both].mean())]
    return [
        ("Jobs", wording.count(summary.jobs)),
        ("Mean wait", wording.duration(summary.mean_wait_s)),
        *(("Mean wait as recorded", wording.duration(one)) for one in then),
        ("Median wait", wording.duration(median)),
        ("95th percentile wait", wording.duration(high)),
        ("Longest wait", wording.duration(summary.max_wait_s)),
        ("Mean bounded slowdown", wording.decimal(summary.mean_bounded_slowdown)),
        ("Utilisation", wording.percent(summary.utilisation)),
        ("Makespan", wording.duration(summary.makespan_s)),
        ("Processors", wording.count(result.machine_procs)),
        ("Scheduling passes", wording.count(summary.passes)),
    ]


def _curve(bins: steps.Bins, whole: int = 1) -> dict[str, list[float]]:
    """Give mean and peak as fractions of ``whole``. There is a value for each edge: the last bin's is repeated."""
    scale = max(whole, 1)
    return {
        "mean": numbers(np.append(bins.mean, bins.mean[-1]) / scale),
        "peak": numbers(np.append(bins.peak, bins.peak[-1]) / scale),
    }


def _distributions(schedule: Schedule) -> dict[str, Any]:
    """Give the distributions of wait and slowdown: of all jobs, and by size."""
    ran = tables.finished(schedule)
    classes = size_classes(schedule.procs[ran])
    groups = [("all jobs", np.ones(int(ran.sum()), bool))]
    if len(classes.labels) > 1:
        groups += zip(classes.labels, classes.members(), strict=True)
    return {
        "wait": _curves(schedule.wait[ran], groups),
        "slowdown": _curves(schedule.bounded_slowdown[ran], groups),
    }


def _curves(values: Numbers, groups: Iterable[tuple[str, NDArray[np.bool_]]]) -> dict[str, Any]:
    """Give a curve for each group over a common logarithmic grid."""
    grid = log_grid(values.max(initial=1), values.min(initial=1))
    lines = [
        {"label": label, "jobs": int(members.sum()), "y": numbers(ecdf(values[members], grid))}
        for label, members in groups
    ]
    return {"x": numbers(grid), "lines": lines}
