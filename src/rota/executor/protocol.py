"""What an executor does: it launches runs of jobs, stops them, and reports what becomes of them.

A run is one execution of a job's batch script; a job that is requeued has several, told apart by their restart counts.

Every call returns at once; what comes of it is reported to the listener. All calls can be repeated: a launch of a run
that is known does not start it again but reports again what is known of it, to kill one that has ended reports its end
again, and other calls for runs that are unknown or have ended do nothing. A run that is to be killed and is unknown has
never begun, as its launch was lost: its end is reported, too. An executor keeps what it knows of a run until the caller
has said `Executor.forget`: so the caller can lose a report, and gets it again when it asks or connects the next time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.model.step import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """A run: what is executed, as whom, where, and with which limits. Paths are absolute and without patterns."""

    job_id: int
    restart_count: int = 0
    #: The first is the path of the program.
    argv: tuple[str, ...]
    #: The user's variables, and those that are not the user's, which count more and are also the prolog's and epilog's.
    #: ``ROTA_RUN`` is added.
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    own_env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    #: If it cannot be entered, the run is in ``/tmp``, and says so in its error output.
    cwd: str = "/"
    stdin: str = "/dev/null"
    stdout: str = "/dev/null"
    #: The same path as ``stdout``: the same open file.
    stderr: str = "/dev/null"
    #: Whether output is appended to files that exist; else they are truncated.
    append: bool = False
    #: ``None``: the supervisor's.
    umask: int | None = None
    #: Soft and hard limits by name (``NOFILE``); -1: unlimited. What cannot be set as high is set as high as possible.
    rlimits: Mapping[str, tuple[int, int]] = field(default_factory=lambda: MappingProxyType({}))
    #: The user and groups of the run. Only root can run as others; -1: the supervisor's own.
    uid: int = -1
    gid: int = -1
    groups: tuple[int, ...] = ()
    #: Ids of the processors it may use; empty: all.
    cpus: tuple[int, ...] = ()
    #: Memory of all its processes together, bytes; 0: no limit.
    memory: int = 0
    #: Absolute paths of programs that run before and after it as the supervisor's user; empty: none.
    prolog: str = ""
    epilog: str = ""
    #: Seconds after which a prolog or epilog is killed, and has failed; 0: never.
    prolog_epilog_timeout: int = 0
    #: The value of ``ROTA_RUN`` in its environment: no other run of this state directory or another one has it.
    mark: str


class Outcome(Enum):
    """How a run ended."""

    ENDED = "ended"
    #: It, or a process of it, was killed for using more memory than its limit.
    OUT_OF_MEMORY = "out_of_memory"
    #: It has ended, but nobody was there to see how.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A run has begun."""

    job_id: int
    restart_count: int
    pid: int
    #: Unix seconds.
    time: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A run has ended, with all of its processes, and its epilog has run."""

    job_id: int
    restart_count: int
    #: Of the script; 0 if a signal ended it.
    exit_code: int
    #: The signal that ended the script; 0: none.
    signal: int
    #: When the script ended, Unix seconds.
    time: float
    outcome: Outcome
    usage: Usage
    #: Why the epilog has failed; empty: it has not, as far as is known.
    epilog_failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFailed:
    """The script of a run was not executed, and will not be. This is the last report of the run."""

    job_id: int
    restart_count: int
    message: str
    #: Whether the prolog failed.
    prolog: bool = False
    #: What the machine was short of, so that it may succeed later; empty: it will not.
    missing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a run has used so far."""

    job_id: int
    restart_count: int
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Short:
    """The machine is short of something; what was to be done is tried again."""

    #: What, as in `rota.executor.supervisor.shortage`.
    missing: str
    #: How often it has been, since the last such report.
    times: int


Report = Started | Ended | LaunchFailed | Measured | Short
Listener = Callable[[Report], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """By which means an executor does its work on this machine."""

    #: How it finds the processes of a run: ``cgroup v2`` or ``processes`` (parents, sessions, environment).
    tree: str
    #: How memory is limited: ``cgroup v2``, ``cgroup v1`` or ``measurement``.
    memory: str
    #: Whether energy can be measured.
    energy: bool


class Executor(Protocol):
    """Runs jobs. See the module's text for what holds of all calls."""

    #: Process id of what watches the runs; 0: there is none.
    supervisor_pid: int
    #: Whether it may have lost what it knew of runs, so that those of before are to be launched ``again``, also if they
    #: are to be killed then.
    is_suspect: bool

    async def start(self) -> None:
        """Connect. When it returns, everything known of all runs has been reported to the listener."""

    def launch(self, run: RunSpec, *, again: bool = False) -> None:
        """Start a run. Reports `Started` or `LaunchFailed`, and `Ended` later.

        Args:
            run: The run.
            again: Whether it may have been launched before. An executor that has lost what it knew of runs does not
                start it then: it finds the run, or reports that it has ended, and nobody knows how.
        """

    def has_launched_all(self) -> None:
        """Hear that all runs of before have been launched again, or that there are none.

        From now on a run that is not known has not been launched.
        """

    def signal(self, job_id: int, restart_count: int, signal: int, *, batch_only: bool = False) -> None:
        """Send a signal to all processes of a run, or to its script only."""

    def kill(self, job_id: int, restart_count: int, signal: int, wait: float, said: str = "") -> None:
        """End a run: resume it, send it a signal, and after ``wait`` seconds SIGKILL to what is left of it.

        Of a run that is not known, since its launch was lost, `Ended` by that signal is reported at once; of one that
        has ended how it has.

        Args:
            job_id: Its job id.
            restart_count: Its restart count.
            signal: The signal.
            wait: Seconds until SIGKILL.
            said: What is written first to the file that is its script's standard error.
        """

    async def join(self, job_id: int, restart_count: int, pid: int) -> bool:
        """Take a process of its user into a run; ``False``: it is gone, another user's, or the run has ended."""

    def suspend(self, job_id: int, restart_count: int) -> None:
        """Stop all processes of a run for a while."""

    def resume(self, job_id: int, restart_count: int) -> None:
        """Let a suspended run go on."""

    def forget(self, job_id: int, restart_count: int) -> None:
        """Forget a run that has ended: the caller has recorded its end."""

    def measure(self) -> None:
        """Report `Measured` for every run that has not ended."""

    def capabilities(self) -> Capabilities:
        """Say how runs are supervised on this machine."""

    async def close(self) -> None:
        """Disconnect. Runs go on."""
