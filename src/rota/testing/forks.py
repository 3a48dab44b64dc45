"""Commands of `rota` in forks of one process that has imported them.

An interpreter of its own imports for five times as long as the command then takes: tests that start dozens of clusters
would do little else. What a fork runs is ``python -m rota``, with its own environment, directory and files. It shares
the hash seed of the process that it comes from.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import traceback
from contextlib import suppress
from functools import cache
from importlib import import_module
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

#: What the commands of tests need.
_MODULES = ("rota.cli.main", "rota.cli.live", "rota.cli.serve", "rota.cli.forecast", "rota.cli.whatif")
_LARGEST_MESSAGE = 1 << 20
_PID_BYTES = 4


class Forks:
    """The client: it starts the process, which ends with this one."""

    def __init__(self) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen(  # noqa: S603 - ourselves
                [sys.executable, "-m", __name__, str(other.fileno()), *_MODULES],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.wait()

    def run(
        self, words: Sequence[str], *, directory: Path, environment: Mapping[str, str], patience: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of `rota`, as `subprocess.run` would.

        Raises:
            subprocess.TimeoutExpired: it takes longer than ``patience``, in seconds; it is killed.
        """
        umask = os.umask(0o22)
        os.umask(umask)
        message = json.dumps([list(words), str(directory), umask, dict(environment)]).encode()
        with TemporaryFile() as output, TemporaryFile() as errors:
            receiver, sender = os.pipe()
            try:
                socket.send_fds(self._socket, [message], [output.fileno(), errors.fileno(), sender])
            finally:
                os.close(sender)
            status = _status(receiver, patience)
            if status is None:
                raise subprocess.TimeoutExpired(["rota", *words], patience)
            for file in (output, errors):
                file.seek(0)
            return subprocess.CompletedProcess(["rota", *words], status, output.read().decode(), errors.read().decode())


@cache
def forks(*, again: bool = False) -> Forks:  # noqa: ARG001 - another one
    """Give the one of this process, or the second one, whose hash seed is another."""
    made = Forks()
    atexit.register(made.close)
    return made


def _status(receiver: int, patience: float) -> int | None:
    """Wait for the exit status; that of SIGKILL if there is none; ``None``: it took too long, and was killed."""
    with open(receiver, "rb", buffering=0) as told:
        pid = int.from_bytes(told.read(_PID_BYTES))
        if not select.select([told], [], [], patience)[0]:
            os.kill(pid, signal.SIGKILL)
            return None
        status = told.read(1)
    with suppress(ProcessLookupError):  # it has ended already
        process = os.pidfd_open(pid)
        select.select([process], [], [])  # until then it is in its directory
        os.close(process)
    return status[0] if status else -signal.SIGKILL


# ---- the process that forks -----------------------------------------------------------------------------------------


def _serve(connection: socket.socket) -> None:
    """Fork for each message, until the client is gone."""
    # Keys and processes that go are the children's business; forks set both back.
    kept = [(number, signal.signal(number, signal.SIG_IGN)) for number in (signal.SIGINT, signal.SIGCHLD)]
    gc.freeze()
    while True:
        message, files, _, _ = socket.recv_fds(connection, _LARGEST_MESSAGE, 3)
        if not message:
            return
        if os.fork() == 0:
            connection.close()
            for number, handler in kept:
                signal.signal(number, handler)
            _run(message, files)
        for file in files:
            os.close(file)


def _run(message: bytes, files: list[int]) -> NoReturn:
    """Be ``python -m rota``."""
    *standard, sender = files
    os.write(sender, os.getpid().to_bytes(_PID_BYTES))
    status = 1
    try:
        words, directory, umask, environment = json.loads(message)
        for place, file in enumerate(standard, start=1):
            os.dup2(file, place)
            os.close(file)
        os.chdir(directory)
        os.umask(umask)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["rota", *words]
        runpy.run_module("rota", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    except BaseException:  # noqa: BLE001 - as an interpreter does
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(sender, bytes([status]))
        os._exit(status)


if __name__ == "__main__":
    for module in sys.argv[2:]:
        import_module(module)
    with socket.socket(fileno=int(sys.argv[1])) as found:
        _serve(found)
