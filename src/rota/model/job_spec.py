"""What a job asks for."""

from __future__ import annotations

from typing import NamedTuple

#: Seconds that a job without any time limit is expected to run, as Slurm's backfill takes it.
YEAR = 365 * 24 * 3600
#: The largest priority.
MAX_PRIORITY = 2**32 - 1


class JobSpec(NamedTuple):
    """A request. A named tuple, since a replay makes hundreds of thousands of them: it is immutable and made in C."""

    num_cpus: int = 1
    #: Seconds; ``None``: the partition's default.
    time_limit: int | None = None
    #: Least number of nodes; 0: as many as the processors need.
    min_nodes: int = 0
    user_id: int = 0
    group_id: int = 0
    #: Empty: the default partition. Several are joined by commas: any of them will do.
    partition: str = ""
    account: str = ""
    qos: str = ""
    name: str = ""
    #: Earliest start, Unix seconds; 0: at once.
    begin_time: int = 0
    hold: bool = False
    #: Subtracted from the priority.
    nice: int = 0
    #: Set by an administrator, and then not computed.
    priority: int | None = None
    #: Put back in the queue when its launch fails or its node is lost; ``None``: as ``JobRequeue`` of slurm.conf says.
    requeue: bool | None = None
    #: The user's name, which associations go by; empty: none is known.
    user: str = ""
    #: MiB; 0: the partition's default; -1: all memory of each node.
    mem_per_node: int = 0
    #: MiB; used where ``mem_per_node`` is 0.
    mem_per_cpu: int = 0
    #: For each node, as written: ``gpu:a100:2,shard:1``.
    gres: str = ""
    #: Features that the nodes must have, as written: ``IB&CPU-Gold-6230``.
    constraint: str = ""
    #: No node is shared with another job.
    exclusive: bool = False
    #: Tasks, of ``cpus_per_task`` processors each; 0: not told, ``num_cpus`` is all that counts.
    num_tasks: int = 0
    cpus_per_task: int = 1
    #: With ``num_tasks`` the most that a node gets, else what each gets; 0: not told.
    ntasks_per_node: int = 0
    #: Largest number of nodes; 0: as many as the processors need.
    max_nodes: int = 0
    #: Within these bounds it gets as many nodes as it has tasks, or no more than it needs; else the largest number.
    spread: bool = False
    use_min_nodes: bool = False
    #: Least processors that each node has (``--mincpus``).
    min_cpus_per_node: int = 0
    #: Threads of a core that the job uses at most, although it has all of it, and that a core has at least; 0: all.
    threads_per_core: int = 0
    #: Tasks that share a core at most; 0: as many as it has threads.
    ntasks_per_core: int = 0
    #: Least sockets of each node, and least cores that are free on a socket of which the job uses any; 0: no bound.
    sockets_per_node: int = 0
    cores_per_socket: int = 0
    #: Most tasks on a socket; 0: no bound.
    ntasks_per_socket: int = 0
    #: Hostlist of nodes that must all be used; empty: none.
    required_nodes: str = ""
    #: Hostlist of nodes that must not be used.
    excluded_nodes: str = ""
    #: The nodes follow each other in the configuration.
    contiguous: bool = False
    #: Features that are tried first, as ``constraint``.
    prefer: str = ""
    #: Resources may be shared with other such jobs, where the partition allows that.
    oversubscribe: bool = False
    #: As written: ``matlab:2,ansys``; all of them are needed.
    licenses: str = ""
    #: For the whole job, as ``gres``.
    gres_per_job: str = ""
    #: For each task, as ``gres``.
    gres_per_task: str = ""
    #: For each GPU: processors, tasks and MiB; 0: not told. Memory of this kind takes the place of all other.
    cpus_per_gpu: int = 0
    ntasks_per_gpu: int = 0
    mem_per_gpu: int = 0
    #: Seconds; backfill may start the job with a limit as short as this. ``None``: with no shorter one.
    time_min: int | None = None
    #: When it must have ended, Unix seconds; 0: whenever.
    deadline: int = 0
    #: Other jobs that it waits for, as written: ``afterok:12:13``, see `rota.model.dependency`.
    dependency: str = ""
    #: Tasks of a job array, as written: ``0-15:4%2``, see `rota.model.array`.
    array: str = ""
    #: Name of the reservation in which it is to run; empty: none.
    reservation: str = ""
    #: Somebody works on what it is given, and there is no script to start: an allocation for ``salloc`` or ``srun``.
    allocation_only: bool = False
    #: Script, environment, paths: whatever whoever launches it has put there under this name. Nothing to the engine.
    payload: str = ""
    #: Cancel it when what it waits for can never happen; ``None``: as ``DependencyParameters`` of slurm.conf says.
    kill_on_invalid_dep: bool | None = None

    @property
    def divides_gres(self) -> bool:
        """Whether GRES are asked for otherwise than by node, or what goes with each: whole nodes have no such thing."""
        return bool(self.gres_per_job or self.gres_per_task or self.cpus_per_gpu or self.mem_per_gpu)
