"""First in, first out: each job gets a priority one below that of the job before.

The rule is that of Slurm's plugin of this name. A priority set by an administrator stays; otherwise it is the lowest
priority so far minus 1, minus the job's nice value, and at least 1. The engine does not include ``nice`` in the lowest
priority, so that a nice job does not affect later ones. O(1) for each job.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.interfaces import MAX_PRIORITY
from rota.interfaces.stubs.priority import *

if TYPE_CHECKING:
    from rota.interfaces import Job

plugin_type = "priority/basic"
plugin_name = "first in, first out"
plugin_version = 100


def priority_p_set(last_prio: int, job_ptr: Job) -> int:
    """Give the next lower priority."""
    if job_ptr.admin_priority:
        return job_ptr.priority
    priority = last_prio - 1 if last_prio >= 2 else 1
    nice = job_ptr.nice
    if not nice or (nice > 0 and priority <= nice + 1):
        return priority
    return min(max(priority - nice, 1), MAX_PRIORITY)
