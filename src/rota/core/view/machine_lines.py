"""Lines of nodes, partitions, reservations and licences."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from rota.model import NodeState
from rota.model.gres import shown
from rota.model.lines import AllocationLine, LicenseLine, NodeLine, PartitionLine, ReservationLine, counts
from rota.model.reservation import FLAGS
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.core.cluster import Cluster
    from rota.core.job import Job
    from rota.model import Node, Partition
    from rota.model.reservation import Reservation

_GRES = "gres/"


class _Allocated:
    """The allocated resources of a node."""

    __slots__ = ("is_completing", "jobs", "running_cpus", "tres")

    def __init__(self) -> None:
        self.jobs: list[int] = []
        self.tres: Counter[str] = Counter()
        #: Number of processors of jobs that are not completing.
        self.running_cpus = 0
        self.is_completing = False


def node_lines(cluster: Cluster) -> tuple[NodeLine, ...]:
    """Make the lines of all nodes."""
    state = cluster.state
    allocated = _allocated_by_node(cluster)
    maintained = reserved = planned = 0
    for one in cluster.reservations.all.values():
        if one.start_time <= state.now < one.end_time:
            reserved |= one.nodes
            maintained |= one.nodes if "MAINT" in one.flags else 0
    for job in state.jobs.values():
        planned |= 0 if job.alloc else job.planned_nodes
    lines = []
    for index, node in enumerate(state.nodes):
        flags = {
            "COMPLETING": allocated[index].is_completing,
            "DRAIN": node.state is NodeState.DRAIN,
            "FAIL": node.state is NodeState.FAIL,
            "MAINTENANCE": maintained >> index & 1,
            "PLANNED": planned >> index & 1 and not allocated[index].running_cpus,
            "RESERVED": reserved >> index & 1,
        }
        shown = tuple(name for name, is_set in flags.items() if is_set)
        parts = [part for part in state.partitions.values() if part.nodes >> index & 1]
        billing = cluster.accounts.node_billing(node, parts)
        lines.append(_node_line(node, allocated[index], shown, tuple(part.name for part in parts), billing))
    return tuple(lines)


def _allocated_by_node(cluster: Cluster) -> defaultdict[int, _Allocated]:
    """Sum up the allocated resources of each node, by its index."""
    allocated: defaultdict[int, _Allocated] = defaultdict(_Allocated)
    pool = cluster.state.pool
    for job in sorted(cluster.state.jobs.values(), key=lambda job: job.job_id):
        if not job.alloc:
            continue
        by_tres = pool.tres_by_node(job.alloc)
        for index in by_tres["cpu"].nonzero()[0].tolist():
            one = allocated[index]
            one.jobs.append(job.job_id)
            one.is_completing |= job.completing
            own = {name: int(each[index]) for name, each in by_tres.items()}
            one.tres.update(own)
            one.running_cpus += 0 if job.completing else own["cpu"]
    return allocated


def allocation_lines(cluster: Cluster, job: Job) -> tuple[AllocationLine, ...]:
    """Make the lines of a job's allocation, one for each node."""
    pool = cluster.state.pool
    by_tres = pool.tres_by_node(job.alloc)
    lines = []
    for index in by_tres["cpu"].nonzero()[0].tolist():
        own = {name: int(each[index]) for name, each in by_tres.items()}
        gres = {name.removeprefix(_GRES): count for name, count in own.items() if name.startswith(_GRES) and count}
        name = cluster.state.nodes[index].name
        cpus, memory, ids = own["cpu"], own.get("mem", 0), pool.processor_ids(job.alloc, index)
        lines.append(AllocationLine(node=name, cpus=cpus, memory=memory, gres=counts(gres), processors=ids))
    return tuple(lines)


def gpus_by_node(cluster: Cluster, job: Job) -> dict[str, dict[str, tuple[int, ...]]]:
    """Give the GPUs of a job by node and type; nodes of which only their number is known are left out."""
    found, nodes, pool = {}, cluster.state.nodes, cluster.state.pool
    for index in indices(pool.nodes_of(job.alloc)):
        if gpus := pool.gpu_ids(job.alloc, index):
            found[nodes[index].name] = gpus
    return found


def _node_line(
    node: Node, allocated: _Allocated, flags: tuple[str, ...], partitions: tuple[str, ...], billing: int
) -> NodeLine:
    base = "IDLE" if not allocated.running_cpus else "ALLOCATED" if allocated.running_cpus >= node.cpus else "MIXED"
    if node.state is NodeState.DOWN:
        base = "DOWN"
    used = {
        name.removeprefix(_GRES): count for name, count in allocated.tres.items() if name.startswith(_GRES) and count
    }
    return NodeLine(
        name=node.name,
        state=_shown_state(base, frozenset(flags)),
        base_state=base,
        flags=flags,
        reason=node.reason,
        reason_uid=node.reason_uid,
        reason_time=node.reason_time,
        cpus=node.cpus,
        cpus_allocated=min(allocated.tres["cpu"], node.cpus),  # shared cores are allocated several times
        sockets=node.sockets,
        cores_per_socket=node.cores_per_socket,
        threads_per_core=node.threads_per_core,
        memory=node.real_memory,
        memory_allocated=allocated.tres["mem"],
        gres=shown(node),
        gres_used=counts(used),
        features=node.features,
        weight=node.weight,
        tmp_disk=node.tmp_disk,
        comment=node.comment,
        extra=node.extra,
        partitions=partitions,
        billing=billing,
        jobs=tuple(allocated.jobs),
    )


def _shown_state(base: str, flags: frozenset[str]) -> str:
    """Combine base state and flags into the word that ``sinfo`` shows, with Slurm's precedence."""
    in_use = base in {"ALLOCATED", "MIXED"}
    if "MAINTENANCE" in flags and "DRAIN" not in flags and not in_use and base != "DOWN":
        return "MAINT"
    mark = "$" if "MAINTENANCE" in flags else ""
    if "DRAIN" in flags:
        return ("DRAINING" if in_use or "COMPLETING" in flags else "DRAINED") + mark
    if "FAIL" in flags:
        return ("FAILING" if in_use or "COMPLETING" in flags else "FAIL") + mark
    if base == "DOWN":
        return base + mark
    if base == "ALLOCATED":
        return base + (mark or ("+" if "COMPLETING" in flags else ""))
    if "COMPLETING" in flags:
        return "COMPLETING" + mark
    if base == "IDLE":
        return next((word for word in ("RESERVED", "PLANNED") if word in flags), base)
    return base + mark


def partition_line(cluster: Cluster, part: Partition, names: Callable[[int], tuple[str, ...]]) -> PartitionLine:
    """Make the line of a partition; ``names`` gives the names of the nodes in a bitmap."""
    accounts = cluster.accounts
    tres = zip(accounts.tres, accounts.partition_tres(part), strict=True)
    return PartitionLine(
        name=part.name,
        state=part.state.value,
        default=part.default,
        nodes=names(part.nodes),
        tres=counts({name: int(count) for name, count in tres if count >= 1}),
        max_time=part.max_time,
        default_time=part.default_time,
        min_nodes=part.min_nodes,
        max_nodes=part.max_nodes,
        priority_tier=part.priority_tier,
        priority_job_factor=part.priority_job_factor,
        qos=part.qos,
        exclusive=part.exclusive,
        max_share=part.max_share,
        force_share=part.force_share,
        least_loaded=part.least_loaded,
        grace_time=part.grace_time,
        over_time_limit=part.over_time_limit,
        options=part.options,
        def_mem_per_cpu=part.def_mem_per_cpu,
        def_mem_per_node=part.def_mem_per_node,
        max_mem_per_cpu=part.max_mem_per_cpu,
        max_mem_per_node=part.max_mem_per_node,
        max_cpus_per_node=part.max_cpus_per_node,
        def_cpu_per_gpu=part.def_cpu_per_gpu,
        def_mem_per_gpu=part.def_mem_per_gpu,
        select_parameters=part.select_parameters,
        root_only=part.root_only,
        req_resv=part.req_resv,
        node_sets=part.node_sets,
        billing_weights=part.billing_weights,
        allow_groups=part.allow_groups,
        allow_users=None if part.allow_users is None else tuple(sorted(part.allow_users)),
        allow_accounts=part.allow_accounts,
        deny_accounts=part.deny_accounts,
        allow_qos=part.allow_qos,
        deny_qos=part.deny_qos,
    )


def reservation_line(one: Reservation, now: int, names: Callable[[int], tuple[str, ...]]) -> ReservationLine:
    """Make the line of a reservation; ``names`` gives the names of the nodes in a bitmap."""
    return ReservationLine(
        name=one.name,
        state="ACTIVE" if one.start_time <= now < one.end_time else "INACTIVE",
        start_time=one.start_time,
        end_time=one.end_time,
        nodes=names(one.nodes),
        features=one.features,
        users=one.users,
        accounts=one.accounts,
        flags=tuple(sorted(one.flags, key=FLAGS.index)),
        partition=one.partition,
        purge_after=one.purge_after,
    )


def license_lines(cluster: Cluster) -> tuple[LicenseLine, ...]:
    """Make the lines of all licences, and of those that were removed while jobs hold them."""
    total, used = cluster.licenses.total, cluster.licenses.used
    names = dict.fromkeys((*total, *(name for name, count in used.items() if count)))
    return tuple(LicenseLine(name=name, total=total.get(name, 0), used=used.get(name, 0)) for name in names)
