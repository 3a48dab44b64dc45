"""The future-availability profile that `Controller.profile` makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rota.model import Job


class Profile(Protocol):
    """What is free when: a step function of time whose values are resource sets."""

    def earliest(
        self, job: Job, duration: int, after: int, before: int | None = None, held: int = 0
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
