"""Stubs of the priority API: ``from rota.interfaces.stubs.priority import *``, then define what you need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.model import SLURM_ERROR, SLURM_SUCCESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.interfaces.job import Job
    from rota.model import Association, PriorityFactors, PriorityFactorsRequest

__all__ = [
    "SLURM_ERROR",
    "SLURM_SUCCESS",
    "priority_p_get_priority_factors_list",
    "priority_p_reconfig",
    "priority_p_set",
    "priority_p_set_assoc_usage",
    "priority_p_set_max_cluster_usage",
]


def priority_p_set(last_prio: int, job_ptr: Job) -> int:  # noqa: ARG001
    """Give every job the same priority, 1: the queue is in submission order."""
    return 1


def priority_p_reconfig() -> None:
    """Do nothing."""


def priority_p_set_max_cluster_usage(procs: int, half_life: int) -> int:  # noqa: ARG001
    """Accept."""
    return SLURM_SUCCESS


def priority_p_set_assoc_usage(assoc: Association) -> None:
    """Do nothing."""


def priority_p_get_priority_factors_list(req_msg: PriorityFactorsRequest) -> Sequence[PriorityFactors] | None:  # noqa: ARG001
    """Have no factors."""
    return None
