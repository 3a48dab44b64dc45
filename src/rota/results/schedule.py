"""The schedule of a replay, and its figures of merit."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.model import JobState
from rota.results.provenance import Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rota.results.inputs import Inputs
    from rota.results.plan_history import PlanHistory
    from rota.results.priority_history import PriorityHistory

#: Shortest run time in the bounded slowdown, in seconds (Feitelson and Rudolph).
BOUNDED_SLOWDOWN_TAU = 10
#: States to which the indices in `Schedule.state` refer.
STATES: tuple[JobState, ...] = tuple(JobState)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The schedule as arrays of equal length with a row for each job, in workload order. Times are Unix seconds."""

    job_id: NDArray[np.int64]
    user_id: NDArray[np.int64]
    submit: NDArray[np.int64]
    #: Start; -1 for a job that never ran.
    start: NDArray[np.int64]
    #: End; -1 for a job that has not ended.
    end: NDArray[np.int64]
    procs: NDArray[np.int64]
    #: Time limit in seconds, with which the scheduler planned.
    time_limit: NDArray[np.int64]
    #: Indices of `STATES`.
    state: NDArray[np.int8]
    #: Names of users and accounts by row; ``None``: unknown.
    user: tuple[str, ...] | None = None
    account: tuple[str, ...] | None = None
    #: Hostlist of each job's last nodes, and its processors on them as ``32(x4),8``; empty for a job that never ran;
    #: ``None``: not recorded, or the machine has no nodes.
    nodes: tuple[str, ...] | None = None
    node_cpus: tuple[str, ...] | None = None
    #: Waits as the workload has them, seconds; -1: it does not know; ``None``: it knows none.
    recorded_wait: NDArray[np.int64] | None = None
    #: GRES that each job had, as ``gres/gpu=2``; empty for none; ``None``: nobody had any, or not recorded.
    gres: tuple[str, ...] | None = None
    #: Partition and QOS by row; empty: unknown; ``None``: not recorded.
    partition: tuple[str, ...] | None = None
    qos: tuple[str, ...] | None = None
    #: Type of each job's nodes, see `rota.results.node_types`; empty for a job that never ran; ``None``: not recorded.
    node_type: tuple[str, ...] | None = None

    def __len__(self) -> int:
        """Give the number of jobs."""
        return len(self.job_id)

    def take(self, rows: NDArray[np.int64]) -> Schedule:
        """Select rows, in the given order."""
        columns = {one.name: getattr(self, one.name) for one in fields(self)}
        return Schedule(**{name: _chosen(values, rows) for name, values in columns.items()})

    @property
    def user_names(self) -> tuple[str, ...]:
        """Name of each job's user; ``user7`` where only the number is known."""
        return self.user if self.user is not None else tuple(f"user{number}" for number in self.user_id.tolist())

    @property
    def wait(self) -> NDArray[np.int64]:
        """Seconds from submission to start; valid where ``start >= 0``."""
        return self.start - self.submit

    @property
    def run(self) -> NDArray[np.int64]:
        """Seconds from start to end; valid where ``start >= 0`` and ``end >= 0``."""
        return self.end - self.start

    @property
    def compared(self) -> NDArray[np.bool_]:
        """Mark the jobs of which both waits are known: that recorded and that replayed."""
        none = np.zeros(len(self), bool)
        return none if self.recorded_wait is None else (self.recorded_wait >= 0) & (self.start >= 0) & (self.end >= 0)

    @property
    def bounded_slowdown(self) -> NDArray[np.float64]:
        """max(1, (wait + run) / max(run, 10 s)) of each job."""
        run = self.run
        return np.maximum(1.0, (self.wait + run) / np.maximum(run, BOUNDED_SLOWDOWN_TAU))


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The figures of a replay, which ``rota replay --json`` prints."""

    #: Number of jobs that ran to an end. The figures are of these.
    jobs: int
    #: Number of jobs that were refused: by a limit, or in a partition that is closed to them.
    refused: int
    #: Number of all other jobs: those that never started or never ended.
    unfinished: int
    mean_wait_s: float
    max_wait_s: int
    mean_bounded_slowdown: float
    #: From the first submission to the last end.
    makespan_s: int
    #: Σ run · procs / (machine procs · makespan).
    utilisation: float
    #: Number of events handled by the engine.
    events: int
    #: Number of scheduling passes.
    passes: int
    #: Number of faults by plugin and function, such as ``sched/mine: slurm_sched_p_schedule``: rota's default was used.
    faults: Mapping[str, int]
    #: Wall time of the replay in seconds, without reading and writing files.
    wall_s: float
    us_per_job: float

    def as_dict(self) -> dict[str, Any]:
        """Convert the figures to JSON data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """The result of a replay."""

    #: File name of the workload, without the folder.
    workload: str
    scheduler: str
    priority: str
    #: Distinguishes the run from others, such as ``easy_order=sjf``; may be empty.
    options: str
    #: Number of processors of the machine.
    machine_procs: int
    #: Unix time of the log's second 0.
    origin: int
    schedule: Schedule
    summary: Summary
    #: History of fair-share and factors; ``None`` if the priority plugin has none.
    priorities: PriorityHistory | None = None
    #: History of plans; ``None``: not recorded.
    plans: PlanHistory | None = None
    #: How the result came about.
    provenance: Provenance = field(default_factory=Provenance)
    #: What its schedule depends on; ``None``: an older rota wrote it.
    inputs: Inputs | None = None


def summarise(
    schedule: Schedule,
    machine_procs: int,
    *,
    events: int,
    passes: int,
    wall_s: float,
    faults: Mapping[str, int],
    refused: int,
) -> Summary:
    """Compute the figures from the finished jobs; all are zero if there are none."""
    ran = (schedule.start >= 0) & (schedule.end >= 0)
    jobs = int(ran.sum())
    if not jobs:
        return Summary(
            jobs=0,
            refused=refused,
            unfinished=len(schedule) - refused,
            mean_wait_s=0.0,
            max_wait_s=0,
            mean_bounded_slowdown=0.0,
            makespan_s=0,
            utilisation=0.0,
            events=events,
            passes=passes,
            faults=dict(sorted(faults.items())),
            wall_s=wall_s,
            us_per_job=0.0,
        )
    wait = schedule.wait[ran]
    makespan = int(schedule.end[ran].max() - schedule.submit[ran].min())
    work = int((schedule.run[ran] * schedule.procs[ran]).sum())
    return Summary(
        jobs=jobs,
        refused=refused,
        unfinished=len(schedule) - jobs - refused,
        mean_wait_s=float(wait.mean()),
        max_wait_s=int(wait.max()),
        mean_bounded_slowdown=float(schedule.bounded_slowdown[ran].mean()),
        makespan_s=makespan,
        utilisation=work / (machine_procs * makespan) if makespan else 0.0,
        events=events,
        passes=passes,
        faults=dict(sorted(faults.items())),
        wall_s=wall_s,
        us_per_job=wall_s / jobs * 1e6,
    )


def _chosen(values: Any, rows: NDArray[np.int64]) -> Any:
    """Select rows of a column: of an array, of names, or of ``None``."""
    if values is None:
        return None
    return tuple(values[row] for row in rows.tolist()) if isinstance(values, tuple) else values[rows]
