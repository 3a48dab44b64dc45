"""Shortest job first: by time limit."""

from rota.interfaces import MAX_PRIORITY, Job
from rota.interfaces.stubs.priority import *

plugin_type = "priority/sjf"
plugin_name = "shortest job first"
plugin_version = 100


def priority_p_set(last_prio: int, job_ptr: Job) -> int:
    """The shorter the time limit, the higher."""
    return MAX_PRIORITY - job_ptr.time_limit
