"""What the live jobs of each association, QOS, and user and account in a QOS use of the limits on them.

A job counts as submitted until it has ended, each pending task of a job array too. It counts as running, with its TRES,
while it runs or is suspended; a node that several jobs share counts once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Generic, TypeVar

from rota.model.array import MOST_TASKS, count_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from rota.model import Association
    from rota.model.lines import JobLine

K = TypeVar("K", bound="Hashable")


class Sums:
    """The sums of some live jobs."""

    __slots__ = ("_nodes", "_tres", "jobs", "run_seconds", "submitted")

    def __init__(self) -> None:
        #: Number of running jobs, and of these and pending ones.
        self.jobs = 0
        self.submitted = 0
        #: TRES seconds that running jobs may still use until their time limits, times the usage factors of their QOS.
        self.run_seconds: Counter[str] = Counter()
        self._tres: Counter[str] = Counter()
        self._nodes: set[str] = set()

    def add(self, job: JobLine, now: int, usage_factor: float) -> None:
        """Add a live job."""
        if job.pending:
            self.submitted += _tasks(job)
            return
        self.submitted += 1
        self.jobs += 1
        self._nodes.update(job.nodes)
        self._tres.update(job.tres_allocated)
        if job.time_limit is not None and usage_factor:
            left = max(job.time_limit - job.time_used(now), 0) * usage_factor
            self.run_seconds.update({name: int(count * left) for name, count in job.tres_allocated.items()})

    @property
    def tres(self) -> Mapping[str, int]:
        """What running jobs have of each TRES."""
        return {**self._tres, "node": len(self._nodes)}


class _Table(defaultdict[K, Sums], Generic[K]):
    """Sums by what they are of, in the order in which the first job came."""

    def __init__(self) -> None:
        super().__init__(Sums)


class LiveCounts:
    """The sums of all live jobs.

    Args:
        jobs: The jobs, in order of submission.
        associations: The associations.
        now: The time now, Unix seconds.
        usage_factor: Gives the usage factor of a QOS by name.
    """

    def __init__(
        self,
        jobs: Iterable[JobLine],
        associations: Iterable[Association],
        now: int,
        usage_factor: Callable[[str], float],
    ) -> None:
        self._by_id = {one.id: one for one in associations}
        self._find = {(one.account, one.user, one.partition): one for one in self._by_id.values()}
        #: By the id of the association, the name of the QOS, and the name of the QOS with an account or a user id.
        self.associations: _Table[int] = _Table()
        self.qos: _Table[str] = _Table()
        self.accounts: _Table[tuple[str, str]] = _Table()
        self.users: _Table[tuple[str, int]] = _Table()
        for job in jobs:
            if job.base_state not in {"PENDING", "RUNNING", "SUSPENDED"}:
                continue
            factor = usage_factor(job.qos)
            for sums in self._sums_of(job):
                sums.add(job, now, factor)

    def _sums_of(self, job: JobLine) -> list[Sums]:
        found = [self.associations[one.id] for one in self._path(job)]
        if job.qos:
            found.append(self.qos[job.qos])
            found.append(self.accounts[job.qos, job.account])
            found.append(self.users[job.qos, job.user_id])
        return found

    def _path(self, job: JobLine) -> Iterable[Association]:
        """Give the association of a job and those above it."""
        place = self._find.get((job.account, job.assoc_user, job.partition.partition(",")[0])) or self._find.get(
            (job.account, job.assoc_user, "")
        )
        while place is not None:
            yield place
            place = self._by_id.get(place.parent_id)


def _tasks(job: JobLine) -> int:
    """Count the tasks for which a pending record stands."""
    if not job.array_task.startswith("["):
        return 1
    return count_tasks(job.array_task.strip("[]"), MOST_TASKS)
