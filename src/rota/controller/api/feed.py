"""The feed: each change of a job's state, as soon as it is on disk, one line of JSON each."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from rota.listings.openapi.document import compact_text_of

if TYPE_CHECKING:
    from rota.controller.changes import Change
    from rota.controller.cluster import Cluster
    from rota.controller.wire import Terminal

#: Bytes that may wait for a reader; one that is slower than that has to begin again.
_MOST_WAITING = 8 << 20


async def feed(cluster: Cluster, terminal: Terminal) -> None:
    """Send the changes from now on, until the reader goes or is too slow. An empty line says that it has begun."""
    loop = asyncio.get_running_loop()
    too_slow = loop.create_future()

    def send(changes: list[Change]) -> None:
        if terminal.backlog > _MOST_WAITING:
            if not too_slow.done():
                too_slow.set_result(None)
            return
        terminal.out("".join(f"{compact_text_of(change._asdict())}\n" for change in changes))

    gone = loop.create_task(terminal.closed())
    cluster.driver.on_changes.append(send)
    try:
        terminal.out("\n")
        await asyncio.wait([gone, too_slow], return_when=asyncio.FIRST_COMPLETED)
    finally:
        cluster.driver.on_changes.remove(send)
        gone.cancel()
        with suppress(asyncio.CancelledError, ConnectionError):
            await gone
