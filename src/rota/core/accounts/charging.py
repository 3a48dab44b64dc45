"""Associations of jobs, and charging them for usage."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rota.accounting import Usage
from rota.core.plain import shape_of
from rota.model import Account, Association, Qos, User
from rota.model.tres import BILLING, CPU, MEM, NODE, billable, gres_counts
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rota.accounting import AssociationTree
    from rota.core.job import Job
    from rota.core.state import ClusterState
    from rota.model import JobSpec, Node, Partition

#: Account of jobs that name none and whose users have no default account.
DEFAULT_ACCOUNT = "default"
#: QOS of jobs that name none and whose associations have no default QOS.
NORMAL = "normal"
#: Largest number of GRES requests whose counts are cached.
_MOST_KNOWN = 10_000


class JobRequest(NamedTuple):
    """What a job requested that has ended, and its last allocation."""

    spec: JobSpec
    partition: Partition
    alloc: int


class Accounts:
    """Finds the associations of jobs and charges them. Usage is kept only if a plugin asks for it.

    Args:
        state: The machine and its jobs.
        tree: The tree of associations.
    """

    __slots__ = (
        "_default_memory",
        "_gres",
        "_largest",
        "_partition_tres",
        "_saved_running",
        "_state",
        "ask_shares",
        "saved",
        "tree",
        "tres",
        "usage",
    )

    def __init__(self, state: ClusterState, tree: AssociationTree) -> None:
        self._state = state
        self.tree = tree
        #: Names of the cluster's TRES.
        self.tres = state.config.tres()
        #: Usage; ``None``: no plugin has asked for it to be kept.
        self.usage: Usage | None = None
        #: Makes the priority plugin fill in shares and fair-share of a copy of an association; ``None``: not set yet.
        self.ask_shares: Callable[[Association], object] | None = None
        #: Saved usage, until usage is kept.
        self.saved: dict[str, Any] | None = None
        self._saved_running: dict[str, Any] | None = None
        self.reconfigured()

    def reconfigured(self) -> None:
        """Drop what was derived from slurm.conf."""
        flags = {flag.strip().upper() for flag in self._state.config.get("PriorityFlags").split(",")}
        self._largest = next((flag for flag in ("MAX_TRES_GRES", "MAX_TRES") if flag in flags), "")
        #: Memory per node and per processor of jobs that ask for none, by partition.
        self._default_memory: dict[str, tuple[int, int]] = {}
        self._partition_tres: dict[str, tuple[float, ...]] = {}
        #: GRES counts by request, with the index of each TRES.
        self._gres: dict[str, tuple[tuple[int, int], ...]] = {}

    # ---- associations -----------------------------------------------------------------------------------------

    def associate(self, job: Job) -> Association:
        """Find a job's association. A missing one is added, see `AssociationTree.add`.

        This changes the state: another user in the tree changes everybody's shares.
        """
        if job.assoc is None:
            user, account = job.user_name, job.spec.account
            found = self.tree.find(user, account, job.partition.name)
            job.assoc = found or self.tree.add(user, account or DEFAULT_ACCOUNT)
        return job.assoc

    def add_users(self, charged: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Add users to accounts unless they have an association there, if only for one partition; give those added."""
        tree = self.tree
        known = {(one.user, one.account) for one in tree.associations if one.partition}
        known |= {(user, "") for user, account in known if tree.users[user].default_account == account}
        missing = [one for one in charged if one not in known and tree.find(*one) is None]
        added = [(user, account or DEFAULT_ACCOUNT) for user, account in missing]
        for user, account in added:
            self.tree.add(user, account)
        return added

    def submitted(self, job: Job) -> None:
        """Set the association of a job that is being submitted, in each of its partitions. It does not change later."""
        for record in job.records or (job,):
            self.associate(record)

    def association_of(self, job: Job) -> Association | None:
        """Find a job's association; ``None``: it has none."""
        if job.assoc is None:
            found = self.tree.find(job.user_name, job.spec.account, job.partition.name)
            if found is not None:
                job.assoc = found
            return found
        return job.assoc

    def account_of(self, job: Job) -> str:
        """Name the account that a job is, or would be, charged to."""
        association = self.association_of(job)
        return (job.spec.account or DEFAULT_ACCOUNT) if association is None else association.account

    def path_of(self, job: Job) -> NDArray[np.int64]:
        """Give the rows of a job's association and all accounts above it; without one, those of existing accounts."""
        tree = self.tree
        nearest = job.assoc or self.association_of(job) or tree.find("", job.spec.account or DEFAULT_ACCOUNT)
        return tree.path(tree.row(nearest or tree.root))

    def qos_of(self, job: Job) -> Qos | None:
        """Find a job's QOS; ``None``: it does not exist."""
        return self.tree.qos.get(job.spec.qos or NORMAL)

    def default_qos(self, job: Job) -> str:
        """Name the QOS of a job that asks for none: that of its association or an account above it, else ``normal``."""
        associations = self.tree.associations
        found = (associations[row].default_qos for row in self.path_of(job).tolist())
        return next(filter(None, found), NORMAL)

    def with_shares(self, association: Association) -> Association:
        """Give a copy of an association with shares and fair-share filled in by the priority plugin."""
        one = replace(association)
        if self.ask_shares is not None:
            self.ask_shares(one)
        return one

    # ---- TRES -------------------------------------------------------------------------------------------------

    def tres_of(self, job: Job | JobRequest, resources: int | None = None) -> tuple[float, ...]:
        """Count the TRES that are allocated to a job or, while it is pending, requested.

        Args:
            job: The job, or one of its queue records; or what an ended one requested.
            resources: Resource set to count in place of the allocation; 0: count the request.
        """
        spec, cpus, nodes = job.spec, job.spec.num_cpus, max(job.spec.min_nodes, 1)
        resources = job.alloc if resources is None else resources
        held = self._state.pool.tres(resources) if resources else {}
        cpus, nodes = held.get("cpu", cpus), held.get("node", nodes)
        counts = [0.0] * len(self.tres)
        counts[CPU], counts[NODE], counts[MEM] = cpus, nodes, self._memory(job, cpus, nodes)
        sockets = nodes * spec.sockets_per_node
        by_part = (spec.gres_per_socket, sockets), (spec.gres_per_task, spec.num_tasks or 1)
        for text, times in ((spec.gres, nodes), (spec.gres_per_job, 1), *by_part):
            for index, count in self._gres_of(text) if text else ():
                counts[index] += count * times
        for index, name in enumerate(self.tres) if held else ():
            counts[index] = held.get(name, counts[index])
        counts[BILLING] = billable(counts, self.tres, job.partition.billing_weights, self._largest)
        return tuple(counts)

    def asked(self, job: Job) -> Sequence[float]:
        """Count the TRES that a job requests; the result is cached."""
        if job.tres_req is None:
            job.tres_req = self.tres_of(job, 0)
        return job.tres_req

    def _memory(self, job: Job | JobRequest, cpus: int, nodes: int) -> int:
        spec, part = job.spec, job.partition
        if spec.mem_per_node:
            return max(spec.mem_per_node, 0) * nodes
        if spec.mem_per_cpu:
            return spec.mem_per_cpu * cpus
        default = self._default_memory.get(part.name)
        if default is None:
            default = self._default_memory[part.name] = part.default_memory(self._state.config.default_memory())
        per_node, per_cpu = default
        return per_cpu * cpus or per_node * nodes

    def _gres_of(self, text: str) -> tuple[tuple[int, int], ...]:
        """Count GRES by the index of each TRES; those that are not accounted for are left out."""
        known = self._gres.get(text)
        if known is None:
            try:
                counts = gres_counts(text)
            except ValueError:
                counts = {}  # requests are checked when they are submitted
            names = {name: index for index, name in enumerate(self.tres)}
            known = tuple((names[f"gres/{key}"], count) for key, count in counts.items() if f"gres/{key}" in names)
            if len(self._gres) >= _MOST_KNOWN:  # users can make up any number of requests
                self._gres.clear()
            self._gres[text] = known
        return known

    def partition_tres(self, partition: Partition) -> tuple[float, ...]:
        """Count the TRES of a partition."""
        known = self._partition_tres.get(partition.name)
        if known is None:
            counts = [0.0] * len(self.tres)
            for index in indices(partition.nodes):
                node = self._state.nodes[index]
                counts[CPU] += node.cpus
                counts[MEM] += node.real_memory
                counts[NODE] += 1
                for position, count in self._gres_of(",".join(node.gres)):
                    counts[position] += count
            counts[BILLING] = billable(counts, self.tres, partition.billing_weights, self._largest)
            known = self._partition_tres[partition.name] = tuple(counts)
        return known

    def node_billing(self, node: Node, partitions: Iterable[Partition]) -> int:
        """Give what a whole node is billed: most by its partitions with weights; where none has some, its CPUs."""
        weights = [one.billing_weights for one in partitions if one.billing_weights]
        counts = [0.0] * len(self.tres)
        counts[CPU], counts[MEM] = node.cpus, node.real_memory
        if weights:
            for position, count in self._gres_of(",".join(node.gres)):
                counts[position] += count
        return int(max(billable(counts, self.tres, one, self._largest) for one in weights or ({},)))

    # ---- usage ------------------------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        """Give the tree and usage as JSON data."""
        tree = self.tree
        return {
            "associations": [shape_of(Association).encode(one) for one in tree.associations if one.account],
            "accounts": [shape_of(Account).encode(one) for one in tree.accounts.values()],
            "users": [shape_of(User).encode(one) for one in tree.users.values()],
            "qos": [shape_of(Qos).encode(one) for one in tree.qos.values()],
            "usage": self.saved if self.usage is None else self.usage.save(),
            "running": None if self.usage is None else self.usage.save_running(),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore the saved data."""
        self.tree.restore(
            [shape_of(Association).decode(one) for one in saved["associations"]],
            [shape_of(Account).decode(one) for one in saved["accounts"]],
            [shape_of(User).decode(one) for one in saved["users"]],
            [shape_of(Qos).decode(one) for one in saved["qos"]],
        )
        if saved["usage"] is not None:
            self.restore_usage(saved["usage"])
            self._saved_running = saved["running"]

    def restore_usage(self, saved: dict[str, Any]) -> None:
        """Restore saved usage, as soon as usage is kept.

        Args:
            saved: The result of `Usage.save`.

        Raises:
            InputError: the data is not such a result, or that of another cluster.
        """
        Usage(self.tree, self.tres).restore(saved)
        self.saved = saved

    def keep_usage(self) -> Usage:
        """Keep usage from now on, starting with the saved usage if there is any. Running jobs are charged."""
        if self.usage is None:
            self.usage = Usage(self.tree, self.tres)
            if self.saved is not None:
                self.usage.restore(self.saved)
                self.saved = None
            for job in self._state.jobs.values():
                self.submitted(job)
            self.charge_running()
            if self._saved_running is not None:
                self.usage.restore_running(self._saved_running)
        return self.usage

    def charge_running(self) -> None:
        """Charge all running jobs, at the rates of the present tree."""
        for job in self._state.jobs.values():
            if job.alloc and job.suspended_since is None:
                self.started(job)

    def started(self, job: Job) -> None:
        """Charge a job that has been started or resumed, if usage is kept."""
        if self.usage is None:
            return
        tres, qos = self.tres_of(job), self.qos_of(job)
        self.usage.job_started(
            job.job_id,
            self.tree.row(self.associate(job)),
            billable=tres[BILLING],
            tres=tres,
            start_time=job.charged_since,
            qos=[name for name in (qos.name if qos else "", job.partition.qos) if name],
            usage_factor=self.usage_factor(job),
        )

    def fill(self, associations: Iterable[Association], *, run_seconds: bool = True) -> None:
        """Fill in the usage of copies of associations; copies of unknown ones are unchanged.

        Without ``run_seconds``, `grp_used_tres_run_secs`, which takes longest, is left out.
        """
        usage, tree = self.usage, self.tree
        if usage is None:
            return
        raw, tres_raw, wall = usage.raw, usage.tres_raw, usage.wall
        run_secs = self._run_seconds() if run_seconds else None
        for one in associations:
            if one not in tree:
                continue
            row = tree.row(one)
            one.usage_raw = float(raw[row])
            one.usage_tres_raw = tuple(tres_raw[row].tolist())
            one.grp_used_wall = float(wall[row])
            if run_secs is not None:
                one.grp_used_tres_run_secs = tuple(run_secs[row].tolist())

    def _run_seconds(self) -> NDArray[np.float64]:
        """Sum up the TRES seconds of running jobs from the last period to their time limits, by association."""
        running = self._state.running
        seconds = np.zeros((len(self.tree), len(self.tres)))
        for job in running:
            since = max(job.start_time or 0, (self.usage and self.usage.last_ran) or 0)
            left = max((job.end_time or since) - since, 0) * self.usage_factor(job)
            seconds[self.path_of(job)] += np.array(self.tres_of(job)) * left
        return seconds

    def usage_factor(self, job: Job) -> float:
        """Give the factor by which a job's usage is multiplied."""
        qos = self.qos_of(job)
        return 1.0 if qos is None else qos.usage_factor

    def ended(self, job: Job, time: int) -> None:
        """Cease to charge a job, as of a time (Unix seconds)."""
        if self.usage is not None:
            self.usage.job_ended(job.job_id, time)
