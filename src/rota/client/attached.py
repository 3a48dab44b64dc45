"""A step's connection to the controller, or to the next one if it is lost: signals come on it, and the end is told."""

import _signal as signal  # type: ignore[import-not-found]
import os
import time

from rota.client import thin
from rota.client.processes import TO_END, ready
from rota.client.small_json import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable
    from typing import Any

#: Seconds after which it is tried again to reach a controller, at first and later, and after which that is said.
_RETRY, _LONGEST, _PATIENCE = 0.2, 1.0, 10.0


class Attached:
    """The connection of a step.

    Args:
        spec: The step: see `rota.controller.steps.spec`.
        controller: The connection to the controller that has made it.
    """

    def __init__(self, spec: "dict[str, Any]", controller: "_socket.socket") -> None:
        self._words = "attach", str(spec["job"]), str(spec["step"])
        self._key = spec["key"]
        self._controller: _socket.socket | None = controller
        self._received = b""
        self._again_at, self._pause = 0.0, _RETRY
        #: Whether the controller has said that the step is over: nothing is left to say.
        self._is_over = False

    @property
    def readers(self) -> list[int]:
        """What is to be read."""
        return [] if self._controller is None else [self._controller.fileno()]

    @property
    def again_at(self) -> float | None:
        """When `look` has to be called, by `time.monotonic`; ``None``: it need not be."""
        return self._again_at if self._controller is None and not self._is_over else None

    def look(self) -> None:
        """Try to reach the next controller, if this one is lost and it is time."""
        if self.again_at is None or time.monotonic() < self._again_at:
            return
        self._again_at = time.monotonic() + self._pause
        self._pause = min(self._pause * 1.2, _LONGEST)
        try:
            self._controller = thin.ask(*self._words, key=self._key)
        except OSError:
            return
        self._received = b""

    def hear(self) -> list[int]:
        """Give the signals that the controller has sent for the tasks."""
        try:
            data = b"" if self._controller is None else self._controller.recv(4096)
        except OSError:  # it was killed before it had read all
            data = b""
        if not data:
            self._hang_up()
        self._received += data
        signals = []
        while len(self._received) >= 5:
            end = 5 + int.from_bytes(self._received[1:5], "big")
            if len(self._received) < end:
                break
            letter, said, self._received = self._received[:1], self._received[5:end], self._received[end:]
            if letter == b"k":
                signals.append(int(said))
                self._pause = _RETRY
            elif letter == b"x":
                self._is_over |= said == b"0"  # else it has too much to do
        return signals

    def tell(self, end: "dict[str, Any]", wakeup: int, say: "Callable[[str], None]") -> None:
        """Say how the step has ended, until that is heard, or a signal says not to wait for it.

        Args:
            end: How it has ended.
            wakeup: Where the numbers of signals are read.
            say: Says something to the user.
        """
        data = dumps(end)
        message = b"+" + len(data).to_bytes(4, "big") + data
        told, say_at = None, time.monotonic() + _PATIENCE
        while not self._is_over:
            self.look()
            try:
                if self._controller is not None and told is not self._controller:
                    self._controller.sendall(message)
                    told = self._controller
            except OSError:
                self._hang_up()
            due = self.again_at
            readable, _ = ready([wakeup, *self.readers], [], None if due is None else max(due - time.monotonic(), 0))
            if wakeup in readable and {signal.SIGINT, *TO_END}.intersection(os.read(wakeup, 4096)):
                return
            if self.readers and self.readers[0] in readable:
                self.hear()
            if self._controller is None and time.monotonic() > say_at:
                say_at = float("inf")
                say("Slurm controller not responding, sleeping and retrying.")

    def _hang_up(self) -> None:
        if self._controller is not None:
            self._controller.close()
            self._controller = None
