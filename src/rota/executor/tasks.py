"""What the processes of a run use at this moment, task by task.

To which task a process belongs its environment says, which it has from `rota.client.step`; if that is of no use, its
parent's. What belongs to no task of a step is the batch script's. Only processes of the job's own user count: anybody
can write the mark of a run into an environment.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rota.executor.supervisor.kernel import PAGE, read, stat_of
from rota.executor.supervisor.measure import numbers_with_colon, resident
from rota.model.step import TaskUsage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.executor.supervisor.kernel import Stat

#: Id of the step of a batch script.
_BATCH = "batch"
#: Step, number of the task and node.
_Task = tuple[str, int, str]


class Processes:
    """All processes of this machine at one moment."""

    def __init__(self) -> None:
        self._stats: dict[int, Stat] = {}
        self._children: dict[int, list[int]] = {}
        self._by_mark: dict[str, list[int]] = {}
        self._environments: dict[int, dict[str, str]] = {}
        for path in Path("/proc").iterdir():
            if path.name.isdigit() and (stat := stat_of(int(path.name))) is not None and stat.state not in "ZX":
                self._add(stat)

    def _add(self, stat: Stat) -> None:
        self._stats[stat.pid] = stat
        self._children.setdefault(stat.parent, []).append(stat.pid)
        pairs = (one.partition("=") for one in read(f"/proc/{stat.pid}/environ").decode(errors="replace").split("\0"))
        self._environments[stat.pid] = environment = {name: value for name, _, value in pairs}
        if mark := environment.get("ROTA_RUN"):
            self._by_mark.setdefault(mark, []).append(stat.pid)

    def tasks(self, mark: str, uid: int, node: str) -> list[TaskUsage]:
        """Measure what belongs to a run.

        Args:
            mark: The run's mark: ``ROTA_RUN`` in the environment of its processes.
            uid: User id of the job.
            node: The node of its batch script.
        """
        batch = (_BATCH, 0, node)
        members: dict[int, _Task] = {}
        agenda = [(pid, batch) for pid in reversed(self._by_mark.get(mark, ()))]
        while agenda:
            pid, inherited = agenda.pop()
            if pid in members or _owner(pid) != uid:
                continue
            members[pid] = task = self._task_of(pid) or inherited
            agenda += [(child, task) for child in self._children.get(pid, ())]
        found: dict[_Task, list[Stat]] = {}
        for pid, task in members.items():
            found.setdefault(task, []).append(self._stats[pid])
        return [_usage(task, stats) for task, stats in sorted(found.items())]

    def _task_of(self, pid: int) -> _Task | None:
        """Give the task that a process says it belongs to; ``None``: it says none."""
        environment = self._environments[pid]
        step, task = environment.get("SLURM_STEP_ID", ""), environment.get("SLURM_PROCID", "")
        if not (step.isdecimal() and task.isdecimal() and len(task) < 10):
            return None
        return step, int(task), environment.get("SLURMD_NODENAME", "")


def _owner(pid: int) -> int:
    """Give the user id of a process; -1: it has ended."""
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return -1


def _usage(task: _Task, stats: Iterable[Stat]) -> TaskUsage:
    pids = tuple(sorted(stat.pid for stat in stats))
    disk = [numbers_with_colon(pid) for pid in pids]
    return TaskUsage(
        step_id=task[0],
        task=task[1],
        node=task[2],
        pids=pids,
        cpu_seconds=sum(stat.user + stat.system for stat in stats),
        max_rss=max(resident(pids), *map(_peak, pids)),
        virtual=sum(map(_virtual, pids)),
        pages=sum(stat.pages for stat in stats),
        read_bytes=sum(one.get("read_bytes", 0) for one in disk),
        written_bytes=sum(one.get("write_bytes", 0) for one in disk),
    )


def _virtual(pid: int) -> int:
    """Give the virtual memory of a process, bytes."""
    return int((read(f"/proc/{pid}/statm").split() or [b"0"])[0]) * PAGE


def _peak(pid: int) -> int:
    """Give the largest resident memory that a process has had, bytes."""
    for line in read(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
