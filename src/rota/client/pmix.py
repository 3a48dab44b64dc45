"""PMIx: how the tasks of an MPI program learn of each other, by the server in OpenPMIx's library ``libpmix.so.2``.

The library has threads, so a child of ``srun`` of its own loads it: see `rota.client.pmix_library`. To PMIx all tasks
are on one node, as they are: virtual nodes share a machine.
"""

import _signal as signal  # type: ignore[import-not-found]
import _socket
import os

from rota.client.processes import say
from rota.client.small_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_CHUNK = 1 << 16


class Server:
    """Has the tasks of a step answered.

    Args:
        spec: What is started: see `rota.controller.steps.spec`.
        abort: Is called when all tasks are to end. Its argument is the number of the task that wants that, and ends by
            itself; ``None``: a task has ended before it had finished.

    Raises:
        OSError: there is no server: the text says why.
    """

    def __init__(self, spec: "dict[str, Any]", abort: "Callable[[int | None], None]") -> None:
        self._abort = abort
        self._child, theirs = _socket.socketpair()
        self._pid = os.fork()
        if not self._pid:
            try:
                self._child.close()
                _serve(spec, theirs)
            finally:
                os._exit(1)
        theirs.close()
        self._received = b""
        while b"\n" not in self._received:
            self._receive()
        first, _, self._received = self._received.partition(b"\n")
        found = loads(first)
        if "error" in found:
            raise OSError(found["error"])
        self._environments: list[dict[str, str]] = found["environments"]

    # ---- for the step -----------------------------------------------------------------------------------------

    def enter(self, number: int) -> "dict[str, str]":
        """Give the variables by which a task finds the server."""
        return self._environments[number]

    def started(self) -> None:
        """Begin: all tasks have been started."""

    @property
    def readers(self) -> list[int]:
        """What is to be read."""
        return [] if self._child.fileno() < 0 else [self._child.fileno()]

    def serve(self, readable: list[int]) -> None:
        """Heed what the server says."""
        if self._child.fileno() not in readable:
            return
        try:
            self._receive()
        except OSError as error:
            self._child.close()
            say(f"srun: error: --mpi=pmix: {error}\n")
            self._abort(None)
        *lines, self._received = self._received.split(b"\n")
        for line in lines:
            self._abort(loads(line)["abort"])

    def close(self) -> None:
        """End the server; its files are gone then."""
        self._child.close()
        os.waitpid(self._pid, 0)

    def _receive(self) -> None:
        data = self._child.recv(_CHUNK)
        if not data:
            raise OSError("the server of PMIx has ended")
        self._received += data


def _serve(spec: "dict[str, Any]", parent: _socket.socket) -> None:
    """Be the server until the parent has gone."""
    from rota.client.pmix_library import LibraryError, PMIx

    os.closerange(3, parent.fileno())
    os.closerange(parent.fileno() + 1, 1024)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)

    def say_so(message: "dict[str, Any]") -> None:
        parent.sendall(dumps(message) + b"\n")

    try:
        library = PMIx(f"{spec['job']}.{spec['step']}", len(spec["tasks"]), lambda rank: say_so({"abort": rank}))
        say_so({"environments": [library.environment(rank) for rank in range(len(spec["tasks"]))]})
    except LibraryError as error:
        say_so({"error": str(error)})
        return
    try:
        parent.recv(1)
    finally:
        library.close()
