"""What the engine wants done. Drivers perform these, soon, late or twice; the engine stays right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.core.job import Job
    from rota.model import Errno


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFinished:
    """The job is over, its resources are free and the engine has forgotten it: this is its last record."""

    job: Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A request was not carried out."""

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


Effect = Launch | Kill | JobFinished | Refused | PluginFault | Log | Background
