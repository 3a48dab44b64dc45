"""What limits look at of the cluster: the time, jobs, what has been used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rota.accounting import Usage


class Clock(Protocol):
    """What knows the time."""

    #: Unix seconds.
    now: int


class UsageKeeper(Protocol):
    """What knows what has been used."""

    #: ``None``: nobody has it kept.
    usage: Usage | None


class CountedJob(Protocol):
    """A job, or one of its queue records, as far as limits look at it."""

    @property
    def job_id(self) -> int:
        """Job id."""

    @property
    def restart_count(self) -> int:
        """Which of its runs it is."""

    @property
    def time_limit(self) -> int:
        """Seconds."""

    @property
    def alloc(self) -> int:
        """Resource set that it holds."""

    @property
    def alloc_nodes(self) -> int:
        """Bitmap of the nodes that it holds something of."""

    @property
    def charged_since(self) -> int:
        """Since when it is charged without a break, Unix seconds."""

    @property
    def effective_start(self) -> int:
        """When its run would have begun if it had never been suspended, Unix seconds."""

    @property
    def end_time(self) -> int | None:
        """When it is expected to end, Unix seconds."""

    @property
    def expected_end(self) -> int:
        """The same or, once it has been stopped, when it was expected to end."""
