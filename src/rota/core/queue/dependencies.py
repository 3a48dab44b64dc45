"""Jobs that wait for other jobs.

A job with dependencies is parked until they are satisfied. It is looked at again when a job that it names starts or
ends: so it costs nothing in between. Jobs that have ended are remembered for ``MinJobAge``; one that is not known any
more, or never was, satisfies everything, as in Slurm.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.model import Errno, JobState, Reason, RequestError
from rota.model.dependency import Dependencies, Dependency, DependencyType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.core.state import ClusterState
    from rota.model import Job


#: A job or an array, or one task of that.
_Key = int | tuple[int, int]


class _Ended(NamedTuple):
    """What is remembered of a job."""

    state: JobState
    end_time: int
    #: ``None``: it never ran.
    start_time: int | None
    is_array: bool = False


class DependencyBook:
    """Who waits for whom.

    Raises:
        InputError: MinJobAge of slurm.conf cannot be used.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        #: Jobs that have ended, the first to end first.
        self._ended: dict[_Key, _Ended] = {}
        #: Ids of jobs that wait, by what they wait for: a job's id, or a user and a name.
        self._waiting: defaultdict[_Key | tuple[str, str], set[int]] = defaultdict(set)
        #: Live jobs by user and name, once some job is a singleton.
        self._named: defaultdict[tuple[str, str], set[int]] | None = None
        self._alarms: set[tuple[int, int]] = set()
        #: When jobs that ended long ago are next forgotten, Unix seconds.
        self._forgets_at = 0
        self.set_config()

    def set_config(self) -> None:
        """Take slurm.conf over."""
        self._min_age = self._state.config.integer("MinJobAge", 300, 0, 2**31)
        words = self._state.config.get("DependencyParameters").lower().split(",")
        self._kills = "kill_invalid_depend" in (word.strip() for word in words)

    # ---- jobs come and go -------------------------------------------------------------------------------------

    def added(self, job: Job) -> None:
        """Take note of a live job."""
        if job.dependencies is None and self._named is None:
            return
        for one in job.dependencies.each if job.dependencies is not None else ():
            self._waiting[one.key or _name(job)].add(job.job_id)
            if one.type is DependencyType.SINGLETON and self._named is None:
                self._named = defaultdict(set)
                for other in self._state.jobs.values():
                    self._named[_name(other)].add(other.job_id)
        if self._named is not None:
            self._named[_name(job)].add(job.job_id)

    def _forget(self, now: int) -> None:
        """Forget the jobs that ended too long ago."""
        old = [key for key, one in self._ended.items() if now - one.end_time > self._min_age]
        for key in old:
            del self._ended[key]

    def withdrawn(self, job: Job) -> None:
        """Take note that a job waits no more for what it waited for."""
        for one in job.dependencies.each if job.dependencies is not None else ():
            self._waiting[one.key or _name(job)].discard(job.job_id)
        if self._named is not None:
            self._named[_name(job)].discard(job.job_id)

    def started(self, job: Job) -> None:
        """A job runs: those that wait for that can be looked at again."""
        if self._waiting:
            keys = [job.job_id] if job.array is None else [job.array.job_id, (job.array.job_id, job.task_id)]
            self._look_again({one for key in keys for one in self._waiting.get(key, ())})

    def removed(self, job: Job, tasks: Sequence[int]) -> None:
        """A job is over.

        Args:
            job: It.
            tasks: Of an array, the tasks that are over with it.
        """
        now, array = self._state.now, job.array
        if now >= self._forgets_at:
            self._forgets_at = now + self._min_age + 1
            self._forget(now)
        if array is None and not self._waiting and self._named is None:  # as it is with nearly all jobs
            self._ended[job.job_id] = _Ended(job.state, now, job.start_time)
            return
        over: list[_Key] = [job.job_id] if array is None else [(array.job_id, task) for task in tasks]
        for key in over:
            self._ended[key] = _Ended(job.state, now, job.start_time)
        if array is not None and array.is_over:
            over.append(array.job_id)
            self._ended[array.job_id] = _Ended(array.worst, now, array.last_start, is_array=True)
        self.withdrawn(job)
        if self._waiting:
            freed = {one for key in over for one in self._waiting.pop(key, ())}
            self._look_again(freed | self._waiting.get(_name(job), set()))

    # ---- keeping it -------------------------------------------------------------------------------------------

    def save(self) -> list[list[Any]]:
        """Give what is remembered of jobs that have ended, as data that JSON can hold."""
        return [[key, one.state.value, *one[1:]] for key, one in self._ended.items()]

    def restore(self, saved: list[list[Any]]) -> None:
        """Take up what was saved."""
        for key, state, *others in saved:
            name = (key[0], key[1]) if isinstance(key, list) else key  # JSON knows no tuples
            self._ended[name] = _Ended(JobState(state), *others)

    def _look_again(self, job_ids: set[int]) -> None:
        """Put jobs where they belong now that something which they waited for has happened."""
        state = self._state
        for job_id in sorted(job_ids):
            job = state.parked.get(job_id)
            if job is not None and job.reason in _WAITING:
                state.unplace(job)
                state.place(job)

    def check(self, job: Job, wanted: Dependencies | None) -> None:
        """Make sure that a job can wait for others: not for itself, and not for one that waits for it.

        Raises:
            RequestError: it cannot.
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

    # ---- what they wait for -----------------------------------------------------------------------------------

    def reason(self, job: Job) -> Reason | None:
        """Say whether a job waits for others: Dependency, DependencyNeverSatisfied or ``None``.

        What is satisfied once stays so; it is struck off.
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
        if never == len(verdicts) if wanted.any_of else never:
            return Reason.DEPENDENCY_NEVER_SATISFIED
        job.dependencies = Dependencies(left, wanted.any_of) if left else None
        return Reason.DEPENDENCY if left else None

    def text(self, job: Job) -> str:
        """Write what a job still waits for, as ``squeue -o %E`` does; empty: nothing."""
        wanted = job.dependencies
        if wanted is None:
            return ""
        each = (
            f"{self._text(one)}({'failed' if self._is_satisfied(job, one) is False else 'unfulfilled'})"
            for one in wanted.each
        )
        return ("?" if wanted.any_of else ",").join(each)

    def _text(self, one: Dependency) -> str:
        """Write a dependency; a whole array is ``17_*``."""
        ended = self._ended.get(one.job_id)
        is_array = one.job_id in self._state.arrays or (ended is not None and ended.is_array)
        if is_array and (one.task_id is None or one.type is DependencyType.AFTER_CORR):
            return f"{one._replace(task_id=None)}_*"
        return str(one)

    def kills(self, job: Job) -> bool:
        """Whether a job is cancelled when what it waits for can never happen."""
        wanted = job.spec.kill_on_invalid_dep
        return self._kills if wanted is None else wanted

    def _is_satisfied(self, job: Job, one: Dependency) -> bool | None:
        """Whether it is; ``None``: not yet, ``False``: never."""
        if one.type is DependencyType.SINGLETON:
            return self._is_alone(job)
        ended = self._ended.get(one.key)
        if ended is not None and self._state.now - ended.end_time <= self._min_age:
            if one.type is DependencyType.AFTER:
                return ended.start_time is None or self._has_passed(job, ended.start_time, one.seconds)
            wanted = one.type is not DependencyType.AFTER_NOT_OK
            return one.type is DependencyType.AFTER_ANY or (ended.state is JobState.COMPLETED) is wanted
        is_live, start = self._start_of(one)
        if one.type is DependencyType.AFTER and start is not None:
            return self._has_passed(job, start, one.seconds)
        return None if is_live else True

    def _start_of(self, one: Dependency) -> tuple[bool, int | None]:
        """Say whether what is waited for is live, and since when it runs: an array, once all its tasks have started."""
        array = self._state.arrays.get(one.job_id)
        if array is None:
            other = None if one.task_id is not None else self._state.jobs.get(one.job_id)
            return other is not None, None if other is None else other.start_time
        if one.task_id is None:
            waits = array.pending or any(task.start_time is None for task in array.tasks.values())
            return True, None if waits else array.last_start
        task = array.tasks.get(one.task_id)
        return task is not None or one.task_id in array.pending, None if task is None else task.start_time

    def _is_alone(self, job: Job) -> bool | None:
        """Whether no job of the same user and name, submitted before, is left."""
        others = self._named[_name(job)] if self._named is not None else set()
        jobs = self._state.jobs
        before = (jobs[other] for other in others if other != job.job_id and other in jobs)
        return None if any(other.state is JobState.RUNNING or other.job_id < job.job_id for other in before) else True

    def _has_passed(self, job: Job, start: int, seconds: int) -> bool | None:
        """Whether so much time has passed; if not, the job is looked at again when it has."""
        time = start + seconds
        if time <= self._state.now:
            return True
        alarm = time, job.job_id
        if alarm not in self._alarms:
            self._alarms.add(alarm)
            self._state.timers.at(time, lambda: self._ring(alarm))
        return None

    def _ring(self, alarm: tuple[int, int]) -> None:
        self._alarms.discard(alarm)
        self._look_again({alarm[1]})


_WAITING = frozenset({Reason.DEPENDENCY, Reason.DEPENDENCY_NEVER_SATISFIED})


def _name(job: Job) -> tuple[str, str]:
    """Give what singletons go by."""
    return job.user_name, job.spec.name
