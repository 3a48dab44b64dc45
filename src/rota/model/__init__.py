"""Data in Slurm's words. No behaviour beyond what a record knows of itself, no I/O."""

from rota.model.cluster import ClusterConfig
from rota.model.errors import (
    SLURM_ERROR,
    SLURM_SUCCESS,
    Errno,
    InputError,
    InvariantError,
    PluginError,
    RequestError,
    RotaError,
)
from rota.model.job import MAX_PRIORITY, YEAR, Job, JobSpec, JobState
from rota.model.node import Node, NodeState
from rota.model.partition import Partition, PartitionState
from rota.model.priority import Association, PriorityFactors, PriorityFactorsRequest
from rota.model.reason import Reason

__all__ = [
    "MAX_PRIORITY",
    "SLURM_ERROR",
    "SLURM_SUCCESS",
    "YEAR",
    "Association",
    "ClusterConfig",
    "Errno",
    "InputError",
    "InvariantError",
    "Job",
    "JobSpec",
    "JobState",
    "Node",
    "NodeState",
    "Partition",
    "PartitionState",
    "PluginError",
    "PriorityFactors",
    "PriorityFactorsRequest",
    "Reason",
    "RequestError",
    "RotaError",
]
