"""Ledgers: the sums of live jobs that limits are compared with."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.core.limits.usage_enforcement import UsageForecast

_MINUTE = 60


class Entry(NamedTuple):
    """A running job as it is counted."""

    #: The ledgers in which it is counted.
    ledgers: Sequence[Ledger]
    #: Number of each TRES.
    counts: Sequence[float]
    #: Bitmap of its nodes.
    nodes: int
    #: Expected end, Unix seconds.
    end: int


class Ledger:
    """The sums of the live jobs of an association, a QOS, or a user or account in a QOS.

    A node with several of these jobs counts once.
    """

    __slots__ = ("_on_node", "forecast", "jobs", "name", "nodes", "submitted", "tres", "until")

    def __init__(self, name: str, tres: int) -> None:
        #: Owner of the jobs: ``QOS long``, ``QOS long user ann``, ``association 7``.
        self.name = name
        #: Number of running jobs by node, and the bitmap of these nodes.
        self._on_node: Counter[int] = Counter()
        self.nodes = 0
        #: Number of running jobs.
        self.jobs = 0
        #: Number of pending and running jobs.
        self.submitted = 0
        #: Number of each TRES that running jobs have.
        self.tres = [0.0] * tres
        #: Σ TRES · expected end of the job, from which `minutes_left` is computed.
        self.until = [0.0] * tres
        #: Forecast of the usage, to end running jobs; ``None``: no limit ends them.
        self.forecast: UsageForecast | None = None

    def add(self, entry: Entry, sign: int = 1) -> None:
        """Add a running job, or remove it if ``sign`` is -1."""
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
