"""Running one command of a scheduler: without a shell, and with limits of time and size.

A command that breaks a limit is killed with all that it started. What it printed until then is kept, up to the last
whole line: half a line could have half a name in it.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from rota.interfaces.jobmeta import SEPARATOR, Answer
from rota.programs import kill, pieces, start

if TYPE_CHECKING:
    import subprocess

    from rota.interfaces.jobmeta import Command

#: Bytes of standard output that are read.
MAX_OUTPUT = 64 * 2**20
#: Bytes of standard error that are kept.
MAX_ERRORS = 2**16
#: Exit statuses, as of timeout(1) and the shell.
TOOK_TOO_LONG, PRINTED_TOO_MUCH, NOT_STARTED = 124, 125, 127


class Ran(NamedTuple):
    """What became of a command."""

    answer: Answer
    #: Why it is a failure, one sentence; empty: it is none.
    fault: str


class Runner:
    """Runs commands one after another, from one thread. Another thread may close it."""

    def __init__(self, timeout: float, max_output: int = MAX_OUTPUT) -> None:
        """Make a runner.

        Args:
            timeout: Seconds for each command.
            max_output: Bytes of standard output for each.
        """
        self.timeout = timeout
        self.max_output = max_output
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        #: The last command whose answer lasts, and until when.
        self._lasting: tuple[Command, Ran, float] | None = None

    def close(self) -> None:
        """Kill the command that runs, and start no other."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                kill(self._process)

    def run(self, command: Command) -> Ran:
        """Run a command to its end, or to one of its limits, if there is no answer of it that lasts."""
        if self._lasting is not None:
            last, ran, until = self._lasting
            if last == command and time.monotonic() < until:
                return ran
        ran = self._run(command)
        if command.lasts and not ran.fault:
            self._lasting = command, ran, time.monotonic() + command.lasts
        return ran

    def _run(self, command: Command) -> Ran:
        name = command.argv[0] if command.argv else "a command without a name"
        secret = secrets.token_hex(8)
        try:
            with self._lock:
                if self._closed:
                    return _not_started(f"{name} was not started: lookups have ended")
                process = self._process = start(
                    [word.replace(SEPARATOR, secret) for word in command.argv],
                    {**os.environ, "LC_ALL": "C.UTF-8", **command.env},
                )
        except FileNotFoundError:
            ran = _not_started(f"{name}: there is no such command in PATH")
            return ran._replace(fault="") if NOT_STARTED in command.ok else ran
        except (OSError, ValueError, IndexError) as exc:  # too long, with a NUL byte, empty
            return _not_started(f"{name} could not be started: {exc}")
        out, err = bytearray(), bytearray()
        with process:
            try:
                status = self._read(process, out, err)
            finally:
                with self._lock:
                    kill(process)  # whatever it has left behind
                    self._process = None
        if status in {TOOK_TOO_LONG, PRINTED_TOO_MUCH}:
            del out[out.rfind(b"\n") + 1 :]
        stdout = out.decode(errors="replace").replace(SEPARATOR, "").replace(secret, SEPARATOR)
        answer = Answer(stdout, err.decode(errors="replace"), status)
        return Ran(answer, "" if status in command.ok else f"{name} {self._reason(answer)}")

    def _read(self, process: subprocess.Popen[bytes], out: bytearray, err: bytearray) -> int:
        """Read what a process prints until it ends or breaks a limit; give its exit status, or the limit's."""
        try:
            for is_error, piece in pieces(process, time.monotonic() + self.timeout):
                text, most = (err, MAX_ERRORS) if is_error else (out, self.max_output + 1)
                text += piece[: most - len(text)]
                if len(out) > self.max_output:
                    return PRINTED_TOO_MUCH
        except TimeoutError:
            return TOOK_TOO_LONG
        return process.returncode

    def _reason(self, answer: Answer) -> str:
        match answer.returncode:
            case 124:
                return f"took longer than {self.timeout:g} s and was killed"
            case 125:
                return f"printed more than {self.max_output:,} bytes and was killed"
            case status:
                text = next((line.strip() for line in answer.stderr.splitlines() if line.strip()), "no message")
                return f"failed with exit status {status}: {text[:200]}"


def _not_started(fault: str) -> Ran:
    return Ran(Answer("", fault, NOT_STARTED), fault)
