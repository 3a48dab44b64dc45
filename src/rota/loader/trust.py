"""Permissions of plugin files: a file that another user could have written is not run.

A file of ``PluginDir`` and its directory must belong to the effective user or to root, and nobody else may have write
permission. The bits for *others* must be off. The bit for the group must be off too, unless the group is the user's
private one (of the same name as the user, without other members), since many systems have such groups and a umask of
002. Access control lists count as far as the group bits show them. For a symbolic link its own directory, its target
and the target's directory are checked.

Directories further up are not checked: who exchanges a directory by renaming can only put one of their own in its
place, and its owner is checked.

Modules of entry points are on Python's import path. Who may write there can run code in every Python program, so owner
and group, which a shared installation has its own, are not checked, and only *others* must not be able to write.
Built-in plugins are trusted as the rest of rota.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Largest number of symbolic links in a chain, as in Linux.
MAX_LINKS = 40


def file_problems(path: Path, *, strict: bool) -> tuple[str, ...]:
    """Say why a plugin file cannot be trusted.

    Args:
        path: The file, or a link to it.
        strict: Also check owner and group, as for ``PluginDir``.

    Returns:
        The problems, each with what to do about it; empty if there are none.

    Raises:
        OSError: the file or a directory cannot be examined.
    """
    checked = dict.fromkeys(_involved(path))
    problems = (_problem(one, one.lstat(), strict=strict) for one in checked)
    return tuple(problem for problem in problems if problem)


def _involved(path: Path) -> Iterator[Path]:
    """Give every file and directory through which the file's content could be exchanged."""
    for _ in range(MAX_LINKS):
        yield path.parent.resolve()
        yield path
        if not path.is_symlink():
            return
        path = path.parent / path.readlink()


def _problem(path: Path, status: os.stat_result, *, strict: bool) -> str | None:
    kind = "directory" if stat.S_ISDIR(status.st_mode) else "link" if stat.S_ISLNK(status.st_mode) else "file"
    user = os.geteuid()
    if strict and status.st_uid not in {0, user}:
        return f"{kind} {path} belongs to user {status.st_uid}, not to root or to you: chown {user} {path}"
    if kind == "link":  # permissions of links have no effect
        return None
    if status.st_mode & stat.S_IWOTH:
        return f"{kind} {path} is writable by others: chmod o-w {path}"
    if strict and status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid, user):
        return f"{kind} {path} is writable by group {status.st_gid}: chmod g-w {path}"
    return None


def _is_private(gid: int, uid: int) -> bool:
    """Whether a group has no member but the user, as far as the user database tells."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(gid), pwd.getpwuid(uid)
    except KeyError:
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
