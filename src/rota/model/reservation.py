"""Advance reservations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_DAY, _WEEK = 86400, 7 * 86400
#: Flags of recurring reservations, with their period in seconds; of some days of the week, with these: 0 is Monday.
_PERIODS = {"HOURLY": 3600, "DAILY": _DAY, "WEEKLY": _WEEK}
_DAYS = {"WEEKDAY": range(5), "WEEKEND": range(5, 7)}
#: All flags that rota knows, in the order in which Slurm shows them. ``SPEC_NODES``: its nodes were given by name;
#: ``ALL_NODES``: as ``ALL``.
FLAGS = (
    *("MAINT", "FLEX", "OVERLAP", "IGNORE_JOBS", "HOURLY", "DAILY", "WEEKDAY", "WEEKEND", "WEEKLY", "SPEC_NODES"),
    *("ALL_NODES", "PART_NODES", "PURGE_COMP", "NO_HOLD_JOBS_AFTER_END", "MAGNETIC"),
)


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
    #: Name of the partition for which it was asked; empty: none. With ``PART_NODES`` it has the nodes that this has.
    partition: str = ""
    #: With ``PURGE_COMP``: after how many seconds without a job of its own, running or pending, it ends.
    purge_after: int = 0
    #: When the last job left it, Unix seconds; 0: none has. Only counts with ``PURGE_COMP``.
    idle_since: int = 0
    #: Local day of the week of its start, 0 is Monday. Only counts with ``WEEKDAY`` and ``WEEKEND``.
    weekday: int = 0

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
    def recurs(self) -> bool:
        """Whether it recurs."""
        return not self.flags.isdisjoint((*_PERIODS, *_DAYS))

    @property
    def occurrences(self) -> tuple[tuple[int, int], ...]:
        """All its occurrences: how many seconds after this one some begin, and in which period again; 0: in none."""
        for flag, every in _PERIODS.items():
            if flag in self.flags:
                return ((0, every),)
        days = [day for flag, days in _DAYS.items() if flag in self.flags for day in days]
        # This one may be on another day.
        return ((0, 0), *((((day - self.weekday - 1) % 7 + 1) * _DAY, _WEEK) for day in days))

    def overlaps(self, start: int, end: int) -> bool:
        """Whether its nodes are reserved at some time from ``start`` to before ``end``, in any of its occurrences."""
        for first, every in self.occurrences:
            later = self._later(first, every, start)
            if self.start_time + later < end and self.end_time + later > start:
                return True
        return False

    def next_after(self, now: int) -> int | None:
        """Give how many seconds after this one the first occurrence begins that ends after a time; ``None``: none."""
        found = (self._later(first, every, now) for first, every in self.occurrences)
        return min((later for later in found if self.end_time + later > now), default=None)

    def _later(self, first: int, every: int, now: int) -> int:
        """Give which of some occurrences has not ended at a time, as seconds after this one; if all have, the first."""
        return first + max((now - self.end_time - first) // every + 1, 0) * every if every else first


def _allows(names: tuple[str, ...], own: Sequence[str]) -> bool:
    if not names:
        return True
    denied = {one[1:] for one in names if one.startswith("-")}
    return denied.isdisjoint(own) if denied else not set(names).isdisjoint(own)
