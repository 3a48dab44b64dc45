"""The data that limits are tested with: time, usage, counts of jobs, and ledgers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from rota.core.limits.inputs import CountedJob
from rota.core.limits.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.core.limits.inputs import Clock, UsageKeeper
    from rota.core.limits.ledger import Entry
    from rota.core.limits.start_limits import Excess
    from rota.core.timers import Timers


J = TypeVar("J", bound=CountedJob)


@dataclass(slots=True, kw_only=True)
class LimitContext(Generic[J]):
    """The data with which the limits of a cluster are tested."""

    clock: Clock
    timers: Timers
    keeper: UsageKeeper
    #: Names of the TRES, in the order of all counts.
    tres: Sequence[str]
    #: Whether a job only starts if its limits allow it to run to its time limit (``safe``).
    safe: bool
    #: Function that counts the TRES that a job requests.
    asked: Callable[[J], Sequence[float]]
    #: Function that counts the TRES that a job would get if no other ran, which may be more.
    at_best: Callable[[J], Sequence[float]]
    #: Function that counts the TRES of a resource set for a job.
    counts: Callable[[J, int], Sequence[float]]
    #: Function that gives the bitmap of the nodes of a resource set.
    nodes_of: Callable[[int], int]
    #: Function that gives the factor by which a job's usage is multiplied.
    usage_factor: Callable[[J], float]
    #: Ledgers by name.
    ledgers: dict[str, Ledger] = field(default_factory=dict)
    #: Entries of running jobs in ledgers, by job id.
    running: dict[int, Entry] = field(default_factory=dict)
    #: A number that changes when a job starts or ends.
    version: int = 0
    #: Limits that jobs would have exceeded with the resources selected for them, by job id. They are valid until
    #: resources are freed.
    refused: dict[int, Excess] = field(default_factory=dict)

    def ledger(self, name: str) -> Ledger:
        """Find a ledger by name, or make it."""
        found = self.ledgers.get(name)
        if found is None:
            found = self.ledgers[name] = Ledger(name, len(self.tres))
        return found
