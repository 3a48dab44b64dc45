"""Other programs: run without a shell, and read while they run, up to a moment."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PIECE = 1 << 17


def start(argv: Sequence[str], env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, with nothing to read.

    Args:
        argv: Its name, which is looked up in PATH, and its arguments.
        env: Its environment; ``None``: that of this process.

    Raises:
        OSError: it cannot be started.
        ValueError: a word has a NUL byte.
    """
    return subprocess.Popen(  # noqa: S603 - the arguments are the caller's own
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env=env,
        start_new_session=True,  # so that all of it can be killed
    )


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
