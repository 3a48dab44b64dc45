"""Other programs: run without a shell, and read while they run, up to a moment. They die with this process.

A process that is killed can do nothing for what it has started, and a program that hangs would hang for ever. So a
shell watches: it is told of all programs, reads from a pipe that ends with this process, and kills those that are left.
"""

from __future__ import annotations

import atexit
import os
import selectors
import signal
import subprocess
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PIECE = 1 << 17
#: Keeps the sessions that it is told of (``+ 17``, ``- 17``), and kills them when nobody can tell it anything any more.
_WATCH = """
while read -r what one; do
    left=
    for known in $all; do [ "$known" = "$one" ] || left="$left $known"; done
    all=$left
    [ "$what" = - ] || all="$all $one"
done
for one in $all; do kill -s KILL -- "-$one"; done
"""


class Watcher:
    """Tells a shell, once there is something to tell, which programs are to die with this process. For any threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shell: subprocess.Popen[bytes] | None = None

    def tell(self, what: str, session: int) -> None:
        """Tell that a session has begun, ``+``, or ended, ``-``. If it cannot be watched it is not."""
        line = f"{what} {session}\n".encode()
        with self._lock, suppress(OSError):
            if self._shell is None or self._shell.poll() is not None:
                self._shell = subprocess.Popen(  # noqa: S603 - our own
                    ["/bin/sh", "-c", _WATCH],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    bufsize=0,
                    start_new_session=True,  # so that no signal for this process is for it
                )
                atexit.register(self._end, self._shell)
            os.write(self._shell.stdin.fileno(), line)  # type: ignore[union-attr] # it is a pipe

    @staticmethod
    def _end(shell: subprocess.Popen[bytes]) -> None:
        with suppress(OSError, subprocess.TimeoutExpired):
            shell.communicate(timeout=1)


_watcher = Watcher()


class Program(subprocess.Popen[bytes]):
    """A program that runs. It is to be used in a ``with`` statement, at whose end it has ended."""

    def __exit__(self, *exc_info: object) -> None:
        """Wait for it."""
        super().__exit__(*exc_info)  # type: ignore[arg-type]
        _watcher.tell("-", self.pid)


def start(argv: Sequence[str], env: Mapping[str, str] | None = None) -> Program:
    """Start a program in a session of its own, with nothing to read. It dies with this process.

    Args:
        argv: Its name, which is looked up in PATH, and its arguments.
        env: Its environment; ``None``: that of this process.

    Raises:
        OSError: it cannot be started.
        ValueError: a word has a NUL byte.
    """
    program = Program(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env=env,
        start_new_session=True,  # so that all of it can be killed
    )
    _watcher.tell("+", program.pid)
    return program


def pieces(process: subprocess.Popen[bytes], deadline: float) -> Iterator[tuple[bool, bytes]]:
    """Give what a program prints, until it has ended: each piece, and whether it is from its standard error.

    Args:
        process: The program.
        deadline: When it has to have ended, in seconds of `time.monotonic`.

    Raises:
        TimeoutError: it has not.
    """
    with selectors.DefaultSelector() as pipes:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                pipes.register(stream, selectors.EVENT_READ)
        while pipes.get_map():
            ready = pipes.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                piece = os.read(key.fd, _PIECE)
                if piece:
                    yield key.fileobj is process.stderr, piece
                else:
                    pipes.unregister(key.fileobj)
            if time.monotonic() >= deadline:
                raise TimeoutError
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program, and all of its session."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
