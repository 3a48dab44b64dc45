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


def batches(releases: Releases, nodes: int, gone: int, step: int) -> Iterator[int]:
    """Give the number of ends after each batch.

    Args:
        releases: The running jobs.
        nodes: Bitmap of the nodes that matter.
        gone: How many jobs are gone already.
        step: Number of seconds by which each batch is longer than the one before; 0: it is twice as long.
    """
    ends, jobs, window, begin = releases.ends, releases.jobs, _FIRST, 0
    limit = len(ends)
    while (index := releases.next_on(gone, nodes, limit)) < limit:
        begin = begin or ends[index] // _FIRST * _FIRST + _FIRST
        gone = max(index + 1, min(releases.ended_by(begin + window), limit))
        # Slurm looks whether a batch is over when it has taken a job of these nodes, not when it passes by others.
        if not jobs[gone - 1].alloc_nodes & nodes:
            gone = min(releases.next_on(gone, nodes, limit) + 1, limit)
        yield gone
        window += step or window
        if gone < limit and (short := ends[gone] - begin - window) > 0:
            if step:
                window += -(-short // step) * step
            while not step and ends[gone] > begin + window:
                window *= 2
