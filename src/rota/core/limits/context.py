"""What limits look at of the cluster: the time, what jobs count as, what has been used; and the counts themselves."""

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
    """What the limits of one cluster are measured with."""

    clock: Clock
    timers: Timers
    keeper: UsageKeeper
    #: Names of the TRES, in the order of all counts.
    tres: Sequence[str]
    #: What running jobs may still use counts as used: no job starts that could not run to its time limit.
    safe: bool
    #: Counts the TRES that a job asks for.
    asked: Callable[[J], Sequence[float]]
    #: Counts the TRES of resources for a job.
    counts: Callable[[J, int], Sequence[float]]
    #: Gives the bitmap of the nodes of a resource set.
    nodes_of: Callable[[int], int]
    #: Gives what a job's usage is multiplied with.
    usage_factor: Callable[[J], float]
    #: By name.
    ledgers: dict[str, Ledger] = field(default_factory=dict)
    #: What running jobs count as, by job id.
    running: dict[int, Entry] = field(default_factory=dict)
    #: Another number whenever other jobs run.
    version: int = 0
    #: What jobs were refused for on the resources that they were to be given; it holds until something comes free.
    refused: dict[int, Excess] = field(default_factory=dict)

    def ledger(self, name: str) -> Ledger:
        """Find a ledger, a new one if there is none of that name."""
        found = self.ledgers.get(name)
        if found is None:
            found = self.ledgers[name] = Ledger(name, len(self.tres))
        return found
