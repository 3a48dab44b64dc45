"""What the supervisor knows of a run, and how it is written to the log.

The log has a record of each start (``run``), of an end (``end``), and, where something remains to be done between the
exit of the script and the end of the run, of that exit (``exit``) and of the epilog's start (``epilog``). ``kill`` is
the time at which what is left of a run is to be killed, ``over`` says that it used too much memory, ``void`` that it
did not begin after all, ``join`` names a process that was taken into it, ``forget`` says that its end is known to the
caller. ``boot`` names the boot of the machine in which all that follows happened, ``cluster`` whose runs these are, and
``head`` how far that has come. ``suspect`` says that the log was damaged, and ``sure`` that this does not matter any
more.
"""

from __future__ import annotations

import os
import time

from rota.executor.supervisor import child, kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rota.executor.supervisor.cgroups import Cgroups, Group, MemoryGroup
    from rota.executor.supervisor.kernel import Exit, Stat
    from rota.executor.supervisor.log import Record

    Key = tuple[int, int]
    #: User and system seconds, peak memory, bytes read and written, joules.
    Usage = list[float | int | None]

#: Phases of a run. *unsure*: it is on record, but may not have begun; *running*: the script runs; *left*: the script
#: has ended, and processes of it have not; *ended*: there is nothing left to do.
UNSURE, RUNNING, LEFT, EPILOG, ENDED = "unsure", "running", "left", "epilog", "ended"
ENDED_SO, OUT_OF_MEMORY, UNKNOWN = "ended", "out_of_memory", "unknown"


class Run:
    """A run. Only the supervisor's own modules change it."""

    __slots__ = (
        "again",
        "code",
        "end",
        "energy",
        "env",
        "epilog",
        "epilog_failure",
        "epilog_is_late",
        "epilog_pid",
        "epilog_refusals",
        "epilog_ticks",
        "epilog_tried_until",
        "epilog_until",
        "failure",
        "floor",
        "group",
        "image",
        "is_told",
        "job",
        "joined",
        "kill_at",
        "mark",
        "memory",
        "memory_group",
        "ours",
        "outcome",
        "over",
        "peak",
        "phase",
        "pid",
        "pidfd",
        "prolog",
        "prolog_epilog_timeout",
        "restart",
        "signal",
        "start",
        "suspended",
        "ticks",
        "uid",
        "usage",
        "user",
    )

    def __init__(self, request: dict[str, Any], cgroups: Cgroups) -> None:
        self.job: int = request["job"]
        self.restart: int = request["run"]
        self.mark: str = request["mark"]
        self.uid: int = request["uid"]
        #: Its user, also if that is the supervisor's own.
        self.user = os.geteuid() if self.uid == -1 else self.uid
        self.memory: int = request["memory"]
        self.prolog: str = request["prolog"]
        self.epilog: str = request["epilog"]
        self.prolog_epilog_timeout: int = request["prolog_epilog_timeout"]
        #: The epilog's environment.
        self.env: dict[str, str] = {}
        if self.epilog:
            self.env = request["env"] if "folders" in request else child.environment_of_tools(request)
        name = f"{self.job}.{self.restart}"
        self.group: Group | None = cgroups.group(name)
        self.memory_group: MemoryGroup | None = cgroups.memory_group(name) if self.memory else None
        if "folders" in request:  # a record: they may have been made elsewhere
            self.group, self.memory_group = cgroups.on_record(*request["folders"])
        self.phase = RUNNING
        #: Whether the script's process is a child of this process.
        self.ours = True
        self.pid = self.ticks = 0
        #: -1: not open.
        self.pidfd = -1
        self.epilog_pid = self.epilog_ticks = 0
        #: Monotonic seconds at which the epilog is killed; 0: never.
        self.epilog_until = 0.0
        #: How often there had been no room for a process when it was started; and until when it is tried again if there
        #: was none again, monotonic seconds; 0: it has not been started.
        self.epilog_refusals, self.epilog_tried_until = 0, 0.0
        #: Whether that has been done.
        self.epilog_is_late = False
        #: Why it has failed; empty: it has not.
        self.epilog_failure = ""
        #: Unix seconds of the script's start and exit.
        self.start = self.end = 0.0
        self.code = self.signal = 0
        self.outcome = ENDED_SO
        #: Why the script was not executed; empty: it was.
        self.failure = ""
        self.usage: Usage = [0.0, 0.0, 0, 0, 0, None]
        #: Largest resident memory that was measured, bytes.
        self.peak = 0
        #: Resident memory of the supervisor when it forked the run, bytes. Up to here the kernel's peak means nothing.
        self.floor = 0
        #: The memory of the supervisor then (see `kernel.Stat`): the run's as long as it has not executed the script.
        self.image = ""
        #: Processes that were taken into it, with their start times, if it has no control group.
        self.joined: list[tuple[int, int]] = []
        #: Joules that the machine had used when it began; ``None``: unknown.
        self.energy: float | None = None
        #: Whether it was found to use more memory than its limit.
        self.over = False
        #: Whether its processes have been sent SIGSTOP, as there is no control group that freezes them.
        self.suspended = False
        #: Whether it is just being told in its error output why it is ended.
        self.is_told = False
        #: Monotonic seconds at which what is left of it is killed; 0: never.
        self.kill_at = 0.0
        #: A request to launch it that waits until it is known whether it has begun.
        self.again: dict[str, Any] | None = None

    @property
    def key(self) -> Key:
        """Its job id and restart count."""
        return self.job, self.restart

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.phase != ENDED

    def is_fork(self, stat: Stat) -> bool:
        """Whether its process is still a fork of the supervisor, and has executed nothing."""
        return stat.image == self.image != ""

    @property
    def groups(self) -> list[Group | MemoryGroup]:
        """Its control groups; none: it has none."""
        return [group for group in (self.group, self.memory_group) if group is not None]

    @property
    def names(self) -> Record:
        """The beginning of every record and report of it."""
        return {"job": self.job, "run": self.restart}

    # ---- records ----------------------------------------------------------------------------------------------

    def start_record(self) -> Record:
        """Give the record of its start."""
        record: Record = {"is": "run", **self.names, "pid": self.pid, "ticks": self.ticks, "time": self.start}
        record |= {"mark": self.mark, "uid": self.uid, "memory": self.memory, "floor": self.floor, "image": self.image}
        record |= {"prolog": self.prolog, "epilog": self.epilog, "prolog_epilog_timeout": self.prolog_epilog_timeout}
        record["folders"] = ["" if group is None else group.path for group in (self.group, self.memory_group)]
        if self.epilog:
            record["env"] = self.env
        return record

    def exit_record(self, kind: str) -> Record:
        """Give the record of the script's exit (``exit``), or of the end of the run (``end``)."""
        record: Record = {"is": kind, **self.names, "code": self.code, "signal": self.signal, "time": self.end}
        record |= {"outcome": self.outcome, "usage": self.usage, "epilog_failure": self.epilog_failure}
        if self.failure:
            record["failure"] = self.failure
        return record

    def epilog_record(self) -> Record:
        """Give the record of the epilog's start."""
        process: Record = {"pid": self.epilog_pid, "ticks": self.epilog_ticks, "until": self.epilog_until}
        return {"is": "epilog", **self.names, **process}

    def join_record(self, process: tuple[int, int]) -> Record:
        """Give the record of a process that was taken into it."""
        return {"is": "join", **self.names, "pid": process[0], "ticks": process[1]}

    def join(self, process: tuple[int, int]) -> None:
        """Take a process into it."""
        # Those that have ended are forgotten.
        there = [one for one in self.joined if (stat := kernel.stat_of(one[0])) is not None and stat.ticks == one[1]]
        self.joined = [*there, process]

    def suspension_record(self) -> Record:
        """Give the record of whether it is suspended."""
        return {"is": "suspension", **self.names, "suspended": self.suspended}

    def records(self) -> list[Record]:
        """Give all that the log has to have of it."""
        records = [self.start_record(), *(self.join_record(process) for process in self.joined)]
        if self.suspended and self.phase != ENDED:
            records.append(self.suspension_record())
        if self.over:
            records.append({"is": "over", **self.names})
        if self.kill_at and self.phase != ENDED:
            records.append({"is": "kill", **self.names, "at": self.kill_at})
        if self.phase in (LEFT, EPILOG, ENDED):
            records.append(self.exit_record("end" if self.phase == ENDED else "exit"))
        if self.phase == EPILOG and self.epilog_pid:
            records.append(self.epilog_record())
        return records

    def take_exit(self, record: Record) -> None:
        """Take over the script's exit from a record."""
        self.code, self.signal, self.end = record["code"], record["signal"], record["time"]
        self.outcome, self.usage = record["outcome"], record["usage"]
        self.failure, self.epilog_failure = record.get("failure", ""), record["epilog_failure"]

    # ---- reports ----------------------------------------------------------------------------------------------

    def started_report(self) -> Record:
        """Report that it has begun."""
        return {"is": "started", **self.names, "pid": self.pid, "time": self.start}

    def end_report(self) -> Record:
        """Report how it has ended."""
        if self.failure:
            missing = self.failure.removeprefix(child.SHORT_OF) if self.failure.startswith(child.SHORT_OF) else ""
            failed: Record = {"is": "failed", **self.names, "message": self.failure, "missing": missing}
            return {**failed, "prolog": bool(self.prolog) and not missing}
        return self.exit_record("ended")

    def set_exit(self, exit_: Exit | None) -> None:
        """Note how the script has ended; ``None``: nobody knows."""
        if exit_ is None:
            self.outcome, self.end = UNKNOWN, time.time()
            return
        self.code, self.signal, self.end, self.outcome = exit_.code, exit_.signal, exit_.time, ENDED_SO
        max_rss = exit_.max_rss if exit_.max_rss > self.floor else 0
        self.usage = [exit_.user, exit_.system, max_rss, exit_.read, exit_.written, None]


def never_began(request: Record) -> Record:
    """Report the end of a run that nobody knows, as answer to a request to kill it: as if its process had heeded."""
    report: Record = {"is": "ended", "job": request["job"], "run": request["run"], "code": 0}
    report |= {"signal": int(request["signal"]), "time": time.time(), "outcome": ENDED_SO}
    return report | {"usage": [0.0, 0.0, 0, 0, 0, None], "epilog_failure": ""}
