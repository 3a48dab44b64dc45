"""Data in Slurm's words: plain records, with no I/O and no behaviour beyond what follows from their own fields."""

from rota.model.association import SHARES_PARENT, Account, Association, Qos, User
from rota.model.cluster import ClusterConfig
from rota.model.errors import (
    SLURM_ERROR,
    SLURM_SUCCESS,
    Errno,
    InputError,
    InvariantError,
    PluginError,
    PluginFaultError,
    PolicyError,
    RequestError,
    RotaError,
)
from rota.model.job_record import JobRecord
from rota.model.job_spec import LONGEST, MAX_PRIORITY, YEAR, JobSpec
from rota.model.job_state import JobState
from rota.model.multifactor import MultifactorConf
from rota.model.node import Node, NodeState
from rota.model.partition import Partition, PartitionState
from rota.model.priority import PriorityFactors, PriorityFactorsRequest, PriorityWeights
from rota.model.reason import Reason
from rota.model.step import StepRecord, TaskUsage
from rota.model.switch import Switch

__all__ = [
    "LONGEST",
    "MAX_PRIORITY",
    "SHARES_PARENT",
    "SLURM_ERROR",
    "SLURM_SUCCESS",
    "YEAR",
    "Account",
    "Association",
    "ClusterConfig",
    "Errno",
    "InputError",
    "InvariantError",
    "JobRecord",
    "JobSpec",
    "JobState",
    "MultifactorConf",
    "Node",
    "NodeState",
    "Partition",
    "PartitionState",
    "PluginError",
    "PluginFaultError",
    "PolicyError",
    "PriorityFactors",
    "PriorityFactorsRequest",
    "PriorityWeights",
    "Qos",
    "Reason",
    "RequestError",
    "RotaError",
    "StepRecord",
    "Switch",
    "TaskUsage",
    "User",
]
