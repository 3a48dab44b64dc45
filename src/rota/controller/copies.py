"""Copies of the controller, which work something out while it goes on."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

#: Signals that the controller handles, and a copy must not.
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: Seconds between two looks for the end of a child for which there is no file.
_PAUSE = 0.05


async def in_copy(work: Callable[[], bytes]) -> bytes:
    """Have a copy of the controller work something out, and give it.

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
    found = []
    try:
        await readable(result)
        while data := os.read(result, 1 << 20):
            found.append(data)
            await readable(result)
    except asyncio.CancelledError:
        os.kill(pid, signal.SIGKILL)
        raise
    finally:
        os.close(result)
        status = os.waitstatus_to_exitcode(await end_of(pid))
    whole = b"".join(found)
    if status:
        raise ChildProcessError(f"process {pid} has ended with {status}: {whole.decode(errors='replace')}")
    return whole


async def end_of(pid: int) -> int:
    """Wait for the end of a child; give its status, as the kernel says it."""
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:  # there is no file for it
        while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0):  # noqa: ASYNC110, ASYNC222 - it is rare, and does not wait
            await asyncio.sleep(_PAUSE)
        return ended[1]
    try:
        await readable(pidfd)
    finally:
        os.close(pidfd)
        status = os.waitpid(pid, 0)[1]  # noqa: ASYNC222 - it has ended
    return status


async def readable(file: int) -> None:
    """Wait until there is something to read from a file, or its other end is closed."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def is_ready() -> None:
        if not ready.done():  # it may have been cancelled in this turn
            ready.set_result(None)

    loop.add_reader(file, is_ready)
    try:
        await ready
    finally:
        loop.remove_reader(file)


def let_signals_end_it() -> None:
    """Have a copy of the controller end by the signals that the controller handles, and not look for garbage."""
    signal.set_wakeup_fd(-1)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    gc.disable()


def _be_copy(work: Callable[[], bytes], result: int) -> None:
    status = 1
    try:
        let_signals_end_it()
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
