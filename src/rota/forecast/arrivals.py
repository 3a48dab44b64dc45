"""The jobs that are still to come: parts of what came lately come once more, in another order.

Nobody knows what users will submit, but who submits how much, and that it comes in bursts, changes slowly. So each
future takes parts of the past as they were, which keeps bursts together, and puts them one behind the other: the
circular block bootstrap (Politis and Romano, "A circular block-resampling procedure for stationary data", in LePage
and Billard, "Exploring the Limits of Bootstrap", 1992). Parts are days if two or more are known, each at its time of
the day; else eighths of the time that is known, which begin anywhere: one that begins before now goes on at the start.

For how long jobs go on coming like this is not known either, and a queue that is overloaded never runs dry as long as
they do. What has been so for a time *t* goes on for longer than *x* with probability t / (t + x), if nothing else is
known of it (Gott, "Implications of the Copernican principle for our future prospects", Nature 363, 1993): as long again
in half of the futures. Then nobody submits any more.
"""

from __future__ import annotations

from bisect import bisect_left
from random import Random
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rota.model import JobSpec

_DAY = 86_400
#: The longest past that counts, and the longest time for which jobs come, seconds.
_LONGEST = 14 * _DAY
#: Number of parts of a time that is shorter than two days.
_PARTS = 8


class Arrival(NamedTuple):
    """A job that was submitted, or is to come."""

    #: Unix seconds.
    time: int
    spec: JobSpec

    def after(self, seconds: int) -> Arrival:
        """Return the same job as if it came some seconds later, and waited for no job of the past and no user."""
        spec = self.spec._replace(
            begin_time=self.spec.begin_time and self.spec.begin_time + seconds,
            deadline=self.spec.deadline and self.spec.deadline + seconds,
            dependency="",
            hold=False,
        )
        return Arrival(self.time + seconds, spec)


class Arrivals:
    """The jobs that are still to come.

    Args:
        past: The jobs that were submitted, by time; of an array one.
        since: Since when all are known, Unix seconds.
        now: The time now, Unix seconds.
    """

    def __init__(self, past: Iterable[Arrival], since: int, now: int) -> None:
        self._now, self._since = now, max(since, now - _LONGEST)
        self._known = now - self._since
        lap = [one for one in past if self._since <= one.time < now]
        #: What came, twice: a part that begins before now may end after it.
        self._circle = [*lap, *(one.after(self._known) for one in lap)]
        self._times = [one.time for one in self._circle]

    def drawn(self, seed: int) -> Iterator[Arrival]:
        """Draw the jobs of a future, by time.

        Args:
            seed: Number of the future: the same one gives the same jobs.
        """
        if not self._circle:
            return
        dice = Random(f"{seed}/arrivals")  # noqa: S311 - no secrets
        days, chance = self._known // _DAY, dice.random()
        length = _DAY if days >= 2 else max(self._known // _PARTS, 1)
        at, end = self._now, self._now + min(round(self._known * chance / (1 - chance)), _LONGEST)
        while at < end:
            begin = self._now - _DAY * dice.randint(1, days) if days >= 2 else dice.randrange(self._since, self._now)
            last = begin + min(length, end - at)
            for one in self._circle[bisect_left(self._times, begin) : bisect_left(self._times, last)]:
                yield one.after(at - begin)
            at += length
