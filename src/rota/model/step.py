"""Steps: what runs within a job."""

from __future__ import annotations

from dataclasses import dataclass

from rota.model.job_state import JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One step of a job, as it is at some time."""

    #: ``0``, ``1`` …, or ``batch``, ``extern``, ``interactive``.
    step_id: str
    name: str = ""
    state: JobState = JobState.RUNNING
    #: Names of the nodes that it runs on.
    nodes: tuple[str, ...] = ()
    tasks: int = 1
    cpus: int = 1
    #: Unix seconds; the end is ``None`` while it runs.
    start_time: int = 0
    end_time: int | None = None
    exit_code: int = 0
    #: The signal that ended it; 0: none.
    signal: int = 0
