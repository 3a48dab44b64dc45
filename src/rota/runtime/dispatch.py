"""Effects handed to whoever performs them, once for all drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rota.core import effects as ef
from rota.core.events import BackgroundDone
from rota.core.plain import shape_of
from rota.core.plugin_api.guard import PLUGIN_ERRORS, told

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Performer(Protocol):
    """What performs effects, each kind in a way of its own. What it has to say to the engine it says with events."""

    def launch(self, effect: ef.Launch) -> None:
        """Start a job."""

    def kill(self, effect: ef.Kill) -> None:
        """Stop a run."""

    def send_signal(self, effect: ef.SendSignal) -> None:
        """Send a signal to a run."""

    def suspend(self, effect: ef.SuspendRun) -> None:
        """Stop a run for a while."""

    def resume(self, effect: ef.ResumeRun) -> None:
        """Let a run go on."""

    def finished_with(self, effect: ef.JobFinished) -> None:
        """Keep the record of a job that is over."""

    def answer(self, effect: ef.Accepted | ef.Refused) -> None:
        """Tell somebody what has become of a request."""

    def fault(self, effect: ef.PluginFault) -> None:
        """Tell the administrator that a plugin misbehaved."""

    def log(self, effect: ef.Log) -> None:
        """Write down what a plugin has to say."""

    def background(self, effect: ef.Background) -> None:
        """Run a function, and answer with `BackgroundDone`; see `background_done`."""


def dispatch_table(performer: Performer) -> dict[type, Callable[[Any], None]]:
    """Give what performs each kind of effect."""
    return {
        ef.Launch: performer.launch,
        ef.Kill: performer.kill,
        ef.SendSignal: performer.send_signal,
        ef.SuspendRun: performer.suspend,
        ef.ResumeRun: performer.resume,
        ef.JobFinished: performer.finished_with,
        ef.Accepted: performer.answer,
        ef.Refused: performer.answer,
        ef.PluginFault: performer.fault,
        ef.Log: performer.log,
        ef.Background: performer.background,
    }


def background_done(effect: ef.Background) -> BackgroundDone:
    """Do a piece of background work on the spot; what it gives has to be plain data."""
    try:
        result = effect.fn()
    except PLUGIN_ERRORS as error:
        return BackgroundDone(token=effect.token, error=told(error))
    if problem := shape_of(object).problem(result):
        return BackgroundDone(token=effect.token, error=f"returned what JSON cannot hold{problem}")
    return BackgroundDone(token=effect.token, result=result)
