"""How often ranges hold: a workload is replayed, stopped at many moments, and forecast from each.

A forecast knows what was known at its moment: the queue, and the runs that had ended or begun. What really came is the
replay that goes on, with the real run times and all jobs that are submitted later.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import takewhile
from operator import itemgetter
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from rota.forecast.arrivals import Arrival, Arrivals
from rota.forecast.future import waiting_jobs
from rota.forecast.futures import run_futures
from rota.forecast.ranges import EARLY, EXPECTED, LATE, quantile
from rota.forecast.run_times import PastRun, RunTimes
from rota.model import YEAR, InputError
from rota.model.array import MOST_TASKS, count_tasks, parse_array
from rota.replays.run import Replay

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rota.core import Engine
    from rota.core.job import Job
    from rota.forecast.future import Outcome
    from rota.replays.scenario import Scenario
    from rota.replays.trace import Trace
    from rota.results.schedule import Schedule

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
        return not (self.is_earlier or self.is_later)

    @property
    def is_earlier(self) -> bool:
        """Whether it started before the range."""
        return self.early is None or self.start < self.early - _SLACK

    @property
    def is_later(self) -> bool:
        """Whether it started after the range."""
        return self.late is not None and self.start > self.late + _SLACK


class Held(NamedTuple):
    """How forecasts have held. Errors are in seconds."""

    moments: int
    jobs: int
    #: Parts of the jobs that started within their ranges, before them and after them.
    inside: float
    earlier: float
    later: float
    #: Number of jobs for which backfill had a plan, and the median errors of forecast and plan for these.
    planned: int
    error: float
    plan_error: float


def check(
    scenario: Scenario, *, moments: int, futures: int, history: int | None = None, within: int | None = None
) -> list[Checked]:
    """Check forecasts at moments of a replay, evenly spaced among the jobs that wait.

    Args:
        scenario: What is replayed.
        moments: Number of moments, and ``futures`` that of futures at each of them.
        futures: See ``moments``.
        history: Seconds for which runs have been recorded: of those that have ended, a forecast knows which began
            since then; ``None``: all.
        within: Seconds from the first submission within which the moments are; ``None``: among all jobs that wait,
            with some past, and before the queue runs dry.

    Raises:
        InputError: the workload, the configuration or an option cannot be used.
        PluginError: a plugin cannot be used.
    """
    with Replay(scenario) as whole:
        whole.run()
        truth = _Truth(whole.trace, whole.result().schedule)
    found: list[Checked] = []
    silent = scenario.using(report=lambda _text: None)  # the first replay has reported everything
    with Replay(silent) as run:
        for number, moment in enumerate(truth.moments(moments, within)):
            run.run(moment)
            known = RunTimes(truth.known(moment, history))
            # other futures at each moment: a group of many jobs waits at many of them, and would have the same luck
            drawn = run_futures(
                [run.engine],
                known,
                moment,
                arrivals=truth.arrivals(moment, history),
                first=number * futures,
                count=futures,
            )
            found += _checked(run.engine, [one for (one,) in drawn], truth, moment)
    return found


def _checked(engine: Engine, outcomes: Sequence[Outcome], truth: _Truth, moment: int) -> Iterator[Checked]:
    """Give the jobs that wait at a moment and start some time."""
    for key, job in waiting_jobs(engine).items():
        start = truth.start(_number(key, job))
        if start >= 0:
            times = [one.starts.get(key, float("inf")) for one in outcomes]
            early, expected, late = (
                None if time is None else time - moment
                for time in (quantile(times, part) for part in (EARLY, EXPECTED, LATE))
            )
            planned = None if job.planned_start is None else max(job.planned_start - moment, 0)
            yield Checked(moment, job.job_id, start - moment, early, expected, late, planned)


class _Truth:
    """What really came. Jobs that never ran, such as those that were withdrawn, are not in the schedule."""

    def __init__(self, trace: Trace, schedule: Schedule) -> None:
        self._trace = trace
        times = zip(schedule.start.tolist(), schedule.end.tolist(), strict=True)
        #: Start and end by job id, Unix seconds; below zero: never.
        self._times: dict[int, tuple[int, int]] = dict(zip(schedule.job_id.tolist(), times, strict=True))
        rows = ((row, self.start(job_id)) for row, job_id in enumerate(trace.job_id))
        #: Rows of the trace, and starts, by start.
        self._begun = sorted(((row, start) for row, start in rows if start >= 0), key=itemgetter(1))

    def start(self, job_id: int) -> int:
        """Give the start of a job, Unix seconds; below zero: never."""
        return self._times.get(job_id, (-1, -1))[0]

    def moments(self, count: int, within: int | None) -> list[int]:
        """Give moments, ascending: a minute after submissions of jobs that wait longer, when backfill has planned them.

        Args:
            count: Number of moments, which may coincide.
            within: See `check`.
        """
        trace = self._trace
        later = [
            submit
            for submit, job_id in zip(trace.submit, trace.job_id, strict=True)
            if self.start(job_id) > submit + _SLACK
        ]
        if within is None:
            later = later[int(len(later) * _FROM) : int(len(later) * _TO)]
        else:
            later = [submit for submit in later if submit < trace.submit[0] + within]
        return sorted({later[len(later) * number // count] + _SLACK for number in range(count) if later})

    def known(self, moment: int, history: int | None) -> list[PastRun]:
        """Give what was known of runs at a moment, oldest first."""
        since = 0 if history is None else moment - history
        begun = takewhile(lambda one: one[1] <= moment, self._begun)
        runs = (_past_run(self._trace, row, *self._times[self._trace.job_id[row]], moment) for row, _ in begun)
        return [run for run in runs if run.end is None or run.end - run.took >= since]

    def arrivals(self, moment: int, history: int | None) -> Arrivals:
        """Give what was known of submissions at a moment."""
        start = self._trace.start
        since = start if history is None else max(moment - history, start)
        return Arrivals(self._submitted(since, moment), since, moment)

    def _submitted(self, since: int, until: int) -> Iterator[Arrival]:
        """Give the jobs that were submitted in a time, of an array one."""
        submit = self._trace.submit
        row = bisect_left(submit, since)
        while row < len(submit) and submit[row] <= until:
            spec = self._trace.spec(row)
            yield Arrival(submit[row], spec)
            row += count_tasks(spec.array, MOST_TASKS)  # those of an array follow each other


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
        earlier=sum(one.is_earlier for one in checked) / len(checked),
        later=sum(one.is_later for one in checked) / len(checked),
        planned=sum(one.planned is not None for one in checked),
        error=median(forecast for forecast, _ in errors),
        plan_error=median(plan for _, plan in errors),
    )


def _past_run(trace: Trace, row: int, start: int, end: int, moment: int) -> PastRun:
    """Give what was known of a run at a moment; its end is below zero if it has none."""
    requests = trace.workload.requests
    has_ended = 0 <= end <= moment
    return PastRun(
        user=trace.user[row],
        account=trace.account[row],
        name="" if requests is None else requests[row].name,
        time_limit=trace.time_limit[row] or YEAR,
        took=(end if has_ended else moment) - start,
        end=end if has_ended else None,
    )


def _number(key: str, job: Job) -> int:
    """Give the job id that a job or task has in the trace: tasks of an array follow each other."""
    if job.array is None:
        return job.job_id
    task = int(key.partition("_")[2])
    return job.array.job_id + parse_array(job.spec.array, MOST_TASKS).ids.index(task)
