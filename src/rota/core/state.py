"""What the engine knows: the machine, the jobs, and where each of them is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rota.accounting import AssociationTree
from rota.core.accounts import Accounts
from rota.core.limits.licenses import LicensePool
from rota.core.limits.policy import AccountingPolicy
from rota.core.limits.start_limits import held_back, is_restrained
from rota.core.queue.dependencies import DependencyBook
from rota.core.queue.reasons import goes_by_itself, latest_start, park_reason
from rota.core.queue.reservations import ReservationBook
from rota.core.queue.sorted_jobs import JobView, SortedJobs, queue_key
from rota.core.settings import Settings
from rota.core.timers import Timers
from rota.model import InputError, NodeState, Reason, RequestError
from rota.model.errors import Errno
from rota.resources import first_fit, make_pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rota.core.jobs.arrays import JobArray
    from rota.core.limits.start_limits import Excess, Restraint
    from rota.model import Association, ClusterConfig, Job, Node, Partition, Qos
    from rota.resources.requests.needs import Choose

#: Where ``priority/basic`` and Slurm begin to count down.
FIRST_PRIORITY = 0xFFFF0000


class ClusterState:
    """The machine and the live jobs. Every live job is in exactly one of queue, parked, running, completing."""

    __slots__ = (
        "accounts",
        "alarms",
        "arrays",
        "arrivals",
        "boot_time",
        "changed",
        "completing",
        "config",
        "default_partition",
        "dependencies",
        "doomed",
        "down",
        "held_in_queue",
        "jobs",
        "last_priority",
        "licenses",
        "nodes",
        "now",
        "parked",
        "partitions",
        "places",
        "policy",
        "pool",
        "queue",
        "reservations",
        "restrained",
        "running",
        "settings",
        "timers",
        "unsettled",
    )

    def __init__(
        self,
        config: ClusterConfig,
        boot_time: int,
        tree: AssociationTree | None = None,
        choose: Choose = first_fit,
    ) -> None:
        self.set_config(config)
        #: Copies: two engines made from one configuration share nothing.
        self.nodes: list[Node] = [replace(node) for node in config.nodes]
        #: Bit of each node, by its name.
        self.places: dict[str, int] = {node.name: 1 << place for place, node in enumerate(self.nodes)}
        #: Bitmap of the nodes that are not up.
        self.down = self._down()
        self.partitions: dict[str, Partition] = {part.name: replace(part) for part in config.partitions}
        self.default_partition = next((part for part in self.partitions.values() if part.default), None)
        #: RUNNING; sorted by expected end.
        self.running = SortedJobs()
        self.pool = make_pool(config, self.nodes, choose, self.running)
        self.accounts = Accounts(self, AssociationTree(config.cluster_name) if tree is None else tree)
        self.boot_time = boot_time
        #: Unix seconds; never goes back.
        self.now = boot_time
        #: Every live job by id.
        self.jobs: dict[int, Job] = {}
        #: PENDING, may start now if it fits; sorted by `queue_key`.
        self.queue = SortedJobs()
        #: PENDING, must not be considered; ``job.reason`` says why.
        self.parked: dict[int, Job] = {}
        #: Stopped, resources not free yet; PENDING if it is to be queued again, else in its final state.
        self.completing: dict[int, Job] = {}
        self.timers = Timers()
        #: Under which limits jobs are.
        self.policy = AccountingPolicy(self)
        self.licenses = LicensePool(config)
        self.dependencies = DependencyBook(self)
        self.reservations = ReservationBook(self)
        #: Arrays of which some task is live, by their job ids.
        self.arrays: dict[int, JobArray] = {}
        #: Jobs that are to end once the event is over that has brought this about.
        self.doomed: list[Job] = []
        #: What the scheduler plans for: jobs that are held back for these reasons are among the candidates.
        self.held_in_queue: frozenset[Reason] = frozenset()
        #: Jobs that may be held back although they are in the queue.
        self.restrained = 0
        #: What is left to do before anybody looks at the queue's order; see `Controller.before_queue`.
        self.unsettled: Callable[[], object] | None = None
        #: Begin times for which a timer is set, with their jobs' ids.
        self.alarms: set[tuple[int, int]] = set()
        #: Lowest priority given so far.
        self.last_priority = FIRST_PRIORITY
        #: See `Controller.arrivals`.
        self.arrivals: list[Job] | None = None
        #: Something has changed that a sleeping timer or a scheduler could care for.
        self.changed = True

    def set_config(self, config: ClusterConfig) -> None:
        """Take slurm.conf over.

        Raises:
            InputError: a value cannot be used.
        """
        self.settings = Settings.read(config)
        self.config = config

    def settle(self) -> None:
        """Do what was left to do about the queue's order."""
        if self.unsettled is not None:
            fn, self.unsettled = self.unsettled, None
            fn()

    def add(self, job: Job) -> None:
        """Take in a live job, which is put in its place next."""
        self.jobs[job.job_id] = job
        if job.limits is not None:
            self.policy.submitted(job)
        if job.restraints or job.records:
            self.restrained += is_restrained(job)
        self.dependencies.added(job)

    def withdraw(self, job: Job) -> None:
        """Take a pending job out of its place and all that is counted of it, so that it can be changed."""
        self.unplace(job)
        self.policy.forgotten(job)
        self.restrained -= is_restrained(job)
        self.dependencies.withdrawn(job)

    def enter_again(self, job: Job) -> None:
        """Count a job that was withdrawn as it is now; it is put in its place next."""
        for record in (job, *job.records):
            record.restraints = () if job.array is None else (job.array,)
        self.policy.take_over(job)
        self.licenses.take_over(job)
        self.add(job)

    def add_task(self, task: Job) -> None:
        """Take in a task that has been split off an array, which is put in its place next."""
        array = task.array
        self.jobs[task.job_id] = array.tasks[task.task_id] = task
        self.policy.split_off(task, array.record)
        self.restrained += is_restrained(task)

    def remove(self, job: Job) -> None:
        """Forget a job that is over and in no place any more."""
        del self.jobs[job.job_id]
        if job.limits is not None:
            self.policy.forgotten(job)
        if job.restraints or job.records:
            self.restrained -= is_restrained(job)
        over: Sequence[int] = ()
        if job.array is not None:
            over = job.array.left(job)
            if job.array.is_over:
                del self.arrays[job.array.job_id]
        self.dependencies.removed(job, over)

    def renew_policy(self) -> None:
        """Put all live jobs under their limits anew; those that wait are to be put in their places again."""
        self.policy = AccountingPolicy(self)
        for job in self.jobs.values():
            self.policy.take_over(job)
            self.policy.submitted(job)
        self.licenses.set_config(self.config)
        self.dependencies.set_config()
        self.restrained = sum(map(is_restrained, self.jobs.values()))

    def take_limits(self, tree: AssociationTree) -> None:
        """Give associations and QOS the limits that they have in another tree, and put all jobs under them.

        Raises:
            InputError: a limit cannot be used; nothing has changed then.
        """
        mine = self.accounts.tree
        found: list[tuple[Association | Qos, dict[str, str]]] = [
            (mine.qos[name], qos.limits) for name, qos in tree.qos.items() if name in mine.qos
        ]
        for other in tree.associations:
            one = mine.find(other.user, other.account, other.partition)
            if one is not None and one.partition == other.partition:
                found.append((one, other.limits))
        before = [(owner, owner.limits) for owner, _ in found]
        try:
            self._set_limits(found)
        except InputError:
            self._set_limits(before)
            raise

    def _set_limits(self, limits: Iterable[tuple[Association | Qos, dict[str, str]]]) -> None:
        for owner, texts in limits:
            owner.limits = texts
        self.renew_policy()

    def partition_of(self, name: str) -> Partition:
        """Find a partition, the default one for an empty name.

        Raises:
            RequestError: there is none.
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

    def place(self, job: Job) -> None:
        """Put a pending job that is nowhere where it belongs: in the queue, or parked."""
        self.changed = True
        if job.records:
            self._place_records(job)
            return
        if (reason := park_reason(self, job)) is not None:
            self._park(job, reason)
            return
        self.queue.add(job, queue_key(job))
        if self.arrivals is not None:
            self.arrivals.append(job)
        self._entered(job)

    def _entered(self, job: Job) -> None:
        """Take note that a job is in the queue."""
        job.reason = Reason.NONE
        if job.eligible_time is None:
            job.eligible_time = self.now
        if job.spec.deadline and latest_start(job) < self.now:
            self.doomed.append(job)

    def _place_records(self, job: Job) -> None:
        """Put the records of a job in the queue whose partitions can take it now; if none can, park the job."""
        reasons = [park_reason(self, record) for record in job.records]
        if None not in reasons:
            # Of several reasons the one that goes away by itself, if there is one; a partition's size never does.
            self._park(job, min(filter(None, reasons), key=goes_by_itself))
            return
        entered: list[Job] = []
        for record, why in zip(job.records, reasons, strict=True):
            if why is None:
                self.queue.add(record, queue_key(record))
                entered.append(record)
            else:
                record.forget_plan()
        job.take_over_plan()
        job.sort_key = min(record.sort_key for record in entered)
        if self.arrivals is not None:
            self.arrivals += entered
        self._entered(job)

    def _park(self, job: Job, reason: Reason) -> None:
        job.reason = reason
        job.forget_plan()
        self.parked[job.job_id] = job
        if reason is Reason.DEPENDENCY_NEVER_SATISFIED and self.dependencies.kills(job):
            self.doomed.append(job)
        alarm = (job.spec.begin_time, job.job_id)
        if reason is Reason.BEGIN_TIME and alarm not in self.alarms:
            self.alarms.add(alarm)
            self.timers.at(job.spec.begin_time, lambda: self._begin(alarm))

    def unplace(self, job: Job) -> None:
        """Take a pending job out of the queue, or from where it is parked."""
        self.changed = True
        if self.parked.pop(job.job_id, None) is None:
            self.take_from_queue(job)
            self.arrivals = None

    def take_from_queue(self, job: Job) -> None:
        """Take a job out of the queue, with all its records."""
        if not job.records:
            self.queue.remove(job)
            return
        for record in job.records:
            if record.sort_key:
                self.queue.remove(record)
        job.sort_key = ()

    def waiting(self) -> list[Job]:
        """Give the jobs that are in the queue, each once, in its order."""
        return list(dict.fromkeys(job.whole for job in self.queue))

    def candidates(self) -> JobView:
        """Give the jobs of the queue that nothing holds back, in its order: those that start if they fit."""
        self.settle()
        view = self.queue.snapshot()
        if not self.restrained:
            return view
        # Of the many jobs that are under one restraint, most can be told by asking that once.
        known: dict[Restraint, bool | None] = {}
        free: list[Job] = []
        for job in view:
            for one in job.restraints:
                if one not in known:
                    held = one.holds_back_all()
                    known[one] = None if held and self.held_in_queue else held
                if (held := known[one]) or (held is None and self.held_back(job) is not None):
                    break
            else:
                free.append(job)
        return JobView(free)

    def held_back(self, job: Job) -> Excess | None:
        """Say what holds a job of the queue back, if the scheduler does not plan for that."""
        excess = held_back(job)
        return None if excess is None or excess.reason in self.held_in_queue else excess

    def _begin(self, alarm: tuple[int, int]) -> None:
        """Look anew where a job belongs whose begin time has come, if it is still parked."""
        self.alarms.discard(alarm)
        job = self.parked.pop(alarm[1], None)
        if job is not None:
            self.place(job)

    def replace_all(self) -> None:
        """Look anew where every pending job belongs, after partitions or their limits have changed."""
        pending = [*self.parked.values(), *self.waiting()]
        for job in pending:
            self.unplace(job)
        for job in pending:
            self.place(job)

    def refresh_pool(self) -> None:
        """Take node states into account."""
        self.down = self._down()
        held = [job.alloc for job in (*self.running, *self.completing.values())]
        self.pool.refresh(self.nodes, held)
        self.reservations.replace_nodes()
        self.arrivals = None
        self.changed = True

    def _down(self) -> int:
        return sum(self.places[node.name] for node in self.nodes if node.state is not NodeState.UP)

    def required_nodes(self, job: Job) -> int:
        """Give the bitmap of the nodes that a job asks for by name."""
        names = job.spec.required_nodes
        return sum(self.places.get(name, 0) for name in set(names.split(","))) if names else 0

    def usable_cpus(self) -> int:
        """Count the processors of nodes that are not down."""
        return sum(node.cpus for node in self.nodes if node.state is not NodeState.DOWN)
