"""A node space map with licences (``bf_licenses``).

As in Slurm's backfill, running jobs hold their licences until their expected ends, rounded to the resolution, and each
planned job reserves the licences that it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from rota.model.licenses import parse_licenses
from rota.resources.job import HandedJob, J

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rota.resources.future.node_space import NodeSpace, ProcessorSpace
    from rota.resources.future.reserved_space import ReservationSpace


class LicenseSpace(Generic[J]):
    """A node space map that includes licences; see `rota.interfaces.NodeSpace`.

    Args:
        space: The node space map.
        total: Number of licences by name.
        now: The time now, Unix seconds.
        running: The running jobs.
        resolution: Seconds between points of time at which reservations may begin and end.
        last: The last time at which a job may be planned to start, Unix seconds.
    """

    def __init__(
        self,
        space: ProcessorSpace | NodeSpace[J] | ReservationSpace[J],
        total: Mapping[str, int],
        *,
        now: int,
        running: Sequence[J],
        resolution: int,
        last: int,
    ) -> None:
        self._space = space
        self._total = total
        self._resolution = resolution
        self._last = last
        #: Begin, end and number of licences in use, by licence.
        self._taken: dict[str, list[tuple[int, int, int]]] = {name: [] for name in total}
        self._known: dict[str, Mapping[str, int]] = {"": {}}
        for job in running:
            self._take(job, now, max(job.end_time or 0, now + 1))

    @property
    def size(self) -> int:
        """Number of time slots."""
        return self._space.size

    def _wanted(self, job: HandedJob[J] | J) -> Mapping[str, int]:
        text = job.spec.licenses
        if text not in self._known:
            self._known[text] = parse_licenses(text)
        return self._known[text]

    def _take(self, job: HandedJob[J] | J, start: int, end: int) -> None:
        grid = self._resolution
        for name, count in self._wanted(job).items():
            self._taken.setdefault(name, []).append((start // grid * grid, -(-end // grid) * grid, count))

    def _free_from(self, name: str, count: int, start: int, duration: int) -> int:
        """Give the first time from ``start`` on at which ``count`` licences are free for a duration."""
        taken, room = self._taken.get(name, []), self._total.get(name, 0) - count
        while True:
            end = start + duration
            overlapping = [one for one in taken if one[0] < end and one[1] > start]
            # Use is highest at the begin of some interval.
            moments = [start, *(begin for begin, _, _ in overlapping if begin > start)]
            too_many = [
                time
                for time in moments
                if sum(used for begin, until, used in overlapping if begin <= time < until) > room
            ]
            if not too_many:
                return start
            start = min(until for begin, until, _ in overlapping if begin <= max(too_many) < until)

    def earliest(
        self, job: HandedJob[J], duration: int, after: int, *, not_before: int = 0, now_only: bool = False
    ) -> tuple[int, int, int] | None:
        """Find the earliest time at which nodes and licences for the job are free."""
        wanted = self._wanted(job)
        while True:
            found = self._space.earliest(job, duration, after, not_before=not_before, now_only=now_only)
            if found is None or not wanted:
                return found
            start = max(self._free_from(name, count, found[0], duration) for name, count in wanted.items())
            if start == found[0]:
                return found
            if now_only or start > self._last:
                return None
            after = start

    def startable(self, job: HandedJob[J], duration: int) -> int:
        """Give the nodes on which the job might start now, whatever licences it needs; 0: it cannot."""
        return self._space.startable(job, duration)

    def open_nodes(self, job: HandedJob[J], start: int, duration: int) -> int:
        """Give the nodes that are not reserved at that time."""
        return self._space.open_nodes(job, start, duration)

    def is_open(self, job: HandedJob[J], start: int, duration: int, nodes: int) -> bool:
        """Whether the nodes and enough licences are not reserved at that time."""
        free = all(self._free_from(name, count, start, duration) == start for name, count in self._wanted(job).items())
        return free and self._space.is_open(job, start, duration, nodes)

    def reserve(self, job: HandedJob[J], start: int, duration: int, nodes: int) -> None:
        """Reserve nodes and licences."""
        self._take(job, start, start + duration)
        self._space.reserve(job, start, duration, nodes)

    def started(self, job: HandedJob[J]) -> None:
        """Include a job that has just started."""
        self._take(job, job.start_time or 0, job.end_time or 0)
        self._space.started(job)
