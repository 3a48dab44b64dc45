"""Errors. Each says whose mistake it is and what the caller can do about it.

Error numbers are Slurm's (``slurm_errno.h``), so that clients that know these codes need no others.
"""

from __future__ import annotations

from enum import IntEnum

SLURM_SUCCESS = 0
SLURM_ERROR = -1


class Errno(IntEnum):
    """The Slurm error numbers that rota uses."""

    SUCCESS = 0
    #: The system's own: try again later.
    AGAIN = 11
    PLUGIN_NAME_INVALID = 1011
    INVALID_PARTITION_NAME = 2000
    DEFAULT_PARTITION_NOT_SET = 2001
    ACCESS_DENIED = 2002
    JOB_MISSING_REQUIRED_PARTITION_GROUP = 2003
    REQUESTED_NODES_NOT_IN_PARTITION = 2004
    TOO_MANY_REQUESTED_CPUS = 2005
    INVALID_NODE_COUNT = 2006
    INVALID_USER_ID = 2010
    DUPLICATE_JOB_ID = 2011
    REQUESTED_NODE_CONFIG_UNAVAILABLE = 2014
    REQUESTED_PART_CONFIG_UNAVAILABLE = 2015
    NODES_BUSY = 2016
    INVALID_JOB_ID = 2017
    INVALID_NODE_NAME = 2018
    TRANSITION_STATE_NO_UPDATE = 2020
    ALREADY_DONE = 2021
    JOB_PENDING = 2024
    INVALID_NODE_STATE = 2028
    INVALID_FEATURE = 2029
    DISABLED = 2037
    DEPENDENCY = 2038
    BATCH_ONLY = 2039
    JOB_HELD = 2042
    INVALID_ACCOUNT = 2045
    INVALID_LICENSES = 2048
    ACCOUNTING_POLICY = 2050
    INVALID_TASK_MEMORY = 2044
    INVALID_TIME_LIMIT = 2051
    RESERVATION_ACCESS = 2052
    RESERVATION_INVALID = 2053
    INVALID_TIME_VALUE = 2054
    RESERVATION_BUSY = 2055
    RESERVATION_OVERLAP = 2058
    INVALID_QOS = 2066
    PARTITION_NOT_AVAIL = 2070
    CIRCULAR_DEPENDENCY = 2071
    INVALID_GRES = 2072
    JOB_NOT_PENDING = 2073
    PARTITION_IN_USE = 2075
    RESERVATION_EMPTY = 2080
    INVALID_ARRAY = 2081
    RESERVATION_NAME_DUP = 2082
    JOB_FINISHED = 2084
    JOB_NOT_RUNNING = 2085
    JOB_NOT_SUSPENDED = 2087
    INTERNAL = 2090
    PRIORITY_NOT_KEPT = 2095
    RESERVATION_STARTED = 2104
    #: Not in Slurm: an event with a field of the wrong type or value.
    INVALID_EVENT = 9000
    UNSUPPORTED_GRES = 2122
    INVALID_TRES = 2115
    INVALID_NICE = 2123
    INVALID_TIME_MIN_LIMIT = 2124
    INVALID_PREFER = 2133


class RotaError(Exception):
    """Root of all errors that rota raises on purpose.

    ``errno`` is Slurm's error number, where there is one.
    """

    errno: Errno = Errno.INTERNAL

    def __init__(self, message: str, errno: Errno | None = None) -> None:
        super().__init__(message)
        if errno is not None:
            self.errno = errno


class InputError(RotaError):
    """The user gave a file or an option that cannot be used, and has to correct it.

    The text is one line: ``path:line: field: problem``, as far as the parts are known.

    Args:
        problem: What is wrong and, if possible, what would be right.
        path: Path of the file, as text or path object.
        line: Line number, from 1.
        field: Key, column or option in which the mistake is.
    """

    def __init__(self, problem: str, *, path: object = None, line: int | None = None, field: str | None = None) -> None:
        place = "" if path is None else f"{path}:" if line is None else f"{path}:{line}:"
        parts = [part for part in (place, f"{field}:" if field else "", problem) if part]
        super().__init__(" ".join(parts))
        self.problem = problem
        self.path = path
        self.line = line
        self.field = field


class PluginError(RotaError):
    """A plugin cannot be used: it was not found or is malformed, or its ``init`` failed."""

    errno = Errno.PLUGIN_NAME_INVALID


class PluginFaultError(PluginError):
    """A plugin misbehaved in the course of a replay, which ends: the rest would not be the plugin's doing.

    What the plugin raised is the cause, ``__cause__``.

    Args:
        plugin: Type of the plugin, such as ``sched/easy``.
        symbol: The function, as the API names it.
        job_id: Id of the job that the call was about; ``None``: none.
        message: What it did.
    """

    def __init__(self, plugin: str, symbol: str, job_id: int | None, message: str) -> None:
        about = "" if job_id is None else f" for job {job_id}"
        super().__init__(f"plugin {plugin}: {symbol}{about} {message}")
        self.plugin = plugin
        self.symbol = symbol
        self.job_id = job_id


class RequestError(RotaError):
    """A request about a job, node or partition that cannot be carried out; ``errno`` says why."""


class PolicyError(RequestError):
    """A request that the cluster's policy forbids: by a limit, or in a partition that is closed to the user."""


class InvariantError(RotaError):
    """The engine's state is inconsistent. This is a defect of rota: please report it with the workload."""
