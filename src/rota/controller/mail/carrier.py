"""Sends letters, with the program ``MailProg`` of slurm.conf: ``MailProg -s SUBJECT ADDRESS``, with nothing to read.

A letter is written down with what it tells of, and removed when it was sent. So none is lost with the controller, and
those that it was sending are sent again. The program runs as the user of the controller, as Slurm's does. What comes of
it is a matter for the administrator: it is logged, and jobs do not hear of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections import deque
from contextlib import suppress
from functools import partial
from itertools import count
from math import inf
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING

from rota.controller.programs import can_be_run
from rota.core.plain import shape_of
from rota.model.mail import Letter
from rota.store.writes import add_letter, drop_letter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rota.controller.driver import LiveDriver
    from rota.controller.shortages import Shortages
    from rota.store import Database, Write

#: Programs that are tried where slurm.conf names none.
_DEFAULTS = ("/bin/mail", "/usr/bin/mail")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Letters that are sent at a time, and seconds after which the program is killed, as by Slurm.
_AT_A_TIME, _PATIENCE = 4, 120
#: Seconds for which a controller that ends waits for letters that are being sent.
_LAST_PATIENCE = 2


class Carrier:
    """Sends letters.

    Args:
        database: The cluster's database.
        driver: The cluster's driver.
        shortages: Is told what the machine is short of.
        log: Writes a line for the administrator.
    """

    def __init__(
        self, database: Database, driver: LiveDriver, shortages: Shortages, log: Callable[[str], None]
    ) -> None:
        self._driver = driver
        self._shortages = shortages
        self._log = log
        shape = shape_of(Letter)
        self._waiting: deque[tuple[int, Letter]] = deque(
            (number, shape.decode(data)) for number, data in database.letters().items()
        )
        self._numbers = count(1 + max((number for number, _ in self._waiting), default=0))
        self._sending: set[asyncio.Task[None]] = set()
        self._last_trouble = ""

    @property
    def trouble(self) -> str:
        """Why no mail can be sent; empty: the program is there."""
        program = self._program()
        if can_be_run(program):
            return ""
        return f"MailProg {program} is no program that can be run: no mail is sent"

    def keep(self, letters: Iterable[Letter]) -> list[Write]:
        """Give what is to be written down of letters, which are sent when that is on disk."""
        shape = shape_of(Letter)
        numbered = [(next(self._numbers), one) for one in letters]
        if numbered:
            self._driver.when_written(lambda: self._send(numbered))
        return [add_letter(number, json.dumps(shape.encode(one))) for number, one in numbered]

    def start(self) -> None:
        """Send what an earlier controller has not."""
        self._send([])

    async def close(self) -> None:
        """Send no more; what is being sent is soon done, or is sent again by the next controller."""
        self._waiting.clear()
        if self._sending:
            await asyncio.wait(self._sending, timeout=_LAST_PATIENCE)

    def _program(self) -> str:
        given = self._driver.engine.view.config.get("MailProg")
        return given or next((one for one in _DEFAULTS if Path(one).exists()), _DEFAULTS[0])

    def _send(self, letters: Iterable[tuple[int, Letter]]) -> None:
        self._waiting += letters
        while self._waiting and len(self._sending) < _AT_A_TIME:
            task = asyncio.get_running_loop().create_task(self._send_one(*self._waiting.popleft()))
            self._sending.add(task)
            task.add_done_callback(self._sent)

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        self._send([])

    async def _send_one(self, number: int, letter: Letter) -> None:
        trouble = self.trouble or await self._run(letter)
        if trouble and trouble != self._last_trouble:
            self._log(f"error: {trouble}")
        self._last_trouble = trouble
        self._driver.write([drop_letter(number)])

    async def _run(self, letter: Letter) -> str:
        """Run the program; say what was wrong, or nothing."""
        program = self._program()
        environment = {"PATH": _PATH, **letter.environment}
        try:
            start = partial(
                asyncio.create_subprocess_exec,
                *(program, "-s", letter.subject, letter.to),
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=DEVNULL,
                env=environment,
                cwd="/",
                start_new_session=True,
            )
            process = await self._shortages.patiently(start, "sending mail", inf)
        except (OSError, ValueError, RuntimeError) as error:
            return f"MailProg {program} cannot be run: {error}"
        try:
            async with asyncio.timeout(_PATIENCE):
                code = await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            return f"MailProg {program} has taken longer than {_PATIENCE} seconds"
        return f"MailProg {program} exited with {code}" if code else ""
