"""What users have handed in with their jobs: scripts, environments, and what is kept of jobs beside their requests."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from rota.core.plain import shape_of
from rota.model.accounting import JobDetails
from rota.model.submission import Submission
from rota.store.writes import drop_submission

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.store import Database, Write

#: Number of submissions that are kept in memory; and of those that are fetched together, and kept until the next one.
_KEPT, _FETCHED = 100, 1000


class Submissions:
    """Finds submissions, and drops them when their jobs have ended so long ago that these cannot be queued again.

    Args:
        database: The cluster's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, Submission] = {}
        #: The job, or the array, with which each that is kept was handed in; 0: its record tells, as it has ended.
        self._jobs: dict[str, int] = {}
        #: When jobs ended, and what was handed in with them, in this order.
        self._left: deque[tuple[int, str]] = deque()

    def read_state(self, live: dict[str, int], now: int) -> None:
        """Begin with what is written down.

        Args:
            live: What belongs to live jobs, and to which; all else counts as that of jobs that end now.
            now: The time now, Unix seconds.
        """
        self._jobs = live
        left = sorted(set(self._database.payloads()).difference(live))
        self._left = deque((now, payload) for payload in left)
        self._jobs |= dict.fromkeys(left, 0)

    def fetch(self, payloads: Iterable[str]) -> None:
        """Have what was handed in with jobs in memory, as it is needed soon; where it is too much, some of it."""
        decode, wanted = shape_of(Submission).decode, islice(filter(None, payloads), _FETCHED)
        self._known |= {payload: decode(data) for payload, data in self._database.submissions(wanted)}

    def of(self, payload: str) -> Submission:
        """Give what was handed in with a job; nothing for a job without."""
        known = self._known.get(payload)
        if known is None:
            self.fetch([payload])
            known = self._known.get(payload)
            if known is None:
                return Submission(details=JobDetails(batch=False))
            self.keep(payload, known)
        return known

    def is_lost(self, payload: str) -> bool:
        """Whether what was handed in with a live job is not there any more, as somebody has removed its record."""
        if payload and payload not in self._known:
            self.fetch([payload])
        return bool(payload) and payload not in self._known

    def handed_in(self, payload: str, job_id: int) -> None:
        """Note with which job something is handed in."""
        self._jobs[payload] = job_id

    def refused(self, payload: str) -> None:
        """Note that what was handed in is not taken."""
        self._jobs.pop(payload, None)

    def job_of(self, payload: str) -> int | None:
        """Give the job with which something was handed in; 0: one that has ended; ``None``: it is not kept."""
        return self._jobs.get(payload)

    def keep(self, payload: str, submission: Submission) -> None:
        """Keep a submission in memory, as it is needed soon."""
        self._known[payload] = submission
        while len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]

    def leave(self, payload: str, end_time: int) -> None:
        """Keep what belongs to a job that has ended only as long as the job might be queued again."""
        self._known.pop(payload, None)
        self._left.append((end_time, payload))

    def is_left(self, payload: str) -> bool:
        """Whether what belongs to a job that has ended is still kept."""
        return any(one[1] == payload for one in self._left)

    def take_back(self, payload: str) -> None:
        """Keep what belongs to a job that has ended until it ends again."""
        self._left = deque(one for one in self._left if one[1] != payload)

    def forget(self, ended_before: int) -> list[Write]:
        """Give what to write so that what belongs to jobs that ended before a time is kept no longer."""
        writes = []
        while self._left and self._left[0][0] < ended_before:
            payload = self._left.popleft()[1]
            self._jobs.pop(payload, None)
            writes.append(drop_submission(payload))
        return writes
