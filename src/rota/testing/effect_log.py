"""The effects of an engine, written down for a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core.effects import Refused

if TYPE_CHECKING:
    from rota.core.effects import (
        Accepted,
        Effect,
        JobFinished,
        Kill,
        Launch,
        Log,
        PluginFault,
        ResumeRun,
        RunRequeued,
        SendSignal,
        SuspendRun,
    )
    from rota.model import JobRecord


class EffectLog:
    """Writes effects down and performs none of them.

    Args:
        now: The time now, Unix seconds.
    """

    def __init__(self, now: int) -> None:
        self.now = now
        #: Every effect, in order.
        self.effects: list[Effect] = []
        self.launches: list[Launch] = []
        self.kills: list[Kill] = []
        #: The last record of every job that is over, in the order in which they ended.
        self.finished: list[JobRecord] = []
        self.refused: list[Refused] = []
        #: Misbehaviour of plugins.
        self.faults: list[PluginFault] = []
        #: What plugins log.
        self.logs: list[str] = []
        #: Every decision, a line each: ``"120 start 3 on 0x7"``. Two runs are the same when their traces are.
        self.trace: list[str] = []

    def _note(self, what: str) -> None:
        self.trace.append(f"{self.now} {what}")

    def launch(self, effect: Launch) -> None:
        """Write down that a job has started."""
        self.launches.append(effect)
        self._note(f"start {effect.job_id} on {effect.resources:#x}")

    def kill(self, effect: Kill) -> None:
        """Write down that a run is to be stopped."""
        self.kills.append(effect)
        self._note(f"kill {effect.job_id}")

    def send_signal(self, effect: SendSignal) -> None:
        """Write down that a run has been sent a signal."""
        self._note(f"signal {effect.signal} to {effect.job_id}")

    def suspend(self, effect: SuspendRun) -> None:
        """Write down that a run has been suspended; one that ends by itself does so all the same."""
        self._note(f"suspend {effect.job_id}")

    def resume(self, effect: ResumeRun) -> None:
        """Write down that a run has been resumed."""
        self._note(f"resume {effect.job_id}")

    def finished_with(self, effect: JobFinished) -> None:
        """Keep the record of a job that is over."""
        record = effect.record
        self.finished.append(record)
        self._note(f"{record.state} {record.job_id} {record.reason}")

    def requeued(self, effect: RunRequeued) -> None:
        """Do nothing: the trace has that it is killed, and its next start."""

    def answer(self, effect: Accepted | Refused) -> None:
        """Write down that a request has been refused."""
        if isinstance(effect, Refused):
            self.refused.append(effect)
            self._note(f"refused {effect.job_id} {effect.errno.name}")

    def fault(self, effect: PluginFault) -> None:
        """Write down that a plugin has misbehaved."""
        self.faults.append(effect)
        self._note(f"fault {effect.plugin} {effect.symbol}")

    def log(self, effect: Log) -> None:
        """Write down what a plugin logs."""
        self.logs.append(effect.message)
