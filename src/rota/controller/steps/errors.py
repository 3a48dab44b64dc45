"""Why a step is not made."""

from __future__ import annotations

INVALID_GRES = "Invalid generic resource (gres) specification"


class StepError(Exception):
    """A step that cannot be made; the text is Slurm's."""


class NodesError(StepError):
    """A step asks for what no job has, or for nodes that it cannot have; each argument is a line."""


class StepBusyError(StepError):
    """A step that has to wait for others of its job."""


class GresError(StepError):
    """A step asks for GRES that its job does not have; each argument says why."""

    def __str__(self) -> str:
        return INVALID_GRES
