"""The request of a job: what ``sbatch`` hands to the controller."""

from __future__ import annotations

from typing import NamedTuple

#: Time limit in seconds of a job that has none: what Slurm's backfill assumes for its run time.
YEAR = 365 * 24 * 3600
#: Largest time limit, seconds.
LONGEST = 2**40
#: The largest priority.
MAX_PRIORITY = 2**32 - 1


class JobSpec(NamedTuple):
    """A job's request. A named tuple, since a replay makes hundreds of thousands: immutable and cheap to make."""

    num_cpus: int = 1
    #: Time limit in seconds; `YEAR`: none; ``None``: the partition's default.
    time_limit: int | None = None
    #: Smallest number of nodes; 0: as many as the processors need.
    min_nodes: int = 0
    user_id: int = 0
    group_id: int = 0
    #: Partition; empty: the default one. With several, joined by commas, the job runs in one of them.
    partition: str = ""
    account: str = ""
    qos: str = ""
    name: str = ""
    #: Earliest start, Unix seconds; 0: none.
    begin_time: int = 0
    hold: bool = False
    #: Nice value, which is subtracted from the priority.
    nice: int = 0
    #: Priority set by an administrator, which replaces the computed one; ``None``: none.
    priority: int | None = None
    #: Whether the job is requeued when its launch fails or its node is lost; ``None``: ``JobRequeue`` of slurm.conf.
    requeue: bool | None = None
    #: User name, by which the association is found; empty: unknown.
    user: str = ""
    #: Memory of each node in MiB; 0: the partition's default; -1: all memory of the node.
    mem_per_node: int = 0
    #: Memory of each processor in MiB; used if ``mem_per_node`` is 0.
    mem_per_cpu: int = 0
    #: GRES of each node, as written: ``gpu:a100:2,shard:1``.
    gres: str = ""
    #: Features that the nodes must have, as written: ``IB&CPU-Gold-6230``.
    constraint: str = ""
    #: Whether the job's nodes are given to no other job.
    exclusive: bool = False
    #: Number of tasks, with ``cpus_per_task`` processors each; 0: not given, only ``num_cpus`` counts.
    num_tasks: int = 0
    cpus_per_task: int = 1
    #: With ``num_tasks`` the largest number of tasks on a node, without it the number on each node; 0: not given.
    ntasks_per_node: int = 0
    #: Largest number of nodes; 0: as many as the processors need.
    max_nodes: int = 0
    #: Within the bounds: as many nodes as there are tasks, or no more than needed; else the largest number.
    spread: bool = False
    use_min_nodes: bool = False
    #: Whether its tasks share processors, so that one on each node is enough (``--overcommit``).
    overcommit: bool = False
    #: Smallest number of processors on each node (``--mincpus``).
    min_cpus_per_node: int = 0
    #: Number of threads that a core must have, and of which the job uses no more; 0: all.
    threads_per_core: int = 0
    #: Largest number of tasks on a core; 0: one for each thread.
    ntasks_per_core: int = 0
    #: Smallest number of sockets of a node, and of free cores on each socket that the job uses; 0: no bound.
    sockets_per_node: int = 0
    cores_per_socket: int = 0
    #: Largest number of tasks on a socket; 0: no bound.
    ntasks_per_socket: int = 0
    #: Whether its tasks fill one socket after the other: ``--distribution=*:block``, or planes.
    fills_sockets: bool = False
    #: Names of nodes that the job must get, separated by commas; empty: none.
    required_nodes: str = ""
    #: Names of nodes that the job must not get.
    excluded_nodes: str = ""
    #: Whether the nodes must be adjacent in the configuration.
    contiguous: bool = False
    #: Largest number of leaf switches on which the nodes may hang, 0: any. And for how many seconds the job waits for
    #: such nodes; -1: as long as it may.
    switches: int = 0
    switch_wait: int = -1
    #: Features that are tried first; syntax as for ``constraint``.
    prefer: str = ""
    #: Whether the job may share resources with others that allow it, in partitions that permit it.
    oversubscribe: bool = False
    #: Licences, as written: ``matlab:2,ansys``; all are needed.
    licenses: str = ""
    #: GRES of the whole job; syntax as for ``gres``.
    gres_per_job: str = ""
    #: GRES of each task; syntax as for ``gres``.
    gres_per_task: str = ""
    #: Processors, tasks and memory (MiB) for each GPU; 0: not given. This memory replaces all other kinds.
    cpus_per_gpu: int = 0
    ntasks_per_gpu: int = 0
    mem_per_gpu: int = 0
    #: Smallest time limit in seconds with which backfill may start the job (``--time-min``); ``None``: the time limit.
    time_min: int | None = None
    #: Time by which the job must have ended, Unix seconds; 0: none.
    deadline: int = 0
    #: Dependencies, as written: ``afterok:12:13``; see `rota.model.dependency`.
    dependency: str = ""
    #: Tasks of a job array, as written: ``0-15:4%2``; see `rota.model.array`.
    array: str = ""
    #: Name of the reservation in which the job is to run; empty: none.
    reservation: str = ""
    #: Whether there is no script to start: an allocation for ``salloc`` or ``srun``, in which the user starts steps.
    allocation_only: bool = False
    #: Key under which the driver keeps script, environment and paths. The engine does not use it.
    payload: str = ""
    #: Cancel the job if its dependency can never be satisfied; ``None``: ``DependencyParameters`` of slurm.conf.
    kill_on_invalid_dep: bool | None = None
    #: GRES of each socket that the job uses; syntax as for ``gres``.
    gres_per_socket: str = ""
    #: Whether it has GPUs only of sockets of which it has cores (``--gres-flags``); ``None``: not given, which is no.
    enforces_binding: bool | None = None

    @property
    def speaks_of_sockets(self) -> bool:
        """Whether it matters which cores of a node are free."""
        return bool(self.sockets_per_node or self.cores_per_socket or self.ntasks_per_socket)

    @property
    def divides_gres(self) -> bool:
        """Whether it asks for GRES by job, task or socket, or for resources of each GPU: not of whole nodes."""
        divided = self.gres_per_job or self.gres_per_task or self.gres_per_socket
        return bool(divided or self.cpus_per_gpu or self.mem_per_gpu)
