"""What live jobs take together of what a limit is about."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.core.limits.usage_enforcement import UsageForecast

_MINUTE = 60


class Entry(NamedTuple):
    """What a running job counts as, and where."""

    ledgers: Sequence[Ledger]
    #: By TRES.
    counts: Sequence[float]
    #: Bitmap.
    nodes: int
    #: Unix seconds.
    end: int


class Ledger:
    """What the live jobs of an association, a QOS, or of a user or an account within a QOS, take together.

    A node on which several of them run counts once.
    """

    __slots__ = ("_on_node", "forecast", "jobs", "name", "nodes", "submitted", "tres", "until")

    def __init__(self, name: str, tres: int) -> None:
        #: Whose jobs these are: ``QOS long``, ``QOS long user ann``, ``association 7``.
        self.name = name
        #: Running jobs by node, and the bitmap of these nodes.
        self._on_node: Counter[int] = Counter()
        self.nodes = 0
        #: Running.
        self.jobs = 0
        #: Pending or running.
        self.submitted = 0
        #: Of the running ones, by TRES.
        self.tres = [0.0] * tres
        #: Σ TRES · expected end: with `tres` it tells at any time how many TRES seconds are still to come.
        self.until = [0.0] * tres
        #: Ends running jobs when a limit is used up; ``None``: there is none that does.
        self.forecast: UsageForecast | None = None

    def add(self, entry: Entry, sign: int = 1) -> None:
        """Add a running job, or take it away with -1."""
        self.jobs += sign
        for index, count in enumerate(entry.counts):
            self.tres[index] += sign * count
            self.until[index] += sign * count * entry.end
        for node in indices(entry.nodes):
            self._on_node[node] += sign
            if self._on_node[node] == (sign > 0):  # the first job on it, or the last
                self.nodes ^= 1 << node

    def minutes_left(self, index: int, now: int) -> float:
        """Give the minutes of a TRES that running jobs may still use."""
        return (self.until[index] - now * self.tres[index]) / _MINUTE
