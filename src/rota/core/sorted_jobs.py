"""Sorted lists of live jobs: the queue and the running jobs.

Both give *snapshots*: a sequence over which a plugin iterates never changes. The list is copied at the first change
after a snapshot, at most once for each snapshot.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import islice
from operator import attrgetter, lt
from typing import TYPE_CHECKING, overload

from rota.core.job import QueueRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.core.job import Job
    from rota.core.job_view import PluginJob


_SORT_KEY = attrgetter("sort_key")
_VIEW = attrgetter("view")


class JobSequence(Sequence["PluginJob"]):
    """Jobs in some order, as plugins get them: a sequence of views that is not written."""

    __slots__ = ("_records",)

    def __init__(self, records: list[Job]) -> None:
        self._records = records

    def __iter__(self) -> Iterator[PluginJob]:
        """Iterate over the views; none is looked up before it is asked for."""
        return map(_VIEW, self._records)

    def __len__(self) -> int:
        """Count the jobs."""
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> PluginJob: ...
    @overload
    def __getitem__(self, index: slice) -> list[PluginJob]: ...
    def __getitem__(self, index: int | slice) -> PluginJob | list[PluginJob]:
        """Give one job, or a list of some."""
        found = self._records[index]
        return list(map(_VIEW, found)) if isinstance(found, list) else found.view

    def __repr__(self) -> str:
        """Show the jobs."""
        return repr(self._records)


class SortedJobs:
    """Jobs in ascending order of a unique key. Adding and removing cost a binary search."""

    __slots__ = ("_keys", "_view", "jobs")

    def __init__(self) -> None:
        #: The sorted jobs. Others may read this list while no jobs are added or removed.
        self.jobs: list[Job] = []
        #: Sort key of each job, strictly ascending.
        self._keys: list[tuple[int, ...]] = []
        #: The snapshot that uses the list ``jobs``; ``None``: there is none.
        self._view: JobSequence | None = None

    def __len__(self) -> int:
        """Count the jobs."""
        return len(self.jobs)

    def __iter__(self) -> Iterator[Job]:
        """Iterate over the jobs. None may be added or removed meanwhile."""
        return iter(self.jobs)

    def snapshot(self) -> JobSequence:
        """Give the jobs as a sequence that does not change later; nor does the list ``jobs`` that there is now."""
        view = self._view
        if view is None:
            view = self._view = JobSequence(self.jobs)
        return view

    def add(self, job: Job, key: tuple[int, ...]) -> None:
        """Insert a job."""
        if self._view is not None:
            self._unshare()
        job.sort_key = key
        keys = self._keys
        if not keys or key > keys[-1]:
            keys.append(key)
            self.jobs.append(job)
        else:
            i = bisect_left(keys, key)
            keys.insert(i, key)
            self.jobs.insert(i, job)

    def remove(self, job: Job) -> None:
        """Remove a job."""
        if self._view is not None:
            self._unshare()
        i = bisect_left(self._keys, job.sort_key)
        del self._keys[i]
        del self.jobs[i]
        job.sort_key = ()

    def moved(self, key: tuple[int, ...]) -> tuple[int, ...]:
        """Give the key up to which the jobs up to a key are, once `resort` has sorted by what ``sort_key`` is now."""
        return max(map(_SORT_KEY, islice(self.jobs, bisect_right(self._keys, key))), default=key)

    def resort(self) -> bool:
        """Sort again after ``sort_key`` of jobs has changed; say whether the order has changed."""
        keys = list(map(_SORT_KEY, self.jobs))
        if moved := not all(map(lt, keys, islice(keys, 1, None))):
            self.jobs = sorted(self.jobs, key=_SORT_KEY)
            self._view = None
            keys = list(map(_SORT_KEY, self.jobs))
        self._keys = keys
        return moved

    def _unshare(self) -> None:
        self.jobs = self.jobs.copy()
        self._view = None

    def check(self) -> bool:
        """Whether order, keys and jobs are consistent."""
        ascending = all(a < b for a, b in zip(self._keys, self._keys[1:], strict=False))
        return ascending and self._keys == [job.sort_key for job in self.jobs]


def queue_key(job: Job) -> tuple[int, ...]:
    """Give the key of Slurm's queue order: jobs in reservations first, partition tier, priority, submit time, job id.

    The first three are combined into one number. Queue records of one job with equal keys are in the order of the
    request.
    """
    first = -(job.partition.priority_tier << PRIORITY_BITS) - job.priority
    if job.spec.reservation:
        first -= _IN_RESERVATION
    if type(job) is QueueRecord:
        return first, job.submit_time, job.job_id, job.rank
    return first, job.submit_time, job.job_id


def key_in_reservation(job: Job) -> tuple[int, ...]:
    """Give the key of a queued job that is in no reservation as if it were in one."""
    first, *rest = job.sort_key
    return first - _IN_RESERVATION, *rest


#: Number of bits of a priority.
PRIORITY_BITS = 32
#: Larger than any combination of tier and priority.
_IN_RESERVATION = 1 << PRIORITY_BITS + 16
