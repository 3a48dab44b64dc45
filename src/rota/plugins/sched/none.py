"""The null scheduler plugin: all functions are stubs, so jobs are started by the engine's main pass alone.

Only the initial priority is not a stub: it is the priority plugin's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.interfaces.stubs.sched import *
from rota.interfaces.stubs.sched import SLURM_SUCCESS

if TYPE_CHECKING:
    from rota.interfaces import Controller, Job

plugin_type = "sched/none"
plugin_name = "null scheduler plugin"
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
