"""What the engine wants done. Drivers may perform effects late or twice; the engine's state stays right.

Effects of every job are named tuples, which take a third of the time to make.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.model import Errno, JobRecord


class Launch(NamedTuple):
    """Start a job on these resources; answer with `JobEnded` or `LaunchFailed`, and the same restart count."""

    job_id: int
    restart_count: int
    #: Allocated resource set.
    resources: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """Stop a run of a job; answer with `JobEnded` when its resources are free."""

    job_id: int
    restart_count: int
    #: Signal to send first; a suspended run has to be resumed to receive it.
    signal: int
    #: Seconds until SIGKILL.
    wait: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SendSignal:
    """Send a signal to a run of a job, that is, to all of its processes."""

    job_id: int
    restart_count: int
    signal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendRun:
    """Suspend a run of a job, that is, all of its processes."""

    job_id: int
    restart_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRun:
    """Resume a suspended run of a job."""

    job_id: int
    restart_count: int


class JobFinished(NamedTuple):
    """A job has ended, its resources are free, and the engine has forgotten it."""

    record: JobRecord


class RunRequeued(NamedTuple):
    """A run has ended after which its job is queued again. Nothing has to be done: it is for accounting."""

    #: The job as it was in that run. Its state is PENDING.
    record: JobRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The answer to a request with an id that was carried out."""

    request_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The answer to a request that was not carried out: nothing has changed."""

    #: 0: the request had no id.
    request_id: int = 0
    #: Id of the job that the request was about; 0: none.
    job_id: int
    errno: Errno
    message: str
    #: Whether it is forbidden by policy: a limit, or a partition closed to the user. Else it can never be carried out.
    by_policy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginFault:
    """A plugin function failed, and the engine used its default. For the log and the administrator."""

    plugin: str
    symbol: str
    #: Id of the job that the call was about; ``None``: none.
    job_id: int | None
    message: str
    #: The exception that was raised; ``None``: none.
    error: BaseException | None = field(default=None, compare=False)
    #: Whether the call only took too long: its result was used.
    slow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A message from a plugin."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """Run ``fn`` outside of the engine and answer with `BackgroundDone`."""

    token: int
    fn: Callable[[], object]


Effect = (
    Launch
    | Kill
    | SendSignal
    | SuspendRun
    | ResumeRun
    | JobFinished
    | RunRequeued
    | Accepted
    | Refused
    | PluginFault
    | Log
    | Background
)
