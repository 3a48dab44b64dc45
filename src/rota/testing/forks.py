"""Commands of `rota`, and those of a live cluster, in forks of processes that have imported what they need.

An interpreter of its own imports for five times as long as `rota` then takes, and starts for three times as long as a
command such as ``squeue`` takes: tests that start dozens of clusters and give thousands of commands would do little
else. What a fork runs is ``python -m rota``, or the file of the command, with its own environment, directory and files.
It shares the hash seed of the process that it comes from.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from functools import cache
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

from rota.testing import fork_server
from rota.testing.fork_server import WORD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

#: What commands of `rota` need; those of clusters find it themselves, and start without what is installed, too.
_ROTA = (
    "rota.cli.forecast",
    "rota.cli.live",
    "rota.cli.main",
    "rota.cli.serve",
    "rota.cli.whatif",
    "sqlalchemy.dialects.sqlite",
)


class Fork:
    """A command that runs.

    Args:
        words: The command.
        told: Where its process id is told, and its status when it has ended.
    """

    def __init__(self, words: Sequence[str], told: IO[bytes]) -> None:
        self.args = words
        self._told = told
        self.pid = self._number()
        self._status: int | None = None

    def wait(self, patience: float) -> int:
        """Wait for its end, and give its status: below zero, the signal that ended it.

        Raises:
            subprocess.TimeoutExpired: it takes longer, in seconds.
        """
        if self._status is None:
            if not select.select([self._told], [], [], patience)[0]:
                raise subprocess.TimeoutExpired(self.args, patience)
            with self._told:
                self._status = os.waitstatus_to_exitcode(self._number())
        return self._status

    def _number(self) -> int:
        told = self._told.read(WORD)
        if len(told) < WORD:
            raise ChildProcessError("the process that forks has ended")
        return int.from_bytes(told)

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self._status is None and not select.select([self._told], [], [], 0)[0]:
            os.kill(self.pid, number)


class Forks:
    """The client: it starts the process, which ends with this one.

    Args:
        modules: What the process imports.
        option: An option of the interpreter.
    """

    def __init__(self, modules: Sequence[str], option: str) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen(  # noqa: S603 - ourselves
                [sys.executable, option, fork_server.__file__, str(other.fileno()), *modules],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.wait()

    def start(
        self, words: Sequence[str], standard: Sequence[IO[Any]], *, directory: Path, environment: Mapping[str, str]
    ) -> Fork:
        """Start a command.

        Args:
            words: ``rota``, or the path of a Python program, and arguments.
            standard: Its standard input, output and error.
            directory: Where it is started.
            environment: Its environment.
        """
        umask = os.umask(0o22)
        os.umask(umask)
        receiver, sender = os.pipe()
        with TemporaryFile() as request:  # as it may be larger than a message
            request.write(json.dumps([list(words), str(directory), umask, dict(environment)]).encode())
            request.flush()
            try:
                socket.send_fds(self._socket, [b"."], [sender, request.fileno(), *(file.fileno() for file in standard)])
            finally:
                os.close(sender)
        return Fork(words, os.fdopen(receiver, "rb", buffering=0))

    def run(
        self,
        words: Sequence[str],
        *,
        directory: Path,
        environment: Mapping[str, str],
        patience: float,
        stdin: str = "",
    ) -> subprocess.CompletedProcess[str]:
        """Run a command, as `subprocess.run` would.

        Raises:
            subprocess.TimeoutExpired: it takes longer than ``patience``, in seconds; it is killed.
        """
        with TemporaryFile() as given, TemporaryFile() as output, TemporaryFile() as errors:
            given.write(stdin.encode())
            given.seek(0)
            fork = self.start(words, [given, output, errors], directory=directory, environment=environment)
            try:
                status = fork.wait(patience)
            except subprocess.TimeoutExpired:
                fork.send_signal(signal.SIGKILL)
                raise
            for file in (output, errors):
                file.seek(0)
            return subprocess.CompletedProcess(list(words), status, output.read().decode(), errors.read().decode())


def forks(*, again: bool = False) -> Forks:
    """Give the one of this process for `rota`, or a second one, whose hash seed is another."""
    return forks_of(_ROTA, again=again)


def command_forks() -> Forks:
    """Give the one of this process for the commands of clusters: a small process, of which forks are made soon."""
    return forks_of((), "-IS")


@cache
def forks_of(modules: tuple[str, ...], option: str = "-P", *, again: bool = False) -> Forks:  # noqa: ARG001 - another one
    """Give the one of this process that has imported some modules.

    Args:
        modules: Their names.
        option: An option of its interpreter.
        again: Give a second one.
    """
    made = Forks(modules, option)
    atexit.register(made.close)
    return made
