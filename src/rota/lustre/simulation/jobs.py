"""Which jobs there are: of a recorded workload, of a live queue, and what people do at login nodes."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from math import inf
from random import Random
from typing import TYPE_CHECKING

from rota.lustre.output import output
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.workload.workload import Workload

#: What people run at login nodes, as `procname_uid` names it, and how often of twenty times.
_TOOLS = {"cp": 5, "rsync": 4, "vim": 3, "ls": 3, "tar": 2, "python3": 2, "find": 1}
_FIRST_USER = 1000
#: Seconds.
_HOUR, _DAY = 3600.0, 86400.0
#: When they do, by the hours of a day.
_OFFICE_HOURS = (7.0, 20.0)
#: Seconds in which a job of a live queue does all that it does, before it begins anew.
_ROUND = 600.0
#: What is asked of squeue: number, user, processors, how long the job has run, its first node, its name.
_FORMAT = "%A|%U|%C|%M|%B|%j"


@dataclass(frozen=True)
class Job:
    """A process group that uses the file system."""

    #: As Lustre is told it; it cuts what is over 31 bytes.
    job_id: bytes
    #: Unix seconds. What it does is spread over this time.
    start: float
    end: float
    processors: int = 1
    #: When it was stopped before its end.
    stopped: float = inf
    #: At a login node, or of a daemon: it is not in any scheduler.
    is_interactive: bool = False


def written_id(template: str, number: int, uid: int, name: str, host: str) -> bytes:
    """Write an id as Lustre's ``jobid_name`` does.

    Args:
        template: With ``%j`` for the number, ``%u`` the user's, ``%e`` the name, ``%h`` and ``%H`` the host.
        number: The scheduler's.
        uid: The user's number.
        name: The program's.
        host: Where it runs.
    """
    values = {"j": str(number), "u": str(uid), "e": name, "h": f"{host}.cluster", "H": host, "%": "%"}
    return re.sub("%(.)", lambda match: values.get(match[1], ""), template).encode()


class RecordedJobs:
    """The jobs of a workload, as they ran: after their recorded waits."""

    def __init__(self, workload: Workload, template: str = "%j") -> None:
        """Take the jobs that ran.

        Args:
            workload: What was recorded, or a replay's result.
            template: Of their ids: see `written_id`.
        """
        begin = workload.unix_start_time or 0
        names = ("job_number", "submit_time", "wait_time", "run_time", "allocated_procs", "user_id", "executable")
        rows = zip(*(getattr(workload, name).tolist() for name in names), strict=True)
        jobs = []
        for number, submit, wait, run, processors, user, program in rows:
            if run > 0:
                start = float(begin + submit + max(0, wait))
                uid, name = _FIRST_USER + max(0, user), f"app{max(0, program)}"
                written = written_id(template, number, uid, name, f"n{number % 100:02}")
                jobs.append(Job(written, start, start + run, max(1, processors)))
        self._jobs = sorted(jobs, key=lambda job: job.start)
        self._longest = max((job.end - job.start for job in jobs), default=0.0)

    @property
    def begin(self) -> float:
        """When the first job starts; 0 without any."""
        return self._jobs[0].start if self._jobs else 0.0

    def between(self, begin: float, end: float) -> Iterator[Job]:
        """Give the jobs that run at any time between these, in the order of their starts."""
        first = bisect_left(self._jobs, begin - self._longest, key=_start)
        last = bisect_right(self._jobs, end, key=_start)
        return (job for job in self._jobs[first:last] if job.end >= begin)


class QueuedJobs:
    """The jobs that a live queue runs, as ``squeue`` shows them, and those that it ran lately."""

    def __init__(
        self, squeue: str = "squeue", template: str = "%j", timeout: float = 10.0, *, speed: float = 1.0
    ) -> None:
        """Name the command; nothing is asked yet. The jobs do what others do so many times as fast."""
        self._squeue = squeue
        self._template = template
        self._timeout = timeout
        self._round = _ROUND / speed
        self._jobs: dict[str, Job] = {}

    def ask(self, now: float) -> None:
        """Ask which jobs run. Those that no longer do have stopped now.

        Raises:
            SourceError: squeue fails.
        """
        command = (self._squeue, "--noheader", "--states=RUNNING", f"--format={_FORMAT}")
        text = b"".join(output("squeue", command, self._timeout)).decode("utf-8", "backslashreplace")
        running = set()
        for line in text.splitlines():
            number, uid, processors, elapsed, host, name = line.split("|", 5)
            running.add(number)
            if number not in self._jobs:
                job_id = written_id(self._template, int(number), int(uid), name, host)
                start = now - (parse_time_seconds(elapsed) or 0)
                self._jobs[number] = Job(job_id, start, inf, max(1, int(processors)))
        for number, job in self._jobs.items():
            if number not in running and job.stopped > now:
                self._jobs[number] = replace(job, stopped=now)

    def between(self, begin: float, end: float) -> Iterator[Job]:
        """Give the jobs that ran at any time between these, as far as they were seen.

        Nobody knows when they will end. So they do what others do from start to end again and again.
        """
        for job in self._jobs.values():
            if job.stopped >= begin:
                start = job.start
                while start < min(end, job.stopped):
                    yield replace(job, start=start, end=start + self._round)
                    start += self._round


class LoginNodes:
    """What people do themselves, by day: short, and often the same program by the same user."""

    def __init__(self, users: int, seed: int) -> None:
        """Choose how many people there are."""
        self._users = users
        self._seed = seed

    def between(self, begin: float, end: float) -> Iterator[Job]:
        """Give what was begun since the morning of the day that `begin` lies in."""
        for day in range(int(begin // _DAY), int(end // _DAY) + 1):
            yield from (job for job in self._on(day) if job.start <= end)

    def _on(self, day: int) -> Iterator[Job]:
        for user in range(self._users):
            dice = Random(f"{self._seed}/{day}/{user}")  # noqa: S311 - no secrets
            for _ in range(dice.randrange(12)):
                start = day * _DAY + dice.uniform(*_OFFICE_HOURS) * _HOUR
                [tool] = dice.choices(list(_TOOLS), list(_TOOLS.values()))
                name = f"{tool}.{_FIRST_USER + user}".encode()
                yield Job(name, start, start + dice.uniform(5, 900), is_interactive=True)


def _start(job: Job) -> float:
    return job.start
