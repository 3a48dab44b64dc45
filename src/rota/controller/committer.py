"""Commits of a live cluster: one thread writes, and all that wait share its commits.

A commit takes the time of a disk. What happens meanwhile is in the next one, so that under load few commits carry many
events.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rota.store import DatabaseError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from rota.store import Database, Write
    from rota.store.heads import Head, Heads


class Committer:
    """Writes to the database in a thread.

    After a failure nothing more is written until `resume` is called: what was handed in later builds on what is lost.

    Args:
        database: The database.
        loop: The loop in which all callbacks are called.
        on_failure: Is called once for a failure, with what was wrong.
        heads: Where it is said, after each commit, how far the database has come.
    """

    def __init__(
        self,
        database: Database,
        loop: asyncio.AbstractEventLoop,
        on_failure: Callable[[DatabaseError], None],
        heads: Heads,
    ) -> None:
        self._database = database
        self._heads = heads
        #: What is to be said after the next commit, and whether it is to be on the disk.
        self._head = heads.head
        self._sync = False
        self._loop = loop
        self._on_failure = on_failure
        self._wakes = threading.Condition()
        #: Is held during a commit.
        self.writing = threading.Lock()
        self._writes: list[Write] = []
        self._callbacks: list[Callable[[], None]] = []
        self._failed = self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="commits", daemon=True)
        self._thread.start()

    def commit(self, writes: list[Write], done: Callable[[], None], head: Head, *, sync: bool = False) -> None:
        """Write; ``done`` is called when it is on disk, and never if it is lost.

        Args:
            writes: What to write.
            done: What to call.
            head: How far the database has come then.
            sync: Whether it is to be on the disk how far that is.
        """
        with self._wakes:
            self._head, self._sync = head, self._sync or sync
            self._writes += writes
            self._callbacks.append(done)
            self._wakes.notify()

    def resume(self) -> None:
        """Write again after a failure."""
        with self._wakes:
            self._failed = False

    def close(self) -> None:
        """Write what is left, and end the thread."""
        with self._wakes:
            self._is_closing = True
            self._wakes.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._wakes:
                while not self._callbacks and not self._is_closing:
                    self._wakes.wait()
                if not self._callbacks:
                    return
                writes, self._writes = self._writes, []
                callbacks, self._callbacks = self._callbacks, []
                head, sync, self._sync = self._head, self._sync, False
                if self._failed:
                    continue
            try:
                with self.writing:
                    self._write(writes, head, sync=sync)
            except Exception as error:  # noqa: BLE001 - as for want of memory: nobody would hear of this thread's end
                failure = error if isinstance(error, DatabaseError) else DatabaseError(repr(error))
                with self._wakes:
                    self._failed = True
                self._call([lambda failure=failure: self._on_failure(failure)])  # type: ignore[misc]
            else:
                self._call(callbacks)

    def _write(self, writes: list[Write], head: Head, *, sync: bool) -> None:
        if sync:
            self._heads.open()  # before anything is on the disk that would be said to be lost
        self._database.write(writes)
        self._heads.write(head, sync=sync)

    def _call(self, callbacks: list[Callable[[], None]]) -> None:
        def call() -> None:
            for callback in callbacks:  # each by itself: what one raises is not the others' trouble
                self._loop.call_soon(callback)

        self._loop.call_soon_threadsafe(call)
