"""Answers that take long are made by a child of the controller, which goes on meanwhile.

A child begins as a copy of the controller at one moment, so it answers from one consistent state. It must not be made
while the thread that commits is in the database, whose locks it would copy.

Few children work at a time. One whose client does not read its answer waits by itself, and keeps only the user of this
client from having many more.
"""

from __future__ import annotations

import asyncio
import os
import traceback
from collections import defaultdict
from typing import TYPE_CHECKING

from rota.controller.copies import let_signals_end_it, readable
from rota.listings import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal

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
            await readable(working)  # the child has closed its end: it has the answer
            os.close(working)
        pidfd = os.pidfd_open(pid)
        try:
            await readable(pidfd)
        finally:
            os.close(pidfd)
            os.waitpid(pid, 0)  # noqa: ASYNC222 - it has ended


def _be_child(
    cluster: Cluster, call: Call, terminal: Terminal, answer: Callable[[], Answer], done: int, *, is_last: bool
) -> None:
    try:
        let_signals_end_it()
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
