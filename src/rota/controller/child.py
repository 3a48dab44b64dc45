"""Answers that take long are made by a child of the controller, which goes on meanwhile.

A child begins as a copy of the controller at one moment, so it answers from one consistent state. It must not be made
while the thread that commits is in the database, whose locks it would copy.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.controller.cluster import Cluster

#: Signals that the controller handles, and a child must not.
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: Largest number of children at a time.
_MOST = asyncio.Semaphore(4)


async def in_child(cluster: Cluster, answer: Callable[[], None]) -> None:
    """Call a function in a child process, and wait for its end.

    Args:
        cluster: The cluster, which the function may use up: it is a copy.
        answer: The function; it has to send the answer itself.
    """
    async with _MOST:
        with cluster.driver.no_commit():
            pid = os.fork()
            if pid == 0:
                _be_child(cluster, answer)
        ended = asyncio.get_running_loop().create_future()
        pidfd = os.pidfd_open(pid)
        loop = asyncio.get_running_loop()
        loop.add_reader(pidfd, ended.set_result, None)
        try:
            await ended
        finally:
            loop.remove_reader(pidfd)
            os.close(pidfd)
            os.waitpid(pid, 0)  # noqa: ASYNC222 - it has ended


def _be_child(cluster: Cluster, answer: Callable[[], None]) -> None:
    try:
        signal.set_wakeup_fd(-1)
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        gc.disable()
        os.close(cluster.lock)  # or another controller could not begin before this child has ended
        cluster.database.after_fork()
        answer()
    except BaseException:  # noqa: BLE001 - nothing may return to the controller's code
        traceback.print_exc()
    finally:
        os._exit(0)
