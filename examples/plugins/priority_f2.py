"""F2: a learnt order, by √r·q + 25600·log₁₀(s); low first.

r is the time limit in seconds, q the number of processors, s the submit time in seconds since the log began. An
unsigned 32-bit priority cannot express these numbers, so the queue is ranked whenever jobs have joined it.

Source: D. Carastan-Santos, R. de Camargo, "Obtaining dynamic scheduling policies with simulation and machine
learning", SC17.
"""

from math import log10, sqrt

from rota.interfaces import SLURM_SUCCESS, Controller, Job
from rota.interfaces.stubs.priority import *

plugin_type = "priority/f2"
plugin_name = "F2"
plugin_version = 100


def init(ctld: Controller) -> int:
    """Rank the queue before a pass that new jobs have called for."""

    def score(job: Job) -> float:
        r, q = job.time_limit, job.num_cpus
        s = max(job.submit_time - ctld.boot_time, 1)
        return sqrt(r) * q + 25600 * log10(s)

    def rank() -> None:
        if ctld.new_jobs != []:
            ctld.rank_queue(score)

    ctld.before_pass(rank)
    return SLURM_SUCCESS
