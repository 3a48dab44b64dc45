"""A stretch of a workload, with what ran and what waited when it begins, as it was.

A job that ran then is submitted ten minutes before, on its recorded nodes if they are known, and runs for what was left
of its run time, with what was left of its time limit; so it holds its place when the stretch begins. It is in no figure
(`Workload.carried`). A job that waited then is submitted when the stretch begins, and its wait counts from there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rota.config.hostlist import expand_hostlist
from rota.model import InputError
from rota.model.bounds import MOST_OF_MACHINE
from rota.workload.fields import UNKNOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.model import JobSpec
    from rota.workload.workload import Workload

#: Seconds before the stretch in which what ran then is started.
LEAD = 600


def window(workload: Workload, begin: int | None, end: int | None) -> Workload:
    """Take the jobs submitted from ``begin`` on and before ``end``, and what ran and waited at ``begin``.

    Args:
        workload: The workload.
        begin: Seconds after the log's second 0; ``None``: from its beginning.
        end: The same; ``None``: to its end.

    Raises:
        InputError: no job is left, or the log does not tell what ran then.
    """
    whole = workload.whole_jobs()
    submit, run = whole.submit_time, whole.run_time
    inside = submit < (submit.max() + 1 if end is None else end)
    if begin is None:
        return _some(whole.take(inside), workload, "--to")
    if not (whole.wait_time >= 0).any() and (submit < begin).any():
        problem = "the log has no waits, which tell what ran then: without them only --to can be given"
        raise InputError(problem, path=workload.source, field="--from")
    start = np.where(whole.wait_time >= 0, submit + whole.wait_time, UNKNOWN)
    known = (whole.wait_time >= 0) & ((run >= 0) | whole.withdrawn)
    ran = known & (run >= 0) & (submit < begin) & (start < begin) & (start + run > begin)
    waited = known & (submit < begin) & (start >= begin)
    kept = np.flatnonzero((inside & (submit >= begin)) | ran | waited)
    _some(whole.take(np.flatnonzero(inside & (submit >= begin))), workload, "--from and --to")
    left = LEAD + start + run - begin
    limit = np.maximum(LEAD + start + whole.requested_time - begin, 1)
    changed = replace(
        whole.with_columns(
            submit_time=np.where(ran, begin - LEAD, np.maximum(submit, begin)),
            wait_time=np.where(ran, UNKNOWN, np.where(waited, start - begin, whole.wait_time)),
            run_time=np.where(ran, left, run),
            requested_time=np.where(ran & (whole.requested_time > 0), limit, whole.requested_time),
        ),
        requests=_placed(whole, ran),
    )
    taken = changed.take(kept)
    taken = taken.take(np.argsort(taken.submit_time, kind="stable"))
    return replace(_from(taken, begin), carried=frozenset(whole.job_number[ran].tolist()))


def _some(workload: Workload, log: Workload, field: str) -> Workload:
    if not len(workload):
        raise InputError("no job of the log was submitted then", path=log.source, field=field)
    return workload


def _placed(workload: Workload, ran: NDArray[np.bool_]) -> tuple[JobSpec, ...] | None:
    """Ask for the recorded nodes of the jobs that ran, which can start at once."""
    requests = workload.requests
    if requests is None:
        return None
    nodes = workload.nodes or ("",) * len(workload)
    return tuple(
        spec._replace(begin_time=0, required_nodes=_listed(nodes[row], workload, row)) if ran[row] else spec
        for row, spec in enumerate(requests)
    )


def _listed(hostlist: str, workload: Workload, row: int) -> str:
    """Write out a list of nodes."""
    try:
        return ",".join(expand_hostlist(hostlist, MOST_OF_MACHINE)) if hostlist else ""
    except ValueError as error:
        line = int(workload.line[row])
        raise InputError(str(error), path=workload.source, line=line, field="NodeList") from None


def _from(workload: Workload, begin: int) -> Workload:
    """Let a log that has dates begin at ``begin``."""
    origin = workload.unix_start_time
    if origin is None:
        return workload
    header = [line for line in workload.header if "UnixStartTime" not in line]
    moved = workload.with_columns(submit_time=workload.submit_time - begin)
    return replace(moved, header=(f"; UnixStartTime: {origin + begin}", *header))
