"""The engine's timers as data: when each is due, with its job and run.

This table calls no functions: the caller of `due` passes each timer to the part that handles its kind. So timers can be
saved, listed, and cancelled with their job.
"""

from __future__ import annotations

from collections import defaultdict
from enum import Enum
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Calls of a periodic timer at the end of a long time without jobs.
_CALLS_WITHOUT_JOBS = 100


class TimerKind(Enum):
    """The purpose of a timer."""

    #: A job's begin time.
    BEGIN_TIME = "begin time"
    #: The last time at which a pending job could start and end by its deadline.
    DEADLINE = "deadline"
    #: A job has waited long enough for few switches.
    SWITCHES = "switches"
    #: The end of the minutes in a dependency ``after:17+5``.
    DEPENDENCY = "dependency"
    #: A running job has used up the TRES minutes of its limits.
    JOB_MINUTES = "job minutes"
    #: The running jobs of an association or QOS have perhaps used up a limit; the name is the ledger's.
    GROUP_MINUTES = "group minutes"
    #: Usage has decayed, or running jobs have less left to use: jobs that limits hold back are tested again.
    LIMITS_DECAY = "limits decay"
    #: A reservation begins or ends; the name is the reservation's.
    RESERVATION = "reservation"
    #: A running job can be preempted from now on.
    PREEMPT_EXEMPT = "preemption exempt time"
    #: The grace time of a preempted job ends.
    PREEMPT_GRACE = "preemption grace time"
    #: A delayed pass: for submissions, or because of ``sched_min_interval``.
    PASS_FOR_NEW_JOBS = "pass for new jobs"
    PASS_PUT_OFF = "pass put off"
    #: A pass over the whole queue.
    FULL_PASS = "full pass"
    #: A plugin's timer, periodic or not; the name is that of the plugin and its function.
    PLUGIN = "plugin"
    PLUGIN_ONCE = "plugin once"

    # Members are singletons. Enum's own hash goes through their names, in Python, which a replay would notice.
    __hash__ = object.__hash__


class Timer(NamedTuple):
    """Identifies a timer: only one with the same fields can be set."""

    kind: TimerKind
    #: Job id; 0: none.
    job_id: int = 0
    #: Restart count of the job, for a timer of one run.
    run: int = 0
    name: str = ""


class Period(NamedTuple):
    """When a periodic timer is due: at ``origin`` + n · ``seconds``."""

    origin: int
    seconds: int
    #: Whether the timer is skipped while nothing has changed since it was last due.
    only_after_change: bool = False

    def next_due(self, now: int) -> int:
        """Give the first such time after ``now``."""
        return now + self.seconds - (now - self.origin) % self.seconds


class Timers:
    """Timers by due time; those with equal times in the order of setting."""

    __slots__ = ("_due", "_sequence", "asleep", "heap", "of_job", "periods")

    def __init__(self) -> None:
        #: When each timer is due, with a sequence number.
        self._due: dict[Timer, tuple[int, int]] = {}
        #: The same as a heap, with stale entries; the first entry is never stale.
        self.heap: list[tuple[int, int, Timer]] = []
        self._sequence = 0
        #: The timers of each job that has any.
        self.of_job: defaultdict[int, set[Timer]] = defaultdict(set)
        #: Of the periodic ones.
        self.periods: dict[Timer, Period] = {}
        #: Periodic timers that wait for a change, in the order in which they were due.
        self.asleep: dict[Timer, None] = {}

    # ---- setting ----------------------------------------------------------------------------------------------

    def set(self, time: int, timer: Timer) -> None:
        """Set a timer to a time, Unix seconds; an earlier setting is replaced."""
        known = self._due.get(timer)
        if known is not None and known[0] == time:
            return
        self._sequence += 1
        self._due[timer] = time, self._sequence
        heappush(self.heap, (time, self._sequence, timer))
        if timer.job_id:
            self.of_job[timer.job_id].add(timer)
        if known is not None:
            self._drop_stale()

    def set_sooner(self, time: int, timer: Timer) -> None:
        """Set a timer to a time, Unix seconds, unless it is due before that."""
        known = self._due.get(timer)
        if known is None or time < known[0]:
            self.set(time, timer)

    def set_period(self, now: int, timer: Timer, period: Period) -> None:
        """Set a periodic timer. If it is set already with the same period, its times do not change.

        Args:
            now: The time now, Unix seconds; it is first due after that.
            timer: The timer.
            period: When it is due.
        """
        known = self.periods.get(timer)
        if known is None or known[1:] != period[1:]:
            self.cancel(timer)
            self.periods[timer] = period
            self.set(period.next_due(now), timer)

    def cancel(self, timer: Timer) -> None:
        """Cancel a timer, if it is set."""
        self.periods.pop(timer, None)
        self.asleep.pop(timer, None)
        if self._due.pop(timer, None) is not None:
            self._of_job_no_more(timer)
            self._drop_stale()

    def cancel_of_job(self, job_id: int) -> None:
        """Cancel all timers of a job."""
        for timer in tuple(self.of_job.get(job_id, ())):
            self.cancel(timer)

    def cancel_all(self, *kinds: TimerKind) -> None:
        """Cancel all timers of some kinds."""
        for timer in [timer for timer in (*self._due, *self.asleep) if timer.kind in kinds]:
            self.cancel(timer)

    def _of_job_no_more(self, timer: Timer) -> None:
        if timer.job_id:
            others = self.of_job[timer.job_id]
            others.discard(timer)
            if not others:
                del self.of_job[timer.job_id]

    def _drop_stale(self) -> None:
        heap, due = self.heap, self._due
        while heap and due.get(heap[0][2]) != heap[0][:2]:
            heappop(heap)

    # ---- asking -----------------------------------------------------------------------------------------------

    def __contains__(self, timer: Timer) -> bool:
        """Whether a timer is set."""
        return timer in self._due

    def __iter__(self) -> Iterator[Timer]:
        """Iterate over all timers."""
        return iter((*self._due, *self.asleep))

    @property
    def has_sleepers(self) -> bool:
        """Whether there are timers that are skipped while nothing changes."""
        return any(period.only_after_change for period in self.periods.values())

    def next_without_jobs(self, until: int) -> int:
        """Give when the next timer is to be called if there are no jobs for long: perhaps later than it is due.

        Periodic timers are then called only at the end of that time, often enough that what they compute is as good as
        if they had always been called.

        Args:
            until: Up to when nothing else happens, Unix seconds.
        """
        seconds = [self.periods[timer].seconds for timer in self._due if timer in self.periods]
        if not seconds:
            return self.heap[0][0]
        until = min([until, *(time for timer, (time, _) in self._due.items() if timer not in self.periods)])
        return max(self.heap[0][0], until - max(_CALLS_WITHOUT_JOBS * min(seconds), 2 * max(seconds)))

    # ---- due timers -------------------------------------------------------------------------------------------

    def due(self, now: int) -> Iterator[Timer]:
        """Give the timers that are due one by one, including those set meanwhile; periodic ones are set again."""
        while self.heap and self.heap[0][0] <= now:
            timer = heappop(self.heap)[2]
            del self._due[timer]
            self._of_job_no_more(timer)
            period = self.periods.get(timer)
            if period is not None and period.only_after_change:
                self.asleep[timer] = None
            elif period is not None:
                self.set(period.next_due(now), timer)
            self._drop_stale()
            yield timer

    def wake(self, now: int) -> None:
        """Set the sleeping timers to their next times, since something has changed."""
        for timer in self.asleep:
            self.set(self.periods[timer].next_due(now), timer)
        self.asleep.clear()

    # ---- saving -----------------------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        """Give the timers as JSON data."""
        kept = [entry for entry in sorted(self.heap) if self._due.get(entry[2]) == entry[:2]]
        return {
            "due": [[time, *_plain(timer)] for time, _, timer in kept],
            "asleep": [_plain(timer) for timer in self.asleep],
            "periods": [[*_plain(timer), *period] for timer, period in self.periods.items()],
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Replace all timers by the saved ones."""
        self.__init__()  # type: ignore[misc] # as new
        for *plain, origin, seconds, only_after_change in saved["periods"]:
            self.periods[_timer(plain)] = Period(origin, seconds, only_after_change)
        for time, *plain in saved["due"]:
            self.set(time, _timer(plain))
        self.asleep = {_timer(plain): None for plain in saved["asleep"]}


def _plain(timer: Timer) -> list[Any]:
    return [timer.kind.value, *timer[1:]]


def _timer(plain: list[Any]) -> Timer:
    kind, job_id, run, name = plain
    return Timer(TimerKind(kind), job_id, run, name)
