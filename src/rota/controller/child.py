"""What takes long is done by a child of the controller, which goes on meanwhile.

A child begins as a copy of the controller at one moment, so it answers from one consistent state. It must not be made
while the thread that commits is in the database, whose locks it would copy.

Few children work at a time, and of one user fewer; administrators have places of their own. One whose client does not
read its answer waits by itself, and keeps only the user of this client from having many more. What a child may take of
memory and processors is limited, see `rota.controller.memory`: what is beyond that is refused.
"""

from __future__ import annotations

import asyncio
import os
import traceback
from collections import defaultdict
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from rota.controller.copies import end_of, let_signals_end_it, readable
from rota.controller.memory import limit_child
from rota.executor.supervisor.shortage import missing
from rota.listings import Answer
from rota.model.bounds import quoted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import NoReturn

    from rota.controller.cluster import Cluster
    from rota.controller.crowd import Places
    from rota.controller.wire import Call, Terminal

#: Seconds for which it is tried to make a child, and between two looks for a place.
_PATIENCE, _PAUSE = 10.0, 0.05
#: Largest number of children that work at a time for users and for administrators, for each user, and largest number
#: of children of each user.
_WORKING, _OF_ADMINISTRATORS = asyncio.Semaphore(8), asyncio.Semaphore(4)
_AT_WORK: defaultdict[int, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(2))
_OF_USER: defaultdict[int, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(16))
#: By how much children of users give way to the controller.
_NICE = 5
#: What a child says first when it has an answer.
_HAS_ANSWER = b"+"
_PIECE = 1 << 20


class ChildError(Exception):
    """There is no result: a child has reached a limit, or could not be made."""


async def in_child(
    cluster: Cluster, call: Call, terminal: Terminal, answer: Callable[[], Answer], *, is_last: bool = True
) -> None:
    """Answer a call in a child process, and wait for its end.

    Args:
        cluster: The cluster, which the function may use up: it is a copy.
        call: The call.
        terminal: Where the answer goes.
        answer: Gives the answer.
        is_last: Whether the client is to end with its exit status.
    """

    def work(done: int) -> None:
        try:
            found = answer()
        except MemoryError:
            found = Answer("", _too_much(call), 1)
        except Exception as error:  # noqa: BLE001 - the user is to know
            cluster.log(f"error: {quoted(' '.join(call.words))} of user {call.uid}:\n{traceback.format_exc()}")
            found = Answer("", f"{call.words[0]}: error: this is a defect of rota: {error!r}\n", 1)
        os.write(done, _HAS_ANSWER)
        os.close(done)
        with suppress(ConnectionError):  # the client has gone: there is nothing to tell anybody
            terminal.send_all(found.out, found.err, found.code if is_last else None)

    await terminal.drain()
    try:
        async with _OF_USER[call.uid], _place(cluster.children, call.uid):
            async with _turn(cluster, call.uid):
                pid, working = await _fork(cluster, call.uid, work)
                try:
                    await readable(working)  # it has the answer, or has ended
                    has_answer = os.read(working, 1) == _HAS_ANSWER
                finally:
                    os.close(working)
            await end_of(pid)
        if has_answer:
            return
        problem = _too_much(call)
    except ChildError as error:
        problem = f"{call.words[0]}: error: {error}\n"
    terminal.error(problem)
    if is_last:
        terminal.end(1)


async def from_child(cluster: Cluster, uid: int, make: Callable[[], bytes]) -> bytes:
    """Have a child make something.

    Args:
        cluster: The cluster, which the function may use up: it is a copy.
        uid: The user for whom it is.
        make: Makes it.

    Raises:
        ChildError: it cannot be made within the limits, or the machine is short of something.
    """

    def work(done: int) -> None:
        left = memoryview(_HAS_ANSWER + make())
        while left:
            left = left[os.write(done, left) :]

    async with _turn(cluster, uid):
        pid, working = await _fork(cluster, uid, work)
        data = bytearray()
        try:
            while True:
                await readable(working)
                if not (piece := os.read(working, _PIECE)):
                    break
                data += piece
        finally:
            os.close(working)
        status = await end_of(pid)
    if status or not data.startswith(_HAS_ANSWER):
        raise ChildError("it takes more memory or time than it may take, or controller.log says what failed")
    return bytes(data[len(_HAS_ANSWER) :])


def _too_much(call: Call) -> str:
    return f"{call.words[0]}: error: the answer takes more memory or time than it may take: ask for less\n"


@asynccontextmanager
async def _place(places: Places, uid: int) -> AsyncIterator[None]:
    """Wait for a place among the children of users; root has one."""
    counts = uid not in {0, os.geteuid()}
    while counts and not places.take(uid):  # noqa: ASYNC110 - it is rare
        await asyncio.sleep(_PAUSE)
    try:
        yield
    finally:
        if counts:
            places.give_back(uid)


@asynccontextmanager
async def _turn(cluster: Cluster, uid: int) -> AsyncIterator[None]:
    """Give a context in which a child of a user works, once it is its turn."""
    if cluster.rights.as_administrator(uid) == 0:
        async with _OF_ADMINISTRATORS:
            yield
    else:
        async with _AT_WORK[uid], _WORKING:
            yield


async def _fork(cluster: Cluster, uid: int, work: Callable[[int], None]) -> tuple[int, int]:
    """Make a child; give its process id, and a pipe that can be read when it says something or has ended.

    Raises:
        ChildError: it cannot be made, and could not for a while.
    """

    async def fork() -> tuple[int, int]:
        return _fork_now(cluster, uid, work)

    try:
        return await cluster.shortages.patiently(fork, "answering commands", _PATIENCE)
    except (OSError, MemoryError) as error:
        raise ChildError(f"the machine is short of {missing(error) or error}: try it again later") from None


def _fork_now(cluster: Cluster, uid: int, work: Callable[[int], None]) -> tuple[int, int]:
    working, done = os.pipe()
    try:
        with cluster.driver.no_commit():
            pid = os.fork()
            if pid == 0:
                _be_child(cluster, uid, work, done)
    except OSError:
        os.close(working)
        raise
    finally:
        os.close(done)
    return pid, working


def _be_child(cluster: Cluster, uid: int, work: Callable[[int], None], done: int) -> NoReturn:
    status = 1
    try:
        let_signals_end_it()
        os.close(cluster.lock)  # or another controller could not begin before this child has ended
        cluster.database.after_fork()
        limit_child(len(cluster.driver.engine.jobs))
        if cluster.rights.as_administrator(uid):
            os.nice(_NICE)
        work(done)
        status = 0
    except MemoryError:
        pass
    except Exception:  # noqa: BLE001 - whatever it is
        cluster.log(f"error: in a child, for user {uid}:\n{traceback.format_exc()}")
    finally:
        os._exit(status)  # nothing may return to the controller's code
