"""One plugin, what it has answered, and what it is still to be asked.

Ids wait until the plugin is free, and then go to it together: one batch at a time, in a thread of its own. What it
answers is kept:

================================ ====================================================================================
metadata of a job that has ended until there is no more room: the ids that nobody asks for go first
metadata of another job          until the plugin's TTL is over; it is then still given until there is a newer answer
the id is not known              for `NEGATIVE` seconds
the lookup failed                for `RETRY` seconds; what was known before stays
================================ ====================================================================================

A plugin whose own code, without the commands that it has run, takes longer than a command may, is given up: what was
asked of it has failed, as has all else until it returns. A thread cannot be ended, so it is waited for by itself.

A plugin that fails and knows nothing at all is not asked again before `RETRY` seconds have passed, so that a scheduler
that hangs holds up nobody twice.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rota.jobmeta.plugin import Batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.interfaces.jobmeta import Metadata
    from rota.jobmeta.plugin import Plugin

#: Seconds for which it is remembered that a scheduler does not know an id.
NEGATIVE = 60.0
#: Seconds before a lookup that has failed is tried again.
RETRY = 30.0
#: Seconds to wait at the end for a plugin that is at work; its thread does not keep the process alive.
PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of an id."""

    #: With ``id`` and ``plugin``. ``None``: the scheduler does not know it, or the lookup failed.
    metadata: Metadata | None
    #: When it must be asked again, by the desk's clock.
    until: float
    #: Why the last lookup failed; empty: it did not.
    fault: str = ""


class Desk:
    """The desk of one plugin. All but `close` is called with the lock held, which its condition brings."""

    def __init__(
        self,
        plugin: Plugin,
        changed: threading.Condition,
        *,
        clock: Callable[[], float],
        room: int,
        learned: Callable[[list[str]], object],
    ) -> None:
        """Make a desk; its thread starts with the first id.

        Args:
            plugin: The plugin.
            changed: Is notified of every batch that was answered. All desks share its lock.
            clock: Seconds.
            room: The number of ids of which it keeps what is known.
            learned: Is called with each answer, with the lock held.
        """
        self.plugin = plugin
        self._figures = dict.fromkeys(("calls", "commands", "asked", "found", "failed"), 0)
        #: Of the last call, and of the last that had one.
        self._fault = self._last_fault = ""
        self._changed = changed
        self._clock = clock
        self._room = room
        self._learned = learned
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._waiting: dict[str, None] = {}
        self._asked: frozenset[str] = frozenset()
        self._resume = -math.inf
        self._thread: threading.Thread | None = None
        self._closed = False

    def look(self, job_id: str, now: float) -> tuple[Entry | None, bool]:
        """Give what is known of an id, and whether an answer is on its way. An id that is due now is queued."""
        if self._asked and (fault := self.plugin.stuck):
            self._give_up(fault)
        entry = self._entries.get(job_id)
        if entry is not None:
            self._entries.move_to_end(job_id)
            if now < entry.until:
                return entry, False
        if job_id not in self._waiting and job_id not in self._asked:
            self._queue(job_id)
            entry = self._entries.get(job_id)
        return entry, job_id in self._waiting or job_id in self._asked

    def _give_up(self, fault: str) -> None:
        """Fail all that the plugin is asked, and will be."""
        for job_id in (*self._asked, *self._waiting):
            self._fail(job_id, fault)
        self._asked = frozenset()
        self._waiting.clear()
        self._fault = self._last_fault = fault
        self._figures["failed"] += 1
        self._learned([fault])

    def figures(self) -> dict[str, Any]:
        """Say what was done so far; see `rota.jobmeta.Lookups.status`."""
        kept = {"kept": len(self._entries), "waiting": len(self._waiting) + len(self._asked)}
        return {**self._figures, "fault": self._fault, "last_fault": self._last_fault, **kept}

    def close(self) -> None:
        """Kill the command that runs, and end the thread."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()
        self.plugin.close()
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def _queue(self, job_id: str) -> None:
        if self._closed:
            self._fail(job_id, "lookups have ended")
            return
        if self._clock() < self._resume or self.plugin.stuck:
            self._fail(job_id, self.plugin.stuck or self._last_fault)
            return
        self._waiting[job_id] = None
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=f"jobmeta {self.plugin.name}", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                ids = [job_id for _, job_id in zip(range(self.plugin.batch), self._waiting, strict=False)]
                for job_id in ids:
                    del self._waiting[job_id]
                self._asked = frozenset(ids)
            try:
                batch = self.plugin.ask(ids)
            except Exception as exc:  # noqa: BLE001 - such as values that cannot be printed; others must not wait for ever
                batch = Batch(faults=[f"plugin jobmeta/{self.plugin.name}: its answers raise {type(exc).__name__}"])
            with self._changed:
                self._asked = frozenset()
                self._keep(ids, batch)
                self._learned(batch.faults)
                self._changed.notify_all()

    def _keep(self, ids: list[str], batch: Batch) -> None:
        now, fault = self._clock(), "; ".join(batch.faults)
        for job_id in ids:
            found = batch.found.get(job_id)
            if found is not None:
                metadata = {**found, "id": job_id, "plugin": self.plugin.name}
                self._put(job_id, Entry(metadata, math.inf if metadata.get("ended") is True else now + self.plugin.ttl))
            elif fault:
                self._fail(job_id, fault)
            else:
                before = self._entries.get(job_id)
                self._put(job_id, Entry(before.metadata if before else None, now + NEGATIVE))
        for name, more in zip(
            self._figures, (1, batch.commands, len(ids), len(batch.found), int(bool(fault))), strict=True
        ):
            self._figures[name] += more
        self._fault, self._last_fault = fault, fault or self._last_fault
        if fault and not batch.found:
            self._resume = now + RETRY
            for job_id in self._waiting:
                self._fail(job_id, fault)
            self._waiting.clear()

    def _fail(self, job_id: str, fault: str) -> None:
        before = self._entries.get(job_id)
        self._put(job_id, Entry(before.metadata if before else None, self._clock() + RETRY, fault))

    def _put(self, job_id: str, entry: Entry) -> None:
        self._entries[job_id] = entry
        self._entries.move_to_end(job_id)
        if len(self._entries) > self._room:
            self._entries.popitem(last=False)
