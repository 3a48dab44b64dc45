"""Programs that slurm.conf names: those that are not there are told before a job needs them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

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
