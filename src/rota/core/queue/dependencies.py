"""Dependencies between jobs.

A job with dependencies is parked until they are satisfied. It is tested again when a job that it depends on starts or
ends, and costs nothing in between. Ended jobs are known for ``MinJobAge``; a job that is not known any more, or never
was, satisfies all dependencies, as in Slurm.
"""

from __future__ import annotations

from collections import defaultdict, deque
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.core.timers import Timer, TimerKind
from rota.model import Errno, JobState, Reason, RequestError
from rota.model.dependency import Dependencies, Dependency, DependencyType, parse_dependency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.core.arrays import JobArray
    from rota.core.job import Job
    from rota.core.queue.job_queue import JobQueue
    from rota.core.state import ClusterState
    from rota.model import JobRecord


#: A job or array by its id, or a task as (array job id, task id).
_Key = int | tuple[int, int]


#: The one that is on no other job.
_ALONE = DependencyType.SINGLETON
#: Those to which it does not matter how the other job has ended.
_AFTER_ITS_END = frozenset({DependencyType.AFTER_ANY, DependencyType.AFTER_BURST_BUFFER})
#: Number of ends after which jobs that ended too long ago are deleted.
_BATCH = 64


class _Ended(NamedTuple):
    """An ended job, as far as dependencies need it."""

    state: JobState
    end_time: int
    #: Start, Unix seconds; ``None``: it never ran.
    start_time: int | None
    is_array: bool = False


class JobDependencies:
    """The dependencies of all jobs.

    Args:
        state: The machine and its jobs.
        queue: The pending jobs, among which jobs with dependencies are parked.
    """

    def __init__(self, state: ClusterState, queue: JobQueue) -> None:
        self._state = state
        self._queue = queue
        #: Ended jobs in order of their ends: first those filed under their keys, then those that are not filed yet
        #: because nothing has asked for them.
        self._ended: dict[_Key, _Ended] = {}
        self._just_ended: deque[Job] = deque()
        #: Ids of waiting jobs by what they depend on: a job or task, or a user and a job name.
        self.waiting: defaultdict[_Key | tuple[str, str], set[int]] = defaultdict(set)
        #: Live jobs by user and name; ``None`` until there is a singleton.
        self.by_name: defaultdict[tuple[str, str], set[int]] | None = None

    # ---- jobs are added and removed ---------------------------------------------------------------------------

    def added(self, job: Job) -> None:
        """Register the dependencies of a live job."""
        for one in job.dependencies.each if job.dependencies is not None else ():
            self.waiting[one.key or _name(job)].add(job.job_id)
            if one.type is _ALONE and self.by_name is None:
                self.by_name = defaultdict(set)
                for other in self._state.jobs.values():
                    self.by_name[_name(other)].add(other.job_id)
        if self.by_name is not None:
            self.by_name[_name(job)].add(job.job_id)

    def withdrawn(self, job: Job) -> None:
        """Remove the dependencies of a job."""
        for one in job.dependencies.each if job.dependencies is not None else ():
            self.waiting[one.key or _name(job)].discard(job.job_id)
        if self.by_name is not None:
            self.by_name[_name(job)].discard(job.job_id)

    def rename(self, job: Job, name: str) -> None:
        """Give a running job another name, and test the jobs that wait for those of the old one."""
        before = _name(job)
        self.withdrawn(job)
        job.spec = job.spec._replace(name=name)
        self.added(job)
        self._retest(self.waiting.get(before, set()))

    def started(self, job: Job) -> None:
        """Test the jobs that depend on the start of a job that has started."""
        keys: list[_Key] = [job.array_job_id]
        if job.array is not None and job.task_id is not None:
            keys.append((job.array.job_id, job.task_id))
        self._retest({one for key in keys for one in self.waiting.get(key, ())})

    def removed(self, job: Job, tasks: Sequence[int]) -> None:
        """Record that a job has ended, and test the jobs that depend on it.

        Args:
            job: The job.
            tasks: Ids of the tasks of an array that have ended with it.
        """
        array = job.array
        if array is None and not self.waiting and self.by_name is None:  # the most frequent case
            recent = self._just_ended
            recent.append(job)
            if not len(recent) % _BATCH:  # few jobs are old enough to be forgotten
                forgotten = self._state.now - self._state.settings.min_job_age
                while recent and (recent[0].end_time or 0) < forgotten:
                    recent.popleft()
            return
        self.forget()
        over: list[_Key] = [job.job_id] if array is None else [(array.job_id, task) for task in tasks]
        now = self._state.now
        for key in over:
            self._ended[key] = _Ended(job.state, now, job.start_time)
        if array is not None and array.is_over:
            over.append(array.job_id)
            self._ended[array.job_id] = _Ended(array.worst, now, array.last_start, is_array=True)
        self.withdrawn(job)
        if self.waiting:
            freed = {one for key in over for one in self.waiting.pop(key, ())}
            self._retest(freed | self.waiting.get(_name(job), set()))

    def queued_again(self, job: Job, tasks: Sequence[int]) -> None:
        """Forget that a job has ended, or tasks of an array."""
        self._file()
        self._ended.pop(job.array_job_id, None)
        for task_id in tasks:
            self._ended.pop((job.array_job_id, task_id), None)

    def tell_of_ended(self, array: JobArray[Job]) -> None:
        """Tell an array that is made anew what is known of its tasks, all of which have ended."""
        whole = self._ended_of(array.job_id)
        array.last_start = None if whole is None else whole.start_time
        for key, one in self._ended.items():
            if isinstance(key, tuple) and key[0] == array.job_id and one.state is not JobState.COMPLETED:
                array.failed[key[1]] = one.state

    def forget(self) -> None:
        """Delete the jobs that ended too long ago, before another ``MinJobAge`` comes into force."""
        self._file()
        self._forget()

    def _file(self) -> None:
        """Move the jobs that have just ended to the table of ended jobs."""
        while self._just_ended:
            job = self._just_ended.popleft()
            self._ended[job.job_id] = _ended(job)

    def _forget(self) -> None:
        """Delete jobs that ended too long ago. Only events may do this, not queries."""
        forgotten = list(takewhile(lambda key: not self._is_recent(self._ended[key]), self._ended))
        for key in forgotten:
            del self._ended[key]

    def _is_recent(self, one: _Ended) -> bool:
        """Whether a job has ended recently enough to be known."""
        return self._state.now - one.end_time <= self._state.settings.min_job_age

    def _retest(self, job_ids: set[int]) -> None:
        """Test jobs again after a job that they depend on has started or ended."""
        for job_id in sorted(job_ids):
            job = self._queue.parked.get(job_id)
            if job is not None and job.reason in _WAITING:
                self._queue.reconsider(job)

    def after_time_reached(self, job_id: int) -> None:
        """Test a job again when the time of its ``after:job+minutes`` has passed."""
        self._retest({job_id})

    # ---- saving -----------------------------------------------------------------------------------------------

    def save(self) -> list[list[Any]]:
        """Give the ended jobs as JSON data."""
        ended = self._ended | {job.job_id: _ended(job) for job in self._just_ended}
        return [[key, one.state.value, *one[1:]] for key, one in ended.items() if self._is_recent(one)]

    def restore(self, saved: list[list[Any]]) -> None:
        """Restore the saved data."""
        for key, state, *others in saved:
            name = (key[0], key[1]) if isinstance(key, list) else key  # JSON has no tuples
            self._ended[name] = _Ended(JobState(state), *others)

    def check(self, job: Job, wanted: Dependencies | None) -> None:
        """Check that a job can have some dependencies: not on itself, and not on a job that depends on it.

        Raises:
            RequestError: there is a cycle.
        """
        seen: set[int] = set()
        following = [wanted]
        while following:
            for one in (following.pop() or Dependencies(())).each:
                if one.job_id == job.job_id:
                    text = "Circular job dependency" if seen else "Job dependency problem"
                    errno = Errno.CIRCULAR_DEPENDENCY if seen else Errno.DEPENDENCY
                    raise RequestError(f"{text}: job {job.job_id} would wait for itself", errno)
                other = self._state.jobs.get(one.job_id)
                if other is not None and one.job_id not in seen:
                    seen.add(one.job_id)
                    following.append(other.dependencies)

    # ---- testing ----------------------------------------------------------------------------------------------

    def test(self, job: Job) -> Reason | None:
        """Say whether a job has unsatisfied dependencies: Dependency, DependencyNeverSatisfied or ``None``.

        Satisfied dependencies are removed. If one will be satisfied at a known time, a timer is set.
        """
        job = job.whole
        wanted = job.dependencies
        if wanted is None:
            return None
        verdicts = [self._is_satisfied(job, one) for one in wanted.each]
        if wanted.any_of and True in verdicts:
            job.dependencies = None
            return None
        left = tuple(one for one, verdict in zip(wanted.each, verdicts, strict=True) if verdict is not True)
        never = verdicts.count(False)
        in_vain = never == len(verdicts) if wanted.any_of else never > 0
        if not in_vain or job.reason is not Reason.DEPENDENCY_NEVER_SATISFIED:  # later ends do not matter to Slurm then
            job.dependencies = Dependencies(left, wanted.any_of) if left else None
        if in_vain:
            return Reason.DEPENDENCY_NEVER_SATISFIED
        for one in left:
            if one.type is DependencyType.AFTER and (start := self._start_of(one)) is not None:
                self._state.timers.set_sooner(start + one.seconds, Timer(TimerKind.DEPENDENCY, job.job_id))
        return Reason.DEPENDENCY if left else None

    def text(self, job: Job) -> str:
        """Format the unsatisfied dependencies of a job, as ``squeue -o %E`` does; empty: none."""
        return "" if job.dependencies is None else self._all(job.dependencies)

    def left(self, record: JobRecord) -> str:
        """Format the dependencies for which a job that never ran had waited, when it ended; empty: none."""
        if record.start_time is not None or not record.spec.dependency:
            return ""
        wanted = parse_dependency(record.spec.dependency)
        left = tuple(one for one in wanted.each if one.type is not _ALONE and self._is_fulfilled(one) is not True)
        return self._all(Dependencies(left, wanted.any_of))

    def _all(self, wanted: Dependencies) -> str:
        each = (
            f"{self._text(one)}({'failed' if self._is_fulfilled(one) is False else 'unfulfilled'})"
            for one in wanted.each
        )
        return ("?" if wanted.any_of else ",").join(each)

    def _text(self, one: Dependency) -> str:
        """Format a dependency; a whole array is ``17_*``, with a delay ``17_*+5``."""
        ended = self._ended_of(one.job_id)
        is_array = one.job_id in self._state.arrays or (ended is not None and ended.is_array)
        if is_array and (one.task_id is None or one.type is DependencyType.AFTER_CORR):
            return one.text("_*")
        return str(one)

    def _ended_of(self, key: _Key) -> _Ended | None:
        """Give the record of an ended job, array or task; ``None``: it is not known."""
        self._file()
        ended = self._ended.get(key)
        return ended if ended is not None and self._is_recent(ended) else None

    def _is_satisfied(self, job: Job, one: Dependency) -> bool | None:
        """Whether a dependency is satisfied; ``None``: not yet; ``False``: it never will be."""
        return self._is_alone(job) if one.type is _ALONE else self._is_fulfilled(one)

    def _is_fulfilled(self, one: Dependency) -> bool | None:
        """Whether a dependency on another job is satisfied, as `_is_satisfied`."""
        ended = self._ended_of(one.key)
        if one.type is DependencyType.AFTER:
            start = self._start_of(one)
            if start is not None:
                return True if start + one.seconds <= self._state.now else None
        elif ended is not None:
            wanted = one.type is not DependencyType.AFTER_NOT_OK
            return one.type in _AFTER_ITS_END or (ended.state is JobState.COMPLETED) is wanted
        return None if ended is None and self._is_live(one) else True

    def _is_live(self, one: Dependency) -> bool:
        """Whether the job that a dependency is on is live."""
        array = self._state.arrays.get(one.job_id)
        if array is None:
            return one.task_id is None and one.job_id in self._state.jobs
        return one.task_id is None or one.task_id in array.tasks or array.waits(one.task_id)

    def _start_of(self, one: Dependency) -> int | None:
        """Give the start of the job that a dependency is on, for an array of its last task; ``None``: none so far."""
        ended = self._ended_of(one.key)
        if ended is not None:
            return ended.start_time
        array = self._state.arrays.get(one.job_id)
        if array is None:
            other = None if one.task_id is not None else self._state.jobs.get(one.job_id)
            return None if other is None else other.start_time
        if one.task_id is None:
            waits = array.pending or any(task.start_time is None for task in array.tasks.values())
            return None if waits else array.last_start
        task = array.tasks.get(one.task_id)
        return None if task is None else task.start_time

    def _is_alone(self, job: Job) -> bool | None:
        """Whether all earlier jobs of the same user and name have ended."""
        others = self.by_name.get(_name(job), ()) if self.by_name is not None else ()
        jobs = self._state.jobs
        before = (jobs[other] for other in others if other != job.job_id and other in jobs)
        return None if any(other.state is JobState.RUNNING or other.job_id < job.job_id for other in before) else True


_WAITING = frozenset({Reason.DEPENDENCY, Reason.DEPENDENCY_NEVER_SATISFIED})


def _ended(job: Job) -> _Ended:
    return _Ended(job.state, job.end_time or 0, job.start_time)


def _name(job: Job) -> tuple[str, str]:
    """Give user and name of a job, for singletons."""
    return job.user_name, job.spec.name
