"""All that a plugin may import, and all that its author needs to read."""

from rota.interfaces.controller import Controller
from rota.interfaces.job import Job
from rota.interfaces.jobmeta import (
    JOBMETA_API,
    LONGEST_ID,
    SEPARATOR,
    Answer,
    Command,
    JobmetaPlugin,
    LookupFailedError,
    Metadata,
    known,
    whole_lines,
)
from rota.interfaces.plugin import OPTIONAL_IDENTITY, REQUIRED_IDENTITY, PluginApi, Symbol
from rota.interfaces.priority import PRIORITY_API, PriorityPlugin
from rota.interfaces.profile import NodeSpace, Profile
from rota.interfaces.sched import SCHED_API, SchedPlugin
from rota.interfaces.select import SELECT_API, SelectPlugin
from rota.model import (
    MAX_PRIORITY,
    SHARES_PARENT,
    SLURM_ERROR,
    SLURM_SUCCESS,
    Association,
    ClusterConfig,
    Errno,
    InputError,
    JobState,
    MultifactorConf,
    Node,
    NodeState,
    Partition,
    PartitionState,
    PriorityFactors,
    PriorityFactorsRequest,
    PriorityWeights,
    Qos,
    Reason,
    RequestError,
    RotaError,
)

#: Every plugin API that rota supports, by major type.
APIS: dict[str, PluginApi] = {api.major: api for api in (JOBMETA_API, PRIORITY_API, SCHED_API, SELECT_API)}

__all__ = [
    "APIS",
    "JOBMETA_API",
    "LONGEST_ID",
    "MAX_PRIORITY",
    "OPTIONAL_IDENTITY",
    "PRIORITY_API",
    "REQUIRED_IDENTITY",
    "SCHED_API",
    "SELECT_API",
    "SEPARATOR",
    "SHARES_PARENT",
    "SLURM_ERROR",
    "SLURM_SUCCESS",
    "Answer",
    "Association",
    "ClusterConfig",
    "Command",
    "Controller",
    "Errno",
    "InputError",
    "Job",
    "JobState",
    "JobmetaPlugin",
    "LookupFailedError",
    "Metadata",
    "MultifactorConf",
    "Node",
    "NodeSpace",
    "NodeState",
    "Partition",
    "PartitionState",
    "PluginApi",
    "PriorityFactors",
    "PriorityFactorsRequest",
    "PriorityPlugin",
    "PriorityWeights",
    "Profile",
    "Qos",
    "Reason",
    "RequestError",
    "RotaError",
    "SchedPlugin",
    "SelectPlugin",
    "Symbol",
    "known",
    "whole_lines",
]
