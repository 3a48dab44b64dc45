"""Permissions of plugin files: a file that another user could have written is not run.

A file of ``PluginDir`` (or of ``--plugin-dir``) and its directory must belong to the effective user or to root, and
nobody else may have write permission. The bits for *others* must be off. The bit for the group must be off too, unless
the group is the user's private one (of the same name as the user, without other members), since many systems have such
groups and a umask of 002. Access control lists count as far as the group bits show them.

Every directory further up counts as well, up to the root: who may write to one can put another in the place of what
lies below. Such a directory may be writable by others only if it is *sticky*, as ``/tmp``, where only the owner of an
entry can rename or remove it: then the entry must belong to the user or to root, as all directories must. Each symbolic
link on the way is treated so too: the directories that lead to it, the link itself, and those that lead to its target.

Modules of entry points are on Python's import path. Who may write there can run code in every Python program, so owner,
group and directories further up, which a shared installation has its own, are not checked, and only *others* must not
be able to write. Built-in plugins are trusted as the rest of rota.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Largest number of symbolic links on the way to a file, as in Linux.
MAX_LINKS = 40


def file_problems(path: Path, *, strict: bool) -> tuple[str, ...]:
    """Say why a plugin file cannot be trusted.

    Args:
        path: The file, or a link to it.
        strict: Also check owners, groups and the directories further up, as for ``PluginDir``.

    Returns:
        The problems, each with what to do about it; empty if there are none.

    Raises:
        OSError: the file or a directory cannot be examined.
    """
    near: dict[Path, bool] = {}
    for one, is_near in _way_to(Path.cwd() / path):
        near[one] = near.get(one, False) or is_near
    wanted = (one for one in near if strict or near[one])
    problems = (_problem(one, one.lstat(), strict=strict, may_be_sticky=not near[one]) for one in wanted)
    return tuple(problem for problem in problems if problem)


def _way_to(path: Path) -> Iterator[tuple[Path, bool]]:
    """Give all that the system goes through to open a file: directories, links, and the file itself.

    Yields:
        Each of these, and whether it is the file, a link that stands for it, or the directory of one of these.

    Raises:
        OSError: there are too many links.
    """
    here, waiting, links = Path(path.anchor), list(reversed(path.parts[1:])), 0
    yield here, False
    while waiting:
        part = waiting.pop()
        if part == os.pardir:  # of a directory without links on its way
            here = here.parent
            continue
        one = here / part
        if not waiting:
            yield here, True
        yield one, not waiting
        if not one.is_symlink():
            here = one
            continue
        links += 1
        if links > MAX_LINKS:
            raise OSError(f"more than {MAX_LINKS} symbolic links on the way to {path}")
        target = one.readlink()
        if target.is_absolute():
            here = Path(target.anchor)
        waiting += reversed(target.parts[1:] if target.is_absolute() else target.parts)


def _problem(path: Path, status: os.stat_result, *, strict: bool, may_be_sticky: bool) -> str | None:
    """Say what is wrong with a file, link or directory on the way.

    Args:
        path: Which one.
        status: Its status.
        strict: Whether owner and group count.
        may_be_sticky: Whether others may write to it if it is sticky, as it is not where the plugin itself lies.
    """
    kind = "directory" if stat.S_ISDIR(status.st_mode) else "link" if stat.S_ISLNK(status.st_mode) else "file"
    user = os.geteuid()
    # Who owns the root directory could exchange everything; where user ids are mapped, it may not be root.
    if strict and status.st_uid not in {0, user, Path(path.anchor).stat().st_uid}:
        return f"{kind} {path} belongs to user {status.st_uid}, not to root or to you: chown {user} {path}"
    if kind == "link" or (may_be_sticky and status.st_mode & stat.S_ISVTX):  # permissions of links have no effect
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
