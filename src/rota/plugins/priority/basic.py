"""First in, first out, by number: each job gets a priority one below the last one's.

The rule of Slurm's plugin of that name: a priority that an administrator has set stays; otherwise it is the lowest
priority given so far less 1, less the job's nice value, and at least 1. The engine leaves ``nice`` out of what it
takes as the lowest, so that a nice job does not push later ones down. O(1) a job.
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
    if nice > 0 and priority <= nice + 1:
        return priority
    return min(max(priority - nice, 1), MAX_PRIORITY)
