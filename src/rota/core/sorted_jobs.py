"""Sorted lists of live jobs: the queue and the running jobs.

Both give *snapshots*: a sequence over which a plugin iterates never changes. The list is copied at the first change
after a snapshot, at most once for each snapshot.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import islice
from operator import attrgetter, lt
from typing import TYPE_CHECKING, NoReturn, overload

from rota.core.job import QueueRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.core.job import Job
    from rota.core.job_view import PluginJob


_SORT_KEY = attrgetter("sort_key")
_VIEW = attrgetter("view")


class JobSequence(Sequence["PluginJob"]):
    """Jobs in some order, as plugins get them: a sequence of views that is not written."""

    __slots__ = ("_jobs",)

    _jobs: list[PluginJob]

    def __init__(self, jobs: list[PluginJob]) -> None:
        object.__setattr__(self, "_jobs", jobs)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse to write.

        Raises:
            AttributeError: always.
        """
        raise AttributeError("a sequence of jobs is read-only: `list(jobs)` is yours", name=name, obj=self)

    def __iter__(self) -> Iterator[PluginJob]:
        """Iterate over the jobs, as fast as over a list."""
        return iter(self._jobs)

    def __len__(self) -> int:
        """Count the jobs."""
        return len(self._jobs)

    @overload
    def __getitem__(self, index: int) -> PluginJob: ...
    @overload
    def __getitem__(self, index: slice) -> list[PluginJob]: ...
    def __getitem__(self, index: int | slice) -> PluginJob | list[PluginJob]:
        """Give one job, or a list of some."""
        return self._jobs[index]

    def __repr__(self) -> str:
        """Show the jobs."""
        return repr(self._jobs)


class SortedJobs:
    """Jobs in ascending order of a unique key. Adding and removing cost a binary search."""

    __slots__ = ("_handed_out", "_keys", "_snapshot", "_views", "jobs")

    def __init__(self) -> None:
        #: The sorted jobs. Others may read this list while no jobs are added or removed.
        self.jobs: list[Job] = []
        #: Sort key of each job, strictly ascending.
        self._keys: list[tuple[int, ...]] = []
        #: What plugins get of the jobs.
        self._views: list[PluginJob] = []
        #: The snapshot that uses this list; ``None``: there is none.
        self._snapshot: JobSequence | None = None
        #: Whether somebody who has the list ``jobs`` relies on it as it is.
        self._handed_out = False

    def __len__(self) -> int:
        """Count the jobs."""
        return len(self.jobs)

    def __iter__(self) -> Iterator[Job]:
        """Iterate over the jobs. None may be added or removed meanwhile."""
        return iter(self.jobs)

    def snapshot(self) -> JobSequence:
        """Give the jobs as plugins get them, in a sequence that does not change later."""
        snapshot = self._snapshot
        if snapshot is None:
            snapshot = self._snapshot = JobSequence(self._views)
        return snapshot

    def hand_out(self) -> list[Job]:
        """Give the jobs in a list that does not change later, and is not to be changed."""
        self._handed_out = True
        return self.jobs

    def add(self, job: Job, key: tuple[int, ...]) -> None:
        """Insert a job."""
        if self._handed_out or self._snapshot is not None:
            self._unshare()
        job.sort_key = key
        keys = self._keys
        if not keys or key > keys[-1]:
            keys.append(key)
            self.jobs.append(job)
            self._views.append(job.view)
        else:
            i = bisect_left(keys, key)
            keys.insert(i, key)
            self.jobs.insert(i, job)
            self._views.insert(i, job.view)

    def remove(self, job: Job) -> None:
        """Remove a job."""
        if self._handed_out or self._snapshot is not None:
            self._unshare()
        i = bisect_left(self._keys, job.sort_key)
        del self._keys[i]
        del self.jobs[i], self._views[i]
        job.sort_key = ()

    def moved(self, key: tuple[int, ...]) -> tuple[int, ...]:
        """Give the key up to which the jobs up to a key are, once `resort` has sorted by what ``sort_key`` is now."""
        return max(map(_SORT_KEY, islice(self.jobs, bisect_right(self._keys, key))), default=key)

    def resort(self) -> bool:
        """Sort again after ``sort_key`` of jobs has changed; say whether the order has changed."""
        keys = list(map(_SORT_KEY, self.jobs))
        if moved := not all(map(lt, keys, islice(keys, 1, None))):
            self.jobs = sorted(self.jobs, key=_SORT_KEY)
            self._views = list(map(_VIEW, self.jobs))
            self._snapshot, self._handed_out = None, False
            keys = list(map(_SORT_KEY, self.jobs))
        self._keys = keys
        return moved

    def _unshare(self) -> None:
        if self._snapshot is not None:
            self._views, self._snapshot = self._views.copy(), None
        if self._handed_out:
            self.jobs, self._handed_out = self.jobs.copy(), False

    def check(self) -> bool:
        """Whether order, keys and jobs are consistent."""
        ascending = all(a < b for a, b in zip(self._keys, self._keys[1:], strict=False))
        shown = self._views == [job.view for job in self.jobs]
        return ascending and shown and self._keys == [job.sort_key for job in self.jobs]


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
