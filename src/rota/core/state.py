"""The state of the cluster: the machine, and every live job."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import replace
from typing import TYPE_CHECKING

from rota.core.machine import is_other
from rota.core.settings import Settings
from rota.core.sorted_jobs import SortedJobs
from rota.core.timers import Timers
from rota.model import NodeState, RequestError
from rota.model.errors import Errno
from rota.resources import make_pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rota.core.arrays import JobArray
    from rota.core.effects import Effect
    from rota.core.job import Job
    from rota.core.job_view import PluginJob
    from rota.model import ClusterConfig, Node, Partition
    from rota.resources.pools.pool import Pool
    from rota.resources.requests.needs import Choose


class ClusterState:
    """The machine and the live jobs.

    Every live job is in exactly one of four collections: the queue, the parked jobs (both in `JobQueue`), the running
    jobs, or the completing jobs.

    Args:
        config: The configuration (slurm.conf).
        boot_time: When the clock begins, Unix seconds.
        choose: The node selection plugin's function.

    Raises:
        InputError: a value of slurm.conf cannot be used.
    """

    __slots__ = (
        "_choose",
        "_followers",
        "array_ids",
        "arrays",
        "boot_time",
        "completing",
        "config",
        "default_partition",
        "deleted_partitions",
        "down",
        "effects",
        "is_leaving",
        "job_views",
        "jobs",
        "leaving_nodes",
        "leaving_partitions",
        "node_index",
        "nodes",
        "now",
        "partitions",
        "plans_unread",
        "pool",
        "refuses_impossible",
        "running",
        "settings",
        "timers",
        "to_end",
    )

    def __init__(self, config: ClusterConfig, boot_time: int, choose: Choose) -> None:
        self._choose = choose
        self._followers: list[Callable[[], object]] = []
        self.settings = Settings.read(config)
        self.config = config
        #: Jobs in state RUNNING or SUSPENDED, sorted by expected end.
        self.running = SortedJobs()
        self.partitions: dict[str, Partition] = {}
        #: Names of the partitions of slurm.conf that an administrator has deleted until this is read again.
        self.deleted_partitions: frozenset[str] = frozenset()
        # Copies: two engines made from one configuration share nothing that is written to.
        partitions = {part.name: replace(part) for part in config.partitions}
        self.set_machine(list(config.nodes), partitions, self.make_pool(config, config.nodes, partitions.values()))
        self.boot_time = boot_time
        #: Whether all jobs that can never run are refused, also those that wait in Slurm; see `Engine`.
        self.refuses_impossible = False
        #: The time now, Unix seconds; it never decreases.
        self.now = boot_time
        #: All live jobs by id.
        self.jobs: dict[int, Job] = {}
        #: What plugins get of these, in the same order.
        self.job_views: dict[int, PluginJob] = {}
        #: Stopped jobs that still hold resources: PENDING if they are requeued, else in their final state.
        self.completing: dict[int, Job] = {}
        #: Job arrays with live tasks, by job id.
        self.arrays: dict[int, JobArray[Job]] = {}
        #: These ids, ascending.
        self.array_ids: list[int] = []
        self.timers = Timers()
        #: Jobs that will be ended when the event has been handled.
        self.to_end: list[Job] = []
        #: For how many seconds after the next change nobody reads plans, see `Engine.plans_unread`.
        self.plans_unread = 0
        #: Effects since they were last handed to the driver.
        self.effects: list[Effect] = []

    def make_pool(self, config: ClusterConfig, nodes: Sequence[Node], partitions: Iterable[Partition]) -> Pool:
        """Make the pool of resources of a machine."""
        machine = replace(config, nodes=tuple(nodes), partitions=tuple(partitions))
        return make_pool(machine, nodes, self._choose, self.running)

    def follow_machine(self, fn: Callable[[], object]) -> None:
        """Call a function now, and whenever another machine has been set."""
        fn()
        self._followers.append(fn)

    def set_machine(self, nodes: list[Node], partitions: Mapping[str, Partition], pool: Pool) -> None:
        """Set the machine.

        Args:
            nodes: The nodes.
            partitions: The partitions by name.
            pool: The pool of their resources, without allocations.
        """
        self.nodes = nodes
        #: Index of each node, by name: its bit in bitmaps.
        self.node_index: dict[str, int] = {node.name: index for index, node in enumerate(nodes)}
        #: Bitmap of the nodes that are not up.
        self.down = self._down()
        self.partitions.clear()  # not replaced, as plugins hold this mapping
        self.partitions.update(partitions)
        self.default_partition = next((part for part in partitions.values() if part.default), None)
        self.pool = pool
        config = self.config
        wanted = {node.name: node for node in config.nodes}
        #: Nodes (bitmap) and partitions (names) that differ from slurm.conf as long as jobs use them.
        self.leaving_nodes = sum(
            1 << index
            for index, node in enumerate(nodes)
            if node.name not in wanted or is_other(node, wanted[node.name])
        )
        self.leaving_partitions = frozenset(partitions) - {part.name for part in config.partitions}
        self.is_leaving = bool(self.leaving_nodes or self.leaving_partitions)
        for fn in self._followers:
            fn()

    def index_of(self, name: str) -> int:
        """Give the index of a node.

        Raises:
            RequestError: there is no such node.
        """
        if name not in self.node_index:
            raise RequestError(f"Invalid node name specified: there is no node {name!r}", Errno.INVALID_NODE_NAME)
        return self.node_index[name]

    def partition_of(self, name: str) -> Partition:
        """Find a partition by name; the default one for an empty name.

        Raises:
            RequestError: there is no such partition.
        """
        if not name:
            if self.default_partition is None:
                raise RequestError(
                    "No partition specified or system default partition: name one, or set Default=YES in slurm.conf",
                    Errno.DEFAULT_PARTITION_NOT_SET,
                )
            return self.default_partition
        try:
            return self.partitions[name]
        except KeyError:
            known = ", ".join(sorted(self.partitions))
            raise RequestError(
                f"Invalid partition name specified: there is no {name!r} (there are: {known})",
                Errno.INVALID_PARTITION_NAME,
            ) from None

    # ---- arrays -----------------------------------------------------------------------------------------------

    def add_array(self, array: JobArray[Job]) -> None:
        """Add an array, none of whose job ids is used."""
        self.arrays[array.job_id] = array
        insort(self.array_ids, array.job_id)

    def remove_array(self, array: JobArray[Job]) -> None:
        """Remove an array, all of whose tasks have ended."""
        del self.arrays[array.job_id]
        del self.array_ids[bisect_left(self.array_ids, array.job_id)]

    def find(self, job_id: int, task_id: int | None = None) -> list[tuple[Job, int | None]]:
        """Find a live job, a task of an array or, without ``task_id``, all jobs of an array.

        Returns:
            The jobs. If a pending task is still in the record of its array, that record and the task id.

        Raises:
            RequestError: there is none.
        """
        array = self.arrays.get(job_id)
        if array is None:
            if task_id is None and job_id in self.jobs:
                return [(self.jobs[job_id], None)]
        elif task_id is None:
            waiting = [array.record] if array.pending and array.record is not None else []
            return [(job, None) for job in (*(array.tasks[task] for task in sorted(array.tasks)), *waiting)]
        elif task_id in array.tasks:
            return [(array.tasks[task_id], None)]
        elif array.waits(task_id) and array.record is not None:
            return [(array.record, task_id)]
        name = job_id if task_id is None else f"{job_id}_{task_id}"
        raise RequestError(f"there is no live job {name}", Errno.INVALID_JOB_ID)

    def has_array_in(self, ids: range) -> bool:
        """Whether some of these job ids are those of tasks of an array."""
        before = bisect_left(self.array_ids, ids.stop)
        return before > 0 and self.arrays[self.array_ids[before - 1]].ids.stop > ids.start

    # ---- nodes ------------------------------------------------------------------------------------------------

    def nodes_of(self, resources: int) -> int:
        """Give the bitmap of the nodes on which a resource set has resources."""
        return self.pool.nodes_of(resources)

    def refresh_pool(self) -> None:
        """Apply the states of nodes to the pool."""
        self.down = self._down()
        self.pool.refresh(self.nodes, [job.alloc for job in self.holding()])

    def holding(self) -> list[Job]:
        """Give the jobs that hold resources."""
        return [*self.running, *self.completing.values()]

    def _down(self) -> int:
        return sum(1 << index for index, node in enumerate(self.nodes) if node.state is not NodeState.UP)

    def resources_on(self, job: Job, nodes: int) -> int:
        """Give what a job would get of some nodes if no other job were there; 0: it would not fit."""
        return self.pool.select(job, self.pool.without(self.pool.up, ~nodes))

    def required_nodes(self, job: Job) -> int:
        """Give the bitmap of the nodes that a job asks for by name."""
        names = job.spec.required_nodes
        node_index = self.node_index
        return sum(1 << node_index[name] for name in set(names.split(",")) if name in node_index) if names else 0

    def usable_cpus(self) -> int:
        """Count the processors of nodes that are not down."""
        return sum(node.cpus for node in self.nodes if node.state is not NodeState.DOWN)
