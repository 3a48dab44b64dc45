"""Protocols of the clock, the usage and the jobs that limits are tested with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rota.accounting import Usage


class Clock(Protocol):
    """The engine's clock."""

    #: The time now, Unix seconds.
    now: int


class UsageKeeper(Protocol):
    """The owner of the usage."""

    #: Usage; ``None``: it is not kept.
    usage: Usage | None


class CountedJob(Protocol):
    """The attributes of a job or queue record that limits use."""

    @property
    def job_id(self) -> int:
        """Job id."""

    @property
    def restart_count(self) -> int:
        """How often it was requeued."""

    @property
    def time_limit(self) -> int:
        """Time limit in seconds."""

    @property
    def alloc(self) -> int:
        """Allocated resource set."""

    @property
    def alloc_nodes(self) -> int:
        """Bitmap of the nodes of its allocation."""

    @property
    def charged_since(self) -> int:
        """Since when it is charged without interruption, Unix seconds."""

    @property
    def effective_start(self) -> int:
        """Start of its run plus the time for which it was suspended, Unix seconds."""

    @property
    def end_time(self) -> int | None:
        """Expected end, Unix seconds."""

    @property
    def expected_end(self) -> int:
        """Expected end; if it has been stopped, the end that was expected before."""
