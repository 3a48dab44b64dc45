"""Start limits: limits of associations and QOS, licences, and throttles of job arrays.

A job has its start limits from its submission on, and shares them with all jobs to which the same limits apply. While
one of them holds it back, it stays in the queue, is skipped, and blocks no other job.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

from rota.model import Reason

#: Reasons of limits of associations and QOS on resources and numbers of jobs.
LIMIT_REASONS = frozenset(one for one in Reason if one.name.startswith(("QOS_", "ASSOC_"))) - {
    Reason.QOS_USAGE_THRESHOLD
}


class Limit(NamedTuple):
    """A limit that can keep a job from starting."""

    #: The reason of jobs that it holds back.
    reason: Reason
    #: Its owner: ``QOS long``, ``account phys``, ``user ann of account phys``, ``cluster``.
    of: str
    #: Its name as users write it: ``GrpTRES=cpu``.
    name: str
    #: Its value in the unit in which it is written; times are in seconds.
    most: float
    #: Whether the quantity that is compared with it decreases with time.
    decays: bool = False


class Excess(NamedTuple):
    """A limit that a job exceeds, or would exceed if it started."""

    limit: Limit
    #: The quantity without the job.
    used: float
    #: The job's part.
    asked: float

    @property
    def reason(self) -> Reason:
        """Slurm's reason."""
        return self.limit.reason


J_contra = TypeVar("J_contra", contravariant=True)


class StartLimit(Protocol[J_contra]):
    """A limit that can hold jobs back; it is shared by all jobs to which it applies."""

    def holds_back_all(self) -> bool | None:
        """Whether it holds back all its jobs now, or none; ``None``: it depends on the job."""

    def holds_back(self, job: J_contra, resources: int) -> Excess | None:
        """Give the limit that keeps a pending job from starting now; ``None``: there is none.

        Args:
            job: The job, or one of its queue records.
            resources: The resource set that it would start on; 0: test what it requests.
        """

    def started(self, job: J_contra) -> None:
        """Count a job that has started."""

    def ended(self, job: J_contra) -> None:
        """Remove a job that has ended from the counts."""
