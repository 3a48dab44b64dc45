"""Kills daemons at random moments, and starts the controller again."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from executor.bench import kill_9, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from rota.testing.live import LiveCluster

T = TypeVar("T")
CONTROLLER, SUPERVISOR, KEEPER = "controller", "supervisor", "keeper"
#: Who is killed together, and how often.
VICTIMS = {
    (CONTROLLER,): 6,
    (SUPERVISOR,): 4,
    (KEEPER,): 4,
    (SUPERVISOR, KEEPER): 4,
    (CONTROLLER, SUPERVISOR): 2,
    (CONTROLLER, KEEPER): 2,
    (CONTROLLER, SUPERVISOR, KEEPER): 2,
}
_OTHERS = {victims: often for victims, often in VICTIMS.items() if CONTROLLER not in victims}
#: What is waited for before a kill, and how often: nothing, or what has just been sent or written.
_MOMENTS = {"any": 4, "command": 3, "rota.db-wal": 3, "supervisor.log": 3}
#: Seconds for which such a moment is waited for; and between two kills, and until the controller is started, at most.
_PATIENCE, _PAUSE, _AWAY = 1.0, 0.4, 0.6
#: How many of a hundred times a controller that was not killed is stopped and started in good order; and somebody else
#: is killed while one that was is away.
_IN_ORDER, _MORE = 8, 25
#: How many of a hundred times the disk is full, where it may be.
_FULL = 30
#: Seconds within which kills of the supervisor and the keeper count as one: the second had not seen all of the first's.
_AT_ONCE = 0.5
#: Seconds that a new supervisor may take to look at all runs; and the end of a gap that has not ended.
_MARGIN, _OPEN = 1.0, float("inf")


class Gap(NamedTuple):
    """A time in which there was neither a supervisor nor a keeper, and how a run ended may be unknown."""

    begin: float
    end: float


class Killer:
    """Kills.

    Args:
        cluster: What is killed.
        random: Draws who is, and when.
        log: Writes a line about it.
        fills: Whether the disk of the state directory is filled at times.
    """

    def __init__(self, cluster: LiveCluster, random: Random, log: Callable[[str], None], *, fills: bool) -> None:
        self._cluster = cluster
        self._random = random
        self._log = log
        self._fills = fills
        #: Is set when a user has just sent a command.
        self.sent = Event()
        self.kills: Counter[str] = Counter()
        self.gaps: list[Gap] = []
        #: When all daemons were there again, each time.
        self.whole: list[float] = []
        #: When each was killed last.
        self._last = {SUPERVISOR: 0.0, KEEPER: -_AT_ONCE}

    def kill(self) -> None:
        """Kill somebody, and have all be there again."""
        moment = self._draw(_MOMENTS)
        self._await(moment)
        with self._full_disk() if self._fills and self._random.randrange(100) < _FULL else nullcontext():
            self._kill(self._draw(VICTIMS), moment)
        if self._cluster.pid() is None:
            time.sleep(self._random.random() * _AWAY)
            if self._random.randrange(100) < _MORE:
                self._kill(self._draw(_OTHERS), "while it is away")
            self._up()
        elif self._random.randrange(100) < _IN_ORDER:
            self._cluster.rota("down")
            self._log("down")
            time.sleep(self._random.random() * _AWAY)
            self._up()
        wait_for(lambda: all(_supervision(self._cluster.state)))
        now = time.time()
        if self.gaps and self.gaps[-1].end == _OPEN:
            self.gaps[-1] = self.gaps[-1]._replace(end=now + _MARGIN)
        self.whole.append(now)

    @contextmanager
    def _full_disk(self) -> Iterator[None]:
        """Give a context in which there is no room, for a while before and after."""
        path = self._cluster.state / "filler"
        self._log("full")
        with path.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(1 << 12))
        time.sleep(self._random.random() * _PAUSE)
        yield
        time.sleep(self._random.random() * _PAUSE)
        path.unlink()
        self._log("room")

    def _up(self) -> None:
        self._cluster.up()
        self._log("up")

    def _draw(self, among: dict[T, int]) -> T:
        return self._random.choices([*among], [*among.values()])[0]

    def _await(self, moment: str) -> None:
        """Wait for a moment."""
        time.sleep(self._random.random() * _PAUSE)
        if moment == "command":
            self.sent.clear()
            self.sent.wait(_PATIENCE)
            time.sleep(self._random.random() * 0.05)
        elif moment != "any":
            path, until = self._cluster.state / moment, time.monotonic() + _PATIENCE
            before = _changed(path)
            while _changed(path) == before and time.monotonic() < until:
                time.sleep(0.0005)
            time.sleep(self._random.choice([0, 0.003]) * self._random.random())

    def _kill(self, victims: tuple[str, ...], moment: str) -> None:
        pids = {name: pid for name, pid in self._pids().items() if name in victims and pid}
        began = time.time()
        kill_9(*pids.values())
        if not pids:
            return  # nothing has run for some seconds
        self.kills["+".join(pids)] += 1
        self._log(f"kill {' '.join(f'{name} {pid}' for name, pid in pids.items())} ({moment})")
        self._last |= dict.fromkeys(pids, began)
        if abs(self._last[SUPERVISOR] - self._last[KEEPER]) < _AT_ONCE and began in (
            self._last[SUPERVISOR],
            self._last[KEEPER],
        ):
            self.gaps.append(Gap(min(self._last[SUPERVISOR], self._last[KEEPER]), _OPEN))

    def _pids(self) -> dict[str, int]:
        """Find who can be killed."""
        keeper, supervisor = _supervision(self._cluster.state)
        return {CONTROLLER: self._cluster.pid() or 0, SUPERVISOR: supervisor, KEEPER: keeper}


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _supervision(state: Path) -> tuple[int, int]:
    """Find the keeper and the supervisor of a state directory; 0: it is not there.

    Children that wait to become a run are the same program: but they, and not a supervisor, lead sessions of their own.
    """
    found: dict[int, tuple[int, bool]] = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and _is_supervision(entry / "cmdline", state):
                kind, parent, _, session, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
                if kind not in "ZX":
                    found[int(entry.name)] = int(parent), session == entry.name
        except (OSError, ValueError):
            pass  # it has just ended
    parents = {pid: parent for pid, (parent, leads) in found.items() if parent not in found or not leads}
    keeper = next((pid for pid, parent in parents.items() if parent not in parents), 0)
    return keeper, next((pid for pid, parent in parents.items() if parent == keeper), 0)


def _is_supervision(cmdline: Path, state: Path) -> bool:
    words = cmdline.read_bytes().split(b"\0")
    return len(words) > 4 and words[3].endswith(b"/supervisor/main.py") and words[4] == bytes(state)
