"""The process `rota http` of a cluster that was started with ``rota up --http``: started, watched, ended."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rota.executor.supervisor.messages import bound
from rota.model import InputError

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable
    from pathlib import Path

    from rota.controller.shortages import Shortages

#: Seconds until it has to serve, until it is started again, and until it has to have ended.
_PATIENCE, _AGAIN, _LAST = 30.0, 5.0, 5.0
#: Seconds between two looks at how much it has said.
_BOUND = 10.0
_LOG = "http.log"
_NEEDED = ("fastapi", "prometheus_client", "uvicorn")


def check_http() -> None:
    """Check that what HTTP needs is installed.

    Raises:
        InputError: it is not.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(f"HTTP needs {', '.join(missing)}: install them with `pip install 'rota[http]'`")


class HttpProcess:
    """The process. It ends by itself with the controller, whatever becomes of this.

    Args:
        state: State directory of the cluster.
        tcp: ``HOST:PORT`` on loopback; empty: none.
        shortages: Is told what the machine is short of.
        log: Writes a line for the administrator.
    """

    def __init__(self, state: Path, tcp: str, shortages: Shortages, log: Callable[[str], None]) -> None:
        self._state = state
        self._shortages = shortages
        self._tcp = tcp
        self._log = log
        self._process: Process | None = None
        self._watch: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start it, and wait until it serves.

        Raises:
            InputError: it cannot serve; the text says why.
        """
        self._process = await self._started()
        self._watch = asyncio.get_running_loop().create_task(self._keep(self._process))

    async def _started(self) -> Process:
        words = [sys.executable, "-m", "rota", "http", "--lifeline", "--state", str(self._state)]
        words += ["--tcp", self._tcp] if self._tcp else []
        log = self._state / _LOG
        with log.open("a") as file:
            pipe = asyncio.subprocess.PIPE
            start = partial(asyncio.create_subprocess_exec, *words, stdin=pipe, stdout=pipe, stderr=file)
            try:
                process = await self._shortages.patiently(start, "starting rota http", _PATIENCE)
            except (OSError, RuntimeError, MemoryError) as error:
                raise InputError(f"it cannot be started: {error}", path="rota http") from None
        line = b""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                line = await process.stdout.readline() if process.stdout is not None else b""
        if not line:
            with suppress(ProcessLookupError):
                process.kill()
            last = log.read_text(errors="replace").strip().rpartition("\n")[2]
            raise InputError(last.removeprefix("rota: error: ") or "it does not answer", path="rota http")
        self._log(line.decode().strip())
        return process

    async def _keep(self, process: Process) -> None:
        """Start it again whenever it ends."""
        while True:
            status = None
            while status is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_BOUND):
                        status = await process.wait()
                self._bound_log()
            self._log(f"error: HTTP has ended with status {status}: see {_LOG}")
            await asyncio.sleep(_AGAIN)
            try:
                self._process = process = await self._started()
            except (InputError, OSError, ValueError) as error:  # it is tried again
                self._log(f"error: {error}")

    def _bound_log(self) -> None:
        """Set older messages aside: there is one for each request that makes no sense."""
        with suppress(OSError):
            file = os.open(self._state / _LOG, os.O_WRONLY)
            try:
                bound(file)
            finally:
                os.close(file)

    async def stop(self) -> None:
        """End it."""
        if self._watch is not None:
            self._watch.cancel()
        if self._process is None or self._process.returncode is not None:
            return
        self._process.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST):
                await self._process.wait()
