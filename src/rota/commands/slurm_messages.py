"""Slurm's sentence for each error number, as its commands print it. Source: outputs of Slurm 22.05."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from rota.model import Errno

if TYPE_CHECKING:
    from collections.abc import Mapping

MESSAGES: Mapping[Errno, str] = MappingProxyType(
    {
        Errno.SUCCESS: "No error",
        Errno.AGAIN: "Resource temporarily unavailable",
        Errno.INVALID_PARTITION_NAME: "Invalid partition name specified",
        Errno.DEFAULT_PARTITION_NOT_SET: "No partition specified or system default partition",
        Errno.ACCESS_DENIED: "Access/permission denied",
        Errno.JOB_MISSING_REQUIRED_PARTITION_GROUP: "User's group not permitted to use this partition",
        Errno.REQUESTED_NODES_NOT_IN_PARTITION: "Requested nodes not in this partition",
        Errno.TOO_MANY_REQUESTED_CPUS: "More processors requested than permitted",
        Errno.INVALID_NODE_COUNT: "Node count specification invalid",
        Errno.INVALID_USER_ID: "Invalid user id",
        Errno.DUPLICATE_JOB_ID: "Duplicate job id",
        Errno.REQUESTED_NODE_CONFIG_UNAVAILABLE: "Requested node configuration is not available",
        Errno.REQUESTED_PART_CONFIG_UNAVAILABLE: "Requested partition configuration not available now",
        Errno.NODES_BUSY: "Requested nodes are busy",
        Errno.INVALID_JOB_ID: "Invalid job id specified",
        Errno.INVALID_NODE_NAME: "Invalid node name specified",
        Errno.TRANSITION_STATE_NO_UPDATE: "Job can not be altered now, try again later",
        Errno.ALREADY_DONE: "Job/step already completing or completed",
        Errno.JOB_PENDING: "Job is pending execution",
        Errno.INVALID_NODE_STATE: "Invalid node state specified",
        Errno.INVALID_FEATURE: "Invalid feature specification",
        Errno.DISABLED: "Requested operation is presently disabled",
        Errno.DEPENDENCY: "Job dependency problem",
        Errno.BATCH_ONLY: "Only batch jobs are accepted or processed",
        Errno.JOB_HELD: "Job is in held state, pending scheduler release",
        Errno.INVALID_ACCOUNT: "Invalid account or account/partition combination specified",
        Errno.INVALID_LICENSES: "Invalid license specification",
        Errno.ACCOUNTING_POLICY: (
            "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
        ),
        Errno.INVALID_TIME_LIMIT: "Requested time limit is invalid (missing or exceeds some limit)",
        Errno.RESERVATION_ACCESS: "Access denied to requested reservation",
        Errno.RESERVATION_INVALID: "Requested reservation is invalid",
        Errno.INVALID_TIME_VALUE: "Invalid time specified",
        Errno.RESERVATION_BUSY: "Requested reservation is in use",
        Errno.RESERVATION_OVERLAP: "Requested reservation overlaps with another reservation",
        Errno.RESERVATION_EMPTY: "Reservation request lacks users, groups or accounts",
        Errno.RESERVATION_STARTED: "Reservation already started",
        Errno.INVALID_QOS: "Invalid qos specification",
        Errno.PARTITION_NOT_AVAIL: "Required partition not available (inactive or drain)",
        Errno.CIRCULAR_DEPENDENCY: "Circular job dependency",
        Errno.INVALID_GRES: "Invalid generic resource (gres) specification",
        Errno.JOB_NOT_PENDING: "Job is no longer pending execution",
        Errno.PARTITION_IN_USE: "Partition is in use",
        Errno.INVALID_ARRAY: "Invalid job array specification",
        Errno.RESERVATION_NAME_DUP: "Duplicate reservation name",
        Errno.JOB_FINISHED: "Job has already finished",
        Errno.JOB_NOT_RUNNING: "Job is not running",
        Errno.JOB_NOT_SUSPENDED: "Job is not suspended",
        Errno.INVALID_TRES: "Invalid Trackable RESource (TRES) specification",
        Errno.INVALID_TIME_MIN_LIMIT: "Invalid time-min specification (exceeds job's time or other limits)",
        Errno.INVALID_PREFER: "Invalid preferred feature specification",
        Errno.INVALID_NICE: "Invalid --nice value",
        Errno.PRIORITY_NOT_KEPT: "Changes to job priority are not persistent, change nice instead",
    }
)


def message_of(errno: Errno, own: str) -> tuple[str, str]:
    """Give Slurm's sentence about an error, and what rota can say beside it; empty: nothing.

    Args:
        errno: The error number.
        own: The error's own text.
    """
    known = MESSAGES.get(errno)
    if known is None:
        return own, ""
    return known, "" if own == known else own.removeprefix(f"{known}: ")
