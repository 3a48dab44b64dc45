"""Filters: the jobs of a log that a study uses, and corrections of their values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from rota.model import JobSpec
from rota.workload.workload import Workload

#: A function of a workload and the machine's number of processors.
Filter: TypeAlias = Callable[[Workload, int], Workload]


def sc15(workload: Workload, procs: int) -> Workload:
    """Filter as for the schedules published with SC15.

    1. Drop jobs that asked for, or got, more than ``procs`` processors.
    2. Use as many processors as were requested or, if that is unknown, allocated.
    3. Drop jobs without processors, run time or requested time, and jobs submitted before second 0.
    4. Limit the run time to the requested time.

    The order of jobs is kept. Nothing is left of a log without requested times.

    Args:
        workload: The log as read.
        procs: The machine's number of processors, see `Workload.procs`.

    Source: Gaussier, Glesser, Reis, Trystram: Improving Backfilling by using Machine Learning to predict Running Times,
    SC15.
    """
    asked, given = workload.requested_procs, workload.allocated_procs
    size = np.where(asked > 0, asked, given)
    keep = (asked <= procs) & (given <= procs) & (size > 0)
    keep &= (workload.run_time > 0) & (workload.requested_time > 0) & (workload.submit_time >= 0)
    kept = workload.take(keep)
    return kept.with_columns(
        requested_procs=size[keep],
        allocated_procs=size[keep],
        run_time=np.minimum(kept.run_time, kept.requested_time),
    )


#: What a request can ask of a machine of which only the number of processors is known.
_WITHOUT_NODES = (
    *("num_cpus", "user_id", "group_id", "user", "account", "name", "begin_time", "hold", "nice", "priority"),
    *("requeue", "time_min", "deadline", "dependency", "array"),
)


def only_processors(workload: Workload, *, with_qos: bool) -> Workload:
    """Leave of each request what a machine of interchangeable processors understands.

    Args:
        workload: The workload.
        with_qos: Whether the QOS is left too.
    """
    if workload.requests is None:
        return workload
    names = (*_WITHOUT_NODES, "qos") if with_qos else _WITHOUT_NODES
    made: dict[int, JobSpec] = {}
    for spec in workload.requests:
        if id(spec) not in made:
            made[id(spec)] = JobSpec(**{name: getattr(spec, name) for name in names})
    return dataclasses.replace(workload, requests=tuple(made[id(spec)] for spec in workload.requests))


#: Filters by the name that ``--filter`` takes.
FILTERS: dict[str, Filter] = {"sc15": sc15}
