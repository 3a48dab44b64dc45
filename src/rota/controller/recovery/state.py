"""The state from which a cluster goes on after damage.

What is written down is handled again, as far as it can be read. Then it is made to agree with what the supervisor
knows:

- Jobs that run there are kept running, also those of which nothing else is known.
- Jobs that ran in the state, and do not there, have ended; if the supervisor does not say how, nobody knows.
- If commits are missing, pending jobs may have run since: they are held, so that somebody can look before they run.
- Pending jobs whose script is lost are cancelled.

No job is ever run again for it, and none that runs is ended.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rota.controller.job_rows import job_row
from rota.controller.recovery.found_job import describe
from rota.controller.recovery.inspection import last_known_job
from rota.core import events as ev
from rota.core.effects import JobFinished, Refused
from rota.core.event_codec import decode
from rota.core.plain import shape_of
from rota.core.snapshot import save
from rota.executor.traces import is_alive
from rota.model import ClusterConfig, JobState, Reason
from rota.model.accounting import AccountingRecord, JobDetails
from rota.model.array import MOST_TASKS, parse_array
from rota.model.submission import Submission
from rota.store.database import compress
from rota.store.remains import Finding

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rota.controller.recovery.inspection import Inspection
    from rota.core import Engine
    from rota.core.job import Job
    from rota.executor.traces import TracedRun


@dataclass(slots=True)
class Rebuilt:
    """What is gone on with, and what became of jobs."""

    engine: Engine
    #: Of the events that were handled again, the number of the last one; and that of the state before them.
    seq: int = 0
    snapshot: int = 0
    #: Rows of jobs whose end has been found out now.
    rows: list[dict[str, Any]] = field(default_factory=list)
    #: What was handed in with jobs, by payload, where it was found elsewhere.
    submissions: dict[str, bytes] = field(default_factory=dict)
    running: list[int] = field(default_factory=list)
    #: Those of the running ones of which the database said nothing.
    found: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    #: Jobs that ended, and nobody knows how.
    unknown: list[int] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    #: Changes of saved jobs, by job id.
    patches: dict[int, dict[str, Any]] = field(default_factory=dict)

    def save(self) -> dict[str, Any]:
        """Give the engine's state as JSON data."""
        state = save(self.engine)
        for job in state["jobs"]:
            job.update(self.patches.get(job["job_id"], {}))
        return state


class Rebuilding:
    """Makes the state from which a cluster goes on.

    Args:
        inspection: What was found, with all ended jobs.
        boot: Makes an engine for a configuration from a saved state; from ``None`` a new one.
        config: The configuration (slurm.conf).
        now: The time now, Unix seconds.
    """

    def __init__(
        self,
        inspection: Inspection,
        boot: Callable[[dict[str, Any] | None, ClusterConfig], Engine],
        config: ClusterConfig,
        now: int,
    ) -> None:
        self._inspection = inspection
        self._boot = boot
        self._config = config
        self._traces = inspection.traces
        self._now = now

    def run(self) -> Rebuilt:
        """Make it.

        Raises:
            InputError: slurm.conf does not fit what is saved.
        """
        made = self._handle_again()
        self._now = max(self._now, made.engine.view.now)
        self._made, self._engine = made, made.engine
        self._places = {node.name: place for place, node in enumerate(self._engine.view.nodes())}
        jobs = list(self._engine.jobs.values())
        for job in [one for one in jobs if one.alloc]:
            self._agree_on_running(job)
        for job in [one for one in jobs if not one.alloc]:
            self._agree_on_pending(job)
        known = {job.job_id for job in self._engine.jobs.values() if job.alloc}
        for run in self._traces.runs.values():
            if run.job_id not in known and not self._is_recorded(run):
                self._take_over(run)
        made.running = sorted(job.job_id for job in self._engine.jobs.values() if job.alloc)
        return made

    def _handle_again(self) -> Rebuilt:
        remains = self._inspection.remains
        if not remains.snapshots:
            return Rebuilt(self._boot(None, self._config))
        seq = max(remains.snapshots)
        blob, until = remains.snapshots[seq]
        saved = json.loads(zlib.decompress(blob))
        made = Rebuilt(self._boot(saved["engine"], shape_of(ClusterConfig).decode(saved["config"])), seq, seq)
        for number, time, text in remains.events:
            if number <= seq:
                continue
            if until is not None and number == until + 1:
                made.engine = self._boot(save(made.engine), self._config)
            made.engine.handle(decode(json.loads(text)), time)
            made.seq = number
        made.engine = self._boot(save(made.engine), self._config)
        return made

    # ---- jobs of the state ------------------------------------------------------------------------------------

    def _agree_on_running(self, job: Job) -> None:
        key = job.job_id, job.restart_count
        if key in self._traces.runs:
            return
        later = [run for run in self._traces.runs.values() if run.job_id == job.job_id]
        past = self._traces.past.get(key)
        if later:
            self._made.patches[job.job_id] = {"restart_count": later[-1].restart_count}
        elif past is not None and past.code >= 0:
            self._made.ended.append(job.job_id)
            self._handle(ev.JobEnded(*key, exit_code=past.code, signal=past.signal, time=int(past.end)))
        elif self._traces.is_there and not self._traces.wrong:
            self._made.unknown.append(job.job_id)
            self._handle(ev.JobEnded(*key, outcome=ev.Outcome.UNKNOWN))

    def _agree_on_pending(self, job: Job) -> None:
        runs = [run for run in self._traces.runs.values() if run.job_id in _ids_of(job)]
        past = [run for (job_id, _), run in self._traces.past.items() if job_id in _ids_of(job)]
        if job.array is None and runs:
            self._agree_on_start(job, runs[-1])
        elif job.array is None and past and past[-1].restart_count >= job.restart_count:
            self._record_end(job, past[-1])
        elif runs or past or not self._has_script(job):
            self._made.cancelled.append(job.job_id)
            self._handle(ev.Cancel(job_id=job.job_id))
        elif self._inspection.is_behind and job.priority:
            self._made.held.append(job.job_id)
            self._handle(ev.Hold(job_id=job.job_id))

    def _agree_on_start(self, job: Job, run: TracedRun) -> None:
        """Have a pending job run, which it does; if it cannot, it is made anew from what its process tells."""
        if run.has_ended or not is_alive(run):
            self._record_end(job, run)
            return
        if not job.priority:
            self._engine.handle(ev.Release(job_id=job.job_id), self._now)
        if self._start(job, run, describe(run, self._directory(run)).nodes):
            self._engine.handle(ev.Cancel(job_id=job.job_id), self._now)

    def _directory(self, run: TracedRun) -> Path:
        return self._inspection.state / "spool" / f"job{run.job_id:05}"

    def _has_script(self, job: Job) -> bool:
        return not job.spec.payload or job.spec.payload in self._inspection.remains.submissions

    # ---- jobs of the supervisor -------------------------------------------------------------------------------

    def _take_over(self, run: TracedRun) -> None:
        """Make a job of a run of which the state knows nothing."""
        found = describe(run, self._directory(run))
        refused = self._handle(ev.Submit(run.job_id, found.spec, uid=found.spec.user_id))
        if refused:  # its partition or its account is not there any more, or not for this user
            refused = self._handle(ev.Submit(run.job_id, found.spec._replace(partition="", account="")))
        job = self._engine.jobs.get(run.job_id)
        if job is None:
            self._give_up(run, refused)
            return
        self._made.submissions[found.spec.payload] = compress(shape_of(Submission).encode(found.submission))
        if run.has_ended or not is_alive(run):
            self._record_end(job, run)
        elif why := self._start(job, run, found.nodes):
            self._give_up(run, why)
            self._engine.handle(ev.Cancel(job_id=job.job_id), self._now)

    def _is_recorded(self, run: TracedRun) -> bool:
        """Whether the end of a run is on record, which the supervisor does not know any more."""
        for row in self._inspection.remains.jobs:
            if row["job_id"] == run.job_id and row["state"] != "REQUEUED":
                found = json.loads(row["record"])
                return bool(found["job"].get("restart_count", 0) >= run.restart_count)
        return False

    def _start(self, job: Job, run: TracedRun, nodes: tuple[str, ...]) -> str:
        """Have a pending job run, on the nodes on which it does; give why it cannot."""
        scheduler = self._engine.sched_controller
        own = sum(1 << self._places[name] for name in set(nodes) if name in self._places)
        resources = scheduler.select(job.view, scheduler.free, own) or scheduler.select(job.view, scheduler.free)
        why = scheduler.start(job.view, resources) if resources else Reason.RESOURCES
        if why is not None:
            return why.value
        self._made.found.append(job.job_id)
        start = min(int(run.start), self._now)
        times = {"start_time": start, "end_time": start + job.time_limit, "charged_since": start}
        self._made.patches[job.job_id] = {"restart_count": run.restart_count, **times}
        return ""

    def _give_up(self, run: TracedRun, why: str) -> None:
        what = f"job {run.job_id} runs, process {run.pid}, and cannot be taken over: {why}"
        self._made.findings.append(Finding(what, "its end, and what it uses until then"))

    def _record_end(self, job: Job, run: TracedRun) -> None:
        """Record the end of a pending job that has run, and forget it."""
        state = JobState.COMPLETED if not run.code and not run.signal else JobState.FAILED
        (self._made.ended if run.code >= 0 else self._made.unknown).append(job.job_id)
        line = self._engine.view.line(job)._replace(
            state=state.value,
            state_compact=state.compact,
            base_state=state.value,
            reason=Reason.NONE.value,
            start_time=int(run.start),
            end_time=int(run.end or self._now),
            exit_code=max(run.code, 0),
            signal=run.signal,
            restart_count=run.restart_count,
        )
        self._made.rows.append(job_row(AccountingRecord(job=line, details=self._details(job.spec.payload))))
        self._engine.handle(ev.Cancel(job_id=job.job_id), self._now)

    def _handle(self, event: ev.Event) -> str:
        """Handle an event, and keep the records of jobs that end with it; give why it is refused."""
        effects = self._engine.handle(event, self._now)
        for one in effects:
            if isinstance(one, JobFinished):
                record = one.record
                line, details = self._engine.view.ended(record), self._details(record.spec.payload)
                self._made.rows.append(job_row(AccountingRecord(job=line, details=details, steps=record.steps)))
        return next((one.message for one in effects if isinstance(one, Refused)), "")

    def _details(self, payload: str) -> JobDetails:
        blob = self._made.submissions.get(payload) or self._inspection.remains.submissions.get(payload)
        if blob is None:
            return JobDetails()
        details: JobDetails = shape_of(Submission).decode(json.loads(zlib.decompress(blob))).details
        return details


def _ids_of(job: Job) -> range:
    """Give the ids of the jobs that a pending job may become: those of the tasks of its array."""
    if job.array is None:
        return range(job.job_id, job.job_id + 1)
    return range(job.array.job_id, job.array.job_id + len(parse_array(job.spec.array, MOST_TASKS).ids))


def next_ids(inspection: Inspection, made: Rebuilt) -> tuple[int, int]:
    """Give a job id, and a number of an event, above all that were ever seen."""
    heads = [inspection.head.seq] if inspection.head is not None else []
    told = [int(inspection.traces.head[2])] if inspection.traces.head else []
    pending = (job_id for job in made.engine.jobs.values() for job_id in _ids_of(job))
    job_id = max(last_known_job(inspection), *pending, 0) + 1
    return job_id, max(inspection.remains.seq, made.seq, *heads, *told, 0) + 1
