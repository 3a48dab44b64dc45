"""The page that compares several replays of one workload."""

from __future__ import annotations

from dataclasses import asdict
from itertools import permutations
from typing import TYPE_CHECKING, Any

from rota.results.report import idleness, steps, wording
from rota.results.report.comparison import Comparison, compare_results
from rota.results.report.distribution import ecdf, log_grid
from rota.results.report.metrics import ratio, say_difference
from rota.results.report.render import numbers, run_mark, write_page

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from rota.results.provenance import SourceFile
    from rota.results.schedule import ReplayResult, Schedule

    Numbers = NDArray[np.int64] | NDArray[np.float64]

#: Number of users shown at either end of the table of changes.
TOP_USERS = 10


def write_comparison(results: Sequence[ReplayResult] | Comparison, path: Path) -> None:
    """Write the page.

    Raises:
        InputError: there are fewer than two results, or they are of different workloads.
        OSError: the file cannot be written.
    """
    comparison = results if isinstance(results, Comparison) else compare_results(results)
    first, machines = comparison.results[0], comparison.machines()
    write_page(
        path,
        "compare.html.j2",
        title=f"{first.workload} – {len(comparison.names)} runs compared",
        comparison=comparison,
        first=first,
        say=wording,
        clock=wording.clock_of(first),
        span=steps.horizon(first.schedule),
        policies=[wording.policy(result) for result in comparison.results],
        classes=[
            ("Processors", comparison.by_size()),
            ("Requested time", comparison.by_requested_time()),
            *((group.label, rows) for group, rows in comparison.groups()),
        ],
        idle=[_verdict(result) for result in comparison.results],
        promises=comparison.promises(),
        machines=machines,
        differing=[*machines, *comparison.policies(), *comparison.settings()],
        rows=comparison.figures.rows(),
        is_modelled=comparison.figures.is_modelled,
        pairs=[_pair(comparison, *places) for places in permutations(range(len(comparison.names)), 2)],
        start_changes=comparison.start_changes(),
        say_difference=say_difference,
        ratio=ratio,
        run_mark=run_mark,
        files=_files(comparison),
        data=comparison_data(comparison),
    )


def _verdict(result: ReplayResult) -> str:
    return idleness.verdict(result, idleness.idle_rows(result, idleness.parts(result)))


def _pair(comparison: Comparison, one: int, other: int) -> dict[str, Any]:
    """Give the tables of two runs: jobs and users whose waits changed most from one to the other."""
    users = comparison.user_changes(one, other)
    earlier, later = comparison.job_changes(one, other)
    return {
        "one": one,
        "other": other,
        "jobs": [("Started most earlier", earlier), ("Started most later", later)],
        "users": [
            ("Users who gained most", [user for user in users[:TOP_USERS] if user.change < 0]),
            ("Users who lost most", [user for user in users[: -TOP_USERS - 1 : -1] if user.change > 0]),
        ],
    }


def _files(comparison: Comparison) -> list[tuple[str, list[list[SourceFile]]]]:
    """Give the files that each run has read, by what they are."""
    files = [result.provenance.files for result in comparison.results]
    roles = dict.fromkeys(one.role for mine in files for one in mine)
    return [(role, [[one for one in mine if one.role == role] for mine in files]) for role in roles]


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """Compute what the page's scripts draw: a curve for each run, over common times and grids."""
    schedules = [result.schedule for result in comparison.results]
    spans = [steps.horizon(schedule) for schedule in schedules]
    edges = steps.bin_edges(min(first for first, _ in spans), max(last for _, last in spans))
    machines = [result.machine_procs for result in comparison.results]

    def curves(of: Callable[[Schedule], steps.StepFunction], scale: Sequence[int]) -> list[list[float]]:
        means = [steps.binned(of(schedule), edges).mean for schedule in schedules]
        # A value for each edge: the last bin's is repeated to close the line.
        return [
            numbers(mean[[*range(len(mean)), -1]] / max(whole, 1)) for mean, whole in zip(means, scale, strict=True)
        ]

    return {
        "clock": asdict(wording.clock_of(comparison.results[0])),
        "names": comparison.names,
        "series": {
            "t": edges.tolist(),
            "busy": curves(steps.busy_processors, machines),
            "jobs": curves(steps.waiting_jobs, [1] * len(machines)),
            "procs": curves(steps.waiting_processors, [1] * len(machines)),
        },
        "ecdf": {
            "wait": _overlaid([schedule.wait[comparison.common] for schedule in schedules]),
            "slowdown": _overlaid([schedule.bounded_slowdown[comparison.common] for schedule in schedules]),
        },
    }


def _overlaid(values: Sequence[Numbers]) -> dict[str, Any]:
    """Give each run's distribution over a common grid."""
    grid = log_grid(max(float(v.max(initial=1)) for v in values), min(float(v.min(initial=1)) for v in values))
    return {"x": numbers(grid), "y": [numbers(ecdf(v, grid)) for v in values]}
