"""The engine's timers as data: what is due when, of which job and which of its runs.

One table holds them all. It calls nobody: whoever asks what is `due` hands each timer to the one that knows its kind.
So timers can be saved, listed, and cancelled with their job.
"""

from __future__ import annotations

from collections import defaultdict
from enum import Enum
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class TimerKind(Enum):
    """What a timer is for."""

    #: A job's begin time comes.
    BEGIN_TIME = "begin time"
    #: A waiting job could no longer end by its deadline.
    DEADLINE = "deadline"
    #: So many minutes have passed since a job started that another waits for (``after:17+5``).
    DEPENDENCY = "dependency"
    #: A running job has used up the TRES minutes that it may have.
    JOB_MINUTES = "job minutes"
    #: The running jobs of an association or QOS may have used up what it may have; the name is the ledger's.
    GROUP_MINUTES = "group minutes"
    #: Usage has faded, or running jobs have less to come: what limits hold back is looked at again.
    LIMITS_FADE = "limits fade"
    #: A reservation begins or ends; the name is its own.
    RESERVATION = "reservation"
    #: A running job may be preempted from now on.
    PREEMPT_EXEMPT = "preemption exempt time"
    #: The grace time of a preempted job is over.
    PREEMPT_GRACE = "preemption grace time"
    #: A pass that was put off is made: for submissions, or because the last was too short a time ago.
    PASS_FOR_NEW_JOBS = "pass for new jobs"
    PASS_PUT_OFF = "pass put off"
    #: A pass looks at the whole queue.
    FULL_PASS = "full pass"
    #: A plugin has asked to be called, again and again or once; the name is the plugin's and its function's.
    PLUGIN = "plugin"
    PLUGIN_ONCE = "plugin once"

    # Members are singletons. Enum's own hash goes through their names, in Python, which a replay would notice.
    __hash__ = object.__hash__


class Timer(NamedTuple):
    """What identifies a timer: there is at most one of each."""

    kind: TimerKind
    #: 0: it is of no job.
    job_id: int = 0
    #: The job's restart count, where it is about one run of it.
    run: int = 0
    name: str = ""


class Period(NamedTuple):
    """When a periodic timer is due: at ``origin`` + n · ``seconds``."""

    origin: int
    seconds: int
    #: It is left out until something has changed since it was last due.
    only_after_change: bool = False

    def next_due(self, now: int) -> int:
        """The first time of its grid that is after ``now``."""
        return now + self.seconds - (now - self.origin) % self.seconds


class Timers:
    """Timers by due time; equal times in the order of setting."""

    __slots__ = ("_due", "_sequence", "asleep", "heap", "of_job", "periods")

    def __init__(self) -> None:
        #: When each timer is due, with the number of its setting.
        self._due: dict[Timer, tuple[int, int]] = {}
        #: The same as a heap, with entries that hold no more; the first one always holds.
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
        """Have a timer due at a time, Unix seconds, and at no other."""
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
        """Have a timer due at a time, unless it is due before that."""
        known = self._due.get(timer)
        if known is None or time < known[0]:
            self.set(time, timer)

    def set_period(self, now: int, timer: Timer, period: Period) -> None:
        """Have a timer due again and again, from the next time of its grid on; if it is already, it keeps its grid."""
        known = self.periods.get(timer)
        if known is None or known[1:] != period[1:]:
            self.cancel(timer)
            self.periods[timer] = period
            self.set(period.next_due(now), timer)

    def cancel(self, timer: Timer) -> None:
        """Have a timer not be due, if it is set."""
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
        """Walk through all timers."""
        return iter((*self._due, *self.asleep))

    def period_of(self, timer: Timer) -> Period | None:
        """Give when a periodic timer is due; ``None``: it is set for one time, or not at all."""
        return self.periods.get(timer)

    @property
    def has_sleepers(self) -> bool:
        """Whether there are timers that are left out until something has changed."""
        return any(period.only_after_change for period in self.periods.values())

    # ---- time goes by -----------------------------------------------------------------------------------------

    def due(self, now: int) -> Iterator[Timer]:
        """Give the timers that are due, one by one, also those that are set meanwhile; periodic ones are set anew."""
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
        """Something has changed: set the timers that have waited for this to their next times."""
        for timer in self.asleep:
            self.set(self.periods[timer].next_due(now), timer)
        self.asleep.clear()

    # ---- keeping them -----------------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        """Give them as data that JSON can hold; those that call a function which a plugin has made are left out."""
        kept = [entry for entry in sorted(self.heap) if self._holds(entry)]
        return {
            "due": [[time, *_plain(timer)] for time, _, timer in kept],
            "asleep": [_plain(timer) for timer in self.asleep],
            "periods": [[*_plain(timer), *period] for timer, period in self.periods.items()],
        }

    def _holds(self, entry: tuple[int, int, Timer]) -> bool:
        return self._due.get(entry[2]) == entry[:2] and entry[2].kind is not TimerKind.PLUGIN_ONCE

    def restore(self, saved: dict[str, Any]) -> None:
        """Take up what was saved, in the place of all there are."""
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
