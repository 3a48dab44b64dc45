"""Recording what becomes of each job of a replay, and what plugins do wrong."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from rota.core.effects import Log, PluginFault, Refused
from rota.model import JobState, PluginFaultError
from rota.replays.refusals import Refusals
from rota.results.schedule import STATES, Schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.core.effects import Effect
    from rota.model import JobRecord
    from rota.replays.trace import Trace

_STATE_CODE = {state: code for code, state in enumerate(STATES)}


class Recorder:
    """Records the start, end and state of every job, and the faults of plugins.

    Args:
        trace: The jobs.
        report: Is called with messages for the administrator.
        tolerate_faults: Whether faults of plugins are counted; else the first is raised.
    """

    def __init__(self, trace: Trace, report: Callable[[str], object], *, tolerate_faults: bool) -> None:
        self._trace = trace
        self._report = report
        count = len(trace)
        self.start = [-1] * count
        self.end = [-1] * count
        self.state = [0] * count
        self.limit = trace.time_limit.copy()
        #: Account that was charged, if that is known, else the one that the job asked for.
        self.account = trace.account.copy()
        #: Partition and QOS in which a job ran, or was to run last; empty: it was refused, or no QOS is known.
        self.partition = [""] * count
        self.qos = [""] * count
        self.refusals = Refusals()
        #: Rows of the jobs that were refused.
        self.refused: list[int] = []
        #: Number of faults by plugin and function. Only the first of each is reported when it happens.
        self.faults: Counter[str] = Counter()
        self._tolerates = tolerate_faults
        #: Number of calls that took too long, which depends on the machine and is no part of the result.
        self._slow: Counter[str] = Counter()

    def finished(self, row: int, job: JobRecord) -> None:
        """Record a job that has ended."""
        if job.start_time is not None:
            self.start[row] = job.start_time
        self.end[row] = job.end_time
        self.state[row] = _STATE_CODE[job.state]
        self.limit[row] = job.time_limit
        self.partition[row] = job.partition
        self.qos[row] = job.qos
        if job.account:
            self.account[row] = job.account

    def effect(self, effect: Effect) -> None:
        """Report an effect that the driver does not perform.

        Raises:
            PluginFaultError: it is a fault, and faults are not tolerated.
        """
        if isinstance(effect, PluginFault):
            self._fault(effect)
        elif isinstance(effect, Log | Refused):
            self._report(_one_line(effect.message))

    def job_refused(self, rows: range, effect: Refused) -> None:
        """Record a job, or all tasks of an array, that were refused: they leave when they come."""
        if self.refusals.add(len(rows), effect):
            self._report(_one_line(f"job {effect.job_id} was refused: {effect.message}"))
        self.refused += rows
        for row in rows:
            self.end[row] = self._trace.submit[row]
            self.state[row] = _STATE_CODE[JobState.CANCELLED]

    def _fault(self, fault: PluginFault) -> None:
        error = PluginFaultError(fault.plugin, fault.symbol, fault.job_id, fault.message)
        if not (fault.slow or self._tolerates):
            raise error from _as_plugin_raised(fault.error)
        counts = self._slow if fault.slow else self.faults
        function = f"{fault.plugin}: {fault.symbol}"
        counts[function] += 1
        if counts[function] == 1:
            self._report(_one_line(str(error)))

    def report_faults(self) -> None:
        """Report how often each function of a plugin misbehaved, or was slow."""
        for function, count in sorted(self.faults.items()):
            self._report(
                f"plugin {function} misbehaved {count} times; where an answer was needed, rota gave its own (FIFO)"
            )
        for function, count in sorted(self._slow.items()):
            self._report(f"plugin {function} was slow {count} times")

    def schedule(self, *, named: bool) -> Schedule:
        """Make the schedule, with names of users and accounts if they are known."""
        trace = self._trace
        recorded = trace.workload.wait_time
        return Schedule(
            job_id=np.asarray(trace.job_id, np.int64),
            user_id=np.asarray(trace.user_id, np.int64),
            submit=np.asarray(trace.submit, np.int64),
            start=np.asarray(self.start, np.int64),
            end=np.asarray(self.end, np.int64),
            procs=np.asarray(trace.procs, np.int64),
            time_limit=np.asarray(self.limit, np.int64),
            state=np.asarray(self.state, np.int8),
            user=tuple(trace.user) if named else None,
            account=tuple(self.account) if named else None,
            recorded_wait=recorded if (recorded >= 0).any() else None,
            partition=tuple(self.partition),
            qos=tuple(self.qos) if any(self.qos) else None,
        )


def _as_plugin_raised(error: BaseException | None) -> BaseException | None:
    """Give an exception of a plugin with a traceback that begins in the plugin, not in the engine that called it."""
    trace = None if error is None else error.__traceback__
    return error if error is None or trace is None else error.with_traceback(trace.tb_next or trace)


def _one_line(text: str) -> str:
    """Join the lines of a message."""
    return " ".join(text.split())
