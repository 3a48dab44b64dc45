"""Admission: requests that can never be met are refused at submission, unless Slurm lets them wait."""

from __future__ import annotations

from operator import ge
from typing import TYPE_CHECKING

from rota.core.limits.start_limits import LIMIT_REASONS
from rota.core.plain import LARGEST_EXACT
from rota.core.queue.obstacles import is_user_excluded
from rota.model import LONGEST, MAX_PRIORITY, Errno, PartitionState, Reason, RequestError
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.core.cluster import Cluster
    from rota.core.job import Job
    from rota.core.state import ClusterState
    from rota.model import JobSpec, Node, Partition

#: Bound of job ids.
MAX_JOB_ID = LARGEST_EXACT
#: Largest nice value; the smallest is its negative.
MAX_NICE = 2**31 - 3
_ACCEPTS_NONE = frozenset({PartitionState.DRAIN, PartitionState.INACTIVE})


def check_ids(state: ClusterState, job_id: int, tasks: int = 1) -> None:
    """Check that the ids of a new job, or of all tasks of a new array, are in range and not used by other live jobs.

    Args:
        state: The machine and its jobs.
        job_id: The first id.
        tasks: Number of successive ids.

    Raises:
        RequestError: an id is out of range or used.
    """
    ids = range(job_id, job_id + tasks)
    if not 1 <= job_id <= MAX_JOB_ID - tasks:
        raise RequestError(f"job ids are from 1 to {MAX_JOB_ID}", Errno.INVALID_JOB_ID)
    taken = job_id if job_id in state.jobs else next((one for one in ids[1:] if one in state.jobs), None)
    if taken is None and state.has_array_in(ids):
        taken = job_id
    if taken is not None:
        raise RequestError(f"there is a job {taken} already", Errno.DUPLICATE_JOB_ID)


def admit(state: ClusterState, spec: JobSpec) -> list[tuple[Partition, int]]:
    """Check a request against the machine.

    Returns:
        The requested partitions, and the smallest number of units that the job needs in each; 0 if it can never run
        there. If impossible jobs are refused, or the limits of partitions are enforced, there is at least one in which
        it can; otherwise see `check_possible`.

    Raises:
        RequestError: the request can never be met; ``errno`` says why.
    """
    if (
        spec.num_cpus < 1
        or not 0 <= (spec.time_limit or 0) <= LONGEST
        or spec.nice
        or spec.priority is not None
        or spec.time_min is not None
        or spec.switches
    ):
        _check_values(spec)
    if "," not in spec.partition:
        partition = state.partition_of(spec.partition)
        return [(partition, _units(state, spec, partition))]
    found: list[tuple[Partition, int]] = []
    refused: list[RequestError] = []
    for name in dict.fromkeys(filter(None, spec.partition.split(","))):
        partition = state.partition_of(name)
        try:
            found.append((partition, _units(state, spec, partition, alone=False)))
        except RequestError as error:
            found.append((partition, 0))
            refused.append(error)
    beyond = [one for one in refused if one.errno is not Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE]
    if len(refused) == len(found) or (beyond and state.settings.partition_limits == "ALL"):
        raise refused[0] if refused else RequestError("no partition is named", Errno.INVALID_PARTITION_NAME)
    return found


_MOST_SWITCHES = 2**31 - 1
#: Errors for jobs that exceed a limit of their partition, if these limits are enforced.
_BEYOND = {
    Reason.PARTITION_TIME_LIMIT: (
        Errno.INVALID_TIME_LIMIT,
        "Requested time limit is invalid (missing or exceeds some limit)",
    ),
    Reason.PARTITION_NODE_LIMIT: (Errno.INVALID_NODE_COUNT, "Node count specification invalid"),
    Reason.MAX_MEM_PER_LIMIT: (Errno.INVALID_TASK_MEMORY, "Memory required by task is not available"),
    Reason.ACCOUNT_NOT_ALLOWED: (
        Errno.INVALID_ACCOUNT,
        "Invalid account or account/partition combination specified",
    ),
    Reason.QOS_NOT_ALLOWED: (Errno.INVALID_QOS, "Invalid qos specification"),
}
#: Obstacles in partitions whose nodes are tested at submission.
_TESTED = LIMIT_REASONS | {Reason.BAD_CONSTRAINTS}


def check_partitions(cluster: Cluster, job: Job) -> None:
    """Check that a new job may use its partitions, and is within their limits.

    ``EnforcePartLimits`` determines whether limits are checked: with ``ANY`` the job is refused if it exceeds the
    limits of all its partitions, with ``ALL`` if it exceeds those of one.

    Raises:
        RequestError: it is refused.
    """
    records, enforced = job.records or (job,), cluster.state.settings.partition_limits
    closed = [record.partition.name for record in records if is_user_excluded(record)]
    if closed and (enforced == "ALL" or len(closed) == len(records)):
        raise RequestError(
            f"User's group not permitted to use this partition: {job.user_name} is in none of {closed[0]}",
            Errno.JOB_MISSING_REQUIRED_PARTITION_GROUP,
        )
    if enforced == "NO":
        return
    if enforced == "ALL" and job.spec.time_limit is None:
        _check_default_time(records)
    beyond = [
        (reason, record.partition.name)
        for record in records
        if (reason := cluster.policy.access(record) or cluster.obstacles.exceeded_partition_limit(record)) is not None
    ]
    if beyond and (enforced == "ALL" or len(beyond) == len(records)):
        reason, name = beyond[0]
        errno, text = _BEYOND[reason]
        raise RequestError(f"{text}: {reason} of partition {name}", errno)


def check_shortest_time(job: Job) -> None:
    """Check that the shortest time in which a new job could be of use is within its time limit.

    Raises:
        RequestError: it is not.
    """
    if (job.spec.time_min or 0) > job.time_limit:
        raise RequestError(
            "Invalid time-min specification (exceeds job's time or other limits): "
            f"{job.spec.time_min} s with a limit of {job.time_limit} s",
            Errno.INVALID_TIME_MIN_LIMIT,
        )


def check_moved(job: Job) -> None:
    """Check that the user of a job whose partitions were changed is admitted to all of them.

    Raises:
        RequestError: ``AllowGroups`` of one does not.
    """
    for record in job.records or (job,):
        if is_user_excluded(record):
            raise RequestError(
                "Requested partition configuration not available now: "
                f"{job.user_name} is in none of the groups of {record.partition.name}",
                Errno.REQUESTED_PART_CONFIG_UNAVAILABLE,
            )


def _check_default_time(records: Sequence[Job]) -> None:
    """Check that the default time limit of a job's first partition is within the bounds of all.

    Raises:
        RequestError: it is not.
    """
    first = records[0]
    for part in (one.partition for one in records):
        if part.max_time is not None and first.time_limit > part.max_time:
            raise RequestError(
                "Requested partition configuration not available now: the default time limit of "
                f"{first.partition.name} is above MaxTime of {part.name}",
                Errno.REQUESTED_PART_CONFIG_UNAVAILABLE,
            )


def check_possible(cluster: Cluster, job: Job) -> None:
    """Check that a new job can run in one of its partitions, unless it first has to wait for something else.

    As in Slurm 22.05: jobs wait that are held, that ask for a reservation which has not begun, or whose partition has
    too few nodes or processors, allows too short a time, or is closed. Of several partitions those count of which a job
    does not exceed a limit.

    Raises:
        RequestError: it can never run.
    """
    if job.spec.hold or job.spec.priority == 0:
        return
    reasons = {cluster.obstacles.obstacle(record) for record in job.records or (job,)}
    if reasons & _TESTED and reasons <= _TESTED | _BEYOND.keys():
        require_possible(cluster.state, job)


def require_possible(state: ClusterState, job: Job) -> None:
    """Check that a job can run in one of its partitions.

    Raises:
        RequestError: it never can.
    """
    if not any(record.units for record in job.records or (job,)):
        raise _impossible(state, job.spec, job.partition)


def _units(state: ClusterState, spec: JobSpec, partition: Partition, *, alone: bool = True) -> int:
    """Count the units that a request needs in a partition; 0: it can never serve it, and this is not an error.

    As in Slurm, only a job of one partition gets more nodes than it asks for because of ``MinNodes``.

    Raises:
        RequestError: the partition accepts no jobs, does not have a node that is asked for by name, or can never serve
            the request, and impossible jobs are refused or the limits of partitions are enforced.
    """
    if partition.root_only or partition.req_resv:
        _check_access(spec, partition)
    if partition.state in _ACCEPTS_NONE:
        raise RequestError(
            f"Required partition not available (inactive or drain): {partition.name} is {partition.state.value}",
            Errno.PARTITION_NOT_AVAIL,
        )
    too_few = not alone and partition.min_nodes > max(spec.min_nodes, 1)
    units = 0 if too_few else state.pool.units(spec, partition)
    if not units:
        if spec.required_nodes:
            _check_named(state, spec, partition)
        if state.refuses_impossible or state.settings.partition_limits != "NO":
            raise _impossible(state, spec, partition)
    return units


def _check_access(spec: JobSpec, partition: Partition) -> None:
    """Check ``RootOnly`` and ``ReqResv`` of a partition.

    Raises:
        RequestError: the job may not be submitted to it.
    """
    if partition.root_only and spec.user != "root" and (spec.user or spec.user_id):
        why = "is for root alone"
    elif partition.req_resv and not spec.reservation:
        why = "is for jobs with --reservation"
    else:
        return
    raise RequestError(f"Access/permission denied: partition {partition.name} {why}", Errno.ACCESS_DENIED)


def _check_named(state: ClusterState, spec: JobSpec, partition: Partition) -> None:
    """Check the nodes that a request asks for by name.

    Raises:
        RequestError: they are not of the partition, or cannot be allocated together.
    """
    named = {state.node_index[one]: one for one in spec.required_nodes.split(",") if one}
    if missing := [name for index, name in named.items() if not partition.nodes >> index & 1]:
        raise RequestError(
            f"Requested nodes not in this partition: {missing[0]} is not in {partition.name}",
            Errno.REQUESTED_NODES_NOT_IN_PARTITION,
        )
    if spec.contiguous and spec.max_nodes and max(named) - min(named) >= spec.max_nodes:
        raise RequestError(
            f"Node count specification invalid: {spec.max_nodes} nodes that follow each other cannot be all of "
            f"{', '.join(named.values())}",
            Errno.INVALID_NODE_COUNT,
        )


def _impossible(state: ClusterState, spec: JobSpec, partition: Partition) -> RequestError:
    """Make the error for a request that a partition can never serve: Slurm's message and the figures."""
    nodes, name = [state.nodes[index] for index in indices(partition.nodes)], partition.name
    if spec.min_nodes > len(nodes) or (spec.max_nodes and spec.max_nodes < partition.min_nodes):
        return RequestError(
            f"Node count specification invalid: {spec.min_nodes or spec.max_nodes} nodes requested, partition {name} "
            f"gives {max(partition.min_nodes, 1)} to {len(nodes)}",
            Errno.INVALID_NODE_COUNT,
        )
    if spec.num_cpus > (most := sum(node.cpus for node in nodes)):
        return RequestError(
            f"More processors requested than permitted: {spec.num_cpus} requested, partition {name} has {most}",
            Errno.TOO_MANY_REQUESTED_CPUS,
        )
    why = _lacking(spec, nodes) or (
        f"{spec.num_cpus} processors on at least {max(spec.min_nodes, 1)} nodes requested: partition {name} never has "
        "so much of what is asked for"
    )
    return RequestError(
        f"Requested node configuration is not available: {why}", Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE
    )


def _lacking(spec: JobSpec, nodes: Sequence[Node]) -> str:
    """Say in Slurm's words what a request asks of each node that none of some nodes has; empty: nothing of this."""
    cpus = max(spec.min_cpus_per_node, spec.cpus_per_task)
    if cpus > max(node.cpus for node in nodes):
        return "CPU count per node can not be satisfied"
    if max(spec.mem_per_node, spec.mem_per_cpu * cpus) > max(node.real_memory for node in nodes):
        return "Memory specification can not be satisfied"
    shape = (spec.sockets_per_node, spec.cores_per_socket, spec.threads_per_core)
    if not any(all(map(ge, (node.sockets, node.cores_per_socket, node.threads_per_core), shape)) for node in nodes):
        return "Socket, core and/or thread specification can not be satisfied"
    return ""


def _check_values(spec: JobSpec) -> None:
    if spec.num_cpus < 1:
        raise RequestError(f"{spec.num_cpus} processors requested; ask for at least 1", Errno.TOO_MANY_REQUESTED_CPUS)
    for limit in (spec.time_limit, spec.time_min):
        if limit is not None and not 0 <= limit <= LONGEST:
            raise RequestError(
                f"Requested time limit is invalid: {limit} s are not from 0 to {LONGEST}", Errno.INVALID_TIME_LIMIT
            )
    if not 0 <= spec.switches <= _MOST_SWITCHES:
        raise RequestError(
            f"Requested node configuration is not available: switches is not from 0 to {_MOST_SWITCHES}",
            Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE,
        )
    if spec.nice and abs(spec.nice) > MAX_NICE:
        raise RequestError(f"nice {spec.nice} is not from -{MAX_NICE} to {MAX_NICE}", Errno.INVALID_NICE)
    if spec.priority is not None and not 0 <= spec.priority <= MAX_PRIORITY:
        raise RequestError(f"priority {spec.priority} is not an integer from 0 to 2**32 - 1")
