"""Stubs of the node selection API: ``from rota.interfaces.stubs.select import *``, then define what you need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.model import SLURM_ERROR, SLURM_SUCCESS
from rota.resources import first_fit

if TYPE_CHECKING:
    from rota.interfaces.controller import Controller
    from rota.resources import Candidates, Needs

__all__ = ["SLURM_ERROR", "SLURM_SUCCESS", "fini", "first_fit", "init", "select_p_job_test"]


def init(ctld: Controller) -> int:  # noqa: ARG001
    """Accept."""
    return SLURM_SUCCESS


def fini() -> None:
    """Do nothing."""


def select_p_job_test(needs: Needs, candidates: Candidates) -> list[tuple[int, int]] | None:
    """Choose nodes by weight, then in their order."""
    return first_fit(needs, candidates)
