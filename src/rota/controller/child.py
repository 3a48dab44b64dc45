"""Answers that take long are made by a child of the controller, which goes on meanwhile.

A child begins as a copy of the controller at one moment, so it answers from one consistent state. It must not be made
while the thread that commits is in the database, whose locks it would copy.

Few children work at a time. One whose client does not read its answer waits by itself, and keeps only the user of this
client from having many more.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import traceback
from collections import defaultdict
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from rota.executor.supervisor.shortage import missing
from rota.listings import Answer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from rota.controller.cluster import Cluster
    from rota.controller.crowd import Places
    from rota.controller.wire import Call, Terminal

#: Signals that the controller handles, and a child must not.
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: Seconds for which it is tried to make a child, and between two looks for a place.
_PATIENCE, _PAUSE = 10.0, 0.05
#: Largest number of children that work at a time, and of children of each user.
_WORKING = asyncio.Semaphore(4)
_OF_USER: defaultdict[int, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(16))


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
    await terminal.drain()

    async def fork() -> tuple[int, int]:
        return _fork(cluster, call, terminal, answer, is_last=is_last)

    async with _OF_USER[call.uid], _place(cluster.children, call.uid):
        async with _WORKING:
            try:
                pid, working = await cluster.shortages.patiently(fork, "answering commands", _PATIENCE)
            except (OSError, MemoryError) as error:
                why = f"the machine is short of {missing(error) or error}: try it again later"
                terminal.error(f"{call.words[0]}: error: {why}\n")
                terminal.end(1)
                return
            await _readable(working)  # the child has closed its end: it has the answer
            os.close(working)
        await _ended(pid)


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


def _fork(
    cluster: Cluster, call: Call, terminal: Terminal, answer: Callable[[], Answer], *, is_last: bool
) -> tuple[int, int]:
    """Make a child; give its process id, and a pipe that is closed when it has the answer."""
    working, done = os.pipe()
    try:
        with cluster.driver.no_commit():
            pid = os.fork()
            if pid == 0:
                _be_child(cluster, call, terminal, answer, done, is_last=is_last)
    except OSError:
        os.close(working)
        raise
    finally:
        os.close(done)
    return pid, working


async def _ended(pid: int) -> None:
    """Wait for the end of a child."""
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:  # there is no file for it
        while os.waitpid(pid, os.WNOHANG) == (0, 0):  # noqa: ASYNC110, ASYNC222 - it is rare, and does not wait
            await asyncio.sleep(_PAUSE)
        return
    try:
        await _readable(pidfd)
    finally:
        os.close(pidfd)
        os.waitpid(pid, 0)  # noqa: ASYNC222 - it has ended


async def _readable(file: int) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(file, ready.set_result, None)
    try:
        await ready
    finally:
        loop.remove_reader(file)


def _be_child(
    cluster: Cluster, call: Call, terminal: Terminal, answer: Callable[[], Answer], done: int, *, is_last: bool
) -> None:
    try:
        signal.set_wakeup_fd(-1)
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        gc.disable()
        os.close(cluster.lock)  # or another controller could not begin before this child has ended
        cluster.database.after_fork()
        try:
            found = answer()
        except Exception as error:  # noqa: BLE001 - the user is to know
            cluster.log(f"error: {' '.join(call.words)!r} of user {call.uid}:\n{traceback.format_exc()}")
            found = Answer("", f"{call.words[0]}: error: this is a defect of rota: {error!r}\n", 1)
        os.close(done)
        terminal.send_all(found.out, found.err, found.code if is_last else None)
    finally:
        os._exit(0)  # nothing may return to the controller's code
