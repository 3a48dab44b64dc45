"""Looking up the metadata of jobs, for a command that waits and for a view that does not."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from rota.jobmeta.desk import Desk
from rota.jobmeta.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rota.interfaces.jobmeta import Metadata
    from rota.jobmeta.plugin import Plugin
    from rota.loader.discover import PluginDir

#: Ids of which is kept what is known, for each plugin.
ROOM = 200_000
#: Different faults that are remembered.
FAULTS = 50
#: Seconds between two looks whether a plugin that is waited for is stuck.
_LOOK = 0.25


@dataclass(frozen=True, slots=True)
class Answers:
    """What is known of the ids that were asked. Each is in exactly one of the first five."""

    #: Metadata by id. ``id`` is the id as asked, ``plugin`` the name of the plugin that knew it.
    jobs: dict[str, Metadata] = field(default_factory=dict)
    #: Their scheduler was asked, and does not know them.
    unknown: list[str] = field(default_factory=list)
    #: No plugin has ids of this form, or several have; nobody was asked.
    refused: list[str] = field(default_factory=list)
    #: Their lookup failed.
    failed: list[str] = field(default_factory=list)
    #: Their lookup has not ended.
    pending: list[str] = field(default_factory=list)
    #: Why lookups failed, a sentence each.
    faults: list[str] = field(default_factory=list)

    def in_order(self, ids: Iterable[str]) -> Answers:
        """Give the same in the order of the ids, which are all that were asked."""
        place = {job_id: number for number, job_id in enumerate(ids)}
        for names in (self.unknown, self.refused, self.failed, self.pending):
            names.sort(key=place.__getitem__)
        return replace(self, jobs={job_id: self.jobs[job_id] for job_id in sorted(self.jobs, key=place.__getitem__)})


class Lookups:
    """Looks up jobs, and remembers what it has learned. All methods may be called from any thread.

    There is one call of one scheduler at a time; what is asked meanwhile goes into the next batch.
    """

    def __init__(
        self,
        plugin_dir: PluginDir = None,
        *,
        variable: str = "",
        jobid_name: str = "",
        timeout: float = 10.0,
        room: int = ROOM,
        report: Callable[[str], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make it; no plugin is loaded yet.

        Args:
            plugin_dir: ``PluginDir`` as in slurm.conf, colon-separated, or a list of directories.
            variable: Lustre's ``jobid_var``: a hint whose ids these are.
            jobid_name: Lustre's ``jobid_name``, such as ``%j@%u@%H``; empty: not known.
            timeout: Seconds for one command of a scheduler.
            room: The number of ids of which is kept what is known, for each plugin.
            report: Is called with each new fault, from any thread; it must not wait for lookups.
            clock: Seconds, for how long answers are good.
        """
        self._changed = threading.Condition(threading.RLock())
        self._registry = Registry(
            plugin_dir, variable=variable, jobid_name=jobid_name, timeout=timeout, report=self._fault
        )
        self._clock = clock
        self._room = room
        self._tell = report
        self._desks: dict[str, Desk] = {}
        self._places: OrderedDict[tuple[str, bool], Desk | None] = OrderedDict()
        self._faults: deque[str] = deque(maxlen=FAULTS)
        self._version = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill commands that run, end the threads and unload the plugins."""
        for desk in self._desks.values():
            desk.close()
        self._registry.close()

    @property
    def version(self) -> int:
        """A number that grows whenever something was learned."""
        return self._version

    def known(self, ids: Iterable[str]) -> Answers:
        """Say what is known now, and have the rest fetched in the background. It waits for no scheduler.

        Metadata of a running job may be older than its plugin's TTL; a newer answer is then on its way.

        Raises:
            InputError: a directory of ``PluginDir`` is missing or unreadable.
        """
        answers = Answers()
        with self._changed:
            now = self._clock()
            for job_id in dict.fromkeys(ids):
                if not self._sort(job_id, self._desk_of(job_id), now, answers):
                    answers.pending.append(job_id)
        return answers

    def lookup(self, ids: Iterable[str], plugin: str | None = None, *, wait: float | None = None) -> Answers:
        """Look up jobs, and wait for the answers.

        Args:
            ids: The ids.
            plugin: Name of the plugin to ask about all of them; ``None``: each id is judged by its form.
            wait: Seconds to wait at most; what is not known at all by then is pending. ``None``: until all is known.

        Raises:
            PluginError: ``plugin`` does not exist, or cannot be used.
            InputError: a directory of ``PluginDir`` is missing or unreadable.
        """
        answers = Answers()
        asked = list(dict.fromkeys(ids))
        end = None if wait is None else time.monotonic() + wait
        with self._changed:
            waiting = {job_id: self._desk_of(job_id, plugin) for job_id in asked}
            while True:
                now = self._clock()
                waiting = {
                    job_id: desk
                    for job_id, desk in waiting.items()
                    if not self._sort(job_id, desk, now, answers, newest=True)
                }
                left = None if end is None else end - time.monotonic()
                if not waiting or (left is not None and left <= 0):
                    late = [job_id for job_id, desk in waiting.items() if not self._sort(job_id, desk, now, answers)]
                    answers.pending.extend(late)
                    return answers.in_order(asked)
                self._changed.wait(_LOOK if left is None else min(left, _LOOK))

    def read(self, text: str, ids: Iterable[str], plugin: str) -> Answers:
        """Look jobs up in a text that a command of their scheduler has printed, and run none.

        Raises:
            PluginError: ``plugin`` does not exist, cannot be used, or reads no such text.
            InputError: a directory of ``PluginDir`` is missing or unreadable.
        """
        answers = Answers()
        with self._changed:
            reader = self._registry.get(plugin.lower())
            asked = list(dict.fromkeys(ids))
            if not reader.parse(text):
                answers.faults.append(f"plugin jobmeta/{reader.name}: there is no job in the text that was recorded")
            found, faults = reader.find(text, [job_id for job_id in asked if reader.matches(job_id)])
            answers.faults.extend(f"plugin jobmeta/{reader.name}: {fault}" for fault in faults)
            for fault in answers.faults:
                self._fault(fault)
            for job_id in asked:
                if not reader.matches(job_id):
                    answers.refused.append(job_id)
                elif (metadata := found.get(reader.normalize(job_id))) is not None:
                    answers.jobs[job_id] = {**metadata, "id": job_id, "plugin": reader.name}
                else:
                    (answers.failed if faults else answers.unknown).append(job_id)
        return answers

    def fields(self) -> tuple[str, ...]:
        """Name the fields that the plugins which are there say they know, sorted."""
        with self._changed:
            return tuple(sorted({"id", *(field for desk in self._all_desks() for field in desk.plugin.fields)}))

    def status(self) -> dict[str, Any]:
        """Say what was done so far, as JSON data.

        Returns:
            ``plugins``: for each that was used ``calls`` of its ``fetch``, ``commands`` run, ids ``asked`` and
            ``found``, calls that ``failed``, the ``fault`` of the last one, the ``last_fault`` of any, and how many ids
            it has ``kept`` and ``waiting``.
            ``faults``: the last different ones.
        """
        with self._changed:
            return {
                "plugins": {name: desk.figures() for name, desk in sorted(self._desks.items())},
                "faults": list(self._faults),
            }

    def _sort(self, job_id: str, desk: Desk | None, now: float, answers: Answers, *, newest: bool = False) -> bool:
        """File an id under what is known of it.

        Returns:
            Whether it was filed. It is not while its answer is on its way; with ``newest``, also if an older one is
            known.
        """
        if desk is None:
            answers.refused.append(job_id)
            return True
        entry, coming = desk.look(job_id, now)
        metadata = None if entry is None else entry.metadata
        if metadata is not None and isinstance(job := metadata.get("job"), str):
            inner = self._desk_of(job, composite=False)
            found, also_coming = inner.look(job, now) if inner is not None else (None, False)
            coming = coming or also_coming
            if found is not None and found.metadata is not None:
                metadata = {**metadata, **found.metadata, "id": job_id}
        if coming and (newest or metadata is None):
            return False
        if metadata is not None:
            answers.jobs[job_id] = metadata
        elif entry is not None and entry.fault:
            answers.failed.append(job_id)
            if entry.fault not in answers.faults:
                answers.faults.append(entry.fault)
        else:
            answers.unknown.append(job_id)
        return True

    def _desk_of(self, job_id: str, plugin: str | None = None, *, composite: bool = True) -> Desk | None:
        """Give the desk for an id, if there is one."""
        if plugin is not None:
            desk = self._desk(self._registry.get(plugin.lower()))
            return desk if desk.plugin.matches(job_id) else None
        key = job_id, composite
        if key in self._places:
            self._places.move_to_end(key)
            return self._places[key]
        found = self._registry.plugin_of(job_id, composite=composite)
        place = self._places[key] = None if found is None else self._desk(found)
        if len(self._places) > self._room:
            self._places.popitem(last=False)
        return place

    def _desk(self, plugin: Plugin) -> Desk:
        if plugin.name not in self._desks:
            self._desks[plugin.name] = Desk(
                plugin, self._changed, clock=self._clock, room=self._room, learned=self._learned
            )
        return self._desks[plugin.name]

    def _all_desks(self) -> Iterable[Desk]:
        return [self._desk(plugin) for plugin in self._registry.here()]

    def _learned(self, faults: Iterable[str]) -> None:
        self._version += 1
        for fault in faults:
            self._fault(fault)

    def _fault(self, text: str) -> None:
        if text in self._faults:
            return  # a scheduler that is down for a day is not told of every half minute
        self._faults.append(text)
        if self._tell is not None:
            self._tell(text)
