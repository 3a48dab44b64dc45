"""One job-metadata plugin, as rota calls it: whatever it does wrong becomes a fault, and no other plugin notices."""

from __future__ import annotations

import shutil
import time
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rota.interfaces.jobmeta import DEFAULT_BATCH, DEFAULT_TTL, Answer, Command, LookupFailedError
from rota.interrupts import raise_if_interrupted
from rota.jobmeta.pairing import Item, Paired, clean, pair
from rota.jobmeta.run import NOT_STARTED, Runner
from rota.loader.loaded import blame
from rota.model import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rota.interfaces.jobmeta import Metadata
    from rota.loader import LoadedPlugin

#: Calls for one batch, of a plugin that raises.
MAX_CALLS = 40
#: Answers that are read beyond those that were asked for.
MAX_EXTRA = 100_000


@dataclass(slots=True)
class Batch:
    """What a plugin answered to a batch of ids."""

    found: dict[str, Metadata] = field(default_factory=dict)
    #: A sentence each.
    faults: list[str] = field(default_factory=list)
    #: Commands that were run.
    commands: int = 0


class Plugin:
    """A loaded plugin. `ask` is called from one thread at a time, all else from any."""

    def __init__(self, loaded: LoadedPlugin, runner: Runner) -> None:
        self.name = loaded.plugin_type.partition("/")[2]
        self.fields: tuple[str, ...] = tuple(getattr(loaded.container, "FIELDS", ()))
        self.ttl = float(getattr(loaded.container, "TTL", DEFAULT_TTL))
        self.batch = max(1, int(getattr(loaded.container, "BATCH", DEFAULT_BATCH)))
        self.commands: tuple[str, ...] = tuple(getattr(loaded.container, "COMMANDS", ()))
        #: The module or object.
        self.container: Any = loaded.container
        self._runner = runner
        self._candidate = loaded.candidate
        self._fetch = loaded.functions["fetch"]
        self._matches = loaded.functions.get("matches")
        self._normalize = loaded.functions.get("normalize")
        self._parse = loaded.functions.get("parse")
        self._find = loaded.functions.get("find")
        #: Since when its own code runs without giving anything: seconds of `time.monotonic`; ``None``: it does not.
        self._since: float | None = None

    def close(self) -> None:
        """Kill the command that runs, and run no other."""
        self._runner.close()

    @property
    def stuck(self) -> str:
        """Why it is to be given up, if its own code runs for longer than a command may; else nothing."""
        since, longest = self._since, self._runner.timeout
        if since is None or time.monotonic() - since <= longest:
            return ""
        return f"plugin jobmeta/{self.name}: fetch takes longer than {longest:g} s, and gives nothing"

    @property
    def has_matches(self) -> bool:
        """Whether it can tell its scheduler's ids from others."""
        return self._matches is not None

    @property
    def is_here(self) -> bool:
        """Whether one of its scheduler's programs is there, as far as it names any."""
        return not self.commands or any(shutil.which(command) for command in self.commands)

    def matches(self, job_id: str) -> bool:
        """Whether an id may be asked of it. An id for which it raises may not."""
        if self._matches is None:
            return True
        try:
            return bool(self._matches(job_id))
        except BaseException:  # noqa: BLE001 - a plugin may raise anything
            raise_if_interrupted()
            return False

    def normalize(self, job_id: str) -> str:
        """Give an id as the scheduler writes it; unchanged if the plugin cannot tell."""
        if self._normalize is None:
            return job_id
        try:
            return str(self._normalize(job_id))
        except BaseException:  # noqa: BLE001 - a plugin may raise anything
            raise_if_interrupted()
            return job_id

    def parse(self, text: str) -> dict[str, Metadata]:
        """Give the metadata in a text that one of the scheduler's commands has printed, by normalized id.

        Raises:
            PluginError: the plugin reads no texts, or not this one.
        """
        if self._parse is None:
            raise PluginError(f"plugin jobmeta/{self.name} has no parse(text): it cannot read what was recorded")
        return {self.normalize(str(row["id"])): clean(row) for row in self._read("parse", self._parse, text)}

    def find(self, text: str, ids: Sequence[str]) -> Paired:
        """Give what such a text has of some ids, each that `matches`, by normalized id.

        Raises:
            PluginError: as of `parse`.
        """
        if self._find is None:
            return Paired(self.parse(text), [])
        names = list(dict.fromkeys(map(self.normalize, ids)))
        return pair(names, self._read("find", self._find, text, ids), self.normalize, whole=True)

    def _read(self, name: str, read: Callable[..., Iterable[Any]], *arguments: object) -> list[Any]:
        try:
            return [{**row, "id": str(row["id"])} for row in read(*arguments)]
        except LookupFailedError:
            raise
        except BaseException as exc:
            raise_if_interrupted()
            raise PluginError(f"plugin jobmeta/{self.name}: {name} raised {blame(exc, self._candidate)}") from exc

    def ask(self, ids: Sequence[str]) -> Batch:
        """Look up ids: each one that `matches`, without duplicates.

        If the plugin raises, its ids are asked in halves, to find out which id it cannot bear.
        """
        names = {job_id: self.normalize(job_id) for job_id in ids}
        found: dict[str, Metadata] = {}
        batch = Batch()
        waiting, calls = [list(dict.fromkeys(names.values()))], 0
        while waiting:
            part = waiting.pop()
            commands, calls = batch.commands, calls + 1
            answers, raised = self._call(part, batch)
            paired = pair(part, answers, self.normalize, whole=not raised)
            found |= paired.found
            batch.faults += [f"plugin jobmeta/{self.name}: {fault}" for fault in paired.faults]
            if not raised:
                continue
            if len(part) > 1 and calls < MAX_CALLS and not paired.found and batch.commands == commands:
                waiting += [part[: len(part) // 2], part[len(part) // 2 :]]
            else:
                batch.faults.append(f"plugin jobmeta/{self.name}: {raised}")
        batch.found = {job_id: found[name] for job_id, name in names.items() if name in found}
        # A command that failed is no fault where another one knew all.
        batch.faults = [] if len(batch.found) == len(names) else list(dict.fromkeys(batch.faults))
        return batch

    def _call(self, ids: list[str], batch: Batch) -> tuple[list[Any], str]:
        """Call `fetch`; give its answers, and why it broke off, if it did."""
        answers: list[Any] = []
        self._since = time.monotonic()
        try:
            for answer in self._answers(ids, batch):
                self._since = time.monotonic()
                answers.append(answer)
                if len(answers) > len(ids) + MAX_EXTRA:
                    return answers, f"fetch gave more than {MAX_EXTRA:,} answers too many"
        except LookupFailedError as exc:
            return answers, str(exc)
        except BaseException as exc:  # noqa: BLE001 - a plugin may raise anything
            raise_if_interrupted()
            return answers, f"fetch raised {blame(exc, self._candidate)}"
        finally:
            self._since = None
        return answers, ""

    def _answers(self, ids: list[str], batch: Batch) -> Iterator[Any]:
        """Give the answers one by one, and run commands in between."""
        result = self._fetch(list(ids))
        if isinstance(result, Mapping):
            yield from (Item(name, fields) for name, fields in result.items())
        elif isinstance(result, Generator):
            reply: Answer | None = None
            with closing(result):
                while True:
                    try:
                        given = result.send(reply)
                    except StopIteration:
                        return
                    reply = self._run(given, batch) if isinstance(given, Command) else None
                    if reply is None:
                        yield given
        else:
            yield from result

    def _run(self, command: Command, batch: Batch) -> Answer:
        if self._matches is None:
            fault = "it asks for a command, but has no matches(job_id): ids that nobody has checked are not passed on"
            batch.faults.append(f"plugin jobmeta/{self.name}: {fault}")
            return Answer("", fault, NOT_STARTED)
        self._since = None
        answer, fault = self._runner.run(command)
        self._since = time.monotonic()
        batch.commands += 1
        if fault:
            batch.faults.append(f"plugin jobmeta/{self.name}: {fault}")
        return answer
