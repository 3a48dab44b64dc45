"""A job as plugins get it: what `rota.interfaces.Job` documents, to be read and not to be written.

A live job has one view, so plugins can compare views and use them as keys. Reading a view is no Python call: what
schedulers read of every job in the queue is copied, see `Job.show`, and all else are C functions that read the record.
The record is at ``_record``, for the functions that plugins hand jobs to; like all names that begin with ``_`` it is
not for plugins.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from rota.model import JobSpec, JobState, Partition, Reason

#: What a plugin uses in place of writing an attribute.
_INSTEAD = {
    "priority": "ctld.set_priority(job, priority)",
    "admin_priority": "ctld.set_priority(job, priority)",
    "sort_key": "ctld.set_priority(job, priority) or ctld.rank_queue(key)",
    "state": "ctld.start, ctld.hold, ctld.release, ctld.requeue or ctld.preempt",
    "reason": "ctld.hold(job)",
    "planned_start": "ctld.plan(job, start_time)",
    "planned_nodes": "ctld.plan(job, start_time, nodes)",
    "alloc": "ctld.start(job, resources)",
    "alloc_nodes": "ctld.start(job, resources)",
    "start_time": "ctld.start(job)",
    "end_time": "ctld.start(job, resources, time_limit)",
    "time_limit": "ctld.start(job, resources, time_limit)",
}
_ANY = "the functions of `ctld` that propose something"


def _read(name: str) -> Any:
    return property(attrgetter(f"_record.{name}"))


class OpenView:
    """What a view holds, as long as it is being made: then it becomes a `PluginJob`, which is not written to."""

    __slots__ = ("_record", "job_id", "partition", "start_limits", "time_limit", "units")

    #: The `Job` that it stands for; the layer of jobs is above this one.
    _record: Any
    job_id: int
    partition: Partition
    units: int
    time_limit: int
    start_limits: int


class PluginJob(OpenView):
    """The view of a job or queue record; the attributes are documented in `rota.interfaces.Job`."""

    __slots__ = ()

    spec: JobSpec = _read("spec")
    user_id: int = _read("spec.user_id")
    user_name: str = _read("user_name")
    num_cpus: int = _read("spec.num_cpus")
    priority: int = _read("priority")
    admin_priority: bool = _read("admin_priority")
    nice: int = _read("nice")
    site_factor: int = _read("site_factor")
    min_priority: int = _read("min_priority")
    state: JobState = _read("state")
    reason: Reason = _read("reason")
    sort_key: tuple[int, ...] = _read("sort_key")
    submit_time: int = _read("submit_time")
    eligible_time: int | None = _read("eligible_time")
    planned_start: int | None = _read("planned_start")
    planned_nodes: int = _read("planned_nodes")
    alloc: int = _read("alloc")
    alloc_nodes: int = _read("alloc_nodes")
    start_time: int | None = _read("start_time")
    end_time: int | None = _read("end_time")
    restart_count: int = _read("restart_count")
    array_job_id: int = _read("array_job_id")
    records: tuple[PluginJob, ...] = _read("record_views")
    task_id: int | None = _read("task_id")
    waiting_tasks: int = _read("waiting_tasks")

    @property
    def whole(self) -> PluginJob:
        """The job of which this may be a record."""
        return self

    def in_partition(self, name: str) -> PluginJob:
        """Give the job's record in a partition; the job itself if it has no records."""
        found: PluginJob = self._record.in_partition(name).shown
        return found

    @property
    def latest_task(self) -> PluginJob:
        """The task of the job array that was started last; for other jobs, the job itself."""
        found: PluginJob = self._record.latest_task.shown
        return found

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse to write.

        Raises:
            AttributeError: always.
        """
        self._refuse(name)

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse to delete.

        Raises:
            AttributeError: always.
        """
        self._refuse(name)

    def _refuse(self, name: str) -> NoReturn:
        raise AttributeError(
            f"job {self.job_id}: {name!r} is read-only, a plugin only reads jobs: use {_INSTEAD.get(name, _ANY)}",
            name=name,
            obj=self,
        )

    def __copy__(self) -> PluginJob:
        """Give the view itself, which is the only one of its job."""
        return self

    def __deepcopy__(self, memo: object) -> PluginJob:
        """Give the view itself, which is the only one of its job."""
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be saved.

        Raises:
            TypeError: always.
        """
        raise TypeError("a job cannot be pickled: save its job_id, and look it up in `ctld.jobs`")

    def __repr__(self) -> str:
        """Show id, state, units and priority."""
        return repr(self._record)


class PluginQueueRecord(PluginJob):
    """The view of a queue record."""

    __slots__ = ()

    @property
    def whole(self) -> PluginJob:
        """The job that it belongs to."""
        found: PluginJob = self._record.whole.shown
        return found


_SET_PARTITION, _SET_UNITS, _SET_TIME_LIMIT, _SET_START_LIMITS = (
    OpenView.__dict__[name].__set__ for name in ("partition", "units", "time_limit", "start_limits")
)


def make_view(record: Any, kind: type[PluginJob]) -> PluginJob:
    """Make the view of a record."""
    view = OpenView()
    view._record, view.job_id = record, record.job_id
    view.partition, view.units, view.time_limit = record.partition, record.units, record.time_limit
    view.start_limits = len(record.start_limits)
    view.__class__ = kind
    return view  # type: ignore[return-value] # it is one now


def copy_to(view: PluginJob, record: Any) -> None:
    """Copy to a view what it has copied of a record, after this was written."""
    _SET_PARTITION(view, record.partition)
    _SET_UNITS(view, record.units)
    _SET_TIME_LIMIT(view, record.time_limit)
    _SET_START_LIMITS(view, len(record.start_limits))
