"""Running jobs that are assumed to end together.

To find out when a job fits, running jobs are taken away one after the other, by expected end. As in Slurm the job is
not tested after each: those that end within 30 seconds of the first full half minute after the first end are one batch,
those within 60 seconds the next, then 120, and so on, which makes later batches longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.resources.future.job_ends import Releases

#: Seconds of the first batch, and to a multiple of which its begin is rounded up.
_FIRST = 30


def batches(releases: Releases, nodes: int, gone: int, step: int, least: int = 0) -> Iterator[int]:
    """Give the number of ends after each batch, where it is as large as ``least``.

    Args:
        releases: The running jobs.
        nodes: Bitmap of the nodes that matter.
        gone: How many jobs are gone already.
        step: Number of seconds by which each batch is longer than the one before; 0: it is twice as long.
        least: The last of so many ends is on some of the nodes, or it is more than there are.
    """
    ends, jobs, window = releases.ends, releases.jobs, _FIRST
    limit = len(ends)
    index = releases.next_on(gone, nodes, limit)
    if index == limit:
        return
    begin = ends[index] // _FIRST * _FIRST + _FIRST
    if least > index + 1 and not step:
        # A batch ends where it does whatever came before: those before the one with that end need not be made.
        while begin + window < ends[least - 1]:
            window *= 2
        if window > _FIRST:
            before = releases.ended_by(begin + window // 2)
            if not jobs[before - 1].alloc_nodes & nodes and releases.next_on(before, nodes, least) == least - 1:
                window //= 2  # the one before ends with it
        index = least - 1
    while index < limit:
        gone = max(index + 1, min(releases.ended_by(begin + window), limit))
        # Slurm looks whether a batch is over when it has taken a job of these nodes, not when it passes by others.
        if not jobs[gone - 1].alloc_nodes & nodes:
            gone = min(releases.next_on(gone, nodes, limit) + 1, limit)
        if gone >= least:
            yield gone
        window += step or window
        if gone < limit and (short := ends[gone] - begin - window) > 0:
            if step:
                window += -(-short // step) * step
            while not step and ends[gone] > begin + window:
                window *= 2
        index = releases.next_on(gone, nodes, limit)
