"""What the listings ask of a live cluster."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from sqlalchemy import or_, select

from rota.controller.job_rows import derived_exit_code
from rota.controller.kept_record import KeptRecord
from rota.controller.run_environment import expand
from rota.core.accounts.rights import coordinated
from rota.executor.tasks import Processes
from rota.inspect.view import EngineView
from rota.listings.answer import RELEASE
from rota.listings.privacy import Privacy
from rota.listings.view import AccountingQuery
from rota.model import User
from rota.model.accounting import AccountingRecord, JobDetails
from rota.model.node import NodeState
from rota.model.step import StepClient, StepRecord, TaskUsage
from rota.store.database import LAST_RUN, RECORD, times_between
from rota.store.schema import jobs as ended
from rota.users import find_user, group_name, user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from sqlalchemy import Select

    from rota.controller.cluster import Cluster
    from rota.core import Engine
    from rota.core.job import Job
    from rota.model import PriorityFactors
    from rota.model.accounting import Accounted
    from rota.model.lines import JobLine, NodeLine, ReservationLine, Statistics

#: Slurm's MinJobAge where it is not set, seconds.
_MIN_JOB_AGE = 300
#: Largest number of records that a `BriefView` reads.
_FEW = 100


class TakesLongError(Exception):
    """The accounting is asked about many jobs."""


class LiveView(EngineView):
    """A live cluster at one moment, as one user sees it; see `rota.listings.view.View`.

    Args:
        cluster: The cluster.
        uid: The user.
        utc_offset: Gives local time minus UTC where the user is; ``None``: as on this machine.
    """

    def __init__(self, cluster: Cluster, uid: int, utc_offset: Callable[[int], int] | None = None) -> None:
        self._live = cluster
        self._utc_offset = utc_offset
        self._engine: Engine = cluster.driver.engine
        self._view = self._engine.view
        self._uid = uid
        self._now = cluster.clock.now()
        super().__init__(self._view, self.user_name(uid))

    @cached_property
    def privacy(self) -> Privacy:
        """What is hidden from the user who asks."""
        kinds = frozenset(self.config.get("PrivateData").lower().replace(" ", "").split(",")) - {"", "none"}
        if not kinds or not self._live.rights.as_operator(self._uid):
            return Privacy()
        tree = self._view.tree
        who = tree.users.get(self.user, User(name=self.user))
        accounts = frozenset(one.account for one in tree.associations if one.user == self.user)
        return Privacy(kinds=kinds, user=self.user, coordinated=coordinated(tree, who), accounts=accounts)

    @property
    def uid(self) -> int:
        """The user who asks."""
        return self._uid

    # ---- names ------------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """The time now, Unix seconds."""
        return self._now

    def utc_offset(self, time: int, /) -> int:
        """Give local time minus UTC in seconds, at a Unix time, where the user is."""
        return self._utc_offset(time) if self._utc_offset else super().utc_offset(time)

    def knows_user(self, name: str) -> bool:
        """Whether there is a user of this name or, if it is a number, of this user id."""
        return find_user(name) is not None

    def user_name(self, user_id: int) -> str:
        """Give the name of a user; the number as text if there is none."""
        return user_name(user_id)

    def user_id(self, name: str) -> int | None:
        """Give the id of a user; ``None``: there is none."""
        found = find_user(name)
        return None if found is None else found.pw_uid

    def group_name(self, group_id: int) -> str:
        """Give the name of a group; the number as text if there is none."""
        return group_name(group_id)

    # ---- jobs -------------------------------------------------------------------------------------------------

    def jobs(self, *, ended: bool = True) -> tuple[JobLine, ...]:
        """Give all live jobs and, with ``ended``, those that ended in the last ``MinJobAge`` seconds."""
        jobs = self._view.jobs()
        if ended:
            recent = {job_id: one.job for job_id, one in self._recent.items() if not self._is_queued_again(one)}
            jobs = tuple(({job.job_id: job for job in jobs} | recent).values())
        if "jobs" not in self.privacy.kinds:
            return jobs
        return tuple(job for job in jobs if self.privacy.shows("jobs", job.user, job.account))

    def factors(self) -> tuple[PriorityFactors, ...]:
        """Give the priority factors of pending jobs."""
        return tuple(one for one in super().factors() if self.privacy.shows("jobs", one.user, one.account))

    def reservations(self) -> tuple[ReservationLine, ...]:
        """Give the advance reservations; where they are private, those that the user may use."""
        everything, privacy = super().reservations(), self.privacy
        if "reservations" not in privacy.kinds:
            return everything
        return tuple(one for one in everything if self.user in one.users or privacy.accounts.intersection(one.accounts))

    def details(self, job_id: int) -> JobDetails | None:
        """Give what is kept of a job beside its line, with the names of its files; ``None``: nothing."""
        job = self._engine.jobs.get(job_id)
        if job is not None:
            return self._details(self._view.line(job), job)
        record = self._recent.get(job_id)
        return None if record is None else _with_file_names(record.details, record.job)

    def steps(self, job_id: int) -> Sequence[StepRecord]:
        """Give the steps of a job, in the order in which they were started."""
        job = self._engine.jobs.get(job_id)
        if job is not None:
            return self._live_steps(self._view.line(job), job.spec.payload, job.steps)
        record = self._recent.get(job_id)
        return () if record is None else record.steps

    def tasks(self, job_id: int) -> Sequence[TaskUsage]:
        """Give what the tasks of a job's running steps use at this moment; of a job that has ended none."""
        job = self._engine.jobs.get(job_id)
        if job is None or not job.alloc:
            return ()
        mark = self._live.runs.mark_of(job_id, job.restart_count)
        return self._processes.tasks(mark, job.user_id, self._view.line(job).nodes[0])

    @cached_property
    def _processes(self) -> Processes:
        return Processes()

    def step_client(self, job_id: int, step_id: str) -> StepClient:
        """Give what is known of a running step that is not recorded."""
        return self._live.step_clients.client(job_id, step_id)

    def statistics(self) -> Statistics:
        """Give the statistics of ``sdiag``."""
        return self._live.driver.tally.statistics(super().statistics())

    def recent_count(self) -> int:
        """Count the jobs that ended in the last ``MinJobAge`` seconds."""
        return self._live.database.job_count(since=self._recently())

    def _recently(self) -> int:
        return self._now - int(self.config.get("MinJobAge") or _MIN_JOB_AGE)

    @cached_property
    def _recent(self) -> dict[int, Accounted]:
        """The jobs that ended in the last ``MinJobAge`` seconds, by job id, in the order in which they ended."""
        recent = AccountingQuery(start=self._recently())
        records: list[Accounted] = [*self._records(_selection(recent)), *self._live.runs.ending.values()]
        return {record.job.job_id: record for record in records}

    def _is_queued_again(self, record: Accounted) -> bool:
        """Whether a job that has ended is queued again, which the database may not know yet."""
        job = self._engine.jobs.get(record.job.job_id)
        return job is not None and job.restart_count > record.job.restart_count

    def _details(self, line: JobLine, job: Job) -> JobDetails:
        details = self._live.runs.submissions.of(job.spec.payload).details
        # Passes test the whole queue.
        considered = self._live.driver.tally.last_pass_at if job.is_queued else 0
        last = line.start_time or max(considered, line.submit_time)
        details = replace(details, derived_exit_code=derived_exit_code(job.steps), last_sched_eval=last)
        return _with_file_names(details, line)

    def _live_steps(self, job: JobLine, payload: str, others: Sequence[StepRecord]) -> tuple[StepRecord, ...]:
        if job.start_time is None or not self._live.runs.submissions.of(payload).script:
            return tuple(others)
        run = self._live.runs.run_of(job.job_id, job.restart_count)
        batch = StepRecord(
            step_id="batch",
            name="batch",
            nodes=job.nodes[:1],
            cpus=job.num_cpus if run is None else run.allocation[0].cpus,
            gres=() if run is None else run.gres_of_script,
            start_time=job.start_time,
        )
        return (batch, *others)

    def nodes(self) -> tuple[NodeLine, ...]:
        """Give the nodes, each with what is known of this machine."""
        system = os.uname()
        facts = {
            "load": round(os.getloadavg()[0], 2),
            "memory_free": os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
            "arch": system.machine,
            "system": f"{system.sysname} {system.release} {system.version}",
            "host": system.nodename,
            "version": RELEASE,
        }
        return tuple(replace(node, **facts) for node in super().nodes())  # type: ignore[arg-type] # as named

    # ---- accounting -------------------------------------------------------------------------------------------

    def accounted(self, query: AccountingQuery) -> Iterable[Accounted]:
        """Give the jobs that ``sacct`` is to choose from, live and ended, each with its steps."""
        jobs, ending = dict(self._engine.jobs), dict(self._live.runs.ending)
        for record in self._records(_selection(query)):
            job, last = jobs.get(record.job.job_id), ending.get(record.job.job_id)
            restarts = max(0 if job is None else job.restart_count, 0 if last is None else last.job.restart_count)
            if restarts > record.job.restart_count:
                if query.every_run:
                    yield record
                continue
            # Others may have come onto disk since; in a child, jobs that have ended since.
            if job is not None:
                del jobs[record.job.job_id]
            if last is not None:
                del ending[record.job.job_id]
            yield record
        for one in ending.values():
            if _asked(query, one.job.job_id, one.job.array_job_id) and not self._is_queued_again(one):
                yield one
        for job in jobs.values():
            if not _asked(query, job.job_id, None if job.array is None else job.array.job_id):
                continue
            line = self._view.line(job)
            yield AccountingRecord(
                job=line,
                details=self._details(line, job),
                steps=self._live_steps(line, job.spec.payload, job.steps),
            )

    def down_times(self) -> list[tuple[str, int, int | None]]:
        """Give the times for which nodes were set down, as far as the journal goes back."""
        found: list[tuple[str, int, int | None]] = []
        since: dict[str, int] = {}
        for time, event in self._live.database.events_named("UpdateNode"):
            if "state" not in event:
                continue
            for name in (event["name"], *event.get("others", ())):
                if event["state"] == NodeState.DOWN.value:
                    since.setdefault(name, time)
                elif name in since:
                    found.append((name, since.pop(name), time))
        return found + [(name, time, None) for name, time in since.items()]

    def _records(self, selection: Select[Any]) -> Iterator[KeptRecord]:
        return map(KeptRecord, self._live.database.job_texts(selection))


class BriefView(LiveView):
    """A live cluster whose accounting answers soon, or not at all."""

    def accounted(self, query: AccountingQuery) -> Iterable[Accounted]:
        """Give the jobs that ``sacct`` is to choose from.

        Raises:
            TakesLongError: more than a hundred records would have to be read.
        """
        # Only jobs that are named are found without a look at all others.
        if not query.job_ids and len(self._engine.jobs) + self._live.database.last_record() > _FEW:
            raise TakesLongError
        return super().accounted(query)

    def _records(self, selection: Select[Any]) -> Iterator[KeptRecord]:
        # One more, in any order, or all of them would be found before they are put into theirs.
        some = selection.with_only_columns(ended.c.id).order_by(None).limit(_FEW + 1)
        query = select(*RECORD).where(ended.c.id.in_(some)).order_by(ended.c.id)
        texts = self._live.database.job_texts(query)
        if len(texts) > _FEW:
            raise TakesLongError
        return map(KeptRecord, texts)


class OneJobView(LiveView):
    """A live cluster with the jobs of one id, or of one job array: of ten thousand, lines are made of these alone.

    Args:
        cluster: The cluster.
        uid: The user.
        job_id: Which jobs.
    """

    def __init__(self, cluster: Cluster, uid: int, job_id: int) -> None:
        super().__init__(cluster, uid)
        self._job_id = job_id

    def jobs(self, *, ended: bool = True) -> tuple[JobLine, ...]:
        """Give the live jobs and, with ``ended``, those that ended in the last ``MinJobAge`` seconds."""
        lines = (record.job for record in self.records(ended=ended))
        return tuple(line for line in lines if self.privacy.shows("jobs", line.user, line.account))

    def records(self, *, ended: bool = True) -> Iterator[Accounted]:
        """Give the records of `jobs`, also those that are hidden from the user."""
        since = self._recently() if ended else self._now + 1
        query = AccountingQuery(job_ids=frozenset({self._job_id}), start=since)
        return (one for one in self.accounted(query) if self._job_id in {one.job.job_id, one.job.array_job_id})

    def over(self) -> list[Accounted]:
        """Give the records of those that ended in the last ``MinJobAge`` seconds, and are not queued again."""
        query, live = AccountingQuery(job_ids=frozenset({self._job_id}), start=self._recently()), self._engine.jobs
        records: list[Accounted] = [*self._records(_selection(query)), *self._live.runs.ending.values()]
        each = {one.job.job_id: one for one in records if _asked(query, one.job.job_id, one.job.array_job_id)}
        return [one for one in each.values() if one.job.job_id not in live]


def _asked(query: AccountingQuery, job_id: int, array_job_id: int | None) -> bool:
    return not query.job_ids or job_id in query.job_ids or array_job_id in query.job_ids


def _with_file_names(details: JobDetails, job: JobLine) -> JobDetails:
    """Expand the patterns in the names of a job's files."""
    if not details.std_out:
        return details
    node = job.nodes[0] if job.nodes else ""
    return replace(
        details,
        std_in=expand(details.std_in, job, node),
        std_out=expand(details.std_out, job, node),
        std_err=expand(details.std_err, job, node),
    )


def _selection(query: AccountingQuery) -> Select[Any]:
    """Make the database's question of a query."""
    found = select(*RECORD).order_by(ended.c.id)
    if not query.every_run:
        found = found.where(LAST_RUN)
    if query.job_ids:
        found = found.where(or_(ended.c.job_id.in_(query.job_ids), ended.c.array_job_id.in_(query.job_ids)))
    for column, wanted in (
        (ended.c.account, query.accounts),
        (ended.c.name, query.names),
        (ended.c.partition_name, query.partitions),
        (ended.c.state, query.states),
    ):
        if wanted:
            found = found.where(column.in_(wanted))
    between = times_between(query.start, query.end)
    if query.job_ids or query.start is None:
        return found.where(*between)
    # Apart, so that SQLite does not read the rows of others to have them in their order.
    return found.where(ended.c.id.in_(select(ended.c.id).where(*between)))
