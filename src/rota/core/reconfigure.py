"""Reading slurm.conf again: other limits and parameters, and another machine around the jobs that run."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, NamedTuple

from rota.core.accounts.policy import AccountingPolicy
from rota.core.limits.licenses import read_licenses
from rota.core.machine import NodeMove, asked_of, by_name, by_place, merge_nodes, merge_partitions
from rota.core.settings import Settings
from rota.model import Errno, Partition, RequestError
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from rota.core.cluster import Cluster
    from rota.core.job import Job
    from rota.core.state import ClusterState
    from rota.model import ClusterConfig, Node
    from rota.resources import Pool


def reconfigure(cluster: Cluster, config: ClusterConfig) -> None:
    """Take the configuration over, whole or not at all; of the machine as far as jobs let it be changed.

    Raises:
        RequestError: jobs hold what could not be given to them on the machine that it has.
        InputError: a parameter cannot be used.
    """
    state = cluster.state
    config.half_life()
    AccountingPolicy(state, cluster.accounts, config)
    settings = Settings.read(config)
    read_licenses(config)
    machine = _machine(state, config)
    state.config, state.settings = config, settings
    _take_over(cluster, machine)


def change_machine(cluster: Cluster) -> None:
    """Let nodes and partitions leave, or become what slurm.conf has, that had to stay for jobs that are over now."""
    state = cluster.state
    states = {part.name: part.state for part in state.partitions.values()}
    try:
        machine = _machine(state, state.config)
    except RequestError:
        return  # other jobs are in the way still
    for part in machine.partitions:
        part.state = states[part.name]
    _take_over(cluster, machine)


def may_change(state: ClusterState) -> bool:
    """Whether a node or partition is free that had to stay for jobs."""
    nodes, names = state.leaving_nodes, state.leaving_partitions
    for job in state.holding():
        nodes &= ~job.alloc_nodes
    return bool(nodes or (names and names - partitions_in_use(state)))


def partitions_in_use(state: ClusterState) -> set[str]:
    """Name the partitions that live jobs are in."""
    return {record.partition.name for job in state.jobs.values() for record in (job, *job.records)}


class _Machine(NamedTuple):
    """A machine in place of another."""

    nodes: list[Node]
    partitions: list[Partition]
    pool: Pool
    move: NodeMove
    #: What each job holds of it that holds something.
    held: list[tuple[Job, int]]


def _machine(state: ClusterState, config: ClusterConfig) -> _Machine:
    """Work out what machine there is if slurm.conf is this.

    Raises:
        RequestError: it has no place for what jobs hold.
    """
    holding = state.holding()
    used = {state.nodes[place].name for job in holding for place in indices(job.alloc_nodes)}
    nodes = merge_nodes(config, state.nodes, used)
    move = NodeMove([node.name for node in state.nodes], [node.name for node in nodes])
    partitions = list(merge_partitions(config, state.partitions.values(), partitions_in_use(state), move).values())
    pool = state.make_pool(config, nodes, partitions)
    places = {node.name: 1 << place for place, node in enumerate(nodes)}
    shares = [by_place(by_name(state.pool.by_place(job.alloc), state.nodes), places) for job in holding]
    held: list[int] = []
    try:
        held += [pool.from_places(one) for one in shares]
        pool.refresh(nodes, held)
        problem = pool.problem(held)
    except ValueError as error:
        problem = str(error)
    if problem:
        raise RequestError(
            f"jobs that run hold what they could not on such a machine ({problem}): let them end first",
            Errno.REQUESTED_PART_CONFIG_UNAVAILABLE,
        )
    return _Machine(nodes, partitions, pool, move, list(zip(holding, held, strict=True)))


def _take_over(cluster: Cluster, machine: _Machine) -> None:
    state = cluster.state
    is_other = asked_of(state.nodes, state.partitions.values()) != asked_of(machine.nodes, machine.partitions)
    partitions = {}
    for new in machine.partitions:
        known = partitions[new.name] = state.partitions.get(new.name, new)  # jobs have it
        for one in fields(Partition):
            setattr(known, one.name, getattr(new, one.name))
    state.set_machine(machine.nodes, partitions, machine.pool)
    for job, resources in machine.held:
        job.alloc, job.alloc_nodes = resources, machine.pool.nodes_of(resources)
    for job in state.jobs.values():
        for record in (job, *job.records):
            record.request_class = None  # it was worked out for the machine of before
            record.planned_nodes = machine.move.bitmap(record.planned_nodes)
            if is_other:
                record.units = units_of(state, record)
    cluster.reservations.move_nodes(machine.move)
    cluster.accounts.reconfigured()
    cluster.renew_policy()


def units_of(state: ClusterState, job: Job) -> int:
    """Count the units that a job, or a record of it, needs at least; 0: its partition cannot serve it any more."""
    try:
        return state.pool.units(job.spec, job.partition)
    except RequestError:  # it asks for what no node has any more
        return 0
