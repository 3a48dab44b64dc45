"""Whether what a cluster has kept fits together, and saving what can be saved of it where it does not."""

from rota.controller.recovery.inspection import Inspection, inspect

__all__ = ["Inspection", "inspect"]
