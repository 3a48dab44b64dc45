"""What holds a waiting job back although there is room for it: limits, licences, the tasks of its array that run.

A job has its restraints from the moment when it is submitted. It stays in its place in the queue while one of them
holds it back, and is passed over: it holds back nobody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from rota.model import Reason

if TYPE_CHECKING:
    from rota.model import Job

#: Reasons that limits of associations and QOS give, but for those that have to do with no limit of what is used.
LIMIT_REASONS = frozenset(one for one in Reason if one.name.startswith(("QOS_", "ASSOC_"))) - {
    Reason.QOS_USAGE_THRESHOLD
}


class Limit(NamedTuple):
    """One bound that a job can run into."""

    reason: Reason
    #: Whose it is: ``QOS long``, ``account phys``, ``user ann of account phys``, ``cluster``.
    of: str
    #: As users have written it: ``GrpTRES=cpu``.
    name: str
    #: In the unit that it is written in, times in seconds.
    most: float


class Excess(NamedTuple):
    """A bound that a job is beyond, or would be if it started."""

    limit: Limit
    #: What counts already, without the job.
    used: float
    #: What the job adds.
    asked: float

    @property
    def reason(self) -> Reason:
        """Slurm's word for it."""
        return self.limit.reason


class Restraint(Protocol):
    """Shared by all jobs that are under it."""

    def holds_back_all(self) -> bool | None:
        """Whether it holds back all its jobs now, or none of them; ``None``: that depends on what they ask for."""

    def holds_back(self, job: Job, resources: int) -> Excess | None:
        """Say what keeps a waiting job, or a record of it, from starting now; ``None``: nothing.

        Args:
            job: It.
            resources: On these; 0: on whatever it asks for.
        """

    def started(self, job: Job) -> None:
        """Count a job that has started."""

    def ended(self, job: Job) -> None:
        """Count it no more."""


def is_restrained(job: Job) -> bool:
    """Whether a job, or one of its records, can be held back."""
    return bool(job.restraints) or any(record.restraints for record in job.records)


def held_back(job: Job, resources: int = 0) -> Excess | None:
    """Say which of its restraints holds a waiting job back, on certain resources if some are given."""
    for one in job.restraints:
        excess: Excess | None = one.holds_back(job, resources)
        if excess is not None:
            return excess
    return None
