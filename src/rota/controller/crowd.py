"""Who may have how many connections, so that nobody keeps all others waiting, however many user ids they have.

Of the files that a process may have open, users' connections take three quarters at most. One user may have half as
many of these as are free: alone a quarter of all files, and the less the more the others have. So the last places go
to those who have few. Whether anything was said on a connection makes no difference. Administrators come on top, up to
seven eighths of the files; what is left is the database's, the supervisor's, and for child processes.
"""

from __future__ import annotations

import os
import resource
import socket
import struct
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

#: Most places of all users together, whatever may be open: each costs some kilobytes.
_MOST = 6_144
_CREDENTIALS = struct.Struct("3i")


class Places:
    """Places that users share.

    Args:
        most: How many there are.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[Hashable] = Counter()
        self._all = 0

    def take(self, who: Hashable, share: float = 0.5) -> bool:
        """Take a place; ``False``: there is none for this user, who has too many.

        Args:
            who: The user.
            share: As how many of the free ones they may have.
        """
        if self._taken[who] >= (self._most - self._all) * share:
            if not self._taken[who]:
                del self._taken[who]
            return False
        self._taken[who] += 1
        self._all += 1
        return True

    def give_back(self, who: Hashable) -> None:
        """Give a place back."""
        self._all -= 1
        self._taken[who] -= 1
        if not self._taken[who]:
            del self._taken[who]

    @property
    def taken(self) -> int:
        """How many are taken."""
        return self._all


class Crowd:
    """Who is there.

    Args:
        files: How many files this process may have open, or as many as it is to have for connections.
    """

    def __init__(self, files: int) -> None:
        self._users = Places(min(files * 3 // 4, _MOST))
        self._most = files * 7 // 8
        self._administrators = 0

    def enter(
        self, who: Hashable, is_administrator: Callable[[], bool], share: float = 0.5
    ) -> Callable[[], None] | None:
        """Let somebody have one more connection.

        Args:
            who: The user.
            is_administrator: Says whether the user is one; it is asked only if it matters.
            share: See `Places.take`.

        Returns:
            What is to be called when the connection is closed; it may be called again. ``None``: they have too many.
        """
        if who not in {0, os.geteuid()} and self._users.take(who, share):
            return _once(lambda: self._users.give_back(who))
        if not is_administrator() or self._users.taken + self._administrators >= self._most:
            return None
        self._administrators += 1
        return _once(self._administrator_leaves)

    def _administrator_leaves(self) -> None:
        self._administrators -= 1


def _once(call: Callable[[], None]) -> Callable[[], None]:
    """Give a function that calls another one the first time."""
    calls = [call]

    def call_once() -> None:
        while calls:
            calls.pop()()

    return call_once


class Peer(NamedTuple):
    """Who is at the other end of a Unix socket, as the kernel tells."""

    pid: int
    uid: int
    gid: int


def peer_of(connection: socket.socket) -> Peer:
    """Say who has connected."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return Peer(*_CREDENTIALS.unpack(data))


def allow_many_files() -> int:
    """Let this process have as many files open as it may; give how many it could have before."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return before


def most_files() -> int:
    """Give how many files this process may have open."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
