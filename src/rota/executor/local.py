"""The executor for this machine: the daemon's side of the supervisor.

The supervisor is started if it does not run, and again if it was killed. What has been asked for and not been answered
is asked for again then; it does not matter if it had been done. Reports that were handed on before a connection was
lost are not handed on again when there is a new one.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from typing import TYPE_CHECKING, Any

from rota.executor.lines import Lines, line_of, plain_of, report_of
from rota.executor.protocol import Capabilities, Ended, LaunchFailed, Measured, Outcome, Short, Started
from rota.executor.supervisor import main as program
from rota.model import RotaError
from rota.model.step import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rota.executor.protocol import Listener, Report, RunSpec

    Key = tuple[int, int]
    Record = dict[str, Any]

_SOCKET = "supervisor.sock"
#: Seconds after which a supervisor that does not answer is given up, and between two attempts to connect.
_PATIENCE = 10.0
_RETRY = 0.003
_OTHER = (
    "the supervisor in {state}, process {pid}, has the jobs of another cluster: the state directory was removed or "
    "replaced while they ran; `rota recover --state {state}` shows them, and takes them over with --yes"
)


class ExecutorError(RotaError):
    """The supervisor cannot be started. The administrator has to look why."""


class LocalExecutor:
    """Runs jobs as processes of this machine.

    Args:
        state: The state directory. Made if it does not exist; only its owner may read it.
        listener: Function that takes the reports, in the event loop in which `start` was called.
        cluster: The cluster whose runs are executed. A supervisor of another one is refused.
        head: Gives how far the cluster has come, which the supervisor keeps.
        options: Options of a supervisor that is started: see `rota.executor.supervisor.main`.
        log: Writes a line for the administrator.
    """

    def __init__(
        self,
        state: Path,
        listener: Listener,
        *,
        cluster: str = "",
        head: Callable[[], Sequence[str | int]] = tuple,
        options: tuple[str, ...] = (),
        log: Callable[[str], None] = print,
    ) -> None:
        self._cluster = cluster
        self._head = head
        self._log = log
        #: Whether this supervisor, or one before it, has been told of the cluster; and whether its log was damaged.
        self._has_met = self.is_suspect = False
        #: Is called with a run that a supervisor whose log was damaged does not know: it is to be launched again.
        self.look_for: Callable[[int, int], None] = lambda *_: None
        self._state = state
        self._listener = listener
        self._options = options
        self._loop: asyncio.AbstractEventLoop | None = None
        self._transport: asyncio.WriteTransport | None = None
        self._task: asyncio.Task[None] | None = None
        self._capabilities = Capabilities(tree="processes", memory="measurement", energy=False)
        #: The process ids of the supervisor and of the keeper.
        self.supervisor_pid = self.keeper_pid = 0
        #: Whose supervisor it is; empty: nobody's yet. ``None``: that of an older rota, which does not say so.
        self._met_cluster: str | None = None
        self._number = 0
        #: Launches of which nothing has been heard, and other requests that have not been answered.
        self._launching: dict[Key, Record] = {}
        self._asked: dict[int, bytes] = {}
        #: The runs that are to be forgotten, and have not been: by the number of the request, and all of them.
        self._forgetting: dict[int, Key] = {}
        #: What waits for an answer, by the number of its request.
        self._joining: dict[int, asyncio.Future[bool]] = {}
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
            ExecutorError: it cannot be started, or is that of another cluster.
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
        transport, _ = await loop.create_unix_connection(lambda: Lines(self._take, known, closed), sock=connection)
        await known
        if not self._is_ours:
            transport.close()
            raise ExecutorError(_OTHER.format(state=self._state, pid=self.supervisor_pid))
        self._transport = transport
        self._after_greeting()
        return closed

    def _after_greeting(self) -> None:
        """Ask again what was not answered, and look for runs that nobody knows, or report that they are lost."""
        named, self._named = self._named or set(), None
        met = (
            line_of({"do": "cluster", "number": 0, "cluster": self._cluster}) if self._met_cluster is not None else b""
        )
        for key, report in list(self._last.items()):
            if key not in named and isinstance(report, Started):
                if self.is_suspect:
                    del self._last[key]
                    self.look_for(*key)
                else:
                    self._lost(report)
        # The supervisor before may have launched them: one whose log was damaged looks for them first.
        unheard = [line_of({**request, "unheard": True}) for request in self._launching.values()]
        self._outbox = [met, *unheard, *self._asked.values()]
        self._flush()

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

    def launch(self, run: RunSpec, *, again: bool = False) -> None:
        """Start a run; see `rota.executor.protocol.Executor`. Of one that is known the last report is repeated."""
        key = run.job_id, run.restart_count
        if key in self._last and self._loop is not None:
            self._loop.call_soon(self._listener, self._last[key])
            return
        self._forgotten.discard(key)
        self.is_suspect = self.is_suspect and again  # before one that is new all others have been launched again
        request = {"do": "launch", "number": 0, "what": plain_of(run), "again": again, "head": self._head()}
        self._launching[key] = request
        self._send(line_of(request))

    def has_launched_all(self) -> None:
        """Hear that there are no other runs of before; see `rota.executor.protocol.Executor`."""
        if self.is_suspect:
            self.is_suspect = False
            self._ask({"do": "sure"})

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

    async def join(self, job_id: int, restart_count: int, pid: int) -> bool:
        """Take a process of its user into a run; ``False``: it is gone, another user's, or the run has ended."""
        joined: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._ask_of(job_id, restart_count, "join", pid=pid)
        self._joining[self._number] = joined
        return await joined

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
        request = line_of({**record, "number": self._number})
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
                joined.set_result(record.get("joined", False))
        elif kind == "hello":
            self.supervisor_pid, self.keeper_pid = record["pid"], record["keeper"]
            self._hear(record)
            self._capabilities = Capabilities(tree=record["tree"], memory=record["memory"], energy=record["energy"])
        elif kind == "unsure":
            if self._named is not None:
                self._named.add((record["job"], record["run"]))
        elif kind == "short":
            self._listener(Short(missing=record["missing"], times=record["times"]))
        elif kind != "known":
            key = record["job"], record["run"]
            if key in self._forgotten:
                return
            report = report_of(record)
            if self._named is not None:
                self._named.add(key)
            self._launching.pop(key, None)
            if not self._was_reported(key, report):
                self._hand_on(key, report)

    def _hear(self, hello: Record) -> None:
        """Hear whose supervisor it is; one of an older rota does not say so."""
        self._met_cluster = hello.get("cluster")
        wrong = hello.get("wrong", ())
        self.is_suspect = hello.get("suspect", bool(wrong))
        if wrong and (self._met_cluster or self._has_met):
            said = "; ".join(wrong[:5])
            self._log(
                f"error: {self._state}/supervisor.log was damaged: {said}; runs that it had may have ended unseen"
            )
        self._has_met = True

    @property
    def _is_ours(self) -> bool:
        """Whether the supervisor that has greeted is that of this cluster, or of none yet."""
        return not self._met_cluster or self._met_cluster == self._cluster

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
