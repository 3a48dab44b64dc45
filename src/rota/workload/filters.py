"""Filters: the jobs of a log that a study uses, and corrections of their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

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


#: Filters by the name that ``--filter`` takes.
FILTERS: dict[str, Filter] = {"sc15": sc15}
