"""What may hold a waiting job back although there is room for it: limits, licences, the tasks of its array that run.

A job has its start limits from the moment when it is submitted, and shares them with all jobs that are under the same.
It stays in its place in the queue while one of them holds it back, and is passed over: it holds back nobody else.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

from rota.model import Reason

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
    #: What is measured against it becomes less by itself as time goes by.
    decays: bool = False


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


J_contra = TypeVar("J_contra", contravariant=True)


class StartLimit(Protocol[J_contra]):
    """One thing that may hold jobs back; shared by all jobs that are under it."""

    def holds_back_all(self) -> bool | None:
        """Whether it holds back all its jobs now, or none of them; ``None``: that depends on what they ask for."""

    def holds_back(self, job: J_contra, resources: int) -> Excess | None:
        """Say what keeps a waiting job from starting now; ``None``: nothing.

        Args:
            job: The job, or one of its queue records.
            resources: The resource set that it would start on; 0: look at what it asks for.
        """

    def started(self, job: J_contra) -> None:
        """Count a job that has started."""

    def ended(self, job: J_contra) -> None:
        """Count a job no more that has started before."""
