"""The node selection API: which nodes a job gets where nodes are shared.

The engine knows what is free and what a job needs on a node; the plugin chooses among the nodes that can serve the job.
Machines of interchangeable processors, and those that allocate whole nodes (``select/linear``), have no such plugin.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from rota.interfaces.plugin import PluginApi, Symbol

if TYPE_CHECKING:
    from rota.interfaces.controller import Controller
    from rota.resources import Candidates as Candidates  # noqa: PLC0414 - plugins import both from here
    from rota.resources import Needs as Needs  # noqa: PLC0414
    from rota.resources import Switches as Switches  # noqa: PLC0414

SELECT_API = PluginApi(
    major="select",
    symbols=(
        Symbol("init", ("ctld",)),
        Symbol("fini"),
        Symbol("select_p_job_test", ("needs", "candidates")),
    ),
    # The first allocates whole nodes, so that there is nothing to choose. The others came before cons_tres.
    instead=MappingProxyType(
        {
            "select/linear": "select/cons_tres",
            "select/cons_res": "select/cons_tres",
            "select/cray_aries": "select/cons_tres",
        }
    ),
)


class SelectPlugin(Protocol):
    """A plugin of type ``select/*``."""

    def init(self, ctld: Controller) -> int:
        """Start the plugin: return `SLURM_SUCCESS`, or raise."""

    def fini(self) -> None:
        """Stop the plugin."""

    def select_p_job_test(self, needs: Needs, candidates: Candidates) -> list[tuple[int, int]] | None:
        """Choose the nodes of a job.

        Called very often, also for times in the future. The plugin must not keep any of it.

        Args:
            needs: The resources that the job asks for.
            candidates: Nodes that could each serve part of the job, with the number of processors that it could have
                there.

        Returns:
            Pairs of a candidate's index and the number of processors that the job gets there: at least ``needs.cpus``
            in all, and no more on each than the candidate has; ``None`` if the job cannot be served.
        """
