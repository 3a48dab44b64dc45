"""Why a job is in the state that it is in, in Slurm's words."""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """Slurm's reason strings (``squeue -o %r``); the value is the text that people read."""

    NONE = "None"
    PRIORITY = "Priority"
    RESOURCES = "Resources"
    BEGIN_TIME = "BeginTime"
    JOB_HELD_USER = "JobHeldUser"
    JOB_HELD_ADMIN = "JobHeldAdmin"
    JOB_HOLD_MAX_REQUEUE = "JobHoldMaxRequeue"
    PARTITION_DOWN = "PartitionDown"
    PARTITION_INACTIVE = "PartitionInactive"
    PARTITION_NODE_LIMIT = "PartitionNodeLimit"
    PARTITION_CONFIG = "PartitionConfig"
    PARTITION_TIME_LIMIT = "PartitionTimeLimit"
    REQ_NODE_NOT_AVAIL = "ReqNodeNotAvail"
    BAD_CONSTRAINTS = "BadConstraints"
    JOB_LAUNCH_FAILURE = "JobLaunchFailure"
    NON_ZERO_EXIT_CODE = "NonZeroExitCode"
    RAISED_SIGNAL = "RaisedSignal"
    TIME_LIMIT = "TimeLimit"
    NODE_DOWN = "NodeDown"
    SYSTEM_FAILURE = "SystemFailure"

    def __str__(self) -> str:
        """Give Slurm's text."""
        return self.value
