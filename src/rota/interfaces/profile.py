"""Plans of free resources over time, as `Controller.profile` and `Controller.node_space` make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from rota.interfaces.job import Job

if TYPE_CHECKING:
    from collections.abc import Sequence

J_contra = TypeVar("J_contra", contravariant=True)


class ProfileOf(Protocol[J_contra]):
    """An availability profile: a step function of time whose values are the free resource sets."""

    def earliest(
        self, job: J_contra, duration: int, after: int, before: int | None = None, held: int = 0
    ) -> tuple[int, int] | None:
        """Find the earliest time at which the job fits for a duration.

        Args:
            job: The job to place.
            duration: Seconds, at least 1.
            after: Earliest start, Unix seconds.
            before: The start must be before this time, Unix seconds; ``None``: no bound.
            held: Resource set that is reserved for the job itself for ``duration`` from ``before`` on. It counts as
                free, so that the answer says whether the job could start sooner than planned.

        Returns:
            Start (Unix seconds) and resource set, or ``None`` if there is none.
        """

    def take(self, start: int, end: int, resources: int) -> None:
        """Reserve resources from ``start`` to before ``end``; they must be free all the time."""

    def take_what_is_free(self, start: int, end: int, resources: int) -> None:
        """Reserve, at each time from ``start`` to before ``end``, what is free then of some resources."""

    def give(self, start: int, end: int, resources: int) -> None:
        """Free resources that were reserved, or part of the time for which they were."""

    def steps(self) -> Sequence[tuple[int, int]]:
        """Give the steps: the begin of each, Unix seconds, and the resource set that is free from then on."""

    def advance(self, now: int) -> None:
        """Discard everything before ``now``."""


class NodeSpaceOf(Protocol[J_contra]):
    """The node space map of backfill: reserved nodes over time, and running jobs with their expected ends.

    Times are Unix seconds, durations seconds. Reservations begin and end at multiples of the resolution. Whole nodes
    are reserved, even where jobs share them; of interchangeable processors, a number.
    """

    @property
    def size(self) -> int:
        """Number of time slots with different sets of unreserved nodes."""

    def earliest(
        self, job: J_contra, duration: int, after: int, *, not_before: int = 0, now_only: bool = False
    ) -> tuple[int, int, int] | None:
        """Find the earliest time at which the job fits on nodes that are not reserved while it would run.

        Args:
            job: The job to place.
            duration: Run time of the job.
            after: Earliest start.
            not_before: Time before which it is known not to fit, as a job that asks for the same did not.
            now_only: Consider a start at ``after`` only.

        Returns:
            Start, nodes as a bitmap, and the time from which that start was found, or ``None`` if there is none within
            the window. Jobs that could be preempted for the job are ignored, so a start now may require that they are
            preempted first. A search for a job that asks for the same may begin at the third; as in Slurm, one that
            begins at the start itself may find a later one, since it demands nodes that are not reserved at its end.
        """

    def startable(self, job: J_contra, duration: int) -> int:
        """Give the nodes on which the job might start now, as a bitmap; 0: it cannot start now.

        If it can, it also can after reservations that leave these nodes out. Much cheaper than `earliest`.
        """

    def open_nodes(self, job: J_contra, start: int, duration: int) -> int:
        """Give the nodes that are not reserved at that time, as a bitmap."""

    def is_open(self, job: J_contra, start: int, duration: int, nodes: int) -> bool:
        """Whether the nodes, or as many processors as the job needs, are not reserved at that time."""

    def reserve(self, job: J_contra, start: int, duration: int, nodes: int) -> None:
        """Reserve nodes or, of interchangeable processors, as many as the job needs."""

    def started(self, job: J_contra) -> None:
        """Include a job that has just been started."""


Profile: TypeAlias = ProfileOf[Job]
NodeSpace: TypeAlias = NodeSpaceOf[Job]
