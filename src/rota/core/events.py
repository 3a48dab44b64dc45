"""What can happen to the engine. A driver makes these; `Engine.handle` takes them with the time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.accounting import AssociationTree
    from rota.model import ClusterConfig, JobSpec, NodeState, PartitionState
    from rota.model.reservation import Reservation


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    """A user submits a job."""

    job_id: int
    spec: JobSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded:
    """A launched job has ended and its resources are free.

    May come late, twice, or for a run that the engine has given up: ``restart_count`` tells which run it was.
    """

    job_id: int
    restart_count: int = 0
    exit_code: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFailed:
    """A launch could not be performed: the job never ran."""

    job_id: int
    restart_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Somebody cancels a job."""

    job_id: int
    #: Of a job array; ``None``: all of it.
    task_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Somebody holds a pending job."""

    job_id: int
    #: Of a job array; ``None``: all of it.
    task_id: int | None = None
    #: A user's own hold, which the user may release; else an administrator's.
    by_user: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Somebody releases a held job."""

    job_id: int
    #: Of a job array; ``None``: all of it.
    task_id: int | None = None
    #: A user, who may not release what an administrator holds; else an administrator.
    by_user: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Requeue:
    """Somebody puts a running job back in the queue."""

    job_id: int
    #: Of a job array; ``None``: all of it.
    task_id: int | None = None
    #: It is held there.
    hold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateJob:
    """Somebody changes what a job asks for."""

    job_id: int
    #: Of a job array; ``None``: all of it.
    task_id: int | None = None
    #: Fields of `JobSpec` with their new values; of a running job only ``time_limit`` may be one.
    changes: Mapping[str, Any] = field(default_factory=dict)
    #: How many tasks of the array may run at a time, 0 for any number; ``None``: as before.
    array_throttle: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateLimits:
    """An administrator has changed limits: associations and QOS are to have those that they have in this tree."""

    tree: AssociationTree


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateReservation:
    """An administrator sets nodes aside for a time."""

    reservation: Reservation


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteReservation:
    """An administrator gives a reservation up."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateNode:
    """A node goes up, down, or is drained."""

    name: str
    state: NodeState


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePartition:
    """An administrator sets a partition's state."""

    name: str
    state: PartitionState


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconfigure:
    """slurm.conf was read again. The same nodes and partitions, possibly with other limits and parameters."""

    config: ClusterConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundDone:
    """A piece of background work is finished, or has raised."""

    token: int
    result: object = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """`Engine.wakeup` has come: timers and time limits are due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePass:
    """Make a scheduling pass. Drivers send it when `Engine.pass_due` says so, at once or after a batch of events."""


Event = (
    Submit
    | JobEnded
    | LaunchFailed
    | Cancel
    | Hold
    | Release
    | Requeue
    | UpdateJob
    | UpdateLimits
    | CreateReservation
    | DeleteReservation
    | UpdateNode
    | UpdatePartition
    | Reconfigure
    | BackgroundDone
    | Tick
    | SchedulePass
)
