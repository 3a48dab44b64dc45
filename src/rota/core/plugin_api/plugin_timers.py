"""Timers of plugins: the function of each. When they are due is in the engine's table of timers.

A timer is identified by the names of its plugin and its function, and a timer for one call by its time as well. So a
timer which is set again after a restart keeps its phase, and its order among timers that are due at the same time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rota.core.timers import Period, Timer, TimerKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.core.state import ClusterState


_OF_PLUGINS = frozenset({TimerKind.PLUGIN, TimerKind.PLUGIN_ONCE})


class _Call(NamedTuple):
    fn: Callable[[], object]
    #: Whether no scheduling pass has to follow.
    quiet: bool


class PluginTimers:
    """The functions of plugins' timers.

    Args:
        state: The state, with the engine's clock and timers.
    """

    __slots__ = ("_calls", "_state")

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._calls: dict[Timer, _Call] = {}

    def at(self, time: int, fn: Callable[[], object], name: str) -> Callable[[], None]:
        """Set a timer for one call; return a function that cancels it.

        Args:
            time: When to call, Unix seconds.
            fn: The function.
            name: Names of the plugin and the function.
        """
        timer, number = Timer(TimerKind.PLUGIN_ONCE, name=f"{name} {time}"), 1
        while timer in self._calls:
            number += 1
            timer = Timer(TimerKind.PLUGIN_ONCE, name=f"{name} {time} {number}")
        call = self._calls[timer] = _Call(fn, quiet=False)
        self._state.timers.set(time, timer)
        return partial(self._stop, timer, call)

    def every(
        self, seconds: int, fn: Callable[[], object], name: str, *, only_after_change: bool, quiet: bool
    ) -> Callable[[], None]:
        """Set a periodic timer, in phase with the start of the engine's clock; give a function that cancels it."""
        timer, number = Timer(TimerKind.PLUGIN, name=name), 1
        while timer in self._calls:
            number += 1
            timer = Timer(TimerKind.PLUGIN, name=f"{name} {number}")
        call = self._calls[timer] = _Call(fn, quiet)
        now = self._state.now
        self._state.timers.set_period(now, timer, Period(now, seconds, only_after_change))
        return partial(self._stop, timer, call)

    def _stop(self, timer: Timer, call: _Call) -> None:
        if self._calls.get(timer) is call:
            del self._calls[timer]
            self._state.timers.cancel(timer)

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
        for timer in self._state.timers:
            if timer.kind in _OF_PLUGINS and timer not in self._calls:
                self._state.timers.cancel(timer)
