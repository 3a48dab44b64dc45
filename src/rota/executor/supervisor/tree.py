"""The processes of a run.

With a control group they are those in it. Without, a process belongs to a run if it is the script, if it is in the
script's session, if ``ROTA_RUN`` in its environment names the run, or if its parent belongs to it. Orphans become
children of the supervisor or keeper, so as long as these have no unknown children there can be none that are left over.

No pid is trusted alone: a process is opened first, then looked at again, then sent its signal.
"""

from __future__ import annotations

import os
import signal

from rota.executor.supervisor.kernel import read, stat_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.executor.supervisor.kernel import Stat
    from rota.executor.supervisor.run import Run

#: Longest part of an environment in which the mark is looked for. The supervisor's is the first variable.
_ENVIRONMENT = 1 << 20


class Scan:
    """All processes of this machine at one moment."""

    __slots__ = ("_children", "_marks", "_strangers", "stats")

    def __init__(self, strangers: Iterable[int]) -> None:
        #: The supervisor and the keeper, which belong to no run of theirs.
        self._strangers = set(strangers)
        self.stats: dict[int, Stat] = {}
        self._children: dict[int, list[int]] = {}
        self._marks: dict[int, bytes] = {}
        for name in os.listdir("/proc"):
            if name.isdigit() and (stat := stat_of(int(name))) is not None and stat.state not in "ZX":
                self.stats[stat.pid] = stat
                self._children.setdefault(stat.parent, []).append(stat.pid)

    def mark(self, pid: int) -> bytes:
        """Give the value of ``ROTA_RUN`` in the environment of a process."""
        if pid not in self._marks:
            self._marks[pid] = mark_of(pid)
        return self._marks[pid]

    def members(self, run: Run) -> list[int]:
        """Give the processes of a run."""
        mark = run.mark.encode()
        found: list[int] = []
        seen = set(self._strangers)
        agenda = [
            pid
            for pid, stat in self.stats.items()
            if (pid == run.pid and stat.ticks == run.ticks)
            or (stat.ticks >= run.ticks and (stat.session == run.pid or self.mark(pid) == mark))
        ]
        while agenda:
            pid = agenda.pop()
            if pid not in seen:
                seen.add(pid)
                found.append(pid)
                agenda += self._children.get(pid, ())
        return found


def mark_of(pid: int) -> bytes:
    """Give the value of ``ROTA_RUN`` in the environment of a process; nothing: it has none, or is another user's."""
    for variable in read(f"/proc/{pid}/environ")[:_ENVIRONMENT].split(b"\0"):
        if variable.startswith(b"ROTA_RUN="):
            return variable[9:]
    return b""


def script_of(run: Run) -> Stat | None:
    """Find the script of a run by the run's mark: the oldest leader of a session that has it, and is its user's."""
    mark, uid = run.mark.encode(), os.geteuid() if run.uid < 0 else run.uid
    leaders = [one for one in Scan(()).stats.values() if one.session == one.pid and mark_of(one.pid) == mark]
    own = [one for one in leaders if _user_of(one.pid) == uid]
    return min(own, key=lambda stat: stat.ticks, default=None)


def _user_of(pid: int) -> int:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return -1


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
