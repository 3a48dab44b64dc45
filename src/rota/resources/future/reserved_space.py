"""A node space map with advance reservations.

For jobs without a reservation the nodes of all reservations are reserved at their times. Jobs in a reservation have a
map of their own, in which everything is reserved except its nodes during its time. What is planned is in all maps, as
with ``FLEX`` jobs have nodes and times in common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from rota.model import YEAR
from rota.resources.job import HandedJob, J

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rota.model.reservation import Reservation
    from rota.resources.future.node_space import NodeSpace


class ReservationSpace(Generic[J]):
    """A node space map that includes advance reservations; see `rota.interfaces.NodeSpace`.

    Args:
        make: Makes a map without reservations.
        reservations: Reservations by name.
        nodes: Bitmap of all nodes.
        now: The time now, Unix seconds.
        last: The last time at which a job may be planned to start, Unix seconds.
    """

    def __init__(
        self,
        make: Callable[[], NodeSpace[J]],
        reservations: Mapping[str, Reservation],
        nodes: int,
        *,
        now: int,
        last: int,
    ) -> None:
        self._make = make
        self._reservations = reservations
        self._nodes = nodes
        self._now = now
        self._last = last
        self._main = make()
        for one in reservations.values():
            self._take(self._main, one, one.nodes)
        #: Maps for jobs in a reservation, by its name.
        self._within: dict[str, NodeSpace[J]] = {}
        #: What has been planned so far, for maps that are made later.
        self._plans: list[tuple[HandedJob[J], int, int, int]] = []

    def _take(self, space: NodeSpace[J], one: Reservation, nodes: int) -> None:
        """Reserve nodes at each occurrence of a reservation within a year, up to the first one after ``last``.

        No job is planned to start that late, but jobs may still be running then.
        """
        last = min(self._last, self._now + YEAR)
        for first, every in one.occurrences:
            # Of the occurrences that have begun, the last one ends last.
            later = first + (max((self._now - one.start_time - first) // every, 0) * every if every else 0)
            start, end = one.start_time + later, one.end_time + later
            while True:
                if end > self._now:
                    begin = max(start, self._now)
                    space.reserve(None, begin, end - begin, nodes)
                if not every or start > last:
                    break
                start, end = start + every, end + every

    def _space(self, job: HandedJob[J]) -> NodeSpace[J]:
        one = self._reservations.get(job.spec.reservation) if job.spec.reservation else None
        if one is None:
            return self._main
        space = self._within.get(one.name)
        if space is None:
            space = self._within[one.name] = self._make()
            is_flexible = "FLEX" in one.flags
            for other in self._reservations.values():
                if other is not one:
                    self._take(space, other, other.withheld_from(one))
            if not is_flexible:
                ever = self._last - self._now + 365 * 86400
                space.reserve(None, self._now, ever, self._nodes & ~one.nodes)
                if one.start_time > self._now:
                    space.reserve(None, self._now, one.start_time - self._now, one.nodes)
                space.reserve(None, one.end_time, ever, one.nodes)
            for plan in self._plans:
                space.reserve(*plan)
        return space

    @property
    def size(self) -> int:
        """Number of time slots."""
        return self._main.size

    def earliest(
        self, job: HandedJob[J], duration: int, after: int, *, not_before: int = 0, now_only: bool = False
    ) -> tuple[int, int, int] | None:
        """Find the earliest time at which the job fits, and its nodes."""
        return self._space(job).earliest(job, duration, after, not_before=not_before, now_only=now_only)

    def startable(self, job: HandedJob[J], duration: int) -> int:
        """Give the nodes on which the job might start now; 0: it cannot."""
        return self._space(job).startable(job, duration)

    def open_nodes(self, job: HandedJob[J], start: int, duration: int) -> int:
        """Give the nodes that are not reserved at that time."""
        return self._space(job).open_nodes(job, start, duration)

    def is_open(self, job: HandedJob[J], start: int, duration: int, nodes: int) -> bool:
        """Whether the nodes are not reserved at that time."""
        return self._space(job).is_open(job, start, duration, nodes)

    def reserve(self, job: HandedJob[J], start: int, duration: int, nodes: int) -> None:
        """Reserve nodes."""
        self._plans.append((job, start, duration, nodes))
        for space in (self._main, *self._within.values()):
            space.reserve(job, start, duration, nodes)

    def started(self, job: HandedJob[J]) -> None:
        """Include a job that has just started."""
        for space in (self._main, *self._within.values()):
            space.started(job)
