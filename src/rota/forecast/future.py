"""One future: an engine is run ahead in virtual time, until all jobs that wait have started.

Events of one time are ordered: ends of jobs, submissions, timers, then a scheduling pass.

The further ahead, the coarser the clock: ends are rounded up or down, by chance, to multiples of a grain of 1/32 to 1/8
of the time ahead, submissions to the nearest one, and backfill cycles and priorities are computed no more often. Ends
that rounding would put beyond the time limit stay exact. That is finer than what can be known, and takes a fifth of the
time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from random import Random
from time import monotonic
from typing import TYPE_CHECKING

from rota.core.events import JobEnded, Reconfigure, SchedulePass, Submit, Tick
from rota.forecast.run_times import job_key
from rota.model import JobState
from rota.model.array import MOST_TASKS, count_tasks
from rota.runtime.dispatch import background_done, dispatch_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.core import Engine
    from rota.core.effects import (
        Accepted,
        Background,
        Effect,
        JobFinished,
        Kill,
        Launch,
        PluginFault,
        Refused,
        RunRequeued,
    )
    from rota.core.events import Event
    from rota.core.job import Job
    from rota.forecast.arrivals import Arrival
    from rota.forecast.run_times import Draws
    from rota.model import ClusterConfig

#: Seconds up to which the clock is exact, and the factor of the time ahead after which it becomes coarser.
_EXACT, _FACTOR = 256, 4
#: Number of grains in the least time ahead for which one is used.
_GRAINS = 8
#: The largest bf_interval, seconds.
_LONGEST_INTERVAL = 10_800
_PASSES_IN_A_ROW = 10
#: Number of successive timers, without an end or a start, after which nothing more is expected.
_IDLE = 10_000
#: Seconds to look ahead.
HORIZON = 400 * 86_400
_NEVER = 2**62
#: Id of the first job that comes: the cluster's have smaller ones.
_FIRST_ID = 1 << 29
_PASS, _TICK = SchedulePass(), Tick()


@dataclass(slots=True)
class Outcome:
    """What has become of the jobs that waited. Jobs are named as by `job_key`, times are Unix seconds."""

    #: When jobs started, and when they are to end.
    starts: dict[str, int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    #: Why jobs never start: Slurm's reasons.
    never: dict[str, str] = field(default_factory=dict)
    #: Up to when there was time to look; ``None``: to the end.
    reached: int | None = None
    #: The first fault of a plugin; empty: there was none.
    fault: str = ""


def waiting_jobs(engine: Engine) -> dict[str, Job]:
    """Give the pending jobs and tasks of an engine, in the order of the queue; those that are not in it last."""
    ids = engine.view.waiting()
    jobs = [*(engine.jobs[job_id] for job_id in ids), *engine.jobs.values()]
    found: dict[str, Job] = {}
    for job in jobs:
        if job.state is JobState.PENDING:
            array = job.array if job.task_id is None else None
            keys = [job_key(job)] if array is None else [f"{array.job_id}_{task}" for task in array.pending]
            found.update(dict.fromkeys(keys, job))
    return found


class Future:
    """Runs an engine ahead, which it uses up: to be called in a copy of the process, or with a copy of the engine.

    Args:
        engine: The engine, after `Engine.begin`.
        draws: The run times of the jobs.
        now: The time now, Unix seconds.
        arrivals: The jobs that are still to come, by time.
        only: Names of the jobs to look for, as `waiting_jobs` gives them; ``None``: all that wait.
        deadline: When to stop, on the monotonic clock; ``None``: at the end.
    """

    def __init__(
        self,
        engine: Engine,
        draws: Draws,
        now: int,
        *,
        arrivals: Iterable[Arrival] = (),
        only: frozenset[str] | None = None,
        deadline: float | None = None,
    ) -> None:
        self._engine = engine
        self._draws = draws
        self._begun = self._now = max(now, engine.view.now)
        self._deadline = deadline
        self._config = engine.view.config
        self._dice = Random(draws.seed)  # noqa: S311 - no secrets
        self._coarser_at = self._begun + _EXACT
        #: Ends of runs: time, job id and restart count.
        self._ends: list[tuple[int, int, int]] = []
        #: The jobs that come, the next one, and its id.
        self._arrivals = iter(arrivals)
        self._next_arrival = next(self._arrivals, None)
        self._next_id = _FIRST_ID
        #: How many of those that wait cannot start whatever comes.
        self._stuck = 0
        self._waiting = {key: job for key, job in waiting_jobs(engine).items() if only is None or key in only}
        self._outcome = Outcome()
        self._perform_one = dispatch_table(self)

    def run(self) -> Outcome:
        """Run ahead; give what has become of the jobs that wait."""
        outcome = self._outcome
        for job in list(self._engine.jobs.values()):
            if job.completing:
                heappush(self._ends, (self._now, job.job_id, job.restart_count))
            elif job.alloc and job.suspended_since is None:
                self._plan_end(job, self._now - job.effective_start)
        self._engine.plans_unread(_NEVER)
        self._send(_TICK)
        self._make_passes()
        self._stuck = self._count_stuck()
        idle, left = 0, len(self._waiting)
        while self._waiting and idle < _IDLE:
            now = self._next_time()
            if now > self._begun + HORIZON:
                break
            if self._deadline is not None and monotonic() > self._deadline:
                outcome.reached = self._now
                return outcome
            self._now = max(now, self._now)
            idle = 0 if self._end_jobs() | self._submit_jobs() or len(self._waiting) < left else idle + 1
            left = len(self._waiting)
            self._tick()
            self._make_passes()
        outcome.never |= {key: self._reason(job) for key, job in self._waiting.items()}
        return outcome

    def _count_stuck(self) -> int:
        stuck: dict[int, bool] = {}  # tasks of an array may be one job
        for job in self._waiting.values():
            if job.job_id not in stuck:
                stuck[job.job_id] = self._engine.view.is_stuck(job)
        return sum(stuck[job.job_id] for job in self._waiting.values())

    def _next_time(self) -> int:
        wakeup = self._engine.wakeup
        at = _NEVER if wakeup is None else wakeup
        if len(self._waiting) <= self._stuck:  # what comes concerns nobody any more
            self._next_arrival = None
        if self._next_arrival is not None:
            at = min(at, self._rounded(self._next_arrival.time))
        return min(at, self._ends[0][0]) if self._ends else at

    def _end_jobs(self) -> bool:
        """End the runs whose time has come; say whether there was one."""
        ended = False
        while self._ends and self._ends[0][0] <= self._now:
            _, job_id, run = heappop(self._ends)
            self._send(JobEnded(job_id, run))
            ended = True
        return ended

    def _submit_jobs(self) -> bool:
        """Submit the jobs whose time has come; say whether there was one."""
        submitted = False
        while self._next_arrival is not None and self._rounded(self._next_arrival.time) <= self._now:
            spec = self._next_arrival.spec
            self._send(Submit(self._next_id, spec))
            self._next_id += count_tasks(spec.array, MOST_TASKS)
            self._next_arrival = next(self._arrivals, None)
            submitted = True
        return submitted

    def _tick(self) -> None:
        if self._now >= self._coarser_at:
            self._coarsen()
        wakeup = self._engine.wakeup
        if wakeup is not None and wakeup <= self._now:
            self._send(_TICK)

    def _make_passes(self) -> None:
        for _ in range(_PASSES_IN_A_ROW):
            if not self._engine.pass_due:
                return
            self._send(_PASS)

    def _reason(self, job: Job) -> str:
        line = self._engine.view.job(job.job_id)
        return "None" if line is None else line.reason

    # ---- the clock --------------------------------------------------------------------------------------------

    def _coarsen(self) -> None:
        """Let backfill and priorities go by the grain of the time ahead."""
        while self._coarser_at <= self._now:
            self._coarser_at += (_FACTOR - 1) * (self._coarser_at - self._begun)
        self._send(Reconfigure(config=_with_grain(self._config, self._grain(self._now - self._begun))))

    @staticmethod
    def _grain(ahead: int) -> int:
        """Give the grain of a time ahead, seconds."""
        least = _EXACT
        if ahead < least:
            return 1
        while least * _FACTOR <= ahead:
            least *= _FACTOR
        return least // _GRAINS

    def _rounded(self, time: int, up: float = 0.5) -> int:
        """Round a time to the grain of then, up from a part of it on."""
        ahead = time - self._begun
        grain = self._grain(ahead)
        return self._begun + (ahead + int(up * grain)) // grain * grain

    def _plan_end(self, job: Job, ran: int) -> int:
        """Plan the end of a run that has run for some seconds; give its time."""
        exact = job.effective_start + self._draws.run_time(job, ran)
        end = self._rounded(exact, self._dice.random())  # on average it is exact
        if job.end_time is not None and end > job.end_time:  # the engine would end it before, at its limit
            end = exact
        heappush(self._ends, (max(end, self._now), job.job_id, job.restart_count))
        return exact

    # ---- events and effects -----------------------------------------------------------------------------------

    def _send(self, event: Event) -> None:
        self._perform(self._engine.handle(event, self._now))

    def _perform(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            self._perform_one[type(effect)](effect)

    def launch(self, effect: Launch) -> None:
        """Plan the end of a run."""
        job = self._engine.jobs[effect.job_id]
        end, key = self._plan_end(job, 0), job_key(job)
        if self._waiting.pop(key, None) is not None:
            self._outcome.starts[key] = self._now
            self._outcome.ends[key] = end

    def kill(self, effect: Kill) -> None:
        """End a run immediately."""
        self._send(JobEnded(job_id=effect.job_id, restart_count=effect.restart_count))

    def finished_with(self, effect: JobFinished) -> None:
        """Note a job that has ended without having started, such as one that has missed its deadline."""
        record = effect.record
        first = record.array_job_id
        keys = [str(record.job_id)] if first is None else [f"{first}_{task}" for task in record.tasks]
        for key in keys:
            if self._waiting.pop(key, None) is not None:
                self._outcome.never[key] = record.state.value

    def requeued(self, effect: RunRequeued) -> None:
        """Do nothing: the job is launched again."""

    def background(self, effect: Background) -> None:
        """Call a background function immediately."""
        self._send(background_done(effect))

    def fault(self, effect: PluginFault) -> None:
        """Note the first fault."""
        self._outcome.fault = self._outcome.fault or f"plugin {effect.plugin}: {effect.symbol} {effect.message}"

    def answer(self, effect: Accepted | Refused) -> None:
        """Do nothing: nobody has asked."""

    def ignore(self, effect: Effect) -> None:
        """Do nothing: there are no processes."""

    send_signal = suspend = resume = log = ignore


def _with_grain(config: ClusterConfig, grain: int) -> ClusterConfig:
    """Let backfill cycles and computations of priorities be no more frequent than once in ``grain`` seconds."""
    parameters = dict(config.parameters)
    parameters["prioritycalcperiod"] = str(max(config.seconds("PriorityCalcPeriod", 300), grain) // 60)
    interval = config.scheduler_int("bf_interval", 30, -1, _LONGEST_INTERVAL)
    if 0 < interval < grain:
        options = {**config.scheduler_parameters(), "bf_interval": str(min(grain, _LONGEST_INTERVAL))}
        text = ",".join(f"{name}={value}" if value else name for name, value in options.items())
        parameters["schedulerparameters"] = text
    return replace(config, parameters=parameters)
