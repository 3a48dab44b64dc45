"""The order of jobs in ``sacct``, and which runs of a requeued job are listed."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.model.accounting import Accounted

T = TypeVar("T")


def every_run(made: Iterable[tuple[Accounted, T]]) -> list[T]:
    """Give what was made of records, in the order of their jobs."""
    found = [(_order(record), one) for record, one in made]
    found.sort(key=itemgetter(0))
    return [one for _, one in found]


def last_runs(made: Iterable[tuple[Accounted, T]]) -> list[T]:
    """Give what was made of the last record of each job, in the order of the jobs."""
    found = {record.job.job_id: (_order(record), one) for record, one in made}
    return [one for _, one in sorted(found.values(), key=itemgetter(0))]


def _order(record: Accounted) -> tuple[int, int]:
    job = record.job
    if job.array_job_id is None:
        return job.job_id, 0
    return job.array_job_id, int(job.array_task) if job.array_task.isdecimal() else 2**62
