"""Orders about jobs, such as ``scontrol hold`` and ``requeue``, and what is answered.

What is asked of a job array, or of some of its tasks, is done of each task of which it can be done, and answered for
each. Jobs that have ended are known for ``MinJobAge``; they can be queued again, and nothing else. (Source: what Slurm
22.05.8 answered, in ``tests/controller/recorded/arrays.txt``.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.commands.job_ids import JobId, parse_job_id
from rota.commands.slurm_messages import message_of
from rota.controller.live_view import OneJobView
from rota.controller.requeue import queue_again, tasks_of
from rota.controller.slices import in_slices, together
from rota.core import events as ev
from rota.model import Errno, JobState, Reason, RequestError
from rota.model.array import fold_tasks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping

    from rota.controller.cluster import Cluster
    from rota.core.effects import Refused
    from rota.core.job import Job
    from rota.core.view.cluster_view import ClusterView
    from rota.model.accounting import Accounted
    from rota.model.lines import JobLine

#: What is answered of jobs in a state in which a command does nothing to them.
_WAITING = {JobState.PENDING: Errno.JOB_PENDING}
_NOTHING_DONE: Mapping[str, dict[JobState, Errno]] = {
    "requeue": _WAITING,
    "requeuehold": _WAITING,
    "suspend": _WAITING | {JobState.SUSPENDED: Errno.SUCCESS},
    "resume": _WAITING | {JobState.RUNNING: Errno.JOB_NOT_SUSPENDED},
}


class Answer(NamedTuple):
    """What has become of an order about a job, or about tasks of an array."""

    #: Task ids, ascending; empty: it was about a job, not about tasks.
    tasks: tuple[int, ...]
    #: SUCCESS: it is done.
    errno: Errno
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be done to jobs."""

    #: Does it to a live job, or to a task of an array; ``None``: to all that live of it.
    request: Callable[[int, int | None], Awaitable[Refused | None]]
    #: As whom it counts.
    uid: int
    #: What is answered of jobs in a state in which nothing is done to them.
    instead: Mapping[JobState, Errno] = field(default_factory=dict)
    #: Does it to a job that has ended; ``None``: that cannot be done, for this reason.
    again: Callable[[Accounted], Awaitable[Refused | None]] | None = None
    over: Errno = Errno.JOB_FINISHED


async def order(cluster: Cluster, command: str, wanted: JobId, uid: int, *, incomplete: bool = False) -> list[Answer]:
    """Carry out ``hold``, ``uhold``, ``release``, ``requeue``, ``requeuehold``, ``suspend`` or ``resume``.

    Args:
        cluster: The cluster.
        command: Which.
        wanted: A job, a job array, or some tasks.
        uid: The user who asks.
        incomplete: Of jobs that have ended, only those that have not completed are meant, and those that wait may.

    Returns:
        What is answered, each once, in order of the tasks.
    """
    counts_as = cluster.rights.over_job(uid, wanted.job_id)

    def request(job_id: int, task_id: int | None) -> Awaitable[Refused | None]:
        about = {"job_id": job_id, "task_id": task_id, "uid": counts_as}
        return cluster.driver.request(_event(command, about))

    def again(record: Accounted) -> Awaitable[Refused | None]:
        owner = cluster.rights.over_account(uid, record.job.account, record.job.user_id)
        return queue_again(cluster, record, owner, hold=command == "requeuehold", incomplete=incomplete)

    instead = _NOTHING_DONE.get(command, {})
    found = Order(
        request=request,
        uid=counts_as,
        instead=instead | {JobState.PENDING: Errno.SUCCESS} if incomplete else instead,
        again=again if command in {"requeue", "requeuehold"} else None,
        over=Errno.ALREADY_DONE if command in {"suspend", "resume"} else Errno.JOB_FINISHED,
    )
    return await carry_out(cluster, wanted, found)


def _event(command: str, about: dict[str, Any]) -> ev.Event:
    if command in {"hold", "uhold"}:
        return ev.Hold(**about, by_user=command == "uhold")
    if command == "release":
        return ev.Release(**about)
    if command in {"requeue", "requeuehold"}:
        return ev.Requeue(**about, hold=command == "requeuehold")
    return ev.Suspend(**about) if command == "suspend" else ev.Resume(**about)


async def carry_out(cluster: Cluster, wanted: JobId, what: Order) -> list[Answer]:
    """Carry out an order about a job, a job array, or some tasks; give what is answered."""
    live = _live(cluster, wanted.job_id)
    is_array = any(_is_of(job, wanted.job_id) for job in live)
    over: list[Accounted] = []
    if (is_array or not live) and cluster.known_jobs.has_ended(wanted.job_id):
        over = [one for one in OneJobView(cluster, 0, wanted.job_id).over() if not _is_forgotten(one.job)]
        is_array = is_array or any(one.job.array_job_id == wanted.job_id for one in over)
    if not is_array and wanted.tasks:
        return [_answer(wanted.tasks, Errno.INVALID_JOB_ID)]
    asked: Iterable[Awaitable[Answer]]
    if is_array:
        asked = _each_task(wanted, what, live, over)
    elif live:
        asked = [_live_job(what, (), live[0], wanted.job_id, None)]
    elif over:
        asked = [_ended_job(what, (), over[0])]
    else:
        return [_answer((), Errno.INVALID_JOB_ID)]
    return _merged([one async for one in together(asked)])


async def order_each(
    ids: Iterable[JobId], carry: Callable[[JobId], Awaitable[list[Answer]]]
) -> AsyncIterator[tuple[JobId, list[Answer]]]:
    """Carry out an order about each of many ids, in slices; give what is answered.

    Those that name tasks of one array are one order, so that its records are looked through once.

    Args:
        ids: The ids.
        carry: Carries it out about one, see `carry_out`.
    """
    of_arrays: dict[tuple[int, bool], list[JobId]] = {}
    for one in ids:
        of_arrays.setdefault((one.job_id, bool(one.tasks)), []).append(one)
    async for (job_id, _), ones in in_slices(of_arrays.items()):
        if len(ones) == 1:
            yield ones[0], await carry(ones[0])
            continue
        answers = await carry(JobId(job_id, tuple(sorted({task for one in ones for task in one.tasks}))))
        of_task = {task: answer for answer in answers for task in answer.tasks}
        for one in ones:
            yield one, _merged(of_task[task]._replace(tasks=(task,)) for task in one.tasks if task in of_task)


def live_job(view: ClusterView, text: str) -> int:
    """Give the job id of a live job, or of one task, for which its array's record may stand.

    Raises:
        RequestError: there is none.
    """
    wanted = parse_job_id(text)
    if wanted is None or wanted.step or len(wanted.tasks) > 1 or (not wanted.tasks and view.job(wanted.job_id) is None):
        raise RequestError(f"there is no live job {text}", Errno.INVALID_JOB_ID)
    return view.find(wanted.job_id, wanted.tasks[0])[0].job_id if wanted.tasks else wanted.job_id


def _live(cluster: Cluster, job_id: int) -> list[Job]:
    try:
        return cluster.driver.engine.view.find(job_id, None)
    except RequestError:
        return []


def _is_of(job: Job, array_job_id: int) -> bool:
    return job.array is not None and job.array.job_id == array_job_id


def _is_forgotten(job: JobLine) -> bool:
    """Whether it is a task that was split off its array only to be cancelled: Slurm keeps nothing of it.

    A task that was held or changed by itself before has a record there. See `rota.core.jobs.lifecycle`.
    """
    is_task = job.array_job_id not in {None, job.job_id}
    return is_task and job.start_time is None and job.eligible_time is None and job.reason == Reason.NONE.value


def _each_task(
    wanted: JobId, what: Order, live: Iterable[Job], over: Iterable[Accounted]
) -> Iterator[Awaitable[Answer]]:
    """Begin an order for an array."""
    chosen, array_id = set(wanted.tasks), wanted.job_id
    unknown, together = set(wanted.tasks), []
    for job in live:
        tasks = (job.task_id,) if job.task_id is not None else tuple(job.array.pending if job.array else ())
        named = tuple(one for one in tasks if one in chosen) if chosen else tasks
        unknown.difference_update(named)
        if not named:
            continue
        if job.task_id is None and job.state in what.instead:  # the record of those that wait answers as one
            yield _live_job(what, tasks, job, array_id, None)
        elif what.instead or chosen:
            for one in named:
                yield _live_job(what, (one,), job, array_id, one)
        else:
            together.append((named, job))
    if together:
        all_of_them = sorted(one for named, _ in together for one in named)
        yield _live_job(what, tuple(all_of_them), together[0][1], array_id, None)
    for record in over:
        tasks = tasks_of(record.job)
        if not chosen or not chosen.isdisjoint(tasks):
            unknown.difference_update(tasks)
            yield _ended_job(what, tasks, record)
    if unknown:
        yield _ready(_answer(tuple(sorted(unknown)), Errno.INVALID_JOB_ID))


async def _ready(answer: Answer) -> Answer:
    return answer


async def _live_job(what: Order, tasks: tuple[int, ...], job: Job, job_id: int, task_id: int | None) -> Answer:
    instead = what.instead.get(job.state)
    if instead is not None:
        return _answer(tasks, instead if what.uid in {0, job.user_id} else Errno.ACCESS_DENIED)
    return _refusal(tasks, await what.request(job_id, task_id))


async def _ended_job(what: Order, tasks: tuple[int, ...], record: Accounted) -> Answer:
    if what.again is None:
        return _answer(tasks, what.over)
    return _refusal(tasks, await what.again(record))


def _answer(tasks: tuple[int, ...], errno: Errno) -> Answer:
    return Answer(tasks, errno, message_of(errno, "")[0])


def _refusal(tasks: tuple[int, ...], refused: Refused | None) -> Answer:
    if refused is None:
        return _answer(tasks, Errno.SUCCESS)
    return Answer(tasks, refused.errno, message_of(refused.errno, refused.message)[0])


def _merged(answers: Iterable[Answer]) -> list[Answer]:
    """Give equal answers as one, for all of their tasks."""
    tasks: dict[tuple[Errno, str], set[int]] = {}
    for one in answers:
        tasks.setdefault((one.errno, one.message), set()).update(one.tasks)
    return sorted(Answer(tuple(sorted(ids)), *key) for key, ids in tasks.items())


def problems_of(wanted: JobId, answers: Iterable[Answer]) -> list[str]:
    """Give what ``scontrol`` says; nothing if there was no problem with any of the jobs."""
    found = [*answers]
    if all(one.errno is Errno.SUCCESS for one in found):
        return []
    return [
        f"{wanted.job_id}_{fold_tasks(one.tasks)}: {one.message}"
        if one.tasks
        else f"{one.message} for job {wanted.job_id}"
        for one in found
    ]
