"""When passes are made, where SchedulerParameters puts them off.

- After a submission or a release a pass is made at once if ``batch_sched_delay`` seconds have gone by since the last
  such pass; else then, for all that has been submitted meanwhile. With ``defer`` that goes for whatever calls for a
  pass.
- No pass is made until ``sched_min_interval`` after the one before it.
- Every ``sched_interval`` a pass looks at the whole queue, if anything has changed since the last one that did.

Without these options a pass is made at once whenever one is called for, and nobody asks here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.core.timers import Period, Timer, TimerKind

if TYPE_CHECKING:
    from rota.core.scheduling.pass_options import PassOptions
    from rota.core.state import ClusterState


class PassTimes:
    """Puts passes off.

    Args:
        state: Whose clock and timers.
        options: What is in force, for good; `stop` before others are.
    """

    __slots__ = ("_is_full", "_last_pass", "_last_served", "_options", "_serves", "_state")

    def __init__(self, state: ClusterState, options: PassOptions) -> None:
        self._state = state
        self._options = options
        #: When the last pass was made, ``None``: none yet; and the last one that submissions had called for.
        self._last_pass: int | None = None
        self._last_served: int | None = None
        #: The next pass serves submissions, and looks at the whole queue.
        self._serves = False
        self._is_full = False
        if options.full_pass_s:
            period = Period(state.now, options.full_pass_s, only_after_change=True)
            state.timers.set_period(state.now, _FULL, period)

    def stop(self) -> None:
        """Make no more passes over the whole queue, and none that were put off."""
        self._state.timers.cancel_all(*TIMERS)

    def is_due(self, *, may_wait: bool) -> bool:
        """Whether a pass that is called for is to be made now; else it will be, later.

        Args:
            may_wait: It is a submission that calls for it.
        """
        if not (may_wait or self._options.defer):
            return True
        time = self._next_service()
        if time <= self._state.now:
            self._serves = True
            return True
        self._state.timers.set(time, _FOR_NEW_JOBS)
        return False

    def begin(self) -> bool | None:
        """Begin a pass. Whether it looks at the whole queue; ``None``: it is not to be made yet, but will be."""
        now = self._state.now
        time = now if self._last_pass is None else self._last_pass + self._options.sched_min_interval_s
        if time > now:
            self._state.timers.set(time, _PUT_OFF)
            return None
        self._last_pass = now
        if self._serves:
            self._last_served = now
        is_full = self._is_full
        self._serves = self._is_full = False
        return is_full

    def _next_service(self) -> int:
        """When the next pass may be made that submissions call for."""
        if self._last_served is None:
            return self._state.now
        return self._last_served + self._options.batch_sched_delay

    def time_has_come(self, kind: TimerKind) -> None:
        """Take note of one of the `TIMERS`, after which a pass follows."""
        if kind is TimerKind.FULL_PASS:
            self._serves = self._is_full = True
        elif kind is TimerKind.PASS_FOR_NEW_JOBS:
            # Unless a pass over the whole queue has served them meanwhile.
            self._serves = self._serves or self._next_service() <= self._state.now

    # ---- keeping it -------------------------------------------------------------------------------------------

    def save(self) -> list[Any]:
        """Give what is known of passes, as data that JSON can hold."""
        return [self._last_pass, self._last_served, self._serves, self._is_full]

    def restore(self, saved: list[Any]) -> None:
        """Take up what was saved."""
        self._last_pass, self._last_served, self._serves, self._is_full = saved


#: Timers that are for passes.
TIMERS = (TimerKind.PASS_FOR_NEW_JOBS, TimerKind.PASS_PUT_OFF, TimerKind.FULL_PASS)
_FOR_NEW_JOBS, _PUT_OFF, _FULL = map(Timer, TIMERS)
