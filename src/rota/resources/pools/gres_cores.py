"""Which cores of a node a job with GRES other than GPUs can use, where cores are told apart; with GPUs: `near_cores`.

As in Slurm's ``cons_tres``, such a job has no more cores of a node to choose from than all tasks that its GRES suffice
for can use, and these are spread over the sockets: as long as there are more, the last core of the socket with the most
is left out. Only then the cores are chosen for the processors that it gets there.

The number of tasks is the largest that the request allows on a node: those of each node, if that is asked for; one for
a job of one task, or with one on each node; all tasks, if the job has one node at most; else as many as the processors
suffice for, which is then bounded by GRES for each task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.resources.requests.needs import Gres, Needs


def usable_cores(
    needs: Needs, sockets: Sequence[Sequence[int]], threads: int, free: Callable[[Gres], int]
) -> list[list[int]]:
    """Give the cores of each socket of a node that a job with GRES can use.

    Args:
        needs: The evaluated request, with `Needs.gres_tasks`.
        sockets: The cores of each socket that it could use without GRES.
        threads: Number of processors that it uses of a core.
        free: Counts what is free of a kind of GRES on the node.
    """
    left = [[*cores] for cores in sockets]
    asked = needs.gres_tasks
    if asked is None:
        return left
    cpus = sum(map(len, left)) * threads
    tasks = min(asked.most or cpus, cpus // asked.per_task)
    for kinds, each_node, each_task in ((needs.gres, 1, 0), (needs.gres_per_task, 0, 1), (needs.gres_per_job, 0, 0)):
        for one in kinds:
            found = free(one)
            if asked.cpus_per_gres and one.gpu:
                most = one.number if not each_task else found
                found = min(found, most, sum(map(len, left)) * threads // asked.cpus_per_gres)
            if each_task:
                tasks = min(tasks, found // one.number)
            tasks -= tasks % asked.least
            cores = -(-tasks * asked.task_cpus(threads) // threads)
            if asked.cpus_per_gres and one.gpu:
                number = one.number if each_node else one.number * tasks if each_task else found
                cores = max(cores, -(-number * asked.cpus_per_gres // threads))
            _thin_out(left, cores)
    return left


def _thin_out(sockets: list[list[int]], cores: int) -> None:
    """Leave so many cores: the last one of the first socket with the most is left out, until no more are too many."""
    for _ in range(sum(map(len, sockets)) - max(cores, 1)):
        max(sockets, key=len).pop()
