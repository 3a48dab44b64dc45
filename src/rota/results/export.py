"""A schedule as a workload: the log with simulated waits."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rota import __version__
from rota.model import JobState
from rota.results.schedule import STATES
from rota.workload.header import header_int

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.results.schedule import ReplayResult
    from rota.workload import Workload

#: SWF's status: 0 failed, 1 completed, 5 cancelled; -1 for a job that has not ended.
_STATUS = {JobState.PENDING: -1, JobState.RUNNING: -1, JobState.COMPLETED: 1, JobState.CANCELLED: 5}
#: Lines about the size of a machine.
_SIZE = re.compile(r"\s*;\s*Max(Procs|Nodes)\s*:", re.IGNORECASE)
_STATUS_CODES = np.array([_STATUS.get(state, 0) for state in STATES])


def scheduled_workload(workload: Workload, result: ReplayResult) -> Workload:
    """Give the jobs that were replayed, with simulated submission, wait, run time and status; the rest is unchanged.

    A job that never started has a wait and a run time of -1. The header names the policy, and the machine's processors.
    """
    schedule = result.schedule
    row_of = {number: row for row, number in enumerate(workload.whole_jobs().job_number.tolist())}
    jobs = workload.whole_jobs().take(np.array([row_of[job_id] for job_id in schedule.job_id.tolist()], np.intp))
    ran = (schedule.start >= 0) & (schedule.end >= 0)
    policy = " ".join(part for part in (result.scheduler, result.priority, result.options) if part)
    note = f"; Note: simulated by rota {__version__}: {policy}"
    return replace(
        jobs.with_columns(
            submit_time=schedule.submit - result.origin,
            wait_time=np.where(ran, schedule.wait, -1),
            run_time=np.where(ran, schedule.run, -1),
            status=_STATUS_CODES[schedule.state],
        ),
        header=(*_of_machine(jobs.header, result.machine_procs), note),
    )


def _of_machine(header: Sequence[str], procs: int) -> tuple[str, ...]:
    """Have a header name the processors of the machine: a log may have been replayed on another one."""
    if header_int(header, "MaxProcs", least=1) == procs:
        return tuple(header)
    kept = [line for line in header if not _SIZE.match(line)]
    return (*kept, f"; MaxProcs: {procs}")
