"""Which letters there are: told from the events that the engine has handled, and by timers.

A job array has letters about all of its tasks, when the first begins and when the last has ended; with ARRAY_TASKS each
task has its own. Parts of a time limit that are reached while the controller is down are not told.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sqlalchemy import select

from rota.controller.mail.letters import Ends, Occasion, is_of_array, letter
from rota.core import events as ev
from rota.core.effects import JobFinished, Launch
from rota.model import JobState, Reason
from rota.store.database import LAST_RUN, RECORD
from rota.store.schema import jobs as ended

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.controller.clock import ClusterClock
    from rota.controller.driver import LiveDriver
    from rota.controller.live_runs import LiveRuns
    from rota.controller.mail.carrier import Carrier
    from rota.core.effects import Effect
    from rota.core.job import Job
    from rota.model import JobRecord
    from rota.model.accounting import JobDetails
    from rota.model.lines import JobLine
    from rota.store import Database, Write

#: Parts of the time limit of which users can be told, in per cent.
_PARTS = (50, 80, 90)
#: States of jobs that have not failed.
_GOOD = frozenset({JobState.COMPLETED, JobState.CANCELLED})


class Post:
    """Writes letters.

    Args:
        database: The cluster's database.
        driver: The cluster's driver.
        runs: The runs of jobs, and what was handed in with them.
        clock: The cluster's clock.
        carrier: Sends them.
    """

    def __init__(
        self, database: Database, driver: LiveDriver, runs: LiveRuns, clock: ClusterClock, carrier: Carrier
    ) -> None:
        self._database = database
        self._driver = driver
        self._clock = clock
        self._runs = runs
        self._carrier = carrier
        #: What was told of whole job arrays, by job id and type; and how their tasks have ended so far.
        self._told: set[tuple[int, str]] = set()
        self._ends: dict[int, Ends] = {}
        #: Pending jobs whose users want to hear of dependencies that can never be satisfied.
        self._dependent: set[int] = set()
        driver.on_handled.append(self._handled)
        driver.on_launched.append(self._watch)

    def start(self) -> None:
        """Go on with the jobs that there are, and send what an earlier controller has not."""
        for job in self._driver.engine.jobs.values():
            if job.array is not None and job.array.last_start is not None:
                self._told.add((job.array_job_id, "BEGIN"))
            if job.dependencies is not None and job.reason is not Reason.DEPENDENCY_NEVER_SATISFIED:
                self._note_dependent(job)
            if job.alloc:
                self._watch(job.job_id, is_new=False)
        self._carrier.start()

    def _handled(self, event: ev.Event, effects: list[Effect], now: int) -> list[Write]:
        config = self._driver.engine.view.config
        occasions = self._occasions(event, effects, now)
        domain = config.get("MailDomain")
        return self._carrier.keep(letter(one, config.cluster_name, domain) for one in occasions)

    def _occasions(self, event: ev.Event, effects: list[Effect], now: int) -> Iterator[Occasion]:
        jobs = self._driver.engine.jobs
        if isinstance(event, ev.Submit | ev.UpdateJob) and event.job_id in jobs:
            self._note_dependent(jobs[event.job_id])
        finished = {one.record.job_id for one in effects if isinstance(one, JobFinished)}
        if isinstance(event, ev.JobEnded | ev.LaunchFailed) and event.job_id not in finished:
            yield from self._requeued(event, now)
        if self._dependent:
            yield from self._never_satisfied()
        for effect in effects:
            if isinstance(effect, Launch):
                yield from self._began(jobs[effect.job_id], now)
            elif isinstance(effect, JobFinished):
                yield from self._over(effect.record)

    def _details(self, payload: str) -> JobDetails:
        return self._runs.submissions.of(payload).details

    # ---- begin and end ----------------------------------------------------------------------------------------

    def _began(self, job: Job, now: int) -> Iterator[Occasion]:
        details = self._details(job.spec.payload)
        if not _wants(details, "BEGIN"):
            return
        line = self._driver.engine.view.line(job)
        found = Occasion("BEGIN", line, details, max(now - line.submit_time, 0))
        if not is_of_array(found) or self._is_first(line, "BEGIN"):
            yield found

    def _requeued(self, event: ev.JobEnded | ev.LaunchFailed, now: int) -> Iterator[Occasion]:
        job = self._driver.engine.jobs.get(event.job_id)
        run = self._runs.run_of(event.job_id, event.restart_count)
        if job is None or run is None or job.alloc:
            return
        details = self._details(job.spec.payload)
        if _wants(details, "REQUEUE"):
            found = Occasion("REQUEUE", run.job, details, run.job.time_used(now))
            if not is_of_array(found):
                yield found

    def _over(self, record: JobRecord) -> Iterator[Occasion]:
        details = self._details(record.spec.payload)
        if not details.mail_type:
            return
        line = self._driver.engine.view.ended(record)
        seconds = line.time_used(record.end_time)
        found = Occasion("END" if record.state in _GOOD else "FAIL", line, details, seconds)
        if record.reason is Reason.DEPENDENCY_NEVER_SATISFIED and record.job_id in self._dependent:
            yield found._replace(kind="INVALID_DEPEND")
        self._dependent.discard(record.job_id)
        if record.state is JobState.TIMEOUT and _wants(details, "TIME_LIMIT"):
            limit = found._replace(kind="TIME_LIMIT")
            if not is_of_array(limit) or self._is_first(line, "TIME_LIMIT"):
                yield limit
        if is_of_array(found):
            yield from self._over_in_array(record, found)
        elif _wants(details, found.kind):
            yield found

    def _over_in_array(self, record: JobRecord, last: Occasion) -> Iterator[Occasion]:
        """Note the end of a task and, if it was the last one, tell of the array."""
        assert record.array_job_id is not None  # noqa: S101 - it is of an array
        known = self._ends.get(record.array_job_id)
        ends = self._ends_before(record.array_job_id) if known is None else known
        own = Ends.of(record.exit_code, record.signal, record.restart_count)
        ends = self._ends[record.array_job_id] = own if ends is None else ends.with_(own)
        if not record.array_is_over:
            return
        del self._ends[record.array_job_id]
        self._told = {one for one in self._told if one[0] != record.array_job_id}
        kind = (
            "FAIL" if ends.highest > 255 and _wants(last.details, "FAIL") else "END"
        )  # as Slurm, whatever the signals
        if _wants(last.details, kind):
            yield last._replace(kind=kind, ends=ends)
        if ends.requeued and _wants(last.details, "REQUEUE"):
            yield last._replace(kind="REQUEUE")

    def _ends_before(self, array_job_id: int) -> Ends | None:
        """Give how tasks of an array have ended that an earlier controller has seen; ``None``: there were none."""
        found: Ends | None = None
        query = select(*RECORD).where(ended.c.array_job_id == array_job_id, LAST_RUN)
        for record in self._database.job_records(query):
            job = record["job"]
            one = Ends.of(job.get("exit_code", 0), job.get("signal", 0), job.get("restart_count", 0))
            found = one if found is None else found.with_(one)
        return found

    def _is_first(self, line: JobLine, kind: str) -> bool:
        """Whether a letter of a type is the first about a job array; the next one is not."""
        assert line.array_job_id is not None  # noqa: S101 - it is of an array
        before = len(self._told)
        self._told.add((line.array_job_id, kind))
        return len(self._told) > before

    # ---- dependencies -----------------------------------------------------------------------------------------

    def _note_dependent(self, job: Job) -> None:
        if job.dependencies is not None and _wants(self._details(job.spec.payload), "INVALID_DEPEND"):
            self._dependent.add(job.job_id)

    def _never_satisfied(self) -> Iterator[Occasion]:
        engine = self._driver.engine
        for job_id in sorted(self._dependent):
            job = engine.jobs.get(job_id)
            if job is not None and job.reason is Reason.DEPENDENCY_NEVER_SATISFIED:
                self._dependent.discard(job_id)
                yield Occasion("INVALID_DEPEND", engine.view.line(job), self._details(job.spec.payload), 0)

    # ---- time limits ------------------------------------------------------------------------------------------

    def _watch(self, job_id: int, *, is_new: bool = True) -> None:
        """Set timers for the parts of a job's time limit of which its user wants to hear."""
        job = self._driver.engine.jobs.get(job_id)
        if job is None:
            return
        details = self._details(job.spec.payload)
        for part in _PARTS:
            if _wants(details, f"TIME_LIMIT_{part}") and (is_new or self._until(job, part) > 0):
                self._look(job_id, job.restart_count, part)

    def _until(self, job: Job, part: int) -> float:
        """Give the seconds for which a job has to run until it has used a part of its time limit."""
        line, now = self._driver.engine.view.line(job), self._clock.now()
        return float("inf") if line.time_limit is None else line.time_limit * part / 100 - line.time_used(now)

    def _look(self, job_id: int, restart_count: int, part: int) -> None:
        """Tell that a part of a time limit was reached, if it was, and else look again."""
        driver = self._driver
        job = driver.engine.jobs.get(job_id)
        if job is None or not job.alloc or job.restart_count != restart_count:
            return
        seconds = self._until(job, part)
        if seconds > 0:
            wait = min(max(seconds, 1.0), 86_400.0)  # it may have been suspended, or the limit changed
            asyncio.get_running_loop().call_later(wait, self._look, job_id, restart_count, part)
            return
        line = driver.engine.view.line(job)
        found = Occasion(f"TIME_LIMIT_{part}", line, self._details(job.spec.payload), line.time_used(self._clock.now()))
        if not is_of_array(found) or self._is_first(line, found.kind):
            config = driver.engine.view.config
            driver.write(self._carrier.keep([letter(found, config.cluster_name, config.get("MailDomain"))]))


def _wants(details: JobDetails, kind: str) -> bool:
    return bool(details.mail_type) and kind in details.mail_type.split(",")
