"""First in, first out, strictly: jobs start in queue order, and the first that does not fit blocks its partition.

That is Slurm's main pass, which the engine makes by itself after a scheduler that has started nothing; with one
partition and ``priority/basic`` it is FCFS as in the literature. O(jobs started + partitions) a pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.interfaces.stubs.sched import *
from rota.interfaces.stubs.sched import SLURM_SUCCESS

if TYPE_CHECKING:
    from rota.interfaces import Controller, Job

plugin_type = "sched/builtin"
plugin_name = "first in, first out"
plugin_version = 100

_ctld: Controller


def init(ctld: Controller) -> int:
    """Keep the controller."""
    global _ctld
    _ctld = ctld
    return SLURM_SUCCESS


def slurm_sched_p_initial_priority(last_prio: int, job_ptr: Job) -> int:
    """Forward to the priority plugin."""
    return _ctld.priority.set(last_prio, job_ptr)
