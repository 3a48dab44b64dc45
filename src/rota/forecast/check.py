"""How often ranges hold: a workload is replayed, stopped at many moments, and forecast from each.

A forecast knows what was known at its moment: the queue, and the runs that had ended or begun. What really came is the
replay that goes on, with the real run times and all jobs that are submitted later.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from rota.forecast.future import waiting_jobs
from rota.forecast.futures import run_futures
from rota.forecast.ranges import EARLY, EXPECTED, LATE, quantile
from rota.forecast.run_times import PastRun, RunTimes
from rota.model import YEAR, InputError
from rota.model.array import MOST_TASKS, parse_array
from rota.replays.run import Replay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.core.job import Job
    from rota.replays.scenario import Scenario
    from rota.replays.trace import Trace

#: Seconds by which a start may miss its range and count as inside: backfill plans in minutes.
_SLACK = 60
#: The parts of the jobs that wait between which the moments are: with some past, and before the queue runs dry.
_FROM, _TO = 0.1, 0.95


class Checked(NamedTuple):
    """A job that waited at a moment. Times are seconds from then."""

    #: Unix seconds.
    moment: int
    job_id: int
    #: When it really started.
    start: int
    #: What was forecast; ``None``: never.
    early: int | None
    expected: int | None
    late: int | None
    #: Backfill's plan; ``None``: it had none for the job.
    planned: int | None

    @property
    def inside(self) -> bool:
        """Whether it started within the range."""
        early = self.early is not None and self.early - _SLACK <= self.start
        return early and (self.late is None or self.start <= self.late + _SLACK)


class Held(NamedTuple):
    """How forecasts have held. Errors are in seconds."""

    moments: int
    jobs: int
    #: Part of the jobs that started within their ranges.
    inside: float
    #: Number of jobs for which backfill had a plan, and the median errors of forecast and plan for these.
    planned: int
    error: float
    plan_error: float


def check(scenario: Scenario, *, moments: int, futures: int) -> list[Checked]:
    """Check forecasts at moments of a replay, evenly spaced among the jobs that wait.

    Raises:
        InputError: the workload, the configuration or an option cannot be used.
        PluginError: a plugin cannot be used.
    """
    with Replay(scenario) as whole:
        whole.run()
        trace, schedule = whole.trace, whole.result().schedule
    starts, ends = schedule.start.tolist(), schedule.end.tolist()
    row_of = {job_id: row for row, job_id in enumerate(trace.job_id)}
    by_start = sorted((row for row, start in enumerate(starts) if start >= 0), key=starts.__getitem__)
    found: list[Checked] = []
    silent = scenario.using(report=lambda _text: None)  # the first replay has reported everything
    with Replay(silent) as run:
        for number, moment in enumerate(_moments(trace, starts, moments)):
            run.run(moment)
            waiting = waiting_jobs(run.engine)
            past = [_past_run(trace, row, starts[row], ends[row], moment) for row in by_start if starts[row] <= moment]
            # other futures at each moment: a group of many jobs waits at many of them, and would have the same luck
            drawn = run_futures([run.engine], RunTimes(past), moment, first=number * futures, count=futures)
            outcomes = [one for (one,) in drawn]
            for key, job in waiting.items():
                start = starts[row_of[_number(key, job)]]
                if start >= 0:
                    times = [one.starts.get(key, float("inf")) for one in outcomes]
                    early, expected, late = (
                        None if time is None else time - moment
                        for time in (quantile(times, part) for part in (EARLY, EXPECTED, LATE))
                    )
                    planned = None if job.planned_start is None else max(job.planned_start - moment, 0)
                    found.append(Checked(moment, job.job_id, start - moment, early, expected, late, planned))
    return found


def held(checked: Sequence[Checked]) -> Held:
    """Sum up checked forecasts.

    Raises:
        InputError: there are none.
    """
    if not checked:
        raise InputError("no job waited at any of the moments: there is nothing to check yet", field="--check")
    errors = [
        (abs(one.expected - one.start), abs(one.planned - one.start))
        for one in checked
        if one.planned is not None and one.expected is not None
    ] or [(0, 0)]
    return Held(
        moments=len({one.moment for one in checked}),
        jobs=len(checked),
        inside=sum(one.inside for one in checked) / len(checked),
        planned=sum(one.planned is not None for one in checked),
        error=median(forecast for forecast, _ in errors),
        plan_error=median(plan for _, plan in errors),
    )


def _moments(trace: Trace, starts: Sequence[int], count: int) -> list[int]:
    """Give moments, ascending: a minute after submissions of jobs that wait longer, when backfill has planned them."""
    later = [submit for submit, start in zip(trace.submit, starts, strict=True) if start > submit + _SLACK]
    first, last = int(len(later) * _FROM), int(len(later) * _TO)
    chosen = {later[first + (last - first) * number // count] + _SLACK for number in range(count) if later}
    return sorted(chosen)


def _past_run(trace: Trace, row: int, start: int, end: int, moment: int) -> PastRun:
    """Give what was known of a run at a moment."""
    requests = trace.workload.requests
    return PastRun(
        user=trace.user[row],
        account=trace.account[row],
        name="" if requests is None else requests[row].name,
        time_limit=trace.time_limit[row] or YEAR,
        took=max(min(end, moment) - start, 0),
        has_ended=end <= moment,
    )


def _number(key: str, job: Job) -> int:
    """Give the job id that a job or task has in the trace: tasks of an array follow each other."""
    if job.array is None:
        return job.job_id
    task = int(key.partition("_")[2])
    return job.array.job_id + parse_array(job.spec.array, MOST_TASKS).ids.index(task)
