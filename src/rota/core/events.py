"""What can happen to the engine. A driver makes these; `Engine.handle` takes them with the time.

Events are plain data (see `rota.core.event_codec`). A *request* is what somebody wants: the engine carries it out, or
refuses it as a whole. The others are news, and nobody is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from rota.model import ClusterConfig, JobSpec, NodeState, PartitionState
from rota.model.reservation import Reservation
from rota.model.step import StepRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What users and administrators ask for."""

    #: Who asks, by number; 0 is root, and stands for all who may do as they like: administrators and operators.
    uid: int = 0
    #: Who waits for an answer gives one, and gets one answer: `Accepted` or `Refused`. 0: nobody waits.
    request_id: int = 0


# ---- jobs -------------------------------------------------------------------------------------------------------


class Submit(NamedTuple):
    """A user submits a job: a `Request`, and a named tuple as `JobEnded` is."""

    job_id: int
    spec: JobSpec
    uid: int = 0
    request_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest(Request):
    """Somebody wants something of a job."""

    job_id: int
    #: Of a job array; ``None``: all of it.
    task_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel(JobRequest):
    """Somebody cancels a job."""

    #: With which signal a job that runs is ended; 0: as usual, with SIGTERM and after KillWait with SIGKILL.
    signal: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalJob(JobRequest):
    """Somebody sends a signal to a running job, and it goes on to be what it is."""

    signal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold(JobRequest):
    """Somebody holds a pending job."""

    #: A user's own hold, which the user may release; else an administrator's.
    by_user: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(JobRequest):
    """Somebody releases a held job."""

    #: A user, who may not release what an administrator holds; else an administrator.
    by_user: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Requeue(JobRequest):
    """Somebody puts a running job back in the queue."""

    #: It is held there.
    hold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspend(JobRequest):
    """An administrator stops a running job for a while; it keeps what it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume(JobRequest):
    """An administrator lets a suspended job go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateJob(JobRequest):
    """Somebody changes what a job asks for."""

    #: Fields of `JobSpec` with their new values; of a running job ``time_limit`` and ``licenses`` only.
    changes: Mapping[str, object] = field(default_factory=dict)
    #: How many tasks of the array may run at a time, 0 for any number; ``None``: as before.
    array_throttle: int | None = None


# ---- the machine and its rules ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationLimits:
    """The limits that an association is to have, and no others."""

    account: str
    #: Empty for an account's own association.
    user: str = ""
    partition: str = ""
    #: By sacctmgr's full names.
    limits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateLimits(Request):
    """An administrator changes limits. Associations and QOS that are not named keep theirs."""

    associations: tuple[AssociationLimits, ...] = ()
    #: By the names of QOS, and then by sacctmgr's full names.
    qos: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateReservation(Request):
    """An administrator sets nodes aside for a time."""

    reservation: Reservation


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteReservation(Request):
    """An administrator gives a reservation up."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateNode(Request):
    """A node goes up, down, or is drained."""

    name: str
    state: NodeState
    #: Why; goes when the node is up again.
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePartition(Request):
    """An administrator sets a partition's state."""

    name: str
    state: PartitionState


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconfigure(Request):
    """slurm.conf was read again."""

    config: ClusterConfig


# ---- news -------------------------------------------------------------------------------------------------------


class Outcome(Enum):
    """How a run came to its end."""

    #: By itself, or because it was stopped: exit code and signal tell.
    ENDED = "ended"
    #: It had used more memory than it may.
    OUT_OF_MEMORY = "out of memory"
    #: Its nodes were lost with it.
    LOST = "lost"
    #: It is gone, and nobody has seen how.
    UNKNOWN = "unknown"


class JobEnded(NamedTuple):
    """A launched job has ended and its resources are free. A named tuple: there is one for each job, and more.

    May come late, twice, or for a run that the engine has given up: ``restart_count`` tells which run it was.
    """

    job_id: int
    restart_count: int = 0
    exit_code: int = 0
    #: The signal that ended it; 0: none.
    signal: int = 0
    #: When that was, Unix seconds; ``None``: now.
    time: int | None = None
    outcome: Outcome = Outcome.ENDED


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFailed:
    """A launch could not be performed: the job never ran."""

    job_id: int
    restart_count: int = 0
    #: Its nodes could not be booted for it.
    boot: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChanged:
    """A step of a running job has begun, or has ended: this is its record as it is now."""

    job_id: int
    restart_count: int = 0
    step: StepRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundDone:
    """A piece of background work is finished, or has failed."""

    token: int
    #: What it gave: whatever JSON can hold.
    result: object = None
    #: How it failed; empty: it did not.
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """`Engine.wakeup` has come: timers and time limits are due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePass:
    """Make a scheduling pass. Drivers send it when `Engine.pass_due` says so, at once or after a batch of events."""


Event = (
    Submit
    | Cancel
    | SignalJob
    | Hold
    | Release
    | Requeue
    | Suspend
    | Resume
    | UpdateJob
    | UpdateLimits
    | CreateReservation
    | DeleteReservation
    | UpdateNode
    | UpdatePartition
    | Reconfigure
    | JobEnded
    | LaunchFailed
    | StepChanged
    | BackgroundDone
    | Tick
    | SchedulePass
)

#: All of them, by name.
EVENTS: dict[str, type[Event]] = {kind.__name__: kind for kind in Event.__args__}
