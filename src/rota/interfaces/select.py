"""The node selection API: which nodes a job gets where jobs share them.

The engine knows what is free and what a job needs of a node; which of the nodes that could serve it are taken is the
plugin's to say. Machines of interchangeable processors, and those that give out whole nodes (``select/linear``), have
no such plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rota.interfaces.plugin import PluginApi, Symbol

if TYPE_CHECKING:
    from rota.interfaces.controller import Controller
    from rota.resources import Candidates as Candidates  # noqa: PLC0414 - plugins import both from here
    from rota.resources import Needs as Needs  # noqa: PLC0414

SELECT_API = PluginApi(
    major="select",
    symbols=(
        Symbol("init", ("ctld",)),
        Symbol("fini"),
        Symbol("select_p_job_test", ("needs", "candidates")),
    ),
)


class SelectPlugin(Protocol):
    """A plugin of type ``select/*``."""

    def init(self, ctld: Controller) -> int:
        """Start. `SLURM_SUCCESS`, or raise."""

    def fini(self) -> None:
        """Stop."""

    def select_p_job_test(self, needs: Needs, candidates: Candidates) -> list[tuple[int, int]] | None:
        """Pick the nodes of a job.

        Called very often, also for times to come, and must not keep anything of it.

        Args:
            needs: What the job asks for.
            candidates: The nodes that could each take part of it, with the processors that it could have there.

        Returns:
            Places of nodes among the candidates' with the processors that the job gets on each, ``needs.cpus`` at least
            in all and no more than the candidate has; ``None`` when it cannot be served.
        """
