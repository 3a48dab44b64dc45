"""The parts of the engine that handle jobs. Each part has references to the others that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rota.accounting import AssociationTree
from rota.core.accounts.changes import after, require_unused, shape_of_tree
from rota.core.accounts.charging import Accounts
from rota.core.accounts.policy import AccountingPolicy
from rota.core.accounts.rights import require_rights
from rota.core.limits.licenses import LicensePool
from rota.core.queue.dependencies import JobDependencies
from rota.core.queue.job_queue import JobQueue
from rota.core.queue.obstacles import Obstacles
from rota.core.queue.reasons import Reasons
from rota.core.queue.reservations import Reservations
from rota.core.state import ClusterState
from rota.core.timers import TimerKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.core.arrays import JobArray
    from rota.core.events import UpdateAccounting
    from rota.core.job import Job
    from rota.model import ClusterConfig
    from rota.resources.requests.needs import Choose

#: First priority of ``priority/basic`` and Slurm, from which they count down.
FIRST_PRIORITY = 0xFFFF0000


class Cluster:
    """A cluster, as the engine's parts.

    Args:
        config: The configuration (slurm.conf).
        boot_time: When the clock begins, Unix seconds.
        tree: The tree of associations; ``None``: only the root.
        choose: The function of the node selection plugin.

    Raises:
        InputError: a value of slurm.conf, or a limit of an association or QOS, cannot be used.
    """

    __slots__ = (
        "accounts",
        "dependencies",
        "last_priority",
        "licenses",
        "obstacles",
        "policy",
        "queue",
        "reasons",
        "reservations",
        "state",
    )

    def __init__(
        self,
        config: ClusterConfig,
        boot_time: int,
        tree: AssociationTree | None,
        choose: Choose,
        utc_offset: Callable[[int], int],
    ) -> None:
        self.state = state = ClusterState(config, boot_time, choose)
        self.queue = JobQueue(state)
        self.accounts = Accounts(state, AssociationTree(config.cluster_name) if tree is None else tree)
        #: Admission of jobs, and limits.
        self.policy = AccountingPolicy(state, self.accounts, config)
        self.licenses = LicensePool(config)
        self.dependencies = JobDependencies(state, self.queue)
        self.reservations = Reservations(state, self.queue, self.accounts, utc_offset)
        self.reasons = Reasons(
            state=state,
            queue=self.queue,
            accounts=self.accounts,
            reservations=self.reservations,
        )
        self.obstacles = Obstacles(
            state=state, policy=self.policy, dependencies=self.dependencies, reservations=self.reservations
        )
        self.queue.why_parked = self.obstacles.test
        #: Lowest priority so far.
        self.last_priority = FIRST_PRIORITY

    # ---- jobs are added and removed ---------------------------------------------------------------------------

    def add(self, job: Job) -> None:
        """Add a live job; the caller then queues or parks it."""
        self.state.jobs[job.job_id] = job
        self.state.job_views[job.job_id] = job.view
        if self.accounts.usage is not None:
            self.accounts.submitted(job)
        if job.limits is not None:
            self.policy.submitted(job)
        if job.start_limits or job.records:
            self.queue.limited += job.may_be_held_back
        if job.dependencies is not None or self.dependencies.by_name is not None:
            self.dependencies.added(job)

    def withdraw(self, job: Job) -> None:
        """Remove a pending job from the queue and from all counts, so that it can be changed."""
        self.queue.remove(job)
        self.policy.removed(job)
        self.queue.limited -= job.may_be_held_back
        self.dependencies.withdrawn(job)

    def readmit(self, job: Job) -> None:
        """Add a withdrawn job again, with its present request; the caller then queues or parks it."""
        for record in (job, *job.records):
            record.start_limits = () if job.array is None else (job.array,)
        self.policy.apply_limits(job)
        self.give_licenses(job)
        job.show()
        self.add(job)

    def give_licenses(self, job: Job) -> None:
        """Add the start limit for the licences of a job, and count them as used if it runs."""
        if job.spec.licenses:
            wanted = self.licenses.wanted(job.spec.licenses)
            for record in (job, *job.records):
                record.start_limits = (*record.start_limits, wanted)
            job.show()
            if job.alloc:
                wanted.started(job)

    def add_task(self, task: Job, array: JobArray[Job], task_id: int) -> None:
        """Add a task that was split off an array; the caller then queues or parks it."""
        self.state.jobs[task.job_id] = array.tasks[task_id] = task
        self.state.job_views[task.job_id] = task.view
        self.policy.split_off(task, array.job_id)
        self.queue.limited += task.may_be_held_back
        self.dependencies.added(task)

    def remove(self, job: Job) -> Sequence[int]:
        """Remove a job that has ended; give the ids of the tasks of its array that have ended with it."""
        state = self.state
        del state.jobs[job.job_id], state.job_views[job.job_id]
        job.view = None  # type: ignore[assignment] # as `Job.view` says
        if job.spec.reservation:
            self.reservations.left(job.spec.reservation)
        if job.limits is not None or job.records:  # it may have had limits in another of its partitions
            self.policy.removed(job)
        if job.start_limits or job.records:
            self.queue.limited -= job.may_be_held_back
        if job.job_id in state.timers.of_job:
            state.timers.cancel_of_job(job.job_id)
        over: Sequence[int] = ()
        if job.array is not None:
            over = job.array.left(job)
            if job.array.is_over:
                state.remove_array(job.array)
        self.dependencies.removed(job, over)
        return over

    # ---- limits -----------------------------------------------------------------------------------------------

    def reload_policy(self) -> None:
        """Read the limits again, and apply them to all live jobs; the caller then reconsiders the pending ones.

        Raises:
            InputError: a limit cannot be used; nothing has changed then.
        """
        state = self.state
        self.policy = self.obstacles.policy = AccountingPolicy(state, self.accounts, state.config)
        # Timers of the limits in force so far.
        state.timers.cancel_all(TimerKind.GROUP_MINUTES, TimerKind.JOB_MINUTES, TimerKind.LIMITS_DECAY)
        for job in state.jobs.values():
            self.policy.apply_limits(job)
            self.policy.submitted(job)
        self.licenses.set_config(state.config)
        self.queue.limited = sum(job.may_be_held_back for job in state.jobs.values())

    def change_accounting(self, event: UpdateAccounting) -> bool:
        """Change accounts, users, associations and QOS, and apply their limits to all live jobs.

        Returns:
            Whether more than limits has changed.

        Raises:
            RequestError: the user may not, or the change cannot be made; nothing has changed then.
        """
        accounts, tree = self.accounts, self.accounts.tree
        require_rights(tree, event)
        future = after(tree, event, accounts.tres)
        require_unused(event, accounts, self.state.jobs)
        before, parents = shape_of_tree(tree), tree.columns.parent
        tree.become(future)
        if accounts.usage is not None:
            accounts.usage.qos_changed()
            if not np.array_equal(parents, tree.columns.parent[: len(parents)]):
                accounts.usage.moved(parents)
            accounts.charge_running()
        self.reload_policy()
        return shape_of_tree(tree) != before
