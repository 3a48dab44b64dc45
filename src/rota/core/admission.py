"""Whether a request can be taken at all: what could never run is refused at the door."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.model import MAX_PRIORITY, Errno, PartitionState, RequestError

if TYPE_CHECKING:
    from rota.core.state import ClusterState
    from rota.model import JobSpec, Partition

#: Slurm's range of nice values is ± this.
MAX_NICE = 2**31 - 3
_ACCEPTS_NONE = frozenset({PartitionState.DRAIN, PartitionState.INACTIVE})


def admit(state: ClusterState, job_id: int, spec: JobSpec) -> list[tuple[Partition, int]]:
    """Check a request against the machine.

    Returns:
        The partitions that it names and how many units of each it takes at least, 0 where it could never run. That is
        so for some of several partitions at most.

    Raises:
        RequestError: it cannot be met; ``errno`` says why.
    """
    if job_id in state.jobs:
        raise RequestError(f"there is a job {job_id} already", Errno.DUPLICATE_JOB_ID)
    _check_values(spec)
    if "," not in spec.partition:
        partition = state.partition_of(spec.partition)
        return [(partition, _units(state, spec, partition))]
    found: list[tuple[Partition, int]] = []
    refused: list[RequestError] = []
    for name in dict.fromkeys(filter(None, spec.partition.split(","))):
        partition = state.partition_of(name)
        try:
            found.append((partition, _units(state, spec, partition)))
        except RequestError as error:
            found.append((partition, 0))
            refused.append(error)
    if len(refused) == len(found):
        raise refused[0] if refused else RequestError("no partition is named", Errno.INVALID_PARTITION_NAME)
    return found


def _units(state: ClusterState, spec: JobSpec, partition: Partition) -> int:
    """Count the units of the machine that a request takes in a partition."""
    if partition.state in _ACCEPTS_NONE:
        raise RequestError(
            f"partition {partition.name} is {partition.state.value} and accepts no jobs", Errno.PARTITION_NOT_AVAIL
        )
    units = state.pool.units(spec, partition)
    if not units:
        raise RequestError(
            f"{spec.num_cpus} processors on at least {max(spec.min_nodes, 1)} nodes requested: "
            f"partition {partition.name} never has so much",
            Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE,
        )
    return units


def _check_values(spec: JobSpec) -> None:
    if spec.num_cpus < 1:
        raise RequestError(f"{spec.num_cpus} processors requested; ask for at least 1", Errno.TOO_MANY_REQUESTED_CPUS)
    if spec.time_limit is not None and spec.time_limit < 0:
        raise RequestError(f"a time limit of {spec.time_limit} s is less than nothing", Errno.INVALID_TIME_LIMIT)
    if spec.nice and abs(spec.nice) > MAX_NICE:
        raise RequestError(f"nice {spec.nice} is not from -{MAX_NICE} to {MAX_NICE}", Errno.INVALID_NICE)
    if spec.priority is not None and not 0 <= spec.priority <= MAX_PRIORITY:
        raise RequestError(f"priority {spec.priority} is not an integer from 0 to 2**32 - 1")
