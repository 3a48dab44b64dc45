"""The clients that run steps: each ``srun`` stays connected, and hears of signals for its tasks."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from rota.controller.wire import Terminal


class StepClients:
    """The clients that run steps, by job and step."""

    def __init__(self) -> None:
        self._terminals: dict[tuple[int, str], Terminal] = {}

    def connected(self, job_id: int, step_id: str, terminal: Terminal) -> AbstractContextManager[None]:
        """Give a context in which a client runs a step."""
        return self._connected((job_id, step_id), terminal)

    @contextmanager
    def _connected(self, key: tuple[int, str], terminal: Terminal) -> Iterator[None]:
        self._terminals[key] = terminal
        try:
            yield
        finally:
            if self._terminals.get(key) is terminal:
                del self._terminals[key]

    def signal(self, job_id: int, number: int, step_id: str | None = None) -> bool:
        """Send a signal to the tasks of a step, or of all steps of a job; say whether there were any."""
        found = [one for key, one in self._terminals.items() if key[0] == job_id and step_id in {None, key[1]}]
        for terminal in found:
            terminal.signal(number)
        return bool(found)
