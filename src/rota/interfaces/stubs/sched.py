"""Stubs of the scheduler API: ``from rota.interfaces.stubs.sched import *``, then define what you need.

Two functions are yours to write, for both need the `Controller` that only your own module can keep::

    def init(ctld):
        global controller
        controller = ctld
        return SLURM_SUCCESS

    def slurm_sched_p_initial_priority(last_prio, job_ptr):
        return controller.priority.set(last_prio, job_ptr)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.model import SLURM_ERROR, SLURM_SUCCESS

if TYPE_CHECKING:
    from rota.interfaces.job import Job

__all__ = [
    "SLURM_ERROR",
    "SLURM_SUCCESS",
    "fini",
    "slurm_sched_p_freealloc",
    "slurm_sched_p_get_conf",
    "slurm_sched_p_job_is_pending",
    "slurm_sched_p_newalloc",
    "slurm_sched_p_partition_change",
    "slurm_sched_p_reconfig",
    "slurm_sched_p_schedule",
]


def fini() -> None:
    """Do nothing."""


def slurm_sched_p_reconfig() -> int:
    """Accept."""
    return SLURM_SUCCESS


def slurm_sched_p_schedule() -> int:
    """Start nothing: the engine's main pass, a FIFO, follows."""
    return SLURM_SUCCESS


def slurm_sched_p_newalloc(job_ptr: Job) -> int:  # noqa: ARG001
    """Accept."""
    return SLURM_SUCCESS


def slurm_sched_p_freealloc(job_ptr: Job) -> int:  # noqa: ARG001
    """Accept."""
    return SLURM_SUCCESS


def slurm_sched_p_job_is_pending() -> None:
    """Do nothing."""


def slurm_sched_p_partition_change() -> None:
    """Do nothing."""


def slurm_sched_p_get_conf() -> str | None:
    """Have nothing to report."""
    return None
