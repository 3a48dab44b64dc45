"""Advance reservations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Flags of recurring reservations, with their period in seconds.
REPEATS = {"HOURLY": 3600, "DAILY": 86400, "WEEKLY": 7 * 86400}
#: All flags that rota knows, in the order in which Slurm shows them. ``SPEC_NODES``: its nodes were given by name;
#: ``ALL_NODES``: as ``ALL``.
FLAGS = ("MAINT", "FLEX", "OVERLAP", "IGNORE_JOBS", *REPEATS, "SPEC_NODES", "ALL_NODES", "NO_HOLD_JOBS_AFTER_END")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """An advance reservation: nodes that only some users may use for a time."""

    name: str
    #: Unix seconds; the end is the first second that is not reserved any more.
    start_time: int
    end_time: int
    #: Bitmap over the configuration's nodes. With ``node_cnt``: the nodes from which the reservation's are to be
    #: chosen.
    nodes: int
    #: Number of nodes to choose when the reservation is created; 0: it gets all of ``nodes``.
    node_cnt: int = 0
    #: Bitmap of the nodes from which its nodes were chosen; 0: they were given.
    choice: int = 0
    #: Features that each chosen node must have, written as ``--constraint``; counts and brackets are not supported.
    features: str = ""
    #: Users and accounts whose jobs may use it; with both lists, a job needs both. ``-name`` excludes one, allowing all
    #: others.
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    #: Flags; each is one of `FLAGS`.
    flags: frozenset[str] = frozenset()

    def allows(self, user: str, accounts: Sequence[str]) -> bool:
        """Whether a job may use the reservation.

        Args:
            user: The job's user.
            accounts: The job's account, and all accounts above it.
        """
        return bool(self.users or self.accounts) and _allows(self.users, [user]) and _allows(self.accounts, accounts)

    @property
    def rank(self) -> int:
        """Precedence among reservations with common nodes: jobs of those of lower rank are kept off these nodes.

        Those of rank 0 have no common nodes at one time, but a job of one may run into the time of another.
        """
        return 2 if "MAINT" in self.flags else int("OVERLAP" in self.flags)

    def withheld_from(self, own: Reservation | None) -> int:
        """Give the bitmap of its nodes that a job of another reservation, or of none, cannot use at its time."""
        if own is None or not own.rank or own.rank < self.rank:
            return self.nodes
        return self.nodes & ~own.nodes

    @property
    def repeats_after(self) -> int:
        """Period in seconds of a recurring reservation; 0: it does not recur."""
        return next((seconds for flag, seconds in REPEATS.items() if flag in self.flags), 0)

    def overlaps(self, start: int, end: int) -> bool:
        """Whether its nodes are reserved at some time from ``start`` to before ``end``, in any of its occurrences."""
        every = self.repeats_after
        # The first occurrence that has not ended by the start decides.
        later = max((start - self.end_time) // every + 1, 0) * every if every else 0
        return self.start_time + later < end and self.end_time + later > start


def _allows(names: tuple[str, ...], own: Sequence[str]) -> bool:
    if not names:
        return True
    denied = {one[1:] for one in names if one.startswith("-")}
    return denied.isdisjoint(own) if denied else not set(names).isdisjoint(own)
