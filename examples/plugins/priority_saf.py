"""Smallest area first: by time limit times processors."""

from rota.interfaces import MAX_PRIORITY, Job
from rota.interfaces.stubs.priority import *

plugin_type = "priority/saf"
plugin_name = "smallest area first"
plugin_version = 100


def priority_p_set(last_prio: int, job_ptr: Job) -> int:
    """The fewer processor seconds, the higher."""
    return max(MAX_PRIORITY - job_ptr.time_limit * job_ptr.num_cpus, 1)
