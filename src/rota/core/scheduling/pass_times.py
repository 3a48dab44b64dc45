"""When passes are made, if SchedulerParameters delays them.

- After a submission, a release, or a change of a job, node, partition or reservation a pass is made immediately if
  ``batch_sched_delay`` seconds have passed since the last such pass; else at that time, for all until then. The same
  applies to the end of a job that was not stopped, unless slurm.conf has an ``Epilog``: when it has run, slurmctld is
  told, and makes a pass at once. With ``defer`` this applies to all events.
- No pass is made within ``sched_min_interval`` of the last one.
- Every ``sched_interval`` a pass tests the whole queue, if anything has changed since the last such pass.

Without these options every pass is made immediately, and this class is not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.core.timers import Period, Timer, TimerKind

if TYPE_CHECKING:
    from rota.core.scheduling.pass_options import PassOptions
    from rota.core.state import ClusterState


class PassTimes:
    """Delays passes.

    Args:
        state: The state, with the engine's clock and timers.
        options: The options. Before they change, call `stop`.
    """

    __slots__ = ("_is_full", "_last_pass", "_last_served", "_options", "_serves", "_state")

    def __init__(self, state: ClusterState, options: PassOptions) -> None:
        self._state = state
        self._options = options
        #: When the last pass was made (``None``: never), and the last one after submissions.
        self._last_pass: int | None = None
        self._last_served: int | None = None
        #: Whether the next pass is for submissions, and whether it tests the whole queue.
        self._serves = False
        self._is_full = False
        if options.full_pass_s:
            period = Period(state.now, options.full_pass_s, only_after_change=True)
            state.timers.set_period(state.now, _FULL, period)

    def stop(self) -> None:
        """Cancel passes over the whole queue and delayed passes."""
        self._state.timers.cancel_all(*TIMERS)

    def is_due(self, *, may_wait: bool) -> bool:
        """Whether a pass that is due is to be made now; else it is delayed.

        Args:
            may_wait: Whether it is due because of a submission, or what else may wait.
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
        """Begin a pass; say whether it tests the whole queue, or ``None`` if it is delayed."""
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
        """Give the earliest time of the next pass for submissions."""
        if self._last_served is None:
            return self._state.now
        return self._last_served + self._options.batch_sched_delay

    def time_has_come(self, kind: TimerKind) -> None:
        """Handle one of the `TIMERS`; a pass follows."""
        if kind is TimerKind.FULL_PASS:
            self._serves = self._is_full = True
        elif kind is TimerKind.PASS_FOR_NEW_JOBS:
            # Unless a pass over the whole queue has been made since.
            self._serves = self._serves or self._next_service() <= self._state.now

    # ---- saving -----------------------------------------------------------------------------------------------

    def save(self) -> list[Any]:
        """Give the state as JSON data."""
        return [self._last_pass, self._last_served, self._serves, self._is_full]

    def restore(self, saved: list[Any]) -> None:
        """Restore the saved state."""
        self._last_pass, self._last_served, self._serves, self._is_full = saved


#: Timers for passes.
TIMERS = (TimerKind.PASS_FOR_NEW_JOBS, TimerKind.PASS_PUT_OFF, TimerKind.FULL_PASS)
_FOR_NEW_JOBS, _PUT_OFF, _FULL = map(Timer, TIMERS)
