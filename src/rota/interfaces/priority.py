"""The priority plugin API: in which order jobs are considered.

Source: the Slurm Priority Plugin API, version 100 (February 2009). All five functions are required; those without a use
are stubs, which ``from rota.interfaces.stubs.priority import *`` provides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rota.interfaces.plugin import PluginApi, Symbol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.interfaces.job import Job
    from rota.model import Association, PriorityFactors, PriorityFactorsRequest

PRIORITY_API = PluginApi(
    major="priority",
    symbols=(
        Symbol("priority_p_set", ("last_prio", "job_ptr")),
        Symbol("priority_p_reconfig"),
        Symbol("priority_p_set_max_cluster_usage", ("procs", "half_life")),
        Symbol("priority_p_set_assoc_usage", ("assoc",)),
        Symbol("priority_p_get_priority_factors_list", ("req_msg",)),
    ),
)


class PriorityPlugin(Protocol):
    """A plugin of type ``priority/*``."""

    def priority_p_set(self, last_prio: int, job_ptr: Job) -> int:
        """Give the job its priority, an unsigned 32-bit number: higher first, 0 is held.

        Called when a job is submitted (through the scheduler plugin's ``slurm_sched_p_initial_priority``) and when it
        is released. ``last_prio`` is the lowest priority given so far, 4294901760 at first.

        A job with several partitions has this priority in all of them, unless the plugin sets others for its
        ``records`` with `Controller.set_priority` during the call; then it must return the highest of them.
        """

    def priority_p_reconfig(self) -> None:
        """Read the configuration again. Called on every reconfiguration, before the scheduler plugin's.

        Also called when associations, shares or priorities of associations or QOS have changed.
        """

    def priority_p_set_max_cluster_usage(self, procs: int, half_life: int) -> int:
        """Take the reference by which usage is normalised.

        Called after ``init`` and whenever the processor count changes. ``procs`` is the machine's number of processors,
        ``half_life`` is ``PriorityDecayHalfLife`` in seconds. Returns `SLURM_SUCCESS` or `SLURM_ERROR`.
        """

    def priority_p_set_assoc_usage(self, assoc: Association) -> None:
        """Fill in ``assoc.usage_norm`` and ``assoc.usage_efctv``. Called when an association's usage is shown.

        ``assoc`` is a copy of the record in the tree: ``assoc in ctld.associations`` is true, and `AssociationTree.row`
        gives its row.
        """

    def priority_p_get_priority_factors_list(self, req_msg: PriorityFactorsRequest) -> Sequence[PriorityFactors] | None:
        """Give the factors of the jobs asked for; ``None`` or empty if there are none. Called for ``sprio``."""
