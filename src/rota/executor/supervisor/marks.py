"""Which run's mark processes have: ``ROTA_RUN`` in their environment.

It is read once for each process and each program that it executes, by children (see `apart`). Anybody can write any
mark into an environment: it counts only for processes of the run's own user (see `tree`).
"""

from __future__ import annotations

import os

from rota.executor.supervisor.kernel import stat_of, user_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.executor.supervisor.apart import Answers, Apart
    from rota.executor.supervisor.kernel import Stat

    #: A process while it executes a program: pid, start time, and where its environment is.
    Image = tuple[int, int, str]

#: Longest part of an environment in which the mark is looked for. The supervisor's is the first variable.
_ENVIRONMENT = 1 << 20
_NAME = b"ROTA_RUN="
_LONGEST = 4096
#: Processes that one child reads at most.
_MOST = 1000


class Marks:
    """The marks of processes.

    Args:
        apart: Has them read.
    """

    def __init__(self, apart: Apart) -> None:
        self._apart = apart
        self._known: dict[Image, bytes] = {}
        self._users: dict[Image, int] = {}
        #: What is being read.
        self._asked: set[Image] = set()
        #: What has kept a child waiting: it is read last.
        self._slow: set[Image] = set()
        #: What is to be read, by user.
        self._wanted: dict[int, list[Image]] = {}

    def user(self, stat: Stat) -> int:
        """Give the real user id that a process had when it was first seen."""
        image = image_of(stat)
        if image not in self._users:
            self._users[image] = user_of(stat.pid)
        return self._users[image]

    def mark(self, stat: Stat, uid: int) -> bytes | None:
        """Give the mark of a process of a user; empty: it has none. ``None``: it is not known yet."""
        image = image_of(stat)
        mark = self._known.get(image)
        if mark is None and image not in self._asked:
            self._wanted.setdefault(uid, []).append(image)
        return mark

    def look_up(self, present: Iterable[Stat]) -> None:
        """Have read what was asked for in vain, and forget what is not among all processes of the machine."""
        there = {image_of(stat) for stat in present}
        for image in self._users.keys() - there:
            del self._users[image]
            self._known.pop(image, None)
        self._slow &= there
        wanted, self._wanted = self._wanted, {}
        for uid, images in wanted.items():
            self._ask(uid, sorted(images, key=self._slow.__contains__)[:_MOST])

    def _ask(self, uid: int, images: list[Image]) -> None:
        by_pid = {image[0]: image for image in images}

        def question(pid: int) -> bytes:
            mark = read_mark(pid)
            stat = stat_of(pid)
            # A process may have executed something meanwhile, or be another one.
            return mark if stat is not None and image_of(stat) == by_pid[pid] else b""

        def answered(answers: Answers | None) -> None:
            self._asked.difference_update(images)
            if answers is not None:
                found = {by_pid[pid]: mark for pid, mark in answers.items()}
                # What has ended meanwhile is not remembered: nobody would forget it.
                self._known |= {image: mark for image, mark in found.items() if image in self._users}
                self._slow.update([image for image in images if image[0] not in answers][:1])

        self._asked.update(images)
        self._apart.ask(uid, list(by_pid), question, answered)


def image_of(stat: Stat) -> Image:
    """Give what tells a process and the program that it executes from all others."""
    return stat.pid, stat.ticks, stat.image


def read_mark(pid: int) -> bytes:
    """Read the mark of a process, which may take any time; nothing: it has none, or is not for us to read."""
    return read_variables(pid, (_NAME,)).get(_NAME, b"")


def read_variables(pid: int, names: tuple[bytes, ...]) -> dict[bytes, bytes]:
    """Read some variables, ``NAME=``, of a process's environment, which may take any time."""
    data = _environment(f"/proc/{pid}")
    if not data:  # the first thread has ended: the others have the memory
        try:
            others = [other for other in os.listdir(f"/proc/{pid}/task") if other != str(pid)]
        except OSError:
            return {}
        data = _environment(f"/proc/{pid}/task/{others[0]}") if others else b""
    data = b"\0" + data
    found = {}
    for name in names:
        _, there, rest = data.partition(b"\0" + name)
        value = rest[:_LONGEST].partition(b"\0")[0]
        if there:
            found[name] = value
    return found


def _environment(process: str) -> bytes:
    """Give the first part of an environment."""
    try:
        fd = os.open(process + "/environ", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    data = bytearray()
    try:
        while len(data) < _ENVIRONMENT and (part := os.read(fd, 1 << 16)):
            data += part
    except OSError:
        pass
    finally:
        os.close(fd)
    return bytes(data)
