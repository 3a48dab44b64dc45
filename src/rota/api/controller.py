"""Asks the controller, as the thin client does: one connection for each question, on which it sees who asks."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from rota.controller.api.statuses import ANSWER, NOBODY, PROBLEM
from rota.controller.door import Door
from rota.controller.wire import VERSION

if TYPE_CHECKING:
    from asyncio import StreamReader
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

#: Seconds for an answer; and how many questions are asked at a time, of them those of each who asks.
_PATIENCE, _MOST, _OF_ONE = 60.0, 32, 8


class AwayError(Exception):
    """There is no controller, or it does not answer."""


class DefectError(Exception):
    """The controller could not answer, for a reason that its log tells."""


class UnauthorizedError(Exception):
    """Who asks is not known; the text says why."""


class RefusedError(Exception):
    """The controller refuses.

    Args:
        errno: Slurm's error number.
        text: Why.
        field: The option or property that it is about; empty: none.
    """

    def __init__(self, errno: int, text: str, field: str = "") -> None:
        super().__init__(text)
        self.errno = errno
        self.field = field


class Controller:
    """The controller of the cluster whose state directory is the working directory."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(_MOST)
        #: Of those who ask now, so that nobody keeps all others waiting.
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def ask(self, who: str, question: str, /, **parameters: Any) -> bytes:
        """Ask; give the answer, which is JSON.

        Args:
            who: For whom, as `rota.controller.api.caller` has it.
            question: The question.
            parameters: Its parameters. Those that are ``None`` are left out.

        Raises:
            RefusedError: the controller refuses.
            UnauthorizedError: it does not know who asks.
            AwayError: it does not answer.
            DefectError: it cannot answer.
        """
        asked = {key: value for key, value in parameters.items() if value is not None}
        own = self._turns.setdefault(who, asyncio.Semaphore(_OF_ONE))
        try:
            async with own, self._turn_of(who), asyncio.timeout(_PATIENCE), _connected(who, question, asked) as reader:
                status, data, told = await _answer(reader)
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            raise AwayError(f"the controller does not answer: {error!r}") from None
        if status == ANSWER:
            return data
        if status == NOBODY:
            raise UnauthorizedError("the token is none, was revoked, or has expired")
        if status != PROBLEM:
            raise (DefectError if b"defect" in told else AwayError)(told.decode(errors="replace").strip())
        problem = json.loads(data)
        raise RefusedError(problem["errno"], problem["error"], problem["field"])

    def _turn_of(self, who: str) -> AbstractAsyncContextManager[None]:
        """Give the turn of one who asks: root and who runs the cluster need not wait for others."""
        return nullcontext() if who.split(":")[:2] in (["user", "0"], ["user", str(os.geteuid())]) else self._turn

    @asynccontextmanager
    async def feed(self, who: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Give the lines of the feed of changes, from now on; it ends with the controller.

        Raises:
            AwayError: there is no controller.
        """
        try:
            async with _connected(who, "events", {}) as reader:
                yield _lines(reader)
        except (OSError, asyncio.IncompleteReadError) as error:
            raise AwayError(f"the controller has gone: {error!r}") from None


@asynccontextmanager
async def _connected(who: str, name: str, asked: dict[str, Any]) -> AsyncIterator[StreamReader]:
    reader, writer = await asyncio.open_unix_connection(str(Door.PATH if os.geteuid() else Door.ROOT))
    try:
        words = ["rota-api", who, name, json.dumps(asked, ensure_ascii=False)]
        texts = [VERSION, "22", "/", str(len(words)), *words]
        message = "".join(f"{text}\0" for text in texts).encode(errors="surrogatepass")
        writer.write(len(message).to_bytes(4, "big") + message)
        await writer.drain()
        yield reader
    finally:
        writer.close()


async def _answer(reader: StreamReader) -> tuple[int, bytes, bytes]:
    """Receive the exit status, standard output and standard error."""
    parts: dict[bytes, list[bytes]] = {b"o": [], b"e": []}
    while True:
        letter, data = await _frame(reader)
        if letter == b"x":
            return int(data), b"".join(parts[b"o"]), b"".join(parts[b"e"])
        parts[letter].append(data)


async def _lines(reader: StreamReader) -> AsyncIterator[bytes]:
    while True:
        letter, data = await _frame(reader)
        if letter != b"o":
            raise asyncio.IncompleteReadError(b"", None)
        for line in data.splitlines():
            yield line


async def _frame(reader: StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(5)
    return head[:1], await reader.readexactly(int.from_bytes(head[1:], "big"))
