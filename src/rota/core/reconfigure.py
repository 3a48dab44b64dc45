"""Reading slurm.conf again, and changes of it: new limits and parameters, and a new machine while jobs are running."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.core.accounts.policy import AccountingPolicy
from rota.core.limits.licenses import read_licenses
from rota.core.machine import by_index, by_name, check, merge
from rota.core.settings import Settings
from rota.model import Errno, Partition, RequestError
from rota.model.read_only import write
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from rota.core.cluster import Cluster
    from rota.core.job import Job
    from rota.core.machine import Machine
    from rota.core.state import ClusterState
    from rota.model import ClusterConfig
    from rota.resources import Pool


def reconfigure(cluster: Cluster, config: ClusterConfig) -> None:
    """Put a configuration into force, or change nothing. Nodes and partitions that jobs use stay as `machine` says.

    Raises:
        RequestError: running jobs hold resources that could not be allocated to them on the new machine.
        InputError: a parameter cannot be used.
    """
    state = cluster.state
    check(config)
    if any(part.set_fields or part.created for part in config.partitions):
        raise config.error("PartitionName", "no file says what an administrator has set since it was read")
    config.half_life()
    AccountingPolicy(state, cluster.accounts, config)
    settings = Settings.read(config)
    read_licenses(config)
    change = _plan(state, config, keep_state_of=(), keep_set=False)
    cluster.dependencies.forget()
    state.config, state.settings, state.deleted_partitions = config, settings, frozenset()
    _carry_out(cluster, change)


def change_machine(cluster: Cluster) -> bool:
    """Remove or change nodes and partitions that are not as in slurm.conf, and that jobs do not use any more.

    Returns:
        Whether it was possible; ``False``: running jobs do not allow it.
    """
    state = cluster.state
    try:
        change = _plan(state, state.config, keep_state_of=state.partitions)
    except RequestError:
        return False
    _carry_out(cluster, change)
    return True


def set_of_nodes(
    cluster: Cluster, which: Collection[int], features: tuple[str, ...] | None, weight: int | None
) -> None:
    """Set features and weight of some nodes until slurm.conf is read again; ``None``: they stay.

    Raises:
        RequestError: the weight is out of bounds, or running jobs do not allow it.
    """
    nodes = cluster.state.nodes
    before, changes = nodes.copy(), dict[str, Any]()
    if features is not None:
        changes["set_features"] = features
    if weight is not None:
        if not 0 <= weight < 2**32:
            raise RequestError(f"a weight of {weight} is out of bounds", Errno.INVALID_EVENT)
        changes["set_weight"] = weight
    for index in which:
        nodes[index] = nodes[index]._replace(**changes)
    if not change_machine(cluster):
        nodes[:] = before
        raise RequestError("running jobs do not allow it: let them end first", Errno.REQUESTED_PART_CONFIG_UNAVAILABLE)


def set_partition(cluster: Cluster, wanted: Partition) -> None:
    """Create a partition, or change all of it but the state, until slurm.conf is read again.

    Raises:
        RequestError: there is no such QOS, the nodes are not those of the machine, or running jobs do not allow it.
        InputError: a value is out of bounds.
    """
    partitions = {part.name: part for part in cluster.state.config.partitions}
    known = partitions.get(wanted.name)
    is_new_qos = wanted.qos and (known is None or wanted.qos != known.qos)
    if is_new_qos and wanted.qos.lower() not in cluster.accounts.tree.qos:
        raise RequestError(f"Invalid qos specification: there is no {wanted.qos!r}", Errno.INVALID_QOS)
    if wanted.default:  # only one can be
        partitions |= {name: _with(part, replace(part, default=False)) for name, part in partitions.items()}
    new = replace(wanted, set_fields=frozenset(), created=True) if known is None else _with(known, wanted)
    _set_partitions(cluster, [*(partitions | {wanted.name: new}).values()])


def _with(before: Partition, wanted: Partition) -> Partition:
    """Give a partition as it is to be, with the names of what has been set of it."""
    kept = {name: getattr(before, name) for name in _NOT_SET}
    new = replace(wanted, **kept)
    changed = {one.name for one in fields(Partition) if getattr(before, one.name) != getattr(new, one.name)}
    return replace(new, set_fields=before.set_fields if before.created else before.set_fields | changed)


#: What `set_partition` does not set.
_NOT_SET = ("name", "state", "set_fields", "created")


def delete_partition(cluster: Cluster, name: str) -> None:
    """Delete a partition until slurm.conf is read again.

    Raises:
        RequestError: jobs are in it, or it is the last one.
    """
    state = cluster.state
    left = [part for part in state.config.partitions if part.name != name]
    if _is_used(state, name) or not left:
        raise RequestError(f"Partition is in use: {name}", Errno.PARTITION_IN_USE)
    _set_partitions(cluster, left)
    state.deleted_partitions |= {name}


def _set_partitions(cluster: Cluster, partitions: Sequence[Partition]) -> None:
    """Put other partitions into force, or change nothing.

    Raises:
        RequestError: running jobs do not allow it.
        InputError: a value is out of bounds.
    """
    state = cluster.state
    config = replace(state.config, partitions=tuple(partitions))
    check(config)
    change = _plan(state, config, keep_state_of=state.partitions)
    state.config = config
    _carry_out(cluster, change)


def may_change(state: ClusterState) -> bool:
    """Whether jobs do not use a node or partition any more that is not as in slurm.conf."""
    nodes = state.leaving_nodes
    for job in state.holding() if nodes else ():
        nodes &= ~job.alloc_nodes
    return bool(nodes) or any(not _is_used(state, name) for name in state.leaving_partitions)


def _is_used(state: ClusterState, partition: str) -> bool:
    jobs = state.jobs.values()
    return any(record.partition.name == partition for job in jobs for record in (job, *job.records))


def units_of(state: ClusterState, job: Job) -> int:
    """Count the units that a job or queue record needs at least; 0: its partition can never serve it."""
    try:
        return state.pool.units(job.spec, job.partition)
    except RequestError:  # no node has what it asks for any more
        return 0


class _Change(NamedTuple):
    """A change of machine."""

    machine: Machine
    pool: Pool
    #: Resource sets on the new machine of all jobs that hold resources.
    held: list[tuple[Job, int]]


def _plan(
    state: ClusterState, config: ClusterConfig, *, keep_state_of: Collection[str], keep_set: bool = True
) -> _Change:
    """Compute the machine for a configuration.

    Raises:
        RequestError: running jobs hold resources that could not be allocated to them on the new machine.
    """
    holding = state.holding()
    machine = merge(
        config,
        state.nodes,
        state.partitions.values(),
        used_nodes={state.nodes[index].name for job in holding for index in indices(job.alloc_nodes)},
        used_partitions={one.partition.name for job in state.jobs.values() for one in (job, *job.records)},
        keep_state_of=keep_state_of,
        keep_set=keep_set,
    )
    pool = state.make_pool(config, machine.nodes, machine.partitions.values())
    node_index = {node.name: index for index, node in enumerate(machine.nodes)}
    shares = [by_index(by_name(state.pool.by_index(job.alloc), state.nodes), node_index) for job in holding]
    held: list[int] = []
    try:
        held += [pool.from_indices(one) for one in shares]
        pool.refresh(machine.nodes, held)
        problem = pool.problem(held)
    except ValueError as error:
        problem = str(error)
    if problem:
        raise RequestError(
            f"jobs that run hold what they could not on such a machine ({problem}): let them end first",
            Errno.REQUESTED_PART_CONFIG_UNAVAILABLE,
        )
    return _Change(machine, pool, list(zip(holding, held, strict=True)))


def _carry_out(cluster: Cluster, change: _Change) -> None:
    state, machine = cluster.state, change.machine
    partitions = {}
    for new in machine.partitions.values():
        known = partitions[new.name] = state.partitions.get(new.name, new)  # jobs refer to this object
        write(known, **{one.name: getattr(new, one.name) for one in fields(Partition)})
    state.set_machine(machine.nodes, partitions, change.pool)
    for job, resources in change.held:
        job.alloc, job.alloc_nodes = resources, change.pool.nodes_of(resources)
    for job in state.jobs.values():
        job.tested_nodes = machine.move.bitmap(job.tested_nodes)
        for record in (job, *job.records):
            record.request_class = None  # it was computed for the old machine
            record.planned_nodes = machine.move.bitmap(record.planned_nodes)
            if machine.is_other:
                record.units = units_of(state, record)
    cluster.reservations.move_nodes(machine.move)
    cluster.accounts.reconfigured()
    cluster.reload_policy()
