"""``calibration.html``: waits as recorded beside those of the replay, by size, partition, QOS and user.

A replay under the configuration of then is not the record: users did what a log does not tell, nodes failed, and rota
is not Slurm. How far the two are apart is how far the model can be believed: a difference between two policies that is
smaller than this one may be of the model. The figures are of the jobs whose waits are known of both.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.results.report import steps, wording
from rota.results.report.distribution import ecdf, log_grid, size_classes
from rota.results.report.intervals import Bootstrap, Interval
from rota.results.report.render import numbers, run_mark, write_page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from rota.results.schedule import ReplayResult, Schedule
    from rota.workload import Workload

#: Waits that differ by no more than this, or by no more than the factor, are close. Seconds.
CLOSE = 600
CLOSE_FACTOR = 2
#: Number of rows of a table; the rest is one row.
MOST_ROWS = 25
NAMES = ("recorded", "replayed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Jobs of one kind. Times are seconds."""

    label: str
    jobs: int
    #: As recorded, and as replayed.
    mean: tuple[float, float]
    median: tuple[float, float]
    #: Share of the jobs whose two waits are close, 0 to 1.
    close: float

    @property
    def difference(self) -> float:
        """How much longer jobs wait in the replay, in the mean."""
        return self.mean[1] - self.mean[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How the waits of a replay compare with those recorded."""

    jobs: Schedule
    all: Group
    #: Interval of the difference of the means; ``None``: there are too few weeks and users.
    interval: Interval | None
    #: What the interval is over.
    unit: str
    #: Rank correlation of the two waits, -1 to 1; ``None``: all are the same.
    rank_correlation: float | None
    #: Groups by what they are of.
    groups: list[tuple[str, list[Group]]]


def calibrate(schedule: Schedule, workload: Workload) -> Calibration:
    """Compare the waits.

    Args:
        schedule: The replayed schedule; at least one job has both waits.
        workload: The workload that was replayed.
    """
    jobs = schedule.take(np.flatnonzero(schedule.compared))
    recorded, replayed = _waits(jobs)
    draws = Bootstrap(jobs)
    sizes = size_classes(jobs.procs)
    names = _names(jobs, workload)
    groups = [
        ("Processors", [_group(label, jobs, mine) for label, mine in zip(sizes.labels, sizes.members(), strict=True)])
    ]
    groups += [(what, _by_name(jobs, texts)) for what, texts in names.items() if any(texts)]
    return Calibration(
        jobs=jobs,
        all=_group("all jobs", jobs, np.ones(len(jobs), bool)),
        interval=draws.of_means(recorded, replayed),
        unit=draws.unit,
        rank_correlation=_rank_correlation(recorded, replayed),
        groups=groups,
    )


def write_calibration(result: ReplayResult, workload: Workload, path: Path) -> None:
    """Write the page.

    Raises:
        OSError: the file cannot be written.
    """
    made = calibrate(result.schedule, workload)
    write_page(
        path,
        "calibration.html.j2",
        title=f"{result.workload} – calibration",
        result=result,
        made=made,
        policy=wording.policy(result),
        clock=wording.clock_of(result),
        span=steps.horizon(made.jobs),
        names=NAMES,
        run_mark=run_mark,
        close=CLOSE,
        factor=CLOSE_FACTOR,
        data=_drawn(result, made.jobs),
    )


def _waits(jobs: Schedule) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    recorded = jobs.recorded_wait
    return (np.full(len(jobs), -1) if recorded is None else recorded), jobs.wait


def _group(label: str, jobs: Schedule, mine: NDArray[np.bool_]) -> Group:
    recorded, replayed = (wait[mine] for wait in _waits(jobs))
    low, high = np.minimum(recorded, replayed), np.maximum(recorded, replayed)
    close = (high - low <= CLOSE) | (high <= CLOSE_FACTOR * low)
    return Group(
        label=label,
        jobs=len(recorded),
        mean=(float(recorded.mean()), float(replayed.mean())),
        median=(float(np.median(recorded)), float(np.median(replayed))),
        close=float(close.mean()),
    )


def _by_name(jobs: Schedule, texts: Sequence[str]) -> list[Group]:
    """Make a group for each name, that with most jobs first, and one for all that are too many."""
    names, place, counts = np.unique(np.array(texts), return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    shown = order if len(order) <= MOST_ROWS else order[: MOST_ROWS - 1]
    groups = [_group(str(names[one]) or "(default)", jobs, place == one) for one in shown.tolist()]
    if len(shown) < len(order):
        groups.append(_group(f"{len(order) - len(shown):,} others", jobs, ~np.isin(place, shown)))
    return groups


def _names(jobs: Schedule, workload: Workload) -> dict[str, list[str]]:
    """Give partitions, QOS and users of the jobs; empty: unknown."""
    whole = workload.whole_jobs()
    row_of = {number: row for row, number in enumerate(whole.job_number.tolist())}
    rows = [row_of[number] for number in jobs.job_id.tolist()]
    if whole.requests is None:
        columns = {"Partition": whole.partition, "QOS": np.full(len(whole), -1), "User": whole.user_id}
        return {what: [_number(one) for one in column[rows].tolist()] for what, column in columns.items()}
    specs = [whole.requests[row] for row in rows]
    return {
        "Partition": [one.partition for one in specs],
        "QOS": [one.qos for one in specs],
        "User": [one.user for one in specs],
    }


def _number(number: int) -> str:
    return "" if number < 0 else str(number)


def _rank_correlation(one: NDArray[np.int64], other: NDArray[np.int64]) -> float | None:
    """Compute Spearman's coefficient: the correlation of the ranks, with mean ranks for ties."""
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.corrcoef(_ranks(one), _ranks(other))[0, 1])


def _ranks(values: NDArray[np.int64]) -> NDArray[np.float64]:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: NDArray[np.float64] = (last - (counts - 1) / 2)[place]
    return ranks


def _drawn(result: ReplayResult, jobs: Schedule) -> dict[str, Any]:
    """Compute what the page's scripts draw: two distributions, and the jobs that waited over time."""
    recorded, replayed = _waits(jobs)
    start = jobs.submit + recorded
    both = (replace(jobs, start=start, end=start + jobs.run), jobs)
    spans = [steps.horizon(one) for one in both]
    edges = steps.bin_edges(min(first for first, _ in spans), max(last for _, last in spans))
    queues = [steps.binned(steps.waiting_jobs(one), edges).mean for one in both]
    grid = log_grid(max(float(one.max(initial=1)) for one in (recorded, replayed)), 0)
    return {
        "clock": asdict(wording.clock_of(result)),
        "names": NAMES,
        "series": {"t": edges.tolist(), "jobs": [numbers(queue[[*range(len(queue)), -1]]) for queue in queues]},
        "ecdf": {"x": numbers(grid), "y": [numbers(ecdf(one, grid)) for one in (recorded, replayed)]},
    }
