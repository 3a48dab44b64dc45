"""Changes of job states, told from the events that the engine has handled and from their effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.core import events as ev
from rota.core.effects import JobFinished, Launch, Refused, ResumeRun, SuspendRun

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rota.core import Engine
    from rota.core.effects import Effect
    from rota.model.lines import JobLine

_STATES = {Launch: "RUNNING", ResumeRun: "RUNNING", SuspendRun: "SUSPENDED"}


class Change(NamedTuple):
    """A job has got another state."""

    #: Unix seconds.
    time: int
    job_id: int
    #: Job id of the job array, and the task ids; ``None`` and empty: the job is of no array.
    array_job_id: int | None
    array_task: str
    #: PENDING, RUNNING, SUSPENDED, or that in which the job has ended.
    state: str
    name: str
    user: str
    account: str
    partition: str
    #: Exit code of the script, and the signal that ended it; 0: none.
    exit_code: int
    signal: int


def changes_of(event: ev.Event, effects: Iterable[Effect], engine: Engine, now: int) -> list[Change]:
    """Give what has changed.

    Args:
        event: The event.
        effects: What the engine wanted done.
        engine: The engine, which has handled it.
        now: The time of the event, Unix seconds.
    """
    return list(_changes(event, effects, engine, now))


def _changes(event: ev.Event, effects: Iterable[Effect], engine: Engine, now: int) -> Iterator[Change]:
    finished: set[int] = set()
    if isinstance(event, ev.Submit | ev.Resubmit) and not any(isinstance(one, Refused) for one in effects):
        yield from _of(engine, event.job_id, "PENDING", now)
    for effect in effects:
        if isinstance(effect, JobFinished):
            finished.add(effect.record.job_id)
            yield _change(engine.view.ended(effect.record), effect.record.state.name, now)
        elif isinstance(effect, Launch | SuspendRun | ResumeRun):
            yield from _of(engine, effect.job_id, _STATES[type(effect)], now)
    if isinstance(event, ev.JobEnded | ev.LaunchFailed) and event.job_id not in finished:
        job = engine.jobs.get(event.job_id)
        if job is not None and not job.alloc:  # it was requeued
            yield from _of(engine, event.job_id, "PENDING", now)


def _of(engine: Engine, job_id: int, state: str, now: int) -> Iterator[Change]:
    line = engine.view.job(job_id)
    if line is not None:
        yield _change(line, state, now)


def _change(job: JobLine, state: str, now: int) -> Change:
    return Change(
        time=now,
        job_id=job.job_id,
        array_job_id=job.array_job_id,
        array_task=job.array_task,
        state=state,
        name=job.name,
        user=job.user,
        account=job.account,
        partition=job.partition,
        exit_code=job.exit_code,
        signal=job.signal,
    )
