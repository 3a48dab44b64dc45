"""What is written down of a job that has ended: its row, and its steps as they have ended."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rota.core.plain import shape_of
from rota.model import JobState, Reason
from rota.model.accounting import AccountingRecord
from rota.model.step import StepRecord, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.model import JobRecord


def job_row(accounting: AccountingRecord) -> dict[str, Any]:
    """Give the row of a job that has ended, with the record as JSON data."""
    job = accounting.job
    return {
        "job_id": job.job_id,
        "array_job_id": job.array_job_id,
        "user_name": job.user,
        "account": _storable(job.account),
        "partition_name": _storable(job.partition),
        "name": _storable(job.name),
        "state": job.base_state,
        "submit_time": job.submit_time,
        "start_time": job.start_time,
        "end_time": job.end_time,
        "payload": job.request.payload,
        "record": shape_of(AccountingRecord).encode(accounting),
    }


def _storable(text: str) -> str:
    """Give a text as a database holds it: bytes that are no UTF-8 are ``?``, as in Slurm's. The record has them all."""
    return text.encode(errors="replace").decode()


def as_requeued(accounting: AccountingRecord) -> AccountingRecord:
    """Give the record of a run after which its job was queued again, by whomever asked for it."""
    job = accounting.job._replace(state="REQUEUED", state_compact="RQ", base_state="REQUEUED")
    return replace(accounting, job=job)


def ended_step(step: StepRecord, record: JobRecord) -> StepRecord:
    """Give a step of a job that has ended; what still ran was ended with it, and what was killed says why."""
    killed = step.end_time is None or step.signal == signal.SIGKILL
    if killed and record.state is JobState.OUT_OF_MEMORY:
        end = record.end_time if step.end_time is None else step.end_time
        return replace(step, state=record.state, end_time=end, exit_code=record.exit_code, signal=record.signal)
    if step.end_time is not None:
        return step
    return replace(step, state=JobState.CANCELLED, end_time=record.end_time, signal=record.signal or signal.SIGKILL)


def derived_exit_code(steps: Iterable[StepRecord]) -> int:
    """Give the highest exit status of some steps: 256 × the exit code + the signal."""
    return max((step.exit_code << 8 | step.signal for step in steps), default=0)


def batch_step(record: JobRecord, nodes: tuple[str, ...], cpus: int, gres: tuple[str, ...], usage: Usage) -> StepRecord:
    """Give the step that is the batch script of a job."""
    return StepRecord(
        step_id="batch",
        name="batch",
        state=_batch_state(record),
        nodes=nodes,
        cpus=cpus,
        gres=gres,
        start_time=record.start_time or 0,
        end_time=record.end_time,
        exit_code=record.exit_code,
        signal=record.signal,
        usage=usage,
    )


def _batch_state(record: JobRecord) -> JobState:
    """Give the state of the batch step: how the script ended, whatever became of the job."""
    if record.state is JobState.OUT_OF_MEMORY:
        return record.state
    if record.reason is Reason.SYSTEM_FAILURE:  # nobody knows
        return record.state
    if record.signal or record.state is JobState.NODE_FAIL:
        return JobState.CANCELLED
    return JobState.FAILED if record.exit_code else JobState.COMPLETED
