"""A job as far as the machine's resources are concerned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from rota.model import JobSpec, Partition
    from rota.resources.requests.request_class import RequestClass


class PlacedJob(Protocol):
    """What is placed, or has been: a job, or one of its queue records."""

    #: What the pool has worked out of its request; ``None``: not yet.
    request_class: RequestClass | None

    @property
    def job_id(self) -> int:
        """Job id."""

    @property
    def spec(self) -> JobSpec:
        """What it asks for."""

    @property
    def partition(self) -> Partition:
        """Where it is to run."""

    @property
    def units(self) -> int:
        """What it takes at least of the machine, in the machine's own unit."""

    @property
    def time_limit(self) -> int:
        """Seconds."""

    @property
    def start_time(self) -> int | None:
        """Unix seconds; ``None``: it has not started."""

    @property
    def end_time(self) -> int | None:
        """When it is expected to end, Unix seconds."""

    @property
    def alloc(self) -> int:
        """Resource set that it holds."""

    @property
    def alloc_nodes(self) -> int:
        """Bitmap of the nodes that it holds something of."""


J = TypeVar("J", bound=PlacedJob)
