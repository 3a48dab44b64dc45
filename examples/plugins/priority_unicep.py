"""UNICEP: small, short, long-waiting jobs first, by wait / (log₂ processors × time limit).

The logarithm of 1 is 0; a tiny number is added to all of them, so that serial jobs come before all others, among
themselves by wait / time limit. The order changes as jobs wait, so the queue is ranked before every pass.

Source: W. Tang, Z. Lan, N. Desai, D. Buettner, "Fault-aware, utility-based job scheduling on Blue Gene/P systems",
CLUSTER 2009.
"""

from math import log2

from rota.interfaces import SLURM_SUCCESS, Controller, Job
from rota.interfaces.stubs.priority import *

plugin_type = "priority/unicep"
plugin_name = "UNICEP"
plugin_version = 100


def init(ctld: Controller) -> int:
    """Rank the queue before every pass."""

    def score(job: Job) -> float:
        wait = ctld.now - job.submit_time
        return -wait / ((log2(job.num_cpus) + 1e-9) * job.time_limit)

    ctld.before_pass(lambda: ctld.rank_queue(score))
    return SLURM_SUCCESS
