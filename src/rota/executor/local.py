"""The executor for this machine: the daemon's side of the supervisor.

The supervisor is started if it does not run, and again if it was killed. What has been asked for and not been answered
is asked for again then; it does not matter if it had been done. Reports that were handed on before a connection was
lost are not handed on again when there is a new one.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from rota.executor.protocol import Capabilities, Ended, LaunchFailed, Measured, Outcome, Started
from rota.executor.supervisor import main as program
from rota.model import RotaError
from rota.model.step import Usage

if TYPE_CHECKING:
    from pathlib import Path

    from rota.executor.protocol import Listener, Report, RunSpec

    Key = tuple[int, int]
    Record = dict[str, Any]

_SOCKET = "supervisor.sock"
#: Seconds after which a supervisor that does not answer is given up, and between two attempts to connect.
_PATIENCE = 10.0
_RETRY = 0.003


class ExecutorError(RotaError):
    """The supervisor cannot be started. The administrator has to look why."""


class LocalExecutor:
    """Runs jobs as processes of this machine.

    Args:
        state: The state directory. Made if it does not exist; only its owner may read it.
        listener: Function that takes the reports, in the event loop in which `start` was called.
        options: Options of a supervisor that is started: see `rota.executor.supervisor.main`.
    """

    def __init__(self, state: Path, listener: Listener, *, options: tuple[str, ...] = ()) -> None:
        self._state = state
        self._listener = listener
        self._options = options
        self._loop: asyncio.AbstractEventLoop | None = None
        self._transport: asyncio.WriteTransport | None = None
        self._task: asyncio.Task[None] | None = None
        self._capabilities = Capabilities(tree="processes", memory="measurement", energy=False)
        #: The process ids of the supervisor and of the keeper.
        self.supervisor_pid = self.keeper_pid = 0
        self._number = 0
        #: Launches of which nothing has been heard, and other requests that have not been answered.
        self._launching: dict[Key, bytes] = {}
        self._asked: dict[int, bytes] = {}
        #: The runs that are to be forgotten, and have not been: by the number of the request, and all of them.
        self._forgetting: dict[int, Key] = {}
        #: What waits for an answer, by the number of its request.
        self._joining: dict[int, asyncio.Future[None]] = {}
        self._forgotten: set[Key | None] = set()
        #: Requests to be sent at the end of this turn of the event loop.
        self._outbox: list[bytes] = []
        #: The last report of each run that is not forgotten: of its start or of its end.
        self._last: dict[Key, Report] = {}
        #: The runs that the supervisor has named since it greeted; ``None``: the greeting is over.
        self._named: set[Key] | None = None

    # ---- the connection ---------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Connect, after the supervisor has been started if necessary.

        Raises:
            ExecutorError: it cannot be started.
        """
        self._loop = asyncio.get_running_loop()
        closed = await self._connect(_PATIENCE)
        self._task = asyncio.create_task(self._stay_connected(closed))

    async def close(self) -> None:
        """Disconnect. Runs go on, and the supervisor as long as there are any."""
        if self._transport is not None:
            self._flush()
            self._transport.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def shut_down(self) -> None:
        """Disconnect, and let the supervisor end when nothing runs any more."""
        self._ask({"do": "stop"})
        await self.close()

    async def _stay_connected(self, closed: asyncio.Future[None]) -> None:
        while True:
            await closed
            self._transport = None
            closed = await self._connect(None)

    async def _connect(self, patience: float | None) -> asyncio.Future[None]:
        """Connect and take what is known.

        Args:
            patience: Seconds after which to give up; ``None``: never.

        Returns:
            What is done when the connection is closed.
        """
        clock = asyncio.get_running_loop().time
        began, last_start = clock(), -1.0
        while True:
            try:
                return await self._greet()
            except OSError as error:
                if patience is not None and clock() > began + patience:
                    raise ExecutorError(f"the supervisor in {self._state} does not start: {self._said()}") from error
            # It takes some time to answer, and may have ended just now.
            if clock() > last_start + 0.2:
                if not await self._start_supervisor() and patience is not None:
                    raise ExecutorError(f"the supervisor in {self._state} cannot be started")
                last_start = clock()
            await asyncio.sleep(_RETRY if clock() < began + 1 else 0.2)

    async def _start_supervisor(self) -> bool:
        """Start a supervisor; ``False``: it says that it cannot run, or there is no room for a process."""
        command = (sys.executable, "-I", "-S", str(program.__file__), str(self._state), *self._options)
        try:
            process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL)
        except OSError:
            return False
        return await process.wait() == 0

    def _said(self) -> str:
        """Give the last lines that the supervisor wrote to its error output."""
        try:
            lines = (self._state / program.ERRORS).read_text(errors="replace").splitlines()
        except OSError as error:
            return str(error)
        return "; ".join(lines[-3:]) or "it says nothing"

    async def _greet(self) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        # A path may be longer than an address can be.
        folder = os.open(self._state, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(f"/proc/self/fd/{folder}/{_SOCKET}")
        except OSError:
            connection.close()
            raise
        finally:
            os.close(folder)
        self._named = set()
        known: asyncio.Future[None] = loop.create_future()
        closed: asyncio.Future[None] = loop.create_future()
        transport, _ = await loop.create_unix_connection(lambda: _Lines(self._take, known, closed), sock=connection)
        await known
        self._transport = transport
        self._after_greeting()
        return closed

    def _after_greeting(self) -> None:
        """Ask again what was not answered, and report runs as lost that nobody knows."""
        named, self._named = self._named or set(), None
        self._outbox = [*self._launching.values(), *self._asked.values()]
        self._flush()
        for key, report in list(self._last.items()):
            if key not in named and isinstance(report, Started):
                self._lost(report)

    def _lost(self, report: Started) -> None:
        ended = Ended(
            job_id=report.job_id,
            restart_count=report.restart_count,
            exit_code=0,
            signal=0,
            time=time.time(),
            outcome=Outcome.UNKNOWN,
            usage=Usage(),
        )
        self._hand_on((report.job_id, report.restart_count), ended)

    # ---- requests ---------------------------------------------------------------------------------------------

    def launch(self, run: RunSpec) -> None:
        """Start a run; see `rota.executor.protocol.Executor`. Of one that is known the last report is repeated."""
        key = run.job_id, run.restart_count
        if key in self._last and self._loop is not None:
            self._loop.call_soon(self._listener, self._last[key])
            return
        self._forgotten.discard(key)
        request = _line({"do": "launch", "number": 0, "what": _plain(run)})
        self._launching[key] = request
        self._send(request)

    def signal(self, job_id: int, restart_count: int, signal: int, *, batch_only: bool = False) -> None:
        """Send a signal to all processes of a run, or to its script only."""
        self._ask_of(job_id, restart_count, "signal", signal=int(signal), batch_only=batch_only)

    def kill(self, job_id: int, restart_count: int, signal: int, wait: float, said: str = "") -> None:
        """End a run; see `rota.executor.protocol.Executor`."""
        last = self._last.get((job_id, restart_count))
        if isinstance(last, Ended | LaunchFailed) and self._loop is not None:
            self._loop.call_soon(self._listener, last)
            return
        self._ask_of(job_id, restart_count, "kill", signal=int(signal), wait=wait, said=said)

    async def join(self, job_id: int, restart_count: int, pid: int) -> None:
        """Take a process into the control groups of a run, where there are any."""
        joined: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ask_of(job_id, restart_count, "join", pid=pid)
        self._joining[self._number] = joined
        await joined

    def suspend(self, job_id: int, restart_count: int) -> None:
        """Stop all processes of a run for a while."""
        self._ask_of(job_id, restart_count, "suspend")

    def resume(self, job_id: int, restart_count: int) -> None:
        """Let a suspended run go on."""
        self._ask_of(job_id, restart_count, "resume")

    def forget(self, job_id: int, restart_count: int) -> None:
        """Forget a run that has ended."""
        key = job_id, restart_count
        self._last.pop(key, None)
        self._ask_of(*key, "forget")
        self._forgetting[self._number] = key
        self._forgotten.add(key)

    def measure(self) -> None:
        """Report `Measured` for every run that has not ended."""
        self._ask({"do": "measure"})

    def capabilities(self) -> Capabilities:
        """Say how runs are supervised on this machine."""
        return self._capabilities

    def _ask_of(self, job_id: int, restart_count: int, kind: str, **what: Any) -> None:
        self._ask({"do": kind, "job": job_id, "run": restart_count, **what})

    def _ask(self, record: Record) -> None:
        self._number += 1
        request = _line({**record, "number": self._number})
        self._asked[self._number] = request
        self._send(request)

    def _send(self, request: bytes) -> None:
        """Send a request with the others of this turn of the event loop; without a connection, later."""
        if self._transport is None or self._loop is None:
            return
        if not self._outbox:
            self._loop.call_soon(self._flush)
        self._outbox.append(request)

    def _flush(self) -> None:
        if self._transport is not None and self._outbox:
            self._transport.write(b"".join(self._outbox))
            self._outbox.clear()

    # ---- reports ----------------------------------------------------------------------------------------------

    def _take(self, record: Record) -> None:
        """Take a record of the supervisor."""
        kind = record["is"]
        if kind == "done":
            self._asked.pop(record["number"], None)
            self._forgotten.discard(self._forgetting.pop(record["number"], None))
            if (joined := self._joining.pop(record["number"], None)) is not None and not joined.done():
                joined.set_result(None)
        elif kind == "hello":
            self.supervisor_pid, self.keeper_pid = record["pid"], record["keeper"]
            self._capabilities = Capabilities(tree=record["tree"], memory=record["memory"], energy=record["energy"])
        elif kind == "unsure":
            if self._named is not None:
                self._named.add((record["job"], record["run"]))
        elif kind != "known":
            key = record["job"], record["run"]
            if key in self._forgotten:
                return
            report = _report(record)
            if self._named is not None:
                self._named.add(key)
            self._launching.pop(key, None)
            if not self._was_reported(key, report):
                self._hand_on(key, report)

    def _was_reported(self, key: Key, report: Report) -> bool:
        """Whether a report is repeated, since a connection was lost or a launch was asked for twice."""
        last = self._last.get(key)
        return last == report or (isinstance(report, Started) and last is not None)

    def _hand_on(self, key: Key, report: Report) -> None:
        if isinstance(report, LaunchFailed) and not report.prolog:
            self._last.pop(key, None)  # the supervisor does not know it either: it may be tried again
        elif not isinstance(report, Measured):
            self._last[key] = report
        self._listener(report)


class _Lines(asyncio.Protocol):
    """Takes the lines of a connection."""

    def __init__(self, take: Any, known: asyncio.Future[None], closed: asyncio.Future[None]) -> None:
        self._take = take
        self._known = known
        self._closed = closed
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        """Hand on whole lines."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            record = json.loads(line)
            self._take(record)
            if record["is"] == "known" and not self._known.done():
                self._known.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """Say that the connection is closed."""
        if not self._known.done():
            self._known.set_exception(ConnectionResetError("the supervisor has ended"))
        if not self._closed.done():
            self._closed.set_result(None)


def _line(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _plain(run: RunSpec) -> Record:
    """Give a run as the supervisor reads it."""
    values = {field.name: getattr(run, field.name) for field in fields(run)}
    names = {"job": values.pop("job_id"), "run": values.pop("restart_count")}
    return {**names, **values, "env": dict(run.env), "own_env": dict(run.own_env), "rlimits": dict(run.rlimits)}


def _report(record: Record) -> Report:
    """Give a report of the supervisor as what the listener gets."""
    names = {"job_id": record["job"], "restart_count": record["run"]}
    match record["is"]:
        case "started":
            return Started(**names, pid=record["pid"], time=record["time"])
        case "failed":
            return LaunchFailed(**names, message=record["message"], prolog=record["prolog"])
        case "measured":
            return Measured(**names, usage=_usage(record["usage"]))
        case _:
            return Ended(
                **names,
                exit_code=record["code"],
                signal=record["signal"],
                time=record["time"],
                outcome=Outcome(record["outcome"]),
                usage=_usage(record["usage"]),
                epilog_failure=record["epilog_failure"],
            )


def _usage(values: list[Any]) -> Usage:
    user, system, max_rss, read, written, energy = values
    return Usage(
        user_seconds=user,
        system_seconds=system,
        max_rss=max_rss,
        read_bytes=read,
        written_bytes=written,
        energy=energy,
    )
