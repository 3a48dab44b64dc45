"""What will be free when: what `Controller.profile` and `Controller.node_space` make."""

from __future__ import annotations

from typing import Protocol, TypeAlias, TypeVar

from rota.interfaces.job import Job

J_contra = TypeVar("J_contra", contravariant=True)


class ProfileOf(Protocol[J_contra]):
    """What is free when: a step function of time whose values are resource sets."""

    def earliest(
        self, job: J_contra, duration: int, after: int, before: int | None = None, held: int = 0
    ) -> tuple[int, int] | None:
        """Find the first time when the job fits for ``duration`` seconds.

        Args:
            job: What to place.
            duration: Seconds, at least 1.
            after: Not before this time, Unix seconds.
            before: Only starts strictly before this time; ``None``: whenever.
            held: Resource set that the job has already reserved for ``duration`` from ``before`` on, and which
                therefore counts as free to it: "could it start sooner than planned?".

        Returns:
            Start (Unix seconds) and resource set, or ``None`` when there is none.
        """

    def take(self, start: int, end: int, resources: int) -> None:
        """Reserve ``resources`` from ``start`` to before ``end``; they must be free all that time."""

    def give(self, start: int, end: int, resources: int) -> None:
        """Give back what was taken, or part of that time."""

    def advance(self, now: int) -> None:
        """Forget what was before ``now``."""


class NodeSpaceOf(Protocol[J_contra]):
    """What backfill plans with: which nodes are reserved when, and which running jobs free theirs when.

    Times are Unix seconds, durations seconds. Reservations begin and end on a grid. Nodes are reserved whole, also
    where jobs share them; interchangeable processors by their number.
    """

    @property
    def size(self) -> int:
        """How many slots of time there are, each with other nodes that are open."""

    def earliest(self, job: J_contra, duration: int, after: int, *, now_only: bool = False) -> tuple[int, int] | None:
        """Find the first time, not before ``after``, when the job fits on nodes that are reserved at no time meanwhile.

        Args:
            job: What to place.
            duration: How long it would run.
            after: Not before this time.
            now_only: At ``after`` or not at all.

        Returns:
            Start and nodes as a bitmap, or ``None`` when there is none within the window. Running jobs that would give
            way to the job count as gone, so that a start now may be one for which they have to be preempted first.
        """

    def open_nodes(self, job: J_contra, start: int, duration: int) -> int:
        """Give the nodes that nobody has reserved for that time, as a bitmap."""

    def is_open(self, job: J_contra, start: int, duration: int, nodes: int) -> bool:
        """Whether nobody has reserved, for that time, one of the nodes or the processors that the job needs."""

    def reserve(self, job: J_contra, start: int, duration: int, nodes: int) -> None:
        """Reserve nodes or, where processors are interchangeable, as many as the job needs."""

    def started(self, job: J_contra) -> None:
        """Take account of a job that has just been started."""


Profile: TypeAlias = ProfileOf[Job]
NodeSpace: TypeAlias = NodeSpaceOf[Job]
