"""The trace of a replay: the jobs of a workload as requests, with their run times, which only the driver knows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rota.model import InputError, JobSpec
from rota.model.array import MOST_TASKS, count_tasks

if TYPE_CHECKING:
    from rota.workload import Workload

#: Run time of a job that is withdrawn.
_FOR_EVER = 2**62
ESTIMATES = ("requested", "actual")
#: Users who may ask for any priority: root, and those whose names are not known. All others are taken for plain users.
OPERATORS = frozenset({"", "root"})
#: Index of the user, and the defaults of the fields before and after it, which SWF does not have.
_USER = JobSpec._fields.index("user")
_BEFORE_USER = JobSpec()[JobSpec._fields.index("qos") : _USER]
_AFTER_USER = JobSpec()[_USER + 1 :]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The jobs as lists of equal length, by submit time and then in the order of the workload."""

    #: The jobs that are replayed, in the same order.
    workload: Workload
    #: Unix time of the workload's second 0.
    origin: int
    #: Number of jobs that cannot be replayed, as their run times or processors are not known.
    left_out: int
    job_id: list[int]
    #: Submit times, Unix seconds.
    submit: list[int]
    #: Run times in seconds, if the jobs are not stopped.
    run: list[int]
    procs: list[int]
    #: Time limits in seconds; 0: none was requested.
    time_limit: list[int]
    user_id: list[int]
    group_id: list[int]
    #: Rows of the jobs that are submitted some seconds after the end of another one, as (row, seconds), by its row.
    #: Their submit times are as recorded until then.
    followers: dict[int, list[tuple[int, int]]]
    #: Seconds after which jobs are withdrawn, whether they run by then or not, by row. Else they would run for ever.
    withdrawn: dict[int, int]
    #: Names; empty: not known. If there are only numbers, ``user3`` and, as account, ``group1``.
    user: list[str] = field(init=False)
    account: list[str] = field(init=False)

    def __len__(self) -> int:
        """Count the jobs."""
        return len(self.job_id)

    def __post_init__(self) -> None:
        """Make names for users and groups that have only numbers."""
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
        """When the clock begins, Unix seconds: second 0 of the workload, or the first submission if it is earlier."""
        return min(self.origin, self.submit[0])

    def spec(self, row: int) -> JobSpec:
        """Make the request of one job."""
        requests = self.workload.requests
        if requests is not None:
            return requests[row]._replace(time_limit=self.time_limit[row] or None)
        # Without the constructor, which is slower because of its many defaults.
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
        """Give the names of user and account of all jobs."""
        return set(zip(self.user, self.account, strict=True))


def make_trace(workload: Workload, estimate: str = "requested", *, think_time: bool = False) -> Trace:
    """Make the trace of a workload.

    Jobs without run time that were not withdrawn, and those without number of processors (requested or else
    allocated), are left out.

    Args:
        workload: The workload.
        estimate: Time limits: ``requested`` times, or ``actual`` run times, as if users knew these.
        think_time: Whether jobs that name a preceding job are submitted their think time after its end.

    Raises:
        InputError: there is no such estimate, no job is left, or none names a preceding job.
    """
    if estimate not in ESTIMATES:
        raise InputError(f"{estimate!r} is none of {', '.join(ESTIMATES)}", field="estimate")
    whole = workload.whole_jobs()
    procs = np.where(whole.requested_procs > 0, whole.requested_procs, whole.allocated_procs)
    known = ((whole.run_time >= 0) | whole.withdrawn) & (procs > 0)
    rows = np.flatnonzero(known)
    rows = rows[np.argsort(whole.submit_time[rows], kind="stable")]
    if not (known & (whole.run_time >= 0)).any():
        raise InputError("no job to replay: none has both a run time and processors", path=workload.source)
    jobs = whole.take(rows)
    _check_arrays(jobs)
    withdrawn = jobs.withdrawn
    exact = np.where(withdrawn, jobs.requested_time, np.maximum(jobs.run_time, 1))
    limit = jobs.requested_time if estimate == "requested" else exact
    # Times must not be negative, which means "never" in schedules.
    origin = max(workload.unix_start_time or 0, -int(jobs.submit_time[0]))
    return Trace(
        workload=jobs,
        origin=origin,
        left_out=len(workload) - len(jobs),
        job_id=jobs.job_number.tolist(),
        submit=(jobs.submit_time + origin).tolist(),
        run=np.where(withdrawn, _FOR_EVER, jobs.run_time).tolist(),
        procs=procs[rows].tolist(),
        time_limit=np.maximum(limit, 0).tolist(),
        user_id=jobs.user_id.tolist(),
        group_id=jobs.group_id.tolist(),
        followers=_followers(jobs) if think_time else {},
        withdrawn={row: int(jobs.wait_time[row]) for row in np.flatnonzero(withdrawn).tolist()},
    )


def _followers(jobs: Workload) -> dict[int, list[tuple[int, int]]]:
    """Give the jobs that wait for the end of an earlier one, with their think times, by its row.

    Raises:
        InputError: there are none.
    """
    row_of = {number: row for row, number in enumerate(jobs.job_number.tolist())}
    found: dict[int, list[tuple[int, int]]] = {}
    for row, (preceding, seconds) in enumerate(zip(jobs.preceding_job.tolist(), jobs.think_time.tolist(), strict=True)):
        earlier = row_of.get(preceding, row)
        if earlier < row:
            found.setdefault(earlier, []).append((row, max(seconds, 0)))
    if not found:
        raise InputError("no job names a preceding job (field 17)", path=jobs.source, field="--think-time")
    return found


def _check_arrays(jobs: Workload) -> None:
    """Check that all tasks of each array are there, in succession.

    Raises:
        InputError: some were left out.
    """
    requests, row = jobs.requests or (), 0
    while row < len(requests):
        array = requests[row].array
        tasks = count_tasks(array, MOST_TASKS)
        line = int(jobs.line[row])
        if array and jobs.line[row : row + tasks].tolist() != [line] * tasks:
            raise InputError(
                "some tasks of this array are left out: leave out all or none", path=jobs.source, line=line
            )
        row += tasks
