"""Job steps."""

from __future__ import annotations

from dataclasses import dataclass

from rota.model.job_state import JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """A step of a job, as it is at one moment."""

    #: Step id: ``0``, ``1`` …, or ``batch``, ``extern``, ``interactive``.
    step_id: str
    name: str = ""
    state: JobState = JobState.RUNNING
    #: Names of the step's nodes.
    nodes: tuple[str, ...] = ()
    tasks: int = 1
    cpus: int = 1
    #: Unix seconds; the end is ``None`` while the step runs.
    start_time: int = 0
    end_time: int | None = None
    exit_code: int = 0
    #: Signal that ended the step; 0: none.
    signal: int = 0
