"""Advance reservations: nodes that are set aside for a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Flags that make a reservation come again, and after how many seconds.
REPEATS = {"HOURLY": 3600, "DAILY": 86400, "WEEKLY": 7 * 86400}
#: All flags that there are.
FLAGS = frozenset({*REPEATS, "MAINT", "FLEX", "IGNORE_JOBS", "OVERLAP", "SPEC_NODES"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Nodes that only some may use for a time."""

    name: str
    #: Unix seconds; the end is the first second that is no longer reserved.
    start_time: int
    end_time: int
    #: Bitmap over the configuration's nodes; with a ``node_cnt`` those of which so many are chosen on its creation.
    nodes: int
    #: How many nodes it is to have; 0: all.
    node_cnt: int = 0
    #: Bitmap of the nodes from which its own have been chosen; 0: it was given them.
    choice: int = 0
    #: What each node must have that is chosen, as ``--constraint`` of a job says it; counts and brackets apart.
    features: str = ""
    #: Whose jobs may use it; with both, a job must be of one of each. A name after ``-`` may not, and all others may.
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    #: Of `FLAGS`.
    flags: frozenset[str] = frozenset()

    def lets_in(self, user: str, accounts: Sequence[str]) -> bool:
        """Whether a job may use it: of a user, and of an account, which comes with those above it."""
        return bool(self.users or self.accounts) and _allows(self.users, [user]) and _allows(self.accounts, accounts)

    @property
    def rank(self) -> int:
        """Whether it keeps the jobs of another reservation from nodes that both have: that of a lower rank."""
        return 2 if "MAINT" in self.flags else int("OVERLAP" in self.flags)

    @property
    def repeats_after(self) -> int:
        """Seconds from one beginning to the next; 0: it comes once."""
        return next((seconds for flag, seconds in REPEATS.items() if flag in self.flags), 0)

    def holds(self, start: int, end: int) -> bool:
        """Whether its nodes are reserved at some time from ``start`` to before ``end``, as often as it may come."""
        every = self.repeats_after
        # The first that is not over by the start decides.
        later = max((start - self.end_time) // every + 1, 0) * every if every else 0
        return self.start_time + later < end and self.end_time + later > start


def _allows(names: tuple[str, ...], own: Sequence[str]) -> bool:
    if not names:
        return True
    denied = {one[1:] for one in names if one.startswith("-")}
    return denied.isdisjoint(own) if denied else not set(names).isdisjoint(own)
