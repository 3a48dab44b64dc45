"""What runs use: samples of memory, and what is known at their end.

Processor time, disk accesses and peak memory come from the control group of a run where there is one, else from what
the kernel says of the script and of all children that it has waited for. Memory is sampled as well: the resident memory
of all processes of a run together. Energy is that of the whole machine while the run runs, as Slurm counts it.

To the kernel the script is the fork of the supervisor that executed it, and so has had that much memory at least. What
the kernel says of peak memory therefore counts only if it is more than that.
"""

from __future__ import annotations

import os

from rota.executor.supervisor.kernel import PAGE, numbers, read, stat_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.executor.supervisor.run import Run, Usage

_POWERCAP = "/sys/class/powercap"


class Energy:
    """The machine's energy counters (RAPL), summed up. They start over every few minutes under load."""

    def __init__(self) -> None:
        zones = sorted(os.listdir(_POWERCAP)) if os.path.isdir(_POWERCAP) else []
        # `intel-rapl:0` is a processor, `intel-rapl:0:1` a part of it. AMD's have the same names.
        paths = [f"{_POWERCAP}/{zone}" for zone in zones if zone.startswith("intel-rapl:") and zone.count(":") == 1]
        #: The counter of each processor and the range after which it starts over, microjoules.
        self._counters = {path: (self._count(path), self._range(path)) for path in paths if self._count(path) >= 0}
        self._joules = 0.0

    @staticmethod
    def _count(path: str) -> int:
        return int(read(path + "/energy_uj") or -1)

    @staticmethod
    def _range(path: str) -> int:
        return int(read(path + "/max_energy_range_uj") or 0)

    @property
    def is_measured(self) -> bool:
        """Whether there are counters that can be read."""
        return bool(self._counters)

    def joules(self) -> float | None:
        """Give the energy used since this process began; ``None``: it cannot be measured."""
        for path, (last, span) in self._counters.items():
            now = self._count(path)
            if now >= 0:
                self._joules += (now - last if now >= last else now - last + span) / 1e6
                self._counters[path] = now, span
        return self._joules if self._counters else None


def sample(run: Run, pids: Iterable[int]) -> int:
    """Measure the resident memory of the processes of a run; 0: its script has not been executed yet."""
    if not run.peak and ((stat := stat_of(run.pid)) is None or run.is_fork(stat)):
        return 0
    used = resident(pids)
    run.peak = max(run.peak, used)
    return used


def resident(pids: Iterable[int]) -> int:
    """Give the resident memory of some processes together, bytes."""
    return sum(int(_statm(pid)[1]) * PAGE for pid in pids)


def virtual(pid: int) -> int:
    """Give the virtual memory of a process, bytes."""
    return int(_statm(pid)[0]) * PAGE


def _statm(pid: int) -> list[bytes]:
    """Read /proc/PID/statm; of a process whose first thread has ended, what another thread says."""
    fields = read(f"/proc/{pid}/statm").split()
    if fields and fields[0] != b"0":
        return fields
    try:
        others = [other for other in os.listdir(f"/proc/{pid}/task") if other != str(pid)]
    except OSError:
        others = []
    return (read(f"/proc/{pid}/task/{others[0]}/statm").split() if others else []) or [b"0", b"0"]


def at_end(run: Run, energy: Energy) -> None:
    """Complete the usage of a run whose script has ended, by what its control groups say."""
    if (group := run.group) is not None:
        if (seconds := group.seconds()) is not None:
            run.usage[:2] = [max(seconds[0], run.usage[0] or 0.0), max(seconds[1], run.usage[1] or 0.0)]
        if (disk := group.disk()) is not None:
            run.usage[3:5] = disk
    run.usage[2] = max(run.usage[2] or 0, run.peak, _peak(run))
    if run.energy is not None and (now := energy.joules()) is not None:
        run.usage[5] = now - run.energy


def so_far(run: Run, pids: list[int], disk: dict[int, bytes], energy: Energy) -> Usage:
    """Give the usage of a run that has not ended.

    Args:
        run: The run.
        pids: Its processes.
        disk: What `disk_of` says of them; of some there may be nothing.
        energy: The machine's counters.
    """
    sample(run, pids)
    stats = [] if run.group is not None else [stat for pid in pids if (stat := stat_of(pid)) is not None]
    user, system = sum(stat.user for stat in stats), sum(stat.system for stat in stats)
    if run.group is not None:
        user, system = run.group.seconds() or (0.0, 0.0)
    accesses = [tuple(map(int, one.split())) for one in disk.values() if one]
    read_bytes, written = sum(one[0] for one in accesses), sum(one[1] for one in accesses)
    if run.group is not None and (whole := run.group.disk()) is not None:
        read_bytes, written = whole
    now = energy.joules()
    used = None if run.energy is None or now is None else now - run.energy
    return [user, system, max(run.peak, _peak(run)), read_bytes, written, used]


def disk_of(pid: int) -> bytes:
    """Read how many bytes a process has read and written, which may take any time: it is locked while it executes."""
    io = numbers(f"/proc/{pid}/io", colon=True)
    return b"%d %d" % (io["read_bytes"], io["write_bytes"]) if io else b""


def _peak(run: Run) -> int:
    """Give the peak memory that a control group has seen, bytes."""
    if run.memory_group is not None:
        return run.memory_group.peak_memory()
    return run.group.peak_memory() if run.group is not None else 0


def ran_out_of_memory(run: Run) -> bool:
    """Whether a process of a run was killed for using more memory than the run may."""
    if run.over:
        return True
    if run.memory_group is not None:
        return run.memory_group.ran_out()
    return run.memory > 0 and run.group is not None and run.group.ran_out()
