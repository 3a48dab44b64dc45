"""Numbers for the users, accounts, partitions and QOS of a workload that has names."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def numbered(names: Iterable[str]) -> list[int]:
    """Number names from 1 by first occurrence; -1 for an empty name."""
    known: dict[str, int] = {"": -1}
    numbers = count(1)
    return [known[name] if name in known else known.setdefault(name, next(numbers)) for name in names]
