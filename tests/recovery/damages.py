"""Random damages to what a cluster has kept: which file, and how, is told by a seed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

#: The files that may be damaged.
_FILES = (
    "rota.db",
    "rota.db-wal",
    "rota.db-shm",
    "supervisor.log",
    "supervisor.tail",
    "keeper.log",
    "journal.head",
    "spool/journal.head",
    "spool/job*/slurm_script",
)
#: Of these the database and its log of changes are chosen as often as all others.
_WEIGHTS = (5, 4, 1, 3, 1, 1, 1, 1, 1)
_BLOCK = 4096


def damage(state: Path, older: Path, random: Random) -> str:
    """Damage one file of a state directory; say which, and how.

    Args:
        state: The state directory.
        older: An older copy of it.
        random: Chooses.
    """
    found: list[Path] = []
    while not found:
        chosen = random.choices(_FILES, _WEIGHTS)[0]
        found = [one for one in sorted(state.glob(chosen)) if one.stat().st_size]
    path = random.choice(found)
    kind = random.choice(("cut", "flip", "zero", "remove", "older", "swap", "torn", "insert", "repeat"))
    data, name = path.read_bytes(), path.relative_to(state)
    place = random.randrange(len(data))
    if kind == "cut":
        path.write_bytes(data[:place])
    elif kind == "torn":
        place = len(data) - random.randint(1, min(200, len(data)))
        path.write_bytes(data[:place])
    elif kind == "flip":
        bit = 1 << random.randrange(8)
        path.write_bytes(data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :])
    elif kind == "zero":
        place -= place % _BLOCK
        path.write_bytes(data[:place] + bytes(len(data[place : place + _BLOCK])) + data[place + _BLOCK :])
    elif kind == "insert":
        path.write_bytes(data[:place] + random.randbytes(random.randint(1, 50)) + data[place:])
    elif kind == "repeat":
        place -= place % _BLOCK
        other = random.randrange(0, len(data), _BLOCK)
        path.write_bytes(data[:place] + data[other : other + _BLOCK] + data[place + _BLOCK :])
    elif kind == "remove":
        path.unlink()
    elif kind == "older":
        if not (older / name).exists():
            return f"{name}: there is no older copy"
        shutil.copy(older / name, path)
    else:
        other_path = random.choice([one for one in state.rglob("*") if one.is_file() and one != path])
        other_data = other_path.read_bytes()
        other_path.write_bytes(data)
        path.write_bytes(other_data)
        return f"{name}: swapped with {other_path.relative_to(state)}"
    return f"{name}: {kind} at {place} of {len(data)}"
