"""Programs that slurm.conf names, and Python itself: those that cannot be run are told before a job needs them."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rota.client.commands import PACKAGES

if TYPE_CHECKING:
    from rota.model import ClusterConfig

#: What becomes of jobs without a program, by the key in slurm.conf.
_WITHOUT = {
    "Prolog": "no job starts, and nodes are drained",
    "Epilog": "nodes are drained when their jobs end",
}


def can_be_run(program: str) -> bool:
    """Whether a path is that of a program that this process may run."""
    return os.access(program, os.X_OK) and Path(program).is_file()


def missing_programs(config: ClusterConfig) -> list[str]:
    """Say of each program of slurm.conf that cannot be run what becomes of jobs."""
    named = [(key, config.get(key), effect) for key, effect in _WITHOUT.items()]
    return [
        f"{key} {program} is no program that can be run: {effect}"
        for key, program, effect in named
        if program and not can_be_run(program)
    ]


def closed_python(state: Path) -> list[str]:
    """Say what keeps the users of a cluster of root's from running the Python that runs rota; empty: nothing.

    Args:
        state: The state directory. If others cannot reach it, nobody else uses the cluster.
    """
    if os.geteuid() or _closed(state / "bin"):
        return []
    python = sys.executable
    needed = (Path(python), Path(python).resolve(), Path(os.__file__).parent, Path(PACKAGES) / "rota")
    closed = next((one for path in needed if (one := _closed(path))), None)
    if closed is None:
        return []
    why = f"only its owner may enter or run {closed}"
    return [f"other users cannot run {python}, since {why}: their commands fail, and their allocations end at once"]


def _closed(path: Path) -> Path | None:
    """Give what on the way to a folder or program is closed to others than root and its group; ``None``: nothing."""
    for one in (*reversed(path.parents), path):
        try:
            found = one.stat()
        except OSError:
            return None
        if not found.st_mode & stat.S_IXOTH and not (found.st_gid and found.st_mode & stat.S_IXGRP):
            return one
    return None
