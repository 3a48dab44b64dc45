"""Filters: which jobs of a log a study keeps, and how it mends them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from rota.workload.workload import Workload

#: Takes a workload and the processors of the machine.
Filter: TypeAlias = Callable[[Workload, int], Workload]


def sc15(workload: Workload, procs: int) -> Workload:
    """Filter as the schedules published with SC15 do.

    1. A job that asked for, or got, more than ``procs`` goes.
    2. Processors asked for and got become one: what was asked for, or, where that is missing, what was given.
    3. A job without processors, run time or requested time goes, and so does one submitted before second 0.
    4. Run time is cut to the requested time, as a system that ends jobs at their limit would.

    The order of jobs stays. A log that records no requested times has nothing left.

    Args:
        workload: as read.
        procs: processors of the machine, see `Workload.procs`.

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


#: By the name that ``--filter`` takes.
FILTERS: dict[str, Filter] = {"sc15": sc15}
