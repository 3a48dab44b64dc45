"""What clients and the controller say to each other on the socket.

A client begins with one message: its length in four bytes, most significant first, and texts that each end with a zero
byte: version, umask (octal), working directory, number of arguments, the arguments, and the environment. In version 2
there are two texts after the version, with which a command can be given again when the controller was lost: a key that
nobody else has, and nothing, or ``again``, or the id of the job that was made for the key. Version 1 has no key.

The controller answers with frames: a letter, the length of the data in four bytes, and the data:

= =====================================================================================================================
o text for standard output
e text for standard error
r a path: the client answers ``+``, a length and what is in that file, or ``-``, a length and why it cannot be read; for
  an empty path it reads standard input
b nothing: what follows is only because there are too many calls, and a call that was given before is given again later
j the id of the job that was made for the command: from now on the client gives it again until it learns what became
  of the job; only in version 2
m a program of `rota.client`, a zero byte, and JSON: the client goes on as that program
k a signal, in digits, for the tasks of the step that the client runs; it says how the step ended with ``+``, a length
  and JSON
q the client answers with a line of its standard input, as for ``r``: no line, or none within 30 seconds, is empty
w a path, a zero byte, and what the client writes into that file
x the exit status, in digits; the last frame
= =====================================================================================================================

So files are read with the rights of the user who asks, and the kernel tells who that is.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import struct
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from collections.abc import Mapping

#: That of calls without a key, and of those with one.
VERSION, _WITH_KEY = "1", "2"
#: Characters of a key.
_KEY = re.compile(r"[0-9a-f]{20}")
_LENGTH = struct.Struct(">I")
#: Largest call, which is a little more than the kernel lets words and environment of a program be; largest file that a
#: client sends, unless something else is said; and the largest result. Bytes.
_CALL, _FILE, _RESULT = 8 << 20, 16 << 20, 64 << 10
#: Most arguments and variables of a call, each of which takes its time.
_TEXTS = 50_000
#: Characters that an argument or variable must not reach: Linux gives a program none that long. And the command whose
#: arguments do not come from a command line: questions of `rota http` carry scripts.
_TOO_LONG, _OF_HTTP = 1 << 17, "rota-api"


class WireError(Exception):
    """A client does not say what it should, or has gone."""


class TooMuchTextError(Exception):
    """A command has too many arguments and variables, or one is too long."""


class TooLargeError(OSError):
    """A file of a client is too large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A command that a user has given."""

    uid: int
    gid: int
    pid: int
    umask: int
    work_dir: str
    #: The command's name, and its arguments.
    words: tuple[str, ...]
    environment: Mapping[str, str]
    #: What nobody else calls a command; empty: it is never given again. Whether it was given before, and the id of the
    #: job that was made for it, if the client has learnt it.
    key: str = ""
    is_again: bool = False
    job_id: int | None = None


class Terminal:
    """Where a command's answer goes: the client's terminal and files. What is said in one turn is sent together."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._said: list[bytes] = []
        #: Whether anything has been said but questions.
        self.has_answered = False
        #: Whether lines that tell errors are left out, as with ``-QQ``.
        self.is_hushed = False

    def out(self, text: str) -> None:
        """Write to standard output."""
        self._send(b"o", text)

    def error(self, text: str) -> None:
        """Write to standard error."""
        if self.is_hushed:
            lines = text.splitlines(keepends=True)
            text = "".join(line for line in lines if line.split(": ", 2)[1:2] != ["error"])
        self._send(b"e", text)

    def end(self, status: int) -> None:
        """Give the exit status."""
        self._send(b"x", str(status))

    def busy(self) -> None:
        """Tell the client that nothing is wrong with its call but that there are too many."""
        self._send(b"b", "")

    def has_job(self, call: Call, job_id: int) -> None:
        """Tell a client that can give its command again which job was made for it."""
        if call.key:
            self._send(b"j", str(job_id))

    def become(self, program: str, spec: Any) -> None:
        """Let the client go on as another program."""
        self._send(b"m", f"{program}\0{json.dumps(spec)}")

    def signal(self, number: int) -> None:
        """Send a signal to the tasks of the client's step."""
        self._send(b"k", str(number))

    async def message(self, most: int) -> bytes:
        """Wait for a message of the client of at most so many bytes.

        Raises:
            WireError: the client has gone, or says something else.
        """
        return await _message(self._reader, most)

    async def result(self) -> Any:
        """Wait for what the client says in the end; JSON data.

        Raises:
            WireError: the client has gone, or says something else.
        """
        if await _exactly(self._reader, 1) != b"+":
            raise WireError("no result")
        try:
            return json.loads(await _message(self._reader, _RESULT))
        except (ValueError, RecursionError):
            raise WireError("no JSON") from None

    async def read(self, path: str, most: int = _FILE) -> bytes:
        """Read a file of the client, or its standard input if the path is empty.

        Args:
            path: The path.
            most: Bytes that it may have.

        Raises:
            OSError: the client cannot read it.
            TooLargeError: it is too large.
            WireError: the client has gone.
        """
        self._send(b"r", path)
        answer = await _exactly(self._reader, 1)
        (length,) = _LENGTH.unpack(await _exactly(self._reader, _LENGTH.size))
        if length > most:
            while length:
                length -= len(await _exactly(self._reader, min(length, 1 << 16)))
            raise TooLargeError(f"it has more than {most} bytes")
        data = await _exactly(self._reader, length)
        if answer != b"+":
            raise OSError(data.decode(errors="replace"))
        return data

    def send_all(self, out: str, err: str, status: int | None) -> None:
        """Send a whole answer without the event loop, from a child process; ``None``: there will be others."""
        connection = self._writer.get_extra_info("socket")
        end = b"" if status is None else _frame(b"x", str(status))
        self.has_answered = True
        data = memoryview(_frame(b"o", out) + _frame(b"e", err) + end)
        ready = select.poll()
        ready.register(connection, select.POLLOUT)
        while data:
            ready.poll()
            data = data[os.write(connection.fileno(), data) :]

    def write_file(self, path: str, text: str) -> None:
        """Have the client write a file; it says so if it cannot."""
        self._send(b"w", f"{path}\0{text}")

    async def ask(self) -> str:
        """Read a line of the client's standard input; empty: there is none, or none in time.

        Raises:
            WireError: the client has gone.
        """
        self._send(b"q", "")
        await _exactly(self._reader, 1)
        return (await _message(self._reader, _RESULT)).decode(errors="replace")

    async def drain(self) -> None:
        """Wait until the client has taken what was written."""
        self.flush()
        await self._writer.drain()

    def close(self) -> None:
        """Send what was written, and close the connection."""
        self.flush()
        self._writer.close()

    @property
    def backlog(self) -> int:
        """The bytes that the client has not taken yet."""
        return self._writer.transport.get_write_buffer_size() + sum(map(len, self._said))

    async def closed(self) -> None:
        """Wait until the client has gone."""
        with suppress(ConnectionError):
            while await self._reader.read(4096):
                pass

    def _send(self, letter: bytes, text: str) -> None:
        self.has_answered |= letter not in b"rq"
        if not self._said:
            asyncio.get_running_loop().call_soon(self.flush)
        self._said.append(_frame(letter, text))

    def flush(self) -> None:
        """Begin to send what was written."""
        if self._said:
            self._writer.write(b"".join(self._said))
            self._said.clear()


def _frame(letter: bytes, text: str) -> bytes:
    data = text.encode(errors="surrogateescape")
    return letter + _LENGTH.pack(len(data)) + data


def refusal(text: str, *, busy: bool = False) -> bytes:
    """Give all that is said to a client that is not listened to.

    Args:
        text: Why.
        busy: Whether nothing is wrong with its call but that there are too many, see `Terminal.busy`.
    """
    return (_frame(b"b", "") if busy else b"") + _frame(b"e", text) + _frame(b"x", "1")


async def read_call(terminal: Terminal, credentials: tuple[int, int, int]) -> Call:
    """Read the message with which a client begins.

    Args:
        terminal: The client's.
        credentials: Process, user and group id of the client, from the kernel.

    Raises:
        WireError: it is no such message.
        TooMuchTextError: the command has too many arguments and variables, or one is too long.
    """
    pid, uid, gid = credentials
    data = await terminal.message(_CALL)
    if data.count(0) > _TEXTS:
        raise TooMuchTextError(f"there are more than {_TEXTS:,} arguments and variables: name fewer")
    texts = data.decode(errors="surrogateescape").split("\0")
    key = again = ""
    if texts[0] == _WITH_KEY and len(texts) > 3:
        key, again = texts[1:3]
        texts[:3] = [VERSION]
        if not _KEY.fullmatch(key) or not (again in {"", "again"} or _is_job_id(again)):
            raise WireError("no key")
    if texts.pop() or len(texts) < 4 or texts[0] != VERSION:
        raise WireError("no message of this version")
    try:
        umask, count = int(texts[1], 8), int(texts[3])
    except ValueError:
        raise WireError("no umask or number of arguments") from None
    words = tuple(texts[4 : 4 + count])
    if not 0 <= umask <= 0o777 or not 0 < count == len(words) or not texts[2].startswith("/"):
        raise WireError("no command")
    if words[0] != _OF_HTTP and len(data) > _TOO_LONG and max(map(len, texts)) >= _TOO_LONG:
        raise TooMuchTextError(f"an argument or a variable has {_TOO_LONG:,} characters or more")
    pairs = (text.partition("=") for text in texts[4 + count :])
    environment = {name: value for name, equals, value in pairs if equals and name}
    return Call(
        uid=uid,
        gid=gid,
        pid=pid,
        umask=umask,
        work_dir=texts[2],
        words=words,
        environment=environment,
        key=key,
        is_again=bool(again),
        job_id=int(again) if _is_job_id(again) else None,
    )


def _is_job_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 11


async def _message(reader: StreamReader, most: int) -> bytes:
    (length,) = _LENGTH.unpack(await _exactly(reader, _LENGTH.size))
    if length > most:
        raise WireError(f"a message of {length} bytes")
    return await _exactly(reader, length)


async def _exactly(reader: StreamReader, count: int) -> bytes:
    try:
        return await reader.readexactly(count)
    except (asyncio.IncompleteReadError, ConnectionError):
        raise WireError("the client has gone") from None
