"""What a replay plays: the jobs of a workload as requests, with the run times that only the driver knows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rota.model import InputError, JobSpec
from rota.model.array import MOST_TASKS, parse_array

if TYPE_CHECKING:
    from rota.workload import Workload

ESTIMATES = ("requested", "actual")
#: What a log of numbers does not tell of a request.
_USER = JobSpec._fields.index("user")
_BEFORE_USER = JobSpec()[JobSpec._fields.index("qos") : _USER]
_AFTER_USER = JobSpec()[_USER + 1 :]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Parallel lists, one row a job, by submit time and then in the order of the workload."""

    #: The jobs that are replayed, in the same order.
    workload: Workload
    #: Unix time of the log's second 0.
    origin: int
    #: Jobs that the log has and that cannot be replayed: it knows no run time or no processors.
    left_out: int
    job_id: list[int]
    #: Unix seconds.
    submit: list[int]
    #: Seconds that the job runs if it is let.
    run: list[int]
    procs: list[int]
    #: Seconds; 0 where none was requested.
    time_limit: list[int]
    user_id: list[int]
    group_id: list[int]
    #: Names; empty where nothing is known. A log of numbers has ``user3`` and, as account, ``group1``.
    user: list[str] = field(init=False)
    account: list[str] = field(init=False)

    def __len__(self) -> int:
        """Count the jobs."""
        return len(self.job_id)

    def __post_init__(self) -> None:
        """Name the users and groups of logs that have but numbers."""
        if self.workload.requests is None:
            users = {number: f"user{number}" if number >= 0 else "" for number in set(self.user_id)}
            groups = {number: f"group{number}" if number >= 0 else "" for number in set(self.group_id)}
            object.__setattr__(self, "user", [users[number] for number in self.user_id])
            object.__setattr__(self, "account", [groups[number] for number in self.group_id])
        else:
            object.__setattr__(self, "user", [one.user for one in self.workload.requests])
            object.__setattr__(self, "account", [one.account for one in self.workload.requests])

    @property
    def start(self) -> int:
        """When the clock begins, Unix seconds: at the log's second 0, or with a job from before it."""
        return min(self.origin, self.submit[0])

    def spec(self, row: int) -> JobSpec:
        """Make the request of one job."""
        requests = self.workload.requests
        if requests is not None:
            return requests[row]._replace(time_limit=self.time_limit[row] or None)
        # Past the constructor, which goes through all fields with their defaults.
        return tuple.__new__(
            JobSpec,
            (
                self.procs[row],
                self.time_limit[row] or None,
                0,
                self.user_id[row],
                self.group_id[row],
                "",
                self.account[row],
                *_BEFORE_USER,
                self.user[row],
                *_AFTER_USER,
            ),
        )

    def charged(self) -> set[tuple[str, str]]:
        """Give user and account of all jobs, by name."""
        return set(zip(self.user, self.account, strict=True))


def make_trace(workload: Workload, estimate: str = "requested") -> Trace:
    """Prepare a workload.

    A job needs a run time and a number of processors (requested or, failing that, allocated); others never ran.

    Args:
        workload: The log.
        estimate: ``requested`` times as time limits, or ``actual``, the run times themselves: clairvoyance.

    Raises:
        InputError: an unknown estimate, or nothing is left to replay.
    """
    if estimate not in ESTIMATES:
        raise InputError(f"{estimate!r} is none of {', '.join(ESTIMATES)}", field="estimate")
    whole = workload.whole_jobs()
    procs = np.where(whole.requested_procs > 0, whole.requested_procs, whole.allocated_procs)
    known = (whole.run_time >= 0) & (procs > 0)
    rows = np.flatnonzero(known)
    rows = rows[np.argsort(whole.submit_time[rows], kind="stable")]
    if not len(rows):
        raise InputError("no job to replay: none has both a run time and processors", path=workload.source)
    jobs = whole.take(rows)
    _check_arrays(jobs)
    limit = jobs.requested_time if estimate == "requested" else np.maximum(jobs.run_time, 1)
    # No time is negative: that means "never" in schedules.
    origin = max(workload.unix_start_time or 0, -int(jobs.submit_time[0]))
    return Trace(
        workload=jobs,
        origin=origin,
        left_out=len(workload) - len(jobs),
        job_id=jobs.job_number.tolist(),
        submit=(jobs.submit_time + origin).tolist(),
        run=jobs.run_time.tolist(),
        procs=procs[rows].tolist(),
        time_limit=np.maximum(limit, 0).tolist(),
        user_id=jobs.user_id.tolist(),
        group_id=jobs.group_id.tolist(),
    )


def _check_arrays(jobs: Workload) -> None:
    """Make sure that all tasks of each array are there, one after the other.

    Raises:
        InputError: some were left out.
    """
    requests, row = jobs.requests or (), 0
    while row < len(requests):
        array = requests[row].array
        tasks = len(parse_array(array, MOST_TASKS).ids) if array else 1
        line = int(jobs.line[row])
        if array and jobs.line[row : row + tasks].tolist() != [line] * tasks:
            raise InputError(
                "some tasks of this array are left out: leave out all or none", path=jobs.source, line=line
            )
        row += tasks
