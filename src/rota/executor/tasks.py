"""What the processes of a run use at this moment, task by task.

A process of the job's own user belongs to the run that its environment names, and whatever descends from it as well:
anybody can write the mark of a run into an environment. To which task a process belongs its environment says, too,
which it has from `rota.client.step`; if that is of no use, its parent's. What belongs to no task of a step is the batch
script's.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rota.executor.supervisor.apart import ask_and_wait
from rota.executor.supervisor.kernel import read, stat_of, user_of
from rota.executor.supervisor.marks import read_variables
from rota.executor.supervisor.measure import disk_of, resident, virtual
from rota.model.step import TaskUsage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rota.executor.supervisor.kernel import Stat

#: Id of the step of a batch script.
_BATCH = "batch"
#: Step, number of the task and node.
_Task = tuple[str, int, str]
#: The variables that say where a process belongs.
_VARIABLES = (b"ROTA_RUN=", b"SLURM_STEP_ID=", b"SLURM_PROCID=", b"SLURMD_NODENAME=")


class Processes:
    """All processes of this machine at one moment."""

    def __init__(self) -> None:
        self._stats: dict[int, Stat] = {}
        self._children: dict[int, list[int]] = {}
        self._of_user: dict[int, list[int]] = {}
        #: The variables of the processes of users that were asked about.
        self._environments: dict[int, dict[int, list[str]]] = {}
        for path in Path("/proc").iterdir():
            if path.name.isdigit() and (stat := stat_of(int(path.name))) is not None and not stat.has_ended:
                self._stats[stat.pid] = stat
                self._children.setdefault(stat.parent, []).append(stat.pid)
                self._of_user.setdefault(user_of(stat.pid), []).append(stat.pid)

    def tasks(self, mark: str, uid: int, node: str) -> list[TaskUsage]:
        """Measure what belongs to a run.

        Args:
            mark: The run's mark: ``ROTA_RUN`` in the environment of its processes.
            uid: User id of the job.
            node: The node of its batch script.
        """
        if uid not in self._environments:
            answers = ask_and_wait(_variables, self._of_user.get(uid, ())).items()
            self._environments[uid] = {pid: answer.decode(errors="replace").split("\0") for pid, answer in answers}
        environments = self._environments[uid]
        batch = (_BATCH, 0, node)
        members: dict[int, _Task] = {}
        agenda = [(pid, batch) for pid, (named, *_) in environments.items() if named == mark]
        # Those first that were started first: a process gets what its own environment or else its parent says.
        agenda.sort(key=lambda one: self._stats[one[0]].ticks, reverse=True)
        while agenda:
            pid, inherited = agenda.pop()
            if pid in members:
                continue
            members[pid] = task = _task_in(environments.get(pid, ())) or inherited
            agenda += [(child, task) for child in self._children.get(pid, ())]
        disk = ask_and_wait(disk_of, members)
        found: dict[_Task, list[Stat]] = {}
        for pid, task in members.items():
            found.setdefault(task, []).append(self._stats[pid])
        return [_usage(task, stats, disk) for task, stats in sorted(found.items())]


def _variables(pid: int) -> bytes:
    """Read the mark and the place of a process."""
    found = read_variables(pid, _VARIABLES)
    return b"\0".join(found.get(name, b"") for name in _VARIABLES)


def _task_in(variables: Sequence[str]) -> _Task | None:
    """Give the task that a process says it belongs to; ``None``: it says none."""
    if len(variables) != len(_VARIABLES):
        return None
    _, step, task, node = variables
    if not (step.isdecimal() and task.isdecimal() and len(task) < 10):
        return None
    return step, int(task), node


def _usage(task: _Task, stats: Iterable[Stat], disk: Mapping[int, bytes]) -> TaskUsage:
    pids = tuple(sorted(stat.pid for stat in stats))
    accesses = [tuple(map(int, disk[pid].split())) for pid in pids if disk.get(pid)]
    return TaskUsage(
        step_id=task[0],
        task=task[1],
        node=task[2],
        pids=pids,
        cpu_seconds=sum(stat.user + stat.system for stat in stats),
        max_rss=max(resident(pids), *map(_peak, pids)),
        virtual=sum(map(virtual, pids)),
        pages=sum(stat.pages for stat in stats),
        read_bytes=sum(one[0] for one in accesses),
        written_bytes=sum(one[1] for one in accesses),
    )


def _peak(pid: int) -> int:
    """Give the largest resident memory that a process has had, bytes."""
    for line in read(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
