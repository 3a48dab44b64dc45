"""Cores that several jobs have at a time: ``OverSubscribe=YES:n`` and ``FORCE:n``.

A partition that shares has *rows*: in each of them every core can be given out once. A job that shares gets cores that
nobody has, else those of the first row of its partition in which it fits, whatever other partitions do that share. On a
node where a job runs that does not share it gets nothing. That one gets cores that nobody has, and goes nowhere where
another partition shares.

Processors are counted: of the cores of a node a partition is taken to use as many as in its fullest row.

Source: Slurm's page on consumable resources and sharing, and what a real one did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from rota.model import Partition
    from rota.resources.view import View


class CoreRows:
    """The rows of all partitions, as rows of a view.

    Args:
        partitions: The machine's.
        cpus: Processors of each node.
        first: Place of the first of them in a view; they are the last ones.
    """

    __slots__ = ("_cpus", "_rows", "count")

    def __init__(self, partitions: Iterable[Partition], cpus: NDArray[np.uint32], first: int) -> None:
        self._cpus = cpus.astype(np.int64)
        self._rows: dict[str, range] = {}
        #: How many there are.
        self.count = 0
        for partition in partitions:
            if partition.max_share > 1:
                begin = first + self.count
                self._rows[partition.name] = range(begin, begin + partition.max_share)
                self.count += partition.max_share

    def names(self) -> list[str]:
        """Name the rows, in their order."""
        return [f"cpu/{name}/{number}" for name, rows in self._rows.items() for number in range(len(rows))]

    def of_one(self, view: View, partition: str) -> NDArray[np.int64]:
        """Give the processors of each node that a job of a partition could have which shares with none."""
        cpus: NDArray[np.int64] = view[0].astype(np.int64)
        others, upper = np.zeros((2, len(cpus)), np.bool_)
        for name, rows in self._rows.items():
            used = self._used(view, rows)
            cpus -= used.max(axis=0)
            upper |= used[1:].any(axis=0)
            if name != partition:
                others |= used.any(axis=0)
        # Where others run that share with none, it is the jobs beyond the first row that are in the way.
        cpus[np.where(view[0] < self._cpus, upper, others)] = 0
        return cpus.clip(0)

    def of_several(self, view: View, partition: str) -> list[tuple[int, NDArray[np.int64]]]:
        """Give the same for a job that shares: in what order it tries which row, and what it could have there."""
        room = np.where(view[0] == self._cpus, self._cpus, 0)
        idle = room - sum(self._used(view, rows).max(axis=0) for rows in self._rows.values())
        own = self._rows[partition]
        tries = [(own[0], idle), *zip(own, room - self._used(view, own), strict=True)]
        return [(row, np.maximum(cpus, 0)) for row, cpus in tries]

    def is_mixed(self, view: View) -> bool:
        """Whether a job has a core together with one that shares with none."""
        return any((self._used(view, rows).max(axis=0) > view[0]).any() for rows in self._rows.values())

    def _used(self, view: View, rows: range) -> NDArray[np.int64]:
        """Count the processors that are in use in some rows, on each node."""
        return self._cpus - view[rows.start : rows.stop]
