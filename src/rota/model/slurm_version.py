"""What Slurm does otherwise from one version to the next, in one place.

``SlurmVersion=24.05`` in slurm.conf, or with ``--set``, is rota's own: schedules are those of this version. Without it
they are those of 22.05, whose texts rota prints.
"""

from __future__ import annotations

from enum import Enum

#: The version without ``SlurmVersion``.
DEFAULT = (22, 5)
#: The first and the last version that can be named.
OLDEST, NEWEST = (22, 5), (26, 5)


class Since(Enum):
    """The differences, each with the version that it is there from on."""

    #: sched/backfill rounds the end of what it reserves for a job up to ``bf_resolution``, not down. The code has it
    #: in 2026, and 22.05.8 has not; that 23.02 is the first to have it is an assumption.
    ENDS_ROUNDED_UP = (23, 2)
    #: sched/backfill tests a later start with what will be free then. Before, it tests it first with what is free now,
    #: and then takes away all running jobs in turn, which may give other nodes. The code has it in 2026, and 22.05.8
    #: has not; that 23.11 is the first to have it is an assumption.
    PLANS_FROM_START = (23, 11)
    #: A job of one node gets the first node that suffices, not the smallest.
    FIRST_FIT = (26, 5)


def parse_version(text: str) -> tuple[int, int]:
    """Read a version: ``22.05``, or ``22.05.8``, of which the last number does not matter.

    Raises:
        ValueError: it is no version of Slurm that rota knows.
    """
    parts = text.split(".")
    if not 2 <= len(parts) <= 3 or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"{text!r} is no version of Slurm: write it as 22.05")
    version = int(parts[0]), int(parts[1])
    if not OLDEST <= version <= NEWEST:
        raise ValueError(f"{text!r} is not from {_shown(OLDEST)} to {_shown(NEWEST)}")
    return version


def _shown(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]:02}"
