"""The processes of a run.

With a control group they are those in it. Without, a process belongs to one run at most. It is that of which it, or
the nearest of its ancestors, is the script, a process that was taken into the run (``join``), or of the script's
session: nobody can make that so but the run itself, whatever its user id is now, as that of a set-uid program.
Else a process that has left its ancestors belongs to the run that ``ROTA_RUN`` in its environment names, or its
nearest ancestor's, if its real user is the run's: anybody can write a mark.

Orphans become children of the supervisor or keeper, so as long as these have no unknown children there can be none that
are left over.

No pid is trusted alone: a process is opened first, then looked at again, then sent its signal.
"""

from __future__ import annotations

import os
import signal

from rota.executor.supervisor.kernel import read, stat_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rota.executor.supervisor.kernel import Stat
    from rota.executor.supervisor.marks import Marks
    from rota.executor.supervisor.run import Key, Run


class Scan:
    """All processes of this machine at one moment.

    Args:
        runs: All runs that have not ended.
        strangers: The supervisor and the keeper, which belong to no run of theirs.
        marks: Gives the marks of processes.
    """

    __slots__ = ("_marks", "_members", "_runs", "_strangers", "_ticks", "_unsure", "stats")

    def __init__(self, runs: Iterable[Run], strangers: Iterable[int], marks: Marks) -> None:
        self._runs = [run for run in runs if run.group is None]
        self._strangers = frozenset(strangers)
        self._marks = marks
        self.stats: dict[int, Stat] = {}
        #: The start time of each process, also of those that nobody has waited for yet.
        self._ticks: dict[int, int] = {}
        for name in os.listdir("/proc"):
            if name.isdigit() and (stat := stat_of(int(name))) is not None:
                self._ticks[stat.pid] = stat.ticks
                if not stat.has_ended and stat.pid not in self._strangers:
                    self.stats[stat.pid] = stat
        #: Users of whose processes it is not known yet whose they are.
        self._unsure: set[int] = set()
        self._members: dict[Key, list[int]] = {run.key: [] for run in self._runs}
        owners = self._assign(self._by_descent(), {})
        owners |= self._assign(self._by_mark(), owners)
        for pid, run in owners.items():
            if run is not None:
                self._members[run.key].append(pid)
        marks.look_up(self.stats.values())

    def members(self, run: Run) -> list[int]:
        """Give the processes of a run."""
        return self._members.get(run.key, [])

    def is_sure_of(self, run: Run) -> bool:
        """Whether it is known of all processes if they are a run's."""
        return run.user not in self._unsure

    def _assign(self, evidence: Callable[[Stat], Run | None], known: dict[int, Run | None]) -> dict[int, Run | None]:
        """Give for each process the run that it, or the nearest of its ancestors, belongs to; ``None``: to none."""
        owners: dict[int, Run | None] = {}
        for pid in self.stats:
            if known.get(pid) is not None:
                continue
            line: list[int] = []
            owner: Run | None = None
            while (stat := self.stats.get(pid)) is not None and known.get(pid) is None:
                if pid in owners:
                    owner = owners[pid]
                    break
                line.append(pid)
                owners[pid] = None  # should the lines of ancestors ever have changed while they were looked at
                if (owner := evidence(stat)) is not None:
                    break
                pid = stat.parent  # noqa: PLW2901
            owners.update(dict.fromkeys(line, owner))
        return owners

    def _by_descent(self) -> Callable[[Stat], Run | None]:
        """Give what says whose a process is without any doubt."""
        roots = {process: run for run in self._runs for process in ((run.pid, run.ticks), *run.joined)}
        # As long as the script holds its number, nobody else can have a session of this number.
        sessions = {run.pid: run for run in self._runs if self._ticks.get(run.pid) == run.ticks}
        return lambda stat: roots.get((stat.pid, stat.ticks)) or sessions.get(stat.session)

    def _by_mark(self) -> Callable[[Stat], Run | None]:
        """Give what says whose a process is that has left its ancestors."""
        marks, runs = self._marks, {(run.user, run.mark.encode()): run for run in self._runs}
        since: dict[int, int] = {}
        for run in self._runs:
            since[run.user] = min(run.ticks, since.get(run.user, run.ticks))
        left = {run.pid: run for run in self._runs if run.pid not in self._ticks}

        def evidence(stat: Stat) -> Run | None:
            if not stat.image and stat.threads <= 1:  # it is the kernel's, or ending
                return None
            if (user := marks.user(stat)) in since and stat.ticks >= since[user]:
                mark = marks.mark(stat, user)
                if mark is None:
                    self._unsure.add(user)
                elif (run := runs.get((user, mark))) is not None and stat.ticks >= run.ticks:
                    return run
            # The script has been reaped, and what is left of its session has become the supervisor's or keeper's.
            run = left.get(stat.session)
            if run is None or stat.ticks < run.ticks:
                return None
            return run if run.user == user or stat.parent in self._strangers else None

        return evidence


def members(run: Run, scan: Scan | None) -> list[int]:
    """Give the processes of a run, its script first: it is to hear of a signal before what it waits for."""
    found: list[int] = []
    if run.group is not None:
        found = run.group.pids()
    elif scan is not None:
        found = scan.members(run)
    return sorted(found, key=lambda pid: pid != run.pid)


def send(run: Run, pids: Iterable[int], number: int, scan: Scan | None) -> None:
    """Send a signal to processes of a run."""
    for pid in pids:
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            continue
        try:
            if _still(run, pid, scan):
                signal.pidfd_send_signal(pidfd, number)
        except OSError:
            pass
        finally:
            os.close(pidfd)


def send_to_script(run: Run, number: int) -> None:
    """Send a signal to the script's process."""
    try:
        signal.pidfd_send_signal(run.pidfd, number)
    except OSError:
        pass


def kill(run: Run, scan: Scan | None) -> None:
    """Send SIGKILL to all processes of a run."""
    if run.group is None or not run.group.kill():
        send(run, members(run, scan), signal.SIGKILL, scan)


def _still(run: Run, pid: int, scan: Scan | None) -> bool:
    """Whether the pid names the same process as when it was found."""
    if run.group is not None:
        return run.group.has(pid)
    stat = stat_of(pid)
    return stat is not None and scan is not None and scan.stats[pid].ticks == stat.ticks


def children(pid: int) -> list[int] | None:
    """Give the children of a process that has one thread; ``None``: the kernel does not tell."""
    path = f"/proc/{pid}/task/{pid}/children"
    data = read(path)
    return [int(child) for child in data.split()] if data or os.path.exists(path) else None
