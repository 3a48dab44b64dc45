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
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rota.listings import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal

#: Signals that the controller handles, and a child must not.
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
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
    async with _OF_USER[call.uid]:
        async with _WORKING:
            working, done = os.pipe()
            try:
                with cluster.driver.no_commit():
                    pid = os.fork()
                    if pid == 0:
                        _be_child(cluster, call, terminal, answer, done, is_last=is_last)
            finally:
                os.close(done)
            await _readable(working)  # the child has closed its end: it has the answer
            os.close(working)
        pidfd = os.pidfd_open(pid)
        try:
            await _readable(pidfd)
        finally:
            os.close(pidfd)
            os.waitpid(pid, 0)  # noqa: ASYNC222 - it has ended


async def in_copy(work: Callable[[], bytes]) -> bytes:
    """Have a child of the controller work something out, and give it.

    Args:
        work: Uses neither the database nor any connection, and changes nothing but the copy.

    Raises:
        OSError: there is no room for a child, or it has ended without a result.
    """
    result, theirs = os.pipe()
    try:
        pid = os.fork()
        if pid == 0:
            _be_copy(work, theirs)
    except OSError:
        os.close(result)
        raise
    finally:
        os.close(theirs)
    pidfd, found = os.pidfd_open(pid), []
    try:
        await _readable(result)
        while data := os.read(result, 1 << 20):
            found.append(data)
            await _readable(result)
        await _readable(pidfd)
    except asyncio.CancelledError:
        os.kill(pid, signal.SIGKILL)
        raise
    finally:
        os.close(result)
        os.close(pidfd)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])  # noqa: ASYNC222 - it has ended
    whole = b"".join(found)
    if status:
        raise ChildProcessError(f"process {pid} has ended with {status}: {whole.decode(errors='replace')}")
    return whole


async def _readable(file: int) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(file, ready.set_result, None)
    try:
        await ready
    finally:
        loop.remove_reader(file)


def _be_copy(work: Callable[[], bytes], result: int) -> None:
    status = 1
    try:
        _let_signals_end_it()
        for file in (int(one.name) for one in Path("/proc/self/fd").iterdir()):
            if file != result:
                with suppress(OSError):
                    os.close(file)  # above all that of the lock: another controller could not begin before this ends
        try:
            found, status = work(), 0
        except Exception:  # noqa: BLE001 - the administrator is to know
            found = traceback.format_exc().encode()
        with open(result, "wb") as pipe:
            pipe.write(found)
    finally:
        os._exit(status)  # nothing may return to the controller's code


def _let_signals_end_it() -> None:
    signal.set_wakeup_fd(-1)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    gc.disable()


def _be_child(
    cluster: Cluster, call: Call, terminal: Terminal, answer: Callable[[], Answer], done: int, *, is_last: bool
) -> None:
    try:
        _let_signals_end_it()
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
