"""Handing each effect to the function that performs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rota.core import effects as ef
from rota.core.events import BackgroundDone
from rota.core.plain import shape_of
from rota.core.plugin_api.guard import PLUGIN_ERRORS, describe_error
from rota.interrupts import raise_if_interrupted

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Performer(Protocol):
    """Performs effects, with a method for each kind. It reports results to the engine as events."""

    def launch(self, effect: ef.Launch) -> None:
        """Start a job."""

    def kill(self, effect: ef.Kill) -> None:
        """Stop a job."""

    def send_signal(self, effect: ef.SendSignal) -> None:
        """Send a signal to a job."""

    def suspend(self, effect: ef.SuspendRun) -> None:
        """Suspend a job."""

    def resume(self, effect: ef.ResumeRun) -> None:
        """Resume a suspended job."""

    def finished_with(self, effect: ef.JobFinished) -> None:
        """Keep the record of a job that has ended."""

    def requeued(self, effect: ef.RunRequeued) -> None:
        """Keep the record of a run after which its job is queued again, if it is to be kept."""

    def answer(self, effect: ef.Accepted | ef.Refused) -> None:
        """Answer a request."""

    def fault(self, effect: ef.PluginFault) -> None:
        """Tell the administrator about a fault of a plugin."""

    def log(self, effect: ef.Log) -> None:
        """Write a message to the log."""

    def background(self, effect: ef.Background) -> None:
        """Run a function and report the result as a `BackgroundDone`; see `background_done`."""


def dispatch_table(performer: Performer) -> dict[type, Callable[[Any], None]]:
    """Give the method for each kind of effect."""
    return {
        ef.Launch: performer.launch,
        ef.Kill: performer.kill,
        ef.SendSignal: performer.send_signal,
        ef.SuspendRun: performer.suspend,
        ef.ResumeRun: performer.resume,
        ef.JobFinished: performer.finished_with,
        ef.RunRequeued: performer.requeued,
        ef.Accepted: performer.answer,
        ef.Refused: performer.answer,
        ef.PluginFault: performer.fault,
        ef.Log: performer.log,
        ef.Background: performer.background,
    }


def background_done(effect: ef.Background) -> BackgroundDone:
    """Run a background function immediately. Its result has to be JSON data."""
    try:
        result = effect.fn()
        if problem := shape_of(object).problem(result):
            return BackgroundDone(token=effect.token, error=f"returned what JSON cannot hold{problem}")
    except PLUGIN_ERRORS as error:
        raise_if_interrupted()
        return BackgroundDone(token=effect.token, error=describe_error(error))
    return BackgroundDone(token=effect.token, result=result)
