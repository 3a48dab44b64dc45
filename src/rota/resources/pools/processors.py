"""How many processors a job could have on each node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rota.resources.pools import gres
from rota.resources.view import MEMORY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.resources.pools.cores import Cores
    from rota.resources.requests.needs import Needs
    from rota.resources.view import View


def most_processors(needs: Needs, view: View, free: NDArray[np.integer[Any]], cores: Cores) -> NDArray[np.integer[Any]]:
    """Give the largest number of processors that the job could have on each node."""
    per_task = needs.per_task
    if not (
        needs.granule is not None
        or needs.sockets is not None
        or needs.memory_per_cpu
        or needs.gres_per_task
        or needs.cpus_per_gpu
        or per_task > 1
    ):
        return free
    cpus = free.astype(np.int64)
    if needs.sockets is not None:
        cpus = cores.on_sockets(needs.sockets, needs.threads_per_core, per_task, free, view)
    elif needs.granule is not None and needs.together is not None:
        cpus = cpus // needs.together * needs.granule
    if needs.memory_per_cpu:
        if needs.granule is None or needs.own_granule is None:
            most = view[MEMORY] // needs.memory_per_cpu
        else:  # for whole cores
            most = view[MEMORY] // (needs.memory_per_cpu * needs.own_granule) * needs.granule
        # Of a whole node the job uses all processors or none.
        cpus = np.where(cpus > most, 0, cpus) if needs.whole else np.minimum(cpus, most)
    for one in needs.gres_per_task:
        cpus = np.minimum(cpus, gres.processors_of_tasks(needs, view, one))
    if needs.cpus_per_gpu:
        cpus = np.minimum(cpus // needs.cpus_per_gpu, gres.gpus_of_job(needs, view)) * needs.cpus_per_gpu
    if per_task > 1:
        cpus -= cpus % per_task
        if needs.tasks_per_core == 1 and needs.granule is not None and needs.together is not None:
            # Each task has cores of its own.
            tasks = free // needs.together // -(-per_task // needs.granule)
            cpus = np.minimum(cpus, tasks * per_task)
    return cpus
