"""The system's database of users and groups."""

from __future__ import annotations

import grp
import os
import pwd
from contextlib import suppress
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def find_user(who: str | int) -> pwd.struct_passwd | None:
    """Find a user by name or, given a number, by user id; ``None``: there is none."""
    try:
        if isinstance(who, int) or (who.isascii() and who.isdigit()):
            return pwd.getpwuid(int(who))
        return pwd.getpwnam(who)
    except (KeyError, OverflowError, ValueError):  # unknown; too large; no text that a name could be
        return None


def user_name(user_id: int) -> str:
    """Give the name of a user, which is looked up each minute; the number as text if there is none."""
    try:
        return _user_name(user_id, int(monotonic()) // 60)
    except (KeyError, OverflowError):
        return str(user_id)


@lru_cache(maxsize=10_000)
def _user_name(user_id: int, minute: int) -> str:  # noqa: ARG001 - what is known is forgotten with the minute
    return pwd.getpwuid(user_id).pw_name


def group_name(group_id: int) -> str:
    """Give the name of a group; the number as text if there is none."""
    try:
        return grp.getgrgid(group_id).gr_name
    except (KeyError, OverflowError):
        return str(group_id)


def groups_of(user_id: int, group_id: int) -> tuple[int, ...]:
    """Give the groups of a user whose own group is given; this alone if there is no such user."""
    found = find_user(user_id)
    return (group_id,) if found is None else tuple(os.getgrouplist(found.pw_name, group_id))


def users_of(groups: Iterable[str]) -> frozenset[str]:
    """Name the members of groups. Unknown groups have none."""
    names: set[str] = set()
    numbers: set[int] = set()
    for name in groups:
        with suppress(KeyError):
            group = grp.getgrnam(name)
            names.update(group.gr_mem)
            numbers.add(group.gr_gid)
    return frozenset(names.union(user.pw_name for user in pwd.getpwall() if user.pw_gid in numbers))


def is_users(pid: int, user_id: int) -> bool:
    """Whether there is a process of this id, and it is a user's."""
    try:
        return os.stat(f"/proc/{pid}").st_uid == user_id  # noqa: PTH116 - one system call
    except OSError:
        return False
