"""Cores that are shared by several jobs: ``OverSubscribe=YES:n`` and ``FORCE:n``.

As in Slurm, a partition that shares cores has *rows*: in each row every core can be allocated once. A job that shares
gets idle cores, else those of the first row of its partition in which it fits, regardless of other partitions that
share. It gets no node with a job that does not share. A job that does not share gets idle cores, and no node on which
another partition shares cores.

Only numbers of processors are known: a partition is assumed to use as many cores of a node as its fullest row.

Source: Slurm's page on consumable resources and sharing, and observation of a real Slurm.
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
    """The rows of all partitions. They are the last rows of a view.

    Args:
        partitions: The partitions of the machine.
        cpus: Number of processors of each node.
        first: Index of the first of these rows in a view.
    """

    __slots__ = ("_cpus", "_rows", "count")

    def __init__(self, partitions: Iterable[Partition], cpus: NDArray[np.uint32], first: int) -> None:
        self._cpus = cpus.astype(np.int64)
        self._rows: dict[str, range] = {}
        #: Number of rows.
        self.count = 0
        for partition in partitions:
            if partition.max_share > 1:
                begin = first + self.count
                self._rows[partition.name] = range(begin, begin + partition.max_share)
                self.count += partition.max_share

    def names(self) -> list[str]:
        """Give the names of the rows, in order."""
        return [f"cpu/{name}/{number}" for name, rows in self._rows.items() for number in range(len(rows))]

    def of_one(self, view: View, partition: str) -> NDArray[np.int64]:
        """Count the processors of each node that are available to a job of a partition, if it does not share."""
        cpus: NDArray[np.int64] = view[0].astype(np.int64)
        others, upper = np.zeros((2, len(cpus)), np.bool_)
        for name, rows in self._rows.items():
            used = self._used(view, rows)
            cpus -= used.max(axis=0)
            upper |= used[1:].any(axis=0)
            if name != partition:
                others |= used.any(axis=0)
        # On nodes with jobs that do not share, only jobs beyond the first row are an obstacle.
        cpus[np.where(view[0] < self._cpus, upper, others)] = 0
        return cpus.clip(0)

    def of_several(self, view: View, partition: str) -> list[tuple[int, NDArray[np.int64]]]:
        """Give the rows that a job of a partition tries if it shares, in order, and the available processors."""
        room = np.where(view[0] == self._cpus, self._cpus, 0)
        idle = room - sum(self._used(view, rows).max(axis=0) for rows in self._rows.values())
        own = self._rows[partition]
        tries = [(own[0], idle), *zip(own, room - self._used(view, own), strict=True)]
        return [(row, np.maximum(cpus, 0)) for row, cpus in tries]

    def is_mixed(self, view: View) -> bool:
        """Whether jobs share a core with a job that does not share, which must not be."""
        return any((self._used(view, rows).max(axis=0) > view[0]).any() for rows in self._rows.values())

    def _used(self, view: View, rows: range) -> NDArray[np.int64]:
        """Count the processors of each node that are in use, for each of some rows."""
        return self._cpus - view[rows.start : rows.stop]
