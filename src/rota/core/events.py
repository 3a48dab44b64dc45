"""The events that a driver hands to `Engine.handle`, with the time.

Events are plain data (see `rota.core.event_codec`). *Requests* are carried out or refused, each as a whole; the other
events report what has happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from rota.model import Account, ClusterConfig, JobSpec, NodeState, Partition, PartitionState, Qos, User
from rota.model.reservation import Reservation
from rota.model.step import StepRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request of a user or an administrator."""

    #: User id; 0 is root, and stands for administrators and operators.
    uid: int = 0
    #: Id for the answer, `Accepted` or `Refused`; 0: no answer is needed.
    request_id: int = 0


# ---- jobs -------------------------------------------------------------------------------------------------------


class Submit(NamedTuple):
    """Submit a job: a `Request`, and a named tuple like `JobEnded`."""

    job_id: int
    spec: JobSpec
    uid: int = 0
    request_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest(Request):
    """A request about a job."""

    job_id: int
    #: Task id, for a task of a job array; ``None``: the whole job.
    task_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel(JobRequest):
    """Cancel a job."""

    #: Signal that ends a running job; 0: the usual SIGTERM, and SIGKILL after KillWait.
    signal: int = 0
    #: User id of who has asked for it, for the record of the job, as ``uid`` is 0 for many; ``None``: nobody has.
    by: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalJob(JobRequest):
    """Send a signal to a running job, without changing its state."""

    signal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold(JobRequest):
    """Hold a pending job."""

    #: Whether it is a user's hold, which the user may release, and not an administrator's.
    by_user: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(JobRequest):
    """Release a held job."""

    #: Whether a user asks, who may not release an administrator's hold.
    by_user: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Requeue(JobRequest):
    """Requeue a running job."""

    #: Whether the job is held afterwards.
    hold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Resubmit(Request):
    """Queue a job again that has ended, and which the engine has forgotten; also a task of a job array."""

    job_id: int
    spec: JobSpec
    #: How often the job has been requeued, with this time: runs are told apart by it.
    restart_count: int
    #: Whether the job is held afterwards.
    hold: bool = False
    #: Job id of its array, and its task; several tasks are those that ended as one, as none of them had started.
    #: ``None`` and empty: it is of no array.
    array_job_id: int | None = None
    tasks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspend(JobRequest):
    """Suspend a running job; it keeps its resources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume(JobRequest):
    """Resume a suspended job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateJob(JobRequest):
    """Change the request of a job."""

    #: Fields of `JobSpec` with their new values; for a running job ``time_limit``, ``licenses`` and ``name`` only.
    changes: Mapping[str, object] = field(default_factory=dict)
    #: Largest number of running tasks of the array, 0: any number; ``None``: unchanged.
    array_throttle: int | None = None


# ---- the machine and its policy ---------------------------------------------------------------------------------


class AssociationKey(NamedTuple):
    """What an association is found by."""

    account: str
    #: Empty: the account's own association.
    user: str = ""
    #: Empty: all partitions.
    partition: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationRecord:
    """All that an administrator sets of an association; see `rota.model.Association`."""

    key: AssociationKey
    #: The account above an account; empty for the root, and for users.
    parent: str = ""
    shares_raw: int = 1
    priority: int = 0
    default_qos: str = ""
    qos: tuple[str, ...] = ()
    #: Limits by sacctmgr's full names.
    limits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateAccounting(Request):
    """Change accounts, users, associations and QOS: each record is added, or replaces one. What is not named stays."""

    #: Name of the user who asks, which matters if ``uid`` is not 0.
    user: str = ""
    accounts: tuple[Account, ...] = ()
    users: tuple[User, ...] = ()
    #: An account comes before those below it.
    associations: tuple[AssociationRecord, ...] = ()
    qos: tuple[Qos, ...] = ()
    #: What is removed; of associations, one comes before those above it. Accounts go with their associations.
    removed_associations: tuple[AssociationKey, ...] = ()
    removed_users: tuple[str, ...] = ()
    removed_qos: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateReservation(Request):
    """Create an advance reservation."""

    reservation: Reservation


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateReservation(Request):
    """Change an advance reservation."""

    #: As it is to be: the one of this name. If ``node_cnt`` is not its number of nodes, these become more or fewer.
    reservation: Reservation


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteReservation(Request):
    """Delete an advance reservation."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateNode(Request):
    """Change a node, or several alike; what is ``None`` stays."""

    name: str
    #: Names of more nodes.
    others: tuple[str, ...] = ()
    state: NodeState | None = None
    #: Reason of the state; it is removed when the node is up again.
    reason: str = ""
    comment: str | None = None
    extra: str | None = None
    #: Until slurm.conf is read again.
    features: tuple[str, ...] | None = None
    weight: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePartition(Request):
    """Create a partition, which lasts until slurm.conf is read again."""

    partition: Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePartition(Request):
    """Change a partition; what is ``None`` stays."""

    name: str
    state: PartitionState | None = None
    #: All of it but the state, as it is to be until slurm.conf is read again.
    partition: Partition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePartition(Request):
    """Delete a partition that no job is in, until slurm.conf is read again."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconfigure(Request):
    """Put slurm.conf into force after it was read again."""

    config: ClusterConfig


# ---- reports ----------------------------------------------------------------------------------------------------


class Outcome(Enum):
    """How a run ended."""

    #: By itself, or because it was stopped: see exit code and signal.
    ENDED = "ended"
    #: It exceeded its memory.
    OUT_OF_MEMORY = "out of memory"
    #: Its nodes were lost.
    LOST = "lost"
    #: It is gone, and it is not known how it ended.
    UNKNOWN = "unknown"


class JobEnded(NamedTuple):
    """A run of a job has ended and its resources are free. A named tuple, as there is at least one for each job.

    The event may be late, repeated, or about an earlier run, which ``restart_count`` tells.
    """

    job_id: int
    restart_count: int = 0
    exit_code: int = 0
    #: Signal that ended the run; 0: none.
    signal: int = 0
    #: When the run ended, Unix seconds; ``None``: now.
    time: int | None = None
    outcome: Outcome = Outcome.ENDED


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFailed:
    """A job could not be launched; it has not run."""

    job_id: int
    restart_count: int = 0
    #: Whether its nodes could not be booted.
    boot: bool = False
    #: Seconds after which it may be tried again, as it is no fault of the job's; ``None``: it would fail again.
    again_after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChanged:
    """A step of a running job has started or ended; this is its present record."""

    job_id: int
    restart_count: int = 0
    step: StepRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundDone:
    """A background function has returned or failed."""

    token: int
    #: Its result, as JSON data.
    result: object = None
    #: Why it failed; empty: it has not.
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """The time `Engine.wakeup` has come: timers and time limits are due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePass:
    """Make a scheduling pass. Drivers send it when `Engine.pass_due` is true, perhaps after a batch of events."""


Event = (
    Submit
    | Cancel
    | SignalJob
    | Hold
    | Release
    | Requeue
    | Resubmit
    | Suspend
    | Resume
    | UpdateJob
    | UpdateAccounting
    | CreateReservation
    | UpdateReservation
    | DeleteReservation
    | UpdateNode
    | CreatePartition
    | UpdatePartition
    | DeletePartition
    | Reconfigure
    | JobEnded
    | LaunchFailed
    | StepChanged
    | BackgroundDone
    | Tick
    | SchedulePass
)

#: All events by name.
EVENTS: dict[str, type[Event]] = {kind.__name__: kind for kind in Event.__args__}
