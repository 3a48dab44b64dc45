"""The scheduler plugin API: which jobs start when.

Source: the Slurm Scheduler Plugin API (March 2019). All functions are required; those without a use are stubs, which
``from rota.interfaces.stubs.sched import *`` provides. A scheduler of stubs is a FIFO: after
``slurm_sched_p_schedule`` the engine makes its own main pass, unless the plugin has called
`Controller.disable_main_pass`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rota.interfaces.plugin import PluginApi, Symbol

if TYPE_CHECKING:
    from rota.interfaces.controller import Controller
    from rota.interfaces.job import Job

SCHED_API = PluginApi(
    major="sched",
    symbols=(
        Symbol("init", ("ctld",)),
        Symbol("fini"),
        Symbol("slurm_sched_p_reconfig"),
        Symbol("slurm_sched_p_schedule"),
        Symbol("slurm_sched_p_newalloc", ("job_ptr",)),
        Symbol("slurm_sched_p_freealloc", ("job_ptr",)),
        Symbol("slurm_sched_p_initial_priority", ("last_prio", "job_ptr")),
        Symbol("slurm_sched_p_job_is_pending"),
        Symbol("slurm_sched_p_partition_change"),
        Symbol("slurm_sched_p_get_conf"),
    ),
    version_optional=True,
)


class SchedPlugin(Protocol):
    """A plugin of type ``sched/*``. Integer functions return `SLURM_SUCCESS` or `SLURM_ERROR`, or raise."""

    def init(self, ctld: Controller) -> int:
        """Start the plugin. ``ctld`` is its way to read, ask and propose; it should keep it."""

    def fini(self) -> None:
        """Stop the plugin."""

    def slurm_sched_p_reconfig(self) -> int:
        """Read the configuration again. Called on every reconfiguration, after the priority plugin's."""

    def slurm_sched_p_schedule(self) -> int:
        """Make a scheduling pass. Called in every pass; if it fails, the engine makes a FIFO pass instead."""

    def slurm_sched_p_newalloc(self, job_ptr: Job) -> int:
        """The job has just been allocated resources. Called last in an allocation."""

    def slurm_sched_p_freealloc(self, job_ptr: Job) -> int:
        """The job's resources are about to be freed; ``job_ptr.alloc`` still has them."""

    def slurm_sched_p_initial_priority(self, last_prio: int, job_ptr: Job) -> int:
        """Give a new job its priority, unsigned 32-bit; 0 holds it.

        The historical default forwards to ``ctld.priority.set(last_prio, job_ptr)``. ``last_prio`` is the lowest
        priority given so far.
        """

    def slurm_sched_p_job_is_pending(self) -> None:
        """A job could not start because its nodes are in use."""

    def slurm_sched_p_partition_change(self) -> None:
        """A partition or reservation was created, changed or deleted, or the configuration was read again."""

    def slurm_sched_p_get_conf(self) -> str | None:
        """Give what ``scontrol show config`` shows as SchedulerParameters if slurm.conf does not set them."""
