"""Control groups: one directory a run, where this machine lets the supervisor make some.

With version 2 a directory alone, without any controller, finds and ends all processes of a run. Memory is limited by
the controller of version 2 if it was handed down (systemd: ``Delegate=yes``), else by that of version 1 if it is
mounted and writable. What is not to be had here is done otherwise: see `tree` and `measure`.

The directories are made below the supervisor's own group, or below the nearest one above it that systemd has delegated.
"""

from __future__ import annotations

import os
import zlib

from rota.executor.supervisor.kernel import numbers, read, write

_GONE = (FileNotFoundError, ProcessLookupError)
_FOLDER = 0o755


class Group:
    """A group of version 2."""

    __slots__ = ("has_memory", "path")

    def __init__(self, path: str, *, has_memory: bool) -> None:
        self.path = path
        self.has_memory = has_memory

    def make(self, memory: int) -> None:
        """Make the directory, and limit the memory; 0: no limit."""
        os.makedirs(self.path, _FOLDER, exist_ok=True)
        if memory and self.has_memory:
            write(self.path + "/memory.max", str(memory))
            write(self.path + "/memory.swap.max", "0")

    @property
    def joining(self) -> str:
        """The file by which a process joins."""
        return self.path + "/cgroup.procs"

    def pids(self) -> list[int]:
        """Give all processes in it and in the groups below it."""
        found = []
        for folder in _folders(self.path):
            found += [int(pid) for pid in read(folder + "/cgroup.procs").split()]
        return found

    def has(self, pid: int) -> bool:
        """Whether a process is in it now."""
        own = [line[3:] for line in read(f"/proc/{pid}/cgroup").decode().splitlines() if line.startswith("0::")]
        name = "/" + "/".join(self.path.rsplit("/", 2)[1:])
        return bool(own) and (own[0].endswith(name) or name + "/" in own[0])

    @property
    def is_populated(self) -> bool:
        """Whether there are processes in it that have not ended."""
        return b"populated 1" in read(self.path + "/cgroup.events")

    def kill(self) -> bool:
        """Send SIGKILL to all processes in it at once; ``False``: the kernel is older than 5.14."""
        return write(self.path + "/cgroup.kill", "1")

    def freeze(self, *, frozen: bool) -> bool:
        """Stop its processes, or let them go on; ``False``: the kernel is older than 5.2."""
        return write(self.path + "/cgroup.freeze", "1" if frozen else "0")

    def seconds(self) -> tuple[float, float] | None:
        """Give the processor time of all that was ever in it: user, system."""
        stat = numbers(self.path + "/cpu.stat")
        if "user_usec" not in stat:
            return None
        return stat["user_usec"] / 1e6, stat["system_usec"] / 1e6

    def peak_memory(self) -> int:
        """Give the most memory it ever used, bytes; 0: unknown."""
        return int(read(self.path + "/memory.peak") or 0) if self.has_memory else 0

    def ran_out(self) -> bool:
        """Whether a process was killed since the memory was used up."""
        return self.has_memory and numbers(self.path + "/memory.events").get("oom_kill", 0) > 0

    def disk(self) -> tuple[int, int] | None:
        """Give the bytes read and written; ``None``: unknown."""
        words = read(self.path + "/io.stat").decode().split()
        if not words:
            return None
        amounts = [word.split("=") for word in words if "=" in word]
        return (
            sum(int(amount) for name, amount in amounts if name == "rbytes"),
            sum(int(amount) for name, amount in amounts if name == "wbytes"),
        )

    def remove(self) -> bool:
        """Remove it; ``False``: there are processes in it."""
        return _remove(self.path)


class MemoryGroup:
    """A group of version 1 with the memory controller."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def make(self, memory: int) -> None:
        """Make the directory, and limit the memory."""
        os.makedirs(self.path, _FOLDER, exist_ok=True)
        write(self.path + "/memory.limit_in_bytes", str(memory))
        # Swap counts too, where it is counted at all.
        write(self.path + "/memory.memsw.limit_in_bytes", str(memory))

    @property
    def joining(self) -> str:
        """The file by which a process joins."""
        return self.path + "/cgroup.procs"

    def peak_memory(self) -> int:
        """Give the most memory it ever used, bytes."""
        return int(read(self.path + "/memory.max_usage_in_bytes") or 0)

    def ran_out(self) -> bool:
        """Whether a process was killed since the memory was used up."""
        return numbers(self.path + "/memory.oom_control").get("oom_kill", 0) > 0

    def remove(self) -> bool:
        """Remove it; ``False``: there are processes in it."""
        return _remove(self.path)


class Cgroups:
    """The directories for the runs of a state directory.

    Args:
        name: Its name.
        without: ``--no-cgroups`` and ``--no-memory-cgroups``: what is not to be used.
    """

    def __init__(self, name: str, without: set[str]) -> None:
        #: Directories for the runs; empty: there can be none.
        self._base = self._memory_base = ""
        self._has_memory = False
        if "--no-cgroups" not in without:
            self._find(name, without)

    def _find(self, name: str, without: set[str]) -> None:
        unified, memory = _mount("cgroup2", ""), _mount("cgroup", "memory")
        if unified and (base := _usable(_delegated(unified, _own("")), name)):
            self._base = base
            _hand_down(base)
            self._has_memory = (
                "--no-memory-cgroups" not in without and b"memory" in read(base + "/cgroup.subtree_control").split()
            )
        if "--no-memory-cgroups" in without:
            return
        if memory and not self._has_memory and (base := _usable(memory + _own("memory"), name)):
            self._memory_base = base

    @property
    def tree(self) -> str:
        """How the processes of a run are found."""
        return "cgroup v2" if self._base else "processes"

    @property
    def memory(self) -> str:
        """How memory is limited."""
        if self._has_memory:
            return "cgroup v2"
        return "cgroup v1" if self._memory_base else "measurement"

    def group(self, name: str) -> Group | None:
        """Give the group of a run by name."""
        return Group(f"{self._base}/{name}", has_memory=self._has_memory) if self._base else None

    def memory_group(self, name: str) -> MemoryGroup | None:
        """Give the group of a run for the memory controller of version 1, if that is the one in use."""
        return MemoryGroup(f"{self._memory_base}/{name}") if self._memory_base else None

    @staticmethod
    def on_record(path: str, memory_path: str) -> tuple[Group | None, MemoryGroup | None]:
        """Give the groups of a run that an earlier supervisor has made."""
        group = None
        if path and os.path.isdir(path):
            group = Group(path, has_memory=os.path.exists(path + "/memory.max"))
        return group, MemoryGroup(memory_path) if memory_path else None

    def keep_only(self, names: set[str]) -> None:
        """Remove the empty directories of runs that are gone."""
        for base in filter(None, (self._base, self._memory_base)):
            for folder in _folders(base, below=False):
                if folder.rsplit("/", 1)[1] not in names:
                    _remove(folder)

    def discard(self, group: Group | MemoryGroup) -> None:
        """Remove the group of a run, of which nothing is left."""
        group.remove()
        base = group.path.rpartition("/")[0]
        if base not in (self._base, self._memory_base):
            # An earlier supervisor has made it somewhere else. Other runs may be there.
            _remove(base, whole=False)

    def remove(self) -> None:
        """Remove everything, when nothing runs any more."""
        for base in filter(None, (self._base, self._memory_base)):
            _remove(base)


def name_for(directory: str) -> str:
    """Give the name of the group for a state directory: it is the same if that is made again, and says which it is."""
    path = os.path.realpath(directory)
    readable = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in path[-100:])
    return f"rota-{zlib.crc32(os.fsencode(path)):08x}-{readable.strip('-')}"


def _mount(kind: str, controller: str) -> str:
    """Give where a hierarchy is mounted, if all of it is."""
    for line in read("/proc/self/mountinfo").decode("utf-8", "surrogateescape").splitlines():
        fields = line.split()
        kind_of, _, options = fields[fields.index("-") + 1 :][:3]
        if kind_of == kind and fields[3] == "/" and (not controller or controller in options.split(",")):
            return fields[4]
    return ""


def _own(controller: str) -> str:
    """Give the group that this process is in."""
    for line in read("/proc/self/cgroup").decode("utf-8", "surrogateescape").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(",") and not path.endswith(" (deleted)"):
            return path.rstrip("/")
    return ""


def _delegated(mount: str, own: str) -> str:
    """Give the nearest group above this process that systemd has handed over; else its own."""
    path = own
    while path:
        try:
            if os.getxattr(mount + path, "user.delegate") == b"1":
                return mount + path
        except OSError:
            pass
        path = path.rpartition("/")[0]
    return mount + own


def _usable(parent: str, name: str) -> str:
    """Make a directory for runs and try whether processes can join groups in it; nothing: they cannot."""
    base, probe = f"{parent}/{name}", f"{parent}/{name}/probe"
    try:
        os.makedirs(probe, _FOLDER, exist_ok=True)
    except OSError:
        return ""
    pid = os.fork()
    if not pid:
        os._exit(0 if write(probe + "/cgroup.procs", "0") else 1)
    works = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    _remove(probe)
    if not works:
        _remove(base)
    return base if works else ""


def _hand_down(base: str) -> None:
    """Have the controllers in the groups of runs, as far as they are ours to hand down."""
    for folder in (base.rpartition("/")[0], base):
        for controller in ("+memory", "+io"):
            write(folder + "/cgroup.subtree_control", controller)


def _folders(path: str, *, below: bool = True) -> list[str]:
    """Give the folders in a folder; with ``below`` itself and those at any depth, the deepest ones last."""
    try:
        with os.scandir(path) as entries:
            inner = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        inner = []
    return [path, *(deep for folder in inner for deep in _folders(folder))] if below else inner


def _remove(path: str, *, whole: bool = True) -> bool:
    try:
        os.rmdir(path)
    except _GONE:
        return True
    except OSError:
        if not whole:
            return False
        # Runs of root may have made groups of their own.
        try:
            for folder in reversed(_folders(path)):
                os.rmdir(folder)
        except OSError:
            return False
    return True
