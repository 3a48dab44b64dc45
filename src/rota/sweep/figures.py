"""What is kept of a replay: its figures, and those of 400 logs that are drawn from its weeks.

The same weeks are drawn for all runs of one workload (`rota.results.report.intervals`), so that the drawn figures of
two runs can be subtracted one by one: what is left is the interval of their difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.results.report.intervals import WEEK, Bootstrap, means_of_weeks
from rota.results.report.metrics import model_errors, weekly_utilisation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.results.schedule import ReplayResult


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure by which settings are judged."""

    key: str
    label: str
    #: Whether more of it is better.
    is_gain: bool

    @property
    def short(self) -> str:
        """The label without what it is of."""
        return self.label.partition(" until")[0]


METRICS = (
    Metric("mean_wait_s", "Mean wait", is_gain=False),
    Metric("mean_bounded_slowdown", "Mean bounded slowdown", is_gain=False),
    Metric("utilisation", "Utilisation until the last submission", is_gain=True),
    Metric("fairness", "Fairness", is_gain=True),
)
#: Counts that say whether two runs have run the same jobs.
COUNTS = ("jobs", "refused", "unfinished")


def figures_of(result: ReplayResult) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """Give the figures of a run by name, and the drawn ones of `METRICS`, of which some may be missing.

    Fairness is Jain's index of the users' mean bounded slowdowns: 1 if all are slowed down alike, 1/n if one of n bears
    it all. (Jain, Chiu and Hawe, A Quantitative Measure of Fairness and Discrimination, 1984.)
    """
    schedule, summary = result.schedule, result.summary
    ran = np.flatnonzero((schedule.start >= 0) & (schedule.end >= 0))
    jobs = schedule.take(ran)
    wait, slowdown = jobs.wait.astype(np.float64), jobs.bounded_slowdown
    users, who = np.unique(jobs.user_id, return_inverse=True)
    weekly, widths = weekly_utilisation(result)
    bootstrap = Bootstrap(schedule)
    figures: dict[str, Any] = {
        "jobs": summary.jobs,
        "refused": summary.refused,
        "unfinished": summary.unfinished,
        "faults": sum(summary.faults.values()),
        "mean_wait_s": summary.mean_wait_s,
        "mean_bounded_slowdown": summary.mean_bounded_slowdown,
        "utilisation": float((weekly * widths).sum() / max(widths.sum(), 1)),
        "fairness": float(_jain(_by_user(slowdown, who, len(users))[None, :])[0]) if len(ran) else 0.0,
        "median_wait_s": float(np.median(wait)) if len(ran) else 0.0,
        "p95_wait_s": float(np.quantile(wait, 0.95)) if len(ran) else 0.0,
        "max_wait_s": summary.max_wait_s,
        "makespan_s": summary.makespan_s,
        "inputs": "" if result.inputs is None else result.inputs.beside_policy(),
        **{f"{key}_error": error for key, error in model_errors(result, jobs).items()},
        "drawn_from": f"{bootstrap.count} {bootstrap.unit}" if bootstrap.unit else "",
    }
    drawn: dict[str, NDArray[np.float64] | None] = {"utilisation": means_of_weeks(weekly[widths == WEEK])}
    if bootstrap.unit and len(ran):
        drawn["mean_wait_s"] = bootstrap.means(wait, ran)
        drawn["mean_bounded_slowdown"] = bootstrap.means(slowdown, ran)
    if bootstrap.unit == "weeks" and len(ran):
        drawn["fairness"] = _jain(bootstrap.means_by(slowdown, who, ran))
    return figures, {
        key: values.tolist() for key, values in drawn.items() if values is not None and np.isfinite(values).all()
    }


def _by_user(values: NDArray[np.float64], who: NDArray[np.intp], users: int) -> NDArray[np.float64]:
    return np.asarray(np.bincount(who, values, users) / np.bincount(who, minlength=users), np.float64)


def _jain(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give Jain's index of each row; values that are not there are NaN."""
    count = np.isfinite(values).sum(axis=1)
    return np.asarray(np.nansum(values, axis=1) ** 2 / (count * np.nansum(values**2, axis=1)), np.float64)
