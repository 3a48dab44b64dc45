"""What the machine's resources need to know of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from rota.model import JobSpec, Partition
    from rota.resources.requests.request_class import RequestClass


class PlacedJob(Protocol):
    """A job or queue record."""

    #: Result of evaluating its request; ``None``: not evaluated yet.
    request_class: RequestClass | None

    @property
    def job_id(self) -> int:
        """Job id."""

    @property
    def spec(self) -> JobSpec:
        """The request."""

    @property
    def partition(self) -> Partition:
        """The partition in which it is to run."""

    @property
    def switches(self) -> int:
        """The largest number of leaf switches with which it may start now; 0: any."""

    @property
    def units(self) -> int:
        """The fewest units that it needs: whole nodes, or processors, depending on the machine."""

    @property
    def time_limit(self) -> int:
        """Time limit in seconds."""

    @property
    def start_time(self) -> int | None:
        """Start, Unix seconds; ``None``: it has not started."""

    @property
    def end_time(self) -> int | None:
        """Expected end, Unix seconds."""

    @property
    def alloc(self) -> int:
        """Allocated resource set."""

    @property
    def alloc_nodes(self) -> int:
        """Allocated nodes, a bitmap."""


J = TypeVar("J", bound=PlacedJob)
J_co = TypeVar("J_co", bound=PlacedJob, covariant=True)


class HandedJob(Protocol[J_co]):
    """A job as plugins have and hand it: it stands for a record of the engine, and has its attributes to be read."""

    @property
    def _record(self) -> J_co: ...

    @property
    def spec(self) -> JobSpec:
        """The request."""

    @property
    def units(self) -> int:
        """The fewest units that it needs."""

    @property
    def time_limit(self) -> int:
        """Time limit in seconds."""

    @property
    def start_time(self) -> int | None:
        """Start, Unix seconds."""

    @property
    def end_time(self) -> int | None:
        """Expected end, Unix seconds."""

    @property
    def alloc_nodes(self) -> int:
        """Allocated nodes, a bitmap."""
