"""Lists of numbers in Slurm's notation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def fold_numbers(numbers: Iterable[int], comma: str = ",") -> str:
    """Write ascending numbers as ``1-3,7``."""
    runs: list[list[int]] = []
    for one in numbers:
        if runs and one == runs[-1][1] + 1:
            runs[-1][1] = one
        else:
            runs.append([one, one])
    return comma.join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
