"""What a live cluster has run, as a workload to be replayed.

Each job has the request with which it was submitted or that was in force at its end, and runs as long as its last run
took. Jobs that never ran, or have not ended, have no run time, and cannot be replayed. A job array is an array again if
all of its tasks have run; else its tasks are jobs of their own.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from rota.core.plain import shape_of
from rota.model import ClusterConfig, InputError, JobSpec
from rota.model.array import MOST_TASKS, parse_array
from rota.store.database import Database
from rota.store.location import database_url
from rota.workload.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    Record = dict[str, Any]


def read_history(path: Path) -> tuple[Workload, ClusterConfig]:
    """Read what a live cluster has run, and its configuration.

    Args:
        path: The state directory. Its controller may be running.

    Raises:
        InputError: nothing has run yet.
        DatabaseError: the database cannot be read.
    """
    database = Database(database_url(path))
    try:
        snapshot = database.last_snapshot()
        ended = [record["job"] for record in database.job_records()]
    finally:
        database.close()
    if snapshot is None or not ended:
        raise InputError("no job of this cluster has ended yet", path=path)
    config: ClusterConfig = shape_of(ClusterConfig).decode(snapshot[1]["config"])
    return _workload(path, ended), config


def _workload(path: Path, ended: list[Record]) -> Workload:
    rows = list(_rows(ended))
    origin = min(job["submit_time"] for job, _, _ in rows)
    decode = shape_of(JobSpec).decode
    requests: list[JobSpec] = []
    columns: dict[str, list[int]] = {name: [] for name in _COLUMNS}
    for line, (job, number, array) in enumerate(rows, 1):
        spec: JobSpec = decode(job["request"])._replace(array=array, hold=False, payload="")
        requests.append(spec)
        start = job.get("start_time")
        run = -1 if start is None else max(job["end_time"] - start - job.get("suspended", 0), 0)
        columns["line"].append(columns["line"][-1] if array and requests[-2:-1] == [spec] else line)
        columns["job_number"].append(number)
        columns["submit_time"].append(job["submit_time"] - origin)
        columns["wait_time"].append(-1 if start is None else start - job["submit_time"])
        columns["run_time"].append(run)
        columns["requested_procs"].append(spec.num_cpus)
        columns["allocated_procs"].append(job["num_cpus"])
        columns["requested_time"].append(spec.time_limit or -1)
        columns["status"].append(int(job["state"] == "COMPLETED"))
        columns["user_id"].append(spec.user_id)
        columns["group_id"].append(spec.group_id)
    header = (f"; UnixStartTime: {origin}",)
    tasks = tuple(_task(job) for job, _, _ in rows)
    return Workload.build(path.name, columns, header=header, source=path, requests=tuple(requests), tasks=tasks)


def _task(job: Record) -> str:
    return "" if job.get("array_job_id") is None else f"{job['array_job_id']}_{job.get('array_task', '')}"


_COLUMNS = (
    "line",
    "job_number",
    "submit_time",
    "wait_time",
    "run_time",
    "requested_procs",
    "allocated_procs",
    "requested_time",
    "status",
    "user_id",
    "group_id",
)


def _rows(ended: Iterable[Record]) -> Iterator[tuple[Record, int, str]]:
    """Give the jobs in the order of submission, each with its number and the tasks of its array, if it is whole."""
    first = sorted(ended, key=lambda job: (job["submit_time"], job.get("array_job_id") or job["job_id"]))
    for array_job_id, group in groupby(first, key=lambda job: job.get("array_job_id")):
        jobs = list(group)
        array = jobs[0]["request"].get("array", "") if array_job_id is not None else ""
        tasks = {job.get("array_task", ""): job for job in jobs if job.get("start_time") is not None}
        ids = [str(task) for task in parse_array(array, MOST_TASKS).ids] if array else []
        if array and set(ids) == tasks.keys():
            for number, task in enumerate(ids, array_job_id):
                yield tasks[task], number, array
        else:
            for job in jobs:
                yield job, job["job_id"], ""
