"""WFP3: large and long-waiting jobs first, by (wait / time limit)³ × processors.

The order changes as jobs wait, so the queue is ranked before every pass.

Source: W. Tang, Z. Lan, N. Desai, D. Buettner, "Fault-aware, utility-based job scheduling on Blue Gene/P systems",
CLUSTER 2009.
"""

from rota.interfaces import SLURM_SUCCESS, Controller, Job
from rota.interfaces.stubs.priority import *

plugin_type = "priority/wfp3"
plugin_name = "WFP3"
plugin_version = 100


def init(ctld: Controller) -> int:
    """Rank the queue before every pass."""

    def score(job: Job) -> float:
        wait = ctld.now - job.submit_time
        return -((wait / job.time_limit) ** 3) * job.num_cpus

    ctld.before_pass(lambda: ctld.rank_queue(score))
    return SLURM_SUCCESS
