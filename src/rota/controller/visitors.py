"""Those who have connected, until their calls have been read.

Whoever has said nothing costs a file and no more: what reads a call is made when something has come, and when it is the
user's turn. Some calls of a user are read at a time, so that what they send does not fill the memory. A call that is
not there in time, from the first moment on, is not waited for any longer.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from rota.controller.crowd import Crowd, peer_of
from rota.controller.listener import refuse
from rota.controller.wire import Terminal, TooMuchTextError, WireError, read_call, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from rota.controller.crowd import Peer
    from rota.controller.seldom import Seldom
    from rota.controller.wire import Call

#: Calls of a user that are read at a time, and seconds within which one has to be there.
_AT_A_TIME, _PATIENCE = 16, 30.0
#: Seconds between two looks for those who have said nothing.
_LOOK = 1.0
_CROWDED = refusal("error: you have too many commands running at a time: try it again later\n", busy=True)
_SLOW = "error: the command has not arrived in time: try it again later\n"


class _Visitor:
    """A connection of somebody whose call has not been read."""

    __slots__ = ("connection", "leave", "peer", "until")

    def __init__(self, connection: socket.socket, peer: Peer, leave: Callable[[], None], until: float) -> None:
        self.connection = connection
        self.peer = peer
        #: Gives the place back.
        self.leave = leave
        #: When the call has to be there, in the event loop's time.
        self.until = until


class Visitors:
    """Takes connections and reads calls.

    Args:
        crowd: Says how many connections somebody may have.
        answer: Answers a call.
        is_administrator: Says whether a user is one.
        too_many: Writes a line for the administrator about a user who has too many connections.
    """

    def __init__(
        self,
        crowd: Crowd,
        answer: Callable[[Call, Terminal], Coroutine[Any, Any, None]],
        *,
        is_administrator: Callable[[int], bool],
        too_many: Seldom,
    ) -> None:
        self._crowd = crowd
        self._answer = answer
        self._is_administrator = is_administrator
        self._too_many = too_many
        #: Those who have said nothing, the first ones first, by file descriptor.
        self._silent: dict[int, _Visitor] = {}
        self._looking = False
        self._turns: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()
        #: How many have said something that has not been read.
        self._unread = 0

    @property
    def are_there(self) -> bool:
        """Whether there are any whose call has not been read."""
        return bool(self._silent or self._unread)

    def take(self, connection: socket.socket) -> None:
        """Take a connection; one too many is told so at once."""
        peer = peer_of(connection)
        leave = self._crowd.enter(peer.uid, lambda: self._is_administrator(peer.uid))
        if leave is None:
            refuse(connection, _CROWDED)
            self._too_many(f"error: user {peer.uid} has too many connections: one more was refused")
            return
        visitor = _Visitor(connection, peer, leave, asyncio.get_running_loop().time() + _PATIENCE)
        if not self._has_spoken(visitor):
            self._wait_for(visitor)

    def _has_spoken(self, visitor: _Visitor) -> bool:
        """Go on with somebody who has said something, or has gone."""
        try:
            is_there = bool(visitor.connection.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return False
        except OSError:
            is_there = False
        if is_there:
            task = asyncio.get_running_loop().create_task(self._serve(visitor))
            self._unread += 1
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            _send_away(visitor)
        return True

    # ---- those who have said nothing --------------------------------------------------------------------------

    def _wait_for(self, visitor: _Visitor) -> None:
        loop, file = asyncio.get_running_loop(), visitor.connection.fileno()
        self._silent[file] = visitor
        loop.add_reader(file, self._begin, file)
        if not self._looking:
            self._looking = True
            loop.call_later(_LOOK, self._look)

    def _begin(self, file: int) -> None:
        if self._has_spoken(self._silent[file]):
            self._forget(file)

    def _look(self) -> None:
        """Send those away who have said nothing for long."""
        loop = asyncio.get_running_loop()
        for file, visitor in list(self._silent.items()):
            if visitor.until > loop.time():
                break
            self._forget(file)
            _send_away(visitor)
        self._looking = bool(self._silent)
        if self._looking:
            loop.call_later(_LOOK, self._look)

    def _forget(self, file: int) -> None:
        asyncio.get_running_loop().remove_reader(file)
        del self._silent[file]

    # ---- those who have ---------------------------------------------------------------------------------------

    async def _serve(self, visitor: _Visitor) -> None:
        uid = visitor.peer.uid
        turn = self._turns.setdefault(uid, asyncio.Semaphore(_AT_A_TIME))
        terminal, call = None, None
        try:
            async with asyncio.timeout_at(visitor.until), turn:
                terminal = await _terminal(visitor)
                call = await read_call(terminal, visitor.peer)
        except TimeoutError:
            if terminal is None:
                refuse(visitor.connection, refusal(_SLOW))
                visitor.leave()
            else:
                terminal.error(_SLOW)
                terminal.end(1)
        except TooMuchTextError as error:
            if terminal is not None:
                terminal.error(f"error: {error}\n")
                terminal.end(1)
        except (WireError, ConnectionError):
            pass  # nobody is there to be told
        finally:
            self._unread -= 1
            if call is None and terminal is not None:
                terminal.close()
        if call is not None and terminal is not None:
            await self._answer(call, terminal)


async def _terminal(visitor: _Visitor) -> Terminal:
    """Make what reads and writes on a connection; the place is given back when it is closed."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(loop=loop)
    made = _Stream(reader, visitor.leave)
    transport, _ = await loop.connect_accepted_socket(lambda: made, visitor.connection)
    return Terminal(reader, asyncio.StreamWriter(transport, made, reader, loop))


class _Stream(asyncio.StreamReaderProtocol):
    """asyncio's, which tells when the connection is closed: an answer that nobody reads keeps it open."""

    def __init__(self, reader: asyncio.StreamReader, closed: Callable[[], None]) -> None:
        super().__init__(reader)
        self._when_closed = closed

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._when_closed()


def _send_away(visitor: _Visitor) -> None:
    with suppress(OSError):
        visitor.connection.close()
    visitor.leave()
