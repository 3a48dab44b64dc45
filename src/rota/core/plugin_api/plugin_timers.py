"""Timers of plugins: the function of each. When they are due is in the engine's table of timers.

A periodic timer is identified by the names of its plugin and its function, so that a timer which is set again after a
restart keeps its phase.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from rota.core.timers import Period, Timer, TimerKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.core.state import ClusterState


class _Call(NamedTuple):
    fn: Callable[[], object]
    #: Whether no scheduling pass has to follow.
    quiet: bool


class PluginTimers:
    """The functions of plugins' timers.

    Args:
        state: The state, with the engine's clock and timers.
    """

    __slots__ = ("_calls", "_numbers", "_state")

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._calls: dict[Timer, _Call] = {}
        self._numbers = count()

    def at(self, time: int, fn: Callable[[], object], name: str) -> None:
        """Set a timer for one call.

        Args:
            time: When to call, Unix seconds.
            fn: The function.
            name: Names of the plugin and the function.
        """
        timer = Timer(TimerKind.PLUGIN_ONCE, name=f"{name} {next(self._numbers)}")
        self._calls[timer] = _Call(fn, quiet=False)
        self._state.timers.set(time, timer)

    def every(
        self, seconds: int, fn: Callable[[], object], name: str, *, only_after_change: bool, quiet: bool
    ) -> Callable[[], None]:
        """Set a periodic timer, in phase with the start of the engine's clock; give a function that cancels it."""
        timer, number = Timer(TimerKind.PLUGIN, name=name), 1
        while timer in self._calls:
            number += 1
            timer = Timer(TimerKind.PLUGIN, name=f"{name} {number}")
        call = self._calls[timer] = _Call(fn, quiet)
        timers, now = self._state.timers, self._state.now
        timers.set_period(now, timer, Period(now, seconds, only_after_change))

        def stop() -> None:
            if self._calls.get(timer) is call:
                del self._calls[timer]
                timers.cancel(timer)

        return stop

    def call(self, timer: Timer) -> bool:
        """Call the function of a timer that is due; say whether a scheduling pass has to follow."""
        call = self._calls.get(timer)
        if call is None:
            return False
        if timer.kind is TimerKind.PLUGIN_ONCE:
            del self._calls[timer]
        call.fn()
        return not call.quiet

    def drop_unclaimed(self) -> None:
        """Cancel timers from before a restart that no plugin has set again."""
        for timer in [timer for timer in self._state.timers if timer.kind is TimerKind.PLUGIN]:
            if timer not in self._calls:
                self._state.timers.cancel(timer)
