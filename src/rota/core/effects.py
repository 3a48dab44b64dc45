"""What the engine wants done. Drivers perform these, soon, late or twice; the engine stays right.

Those that come with every job are named tuples, which are made in a third of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.model import Errno, JobRecord


class Launch(NamedTuple):
    """Start the job on these resources; answer with `JobEnded` or `LaunchFailed`, giving the restart count back."""

    job_id: int
    restart_count: int
    #: Resource set.
    resources: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """Stop that run of the job; answer with `JobEnded` once its resources are free."""

    job_id: int
    restart_count: int
    #: The signal that it is sent first; a run that is suspended has to be let go on for it.
    signal: int
    #: Seconds after which SIGKILL follows.
    wait: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SendSignal:
    """Send a signal to that run of the job, and to all that belongs to it."""

    job_id: int
    restart_count: int
    signal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendRun:
    """Stop that run of the job for a while, with all that belongs to it."""

    job_id: int
    restart_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRun:
    """Let a suspended run of the job go on."""

    job_id: int
    restart_count: int


class JobFinished(NamedTuple):
    """The job is over, its resources are free and the engine has forgotten it."""

    record: JobRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A request was carried out: the answer to one that has an id."""

    request_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A request was not carried out, and nothing has changed."""

    #: 0: it had none.
    request_id: int = 0
    #: The job that it was about, 0 when about none.
    job_id: int
    errno: Errno
    message: str
    #: The cluster's rules forbid it: a limit, or a partition that is closed to the user. Else it can never be met.
    by_policy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginFault:
    """A plugin misbehaved and the engine went on with its default. For the log and the administrator."""

    plugin: str
    symbol: str
    #: The job that it was about, ``None`` when about none.
    job_id: int | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A plugin has something to say."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """Run ``fn`` outside the engine and answer with `BackgroundDone`."""

    token: int
    fn: Callable[[], object]


Effect = (
    Launch
    | Kill
    | SendSignal
    | SuspendRun
    | ResumeRun
    | JobFinished
    | Accepted
    | Refused
    | PluginFault
    | Log
    | Background
)
