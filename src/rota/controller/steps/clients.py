"""The clients that run steps: each ``srun`` stays connected, and hears of signals for its tasks."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rota.model.step import StepClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from rota.controller.wire import Terminal


class StepClients:
    """The clients that run steps, by job and step."""

    def __init__(self) -> None:
        self._terminals: dict[tuple[int, str], tuple[Terminal, StepClient]] = {}
        #: The signals for steps whose clients have lost the controller before this one, and will come back.
        self._missed: dict[tuple[int, str], list[int]] = {}

    def expect(self, job_id: int, step_id: str) -> None:
        """Keep signals for a step until its client comes back."""
        self._missed.setdefault((job_id, step_id), [])

    def forget(self, job_id: int, step_id: str) -> None:
        """Expect a client no longer: its step has ended."""
        self._missed.pop((job_id, step_id), None)

    def connected(
        self, job_id: int, step_id: str, terminal: Terminal, client: StepClient
    ) -> AbstractContextManager[None]:
        """Give a context in which a client runs a step."""
        return self._connected((job_id, step_id), (terminal, client))

    @contextmanager
    def _connected(self, key: tuple[int, str], one: tuple[Terminal, StepClient]) -> Iterator[None]:
        self._terminals[key] = one
        for number in self._missed.pop(key, ()):
            one[0].signal(number)
        try:
            yield
        finally:
            if self._terminals.get(key) is one:
                del self._terminals[key]

    def client(self, job_id: int, step_id: str) -> StepClient:
        """Say what is known of the client that runs a step."""
        return self._terminals[job_id, step_id][1] if (job_id, step_id) in self._terminals else StepClient()

    def signal(self, job_id: int, number: int, step_id: str | None = None) -> bool:
        """Send a signal to the tasks of a step, or of all steps of a job; say whether there were any."""
        found = [one for key, (one, _) in self._terminals.items() if key[0] == job_id and step_id in {None, key[1]}]
        for terminal in found:
            terminal.signal(number)
        missed = [kept for key, kept in self._missed.items() if key[0] == job_id and step_id in {None, key[1]}]
        for kept in missed:
            kept.append(number)
        return bool(found or missed)
