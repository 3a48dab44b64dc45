"""Answers to questions that only read, as JSON data."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from rota.commands.job_ids import parse_job_id
from rota.controller.api import questions as q
from rota.controller.api.objects import (
    accounted_data,
    job_data,
    node_data,
    partition_data,
    planned_data,
    queued_data,
)
from rota.controller.api.slurmdb import slurmdb_jobs
from rota.controller.job_orders import live_job
from rota.controller.live_view import OneJobView
from rota.inspect.explain import explain
from rota.listings.openapi.show import show
from rota.listings.openapi.system import diagnostics, licenses, pings
from rota.listings.view import AccountingQuery
from rota.model import Errno, RequestError
from rota.model.accounting import AccountingRecord, JobDetails

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rota.controller.cluster import Cluster
    from rota.controller.live_view import LiveView
    from rota.core.job import Job
    from rota.model.accounting import Accounted
    from rota.model.lines import JobLine

    #: Makes an answer of the view and the parameters.
    Answer = Callable[[Cluster, LiveView, Any], Any]
#: Numbers of the main pass, and of backfill.
_MAIN = ("cycles", "last_queue_length", "last_depth", "depth", "mean_depth", "jobs_started")
_BACKFILL = ("cycles", "last_queue_length", "last_depth", "last_table_size", "jobs_started")


# ---- rota's own paths -------------------------------------------------------------------------------------------


def _jobs(cluster: Cluster, view: LiveView, asked: q.JobsAsked) -> dict[str, Any]:
    found = list(islice(_live(cluster, view, asked), asked.limit + 1))
    more = len(found) > asked.limit
    shown = found[: asked.limit]
    return {
        "now": view.now,
        "jobs": [job_data(line, None) for line in shown],
        "next": shown[-1].job_id if more else None,
    }


def _live(cluster: Cluster, view: LiveView, asked: q.JobsAsked) -> Iterator[JobLine]:
    """Give the live jobs that are asked for. Lines are made only of jobs that may pass."""
    driver = cluster.driver
    for job_id in sorted(one for one in driver.engine.jobs if one > asked.after):
        job: Job = driver.engine.jobs[job_id]
        if asked.state not in {"", job.state.name} or asked.name not in {"", job.spec.name}:
            continue
        line = driver.engine.view.line(job)
        if (
            asked.user in {"", line.user}
            and asked.account in {"", line.account}
            and asked.partition in {"", *line.partition.split(",")}
            and _may_see(view, line)
        ):
            yield line


def _job(cluster: Cluster, view: LiveView, asked: q.Named) -> dict[str, Any]:
    wanted = parse_job_id(asked.name)
    if wanted is None or wanted.step or wanted.bracketed:
        raise RequestError(f"{asked.name!r} is no job id", Errno.INVALID_JOB_ID)
    job = cluster.driver.engine.jobs.get(wanted.job_id)
    line = None if job is None or wanted.tasks else cluster.driver.engine.view.line(job)
    if line is not None and _may_see(view, line):
        details = view.details(line.job_id) or JobDetails()
        return accounted_data(AccountingRecord(job=line, details=details, steps=tuple(view.steps(line.job_id))))
    query = AccountingQuery(job_ids=frozenset({wanted.job_id}))
    records = (one for one in view.accounted(query) if _is(one.job, wanted.job_id, wanted.tasks))
    found = [one for one in records if _may_see(view, one.job)]
    if not found:
        raise RequestError(f"there is no job {asked.name}", Errno.INVALID_JOB_ID)
    return accounted_data(found[-1])


def _is(job: JobLine, job_id: int, tasks: tuple[int, ...]) -> bool:
    if tasks:
        return job.array_job_id == job_id and job.array_task == str(tasks[0])
    return job.job_id == job_id


def _nodes(_: Cluster, view: LiveView, asked: q.Named) -> dict[str, Any]:
    _require(view, "nodes")
    nodes = [node_data(node) for node in view.nodes() if asked.name in {"", node.name}]
    if not nodes and asked.name:
        raise RequestError(f"there is no node {asked.name}", Errno.INVALID_NODE_NAME)
    return nodes[0] if asked.name else {"now": view.now, "nodes": nodes}


def _partitions(_: Cluster, view: LiveView, asked: q.Named) -> dict[str, Any]:
    _require(view, "partitions")
    found = [partition_data(part) for part in view.partitions() if asked.name in {"", part.name}]
    if not found and asked.name:
        raise RequestError(f"there is no partition {asked.name}", Errno.INVALID_PARTITION_NAME)
    return found[0] if asked.name else {"now": view.now, "partitions": found}


def _queue(cluster: Cluster, view: LiveView, asked: q.Page) -> dict[str, Any]:
    return _of_queue(cluster, view, asked, queued_data)


def _plan(cluster: Cluster, view: LiveView, asked: q.Page) -> dict[str, Any]:
    require_all(view)
    return _of_queue(cluster, view, asked, planned_data)


def _of_queue(
    cluster: Cluster, view: LiveView, asked: q.Page, describe: Callable[[int, JobLine], dict[str, Any]]
) -> dict[str, Any]:
    """Describe a part of the queue."""
    engine = cluster.driver.engine
    waiting = engine.view.waiting()
    end = asked.offset + asked.limit
    lines = ((place, engine.view.job(waiting[place])) for place in range(asked.offset, min(end, len(waiting))))
    jobs = [describe(place + 1, line) for place, line in lines if line is not None and _may_see(view, line)]
    return {"now": view.now, "length": len(waiting), "jobs": jobs, "next": end if end < len(waiting) else None}


def _explain(cluster: Cluster, view: LiveView, asked: q.Named) -> dict[str, Any]:
    require_all(view)
    live = cluster.driver.engine.view
    found = explain(live, live_job(live, asked.name))
    return {**asdict(found), "starts": found.start_time}


def _accounting(_: Cluster, view: LiveView, asked: q.Accounted) -> dict[str, Any]:
    query = AccountingQuery(
        users=frozenset(filter(None, [asked.user])),
        accounts=frozenset(filter(None, [asked.account.lower()])),
        states=frozenset(filter(None, [asked.state])),
        start=asked.start,
        end=asked.end,
    )
    records = (one for one in view.accounted(query) if _may_see(view, one.job))
    chosen: Iterable[Accounted] = (one for one in records if _passes(one.job, asked, view.now))
    found = list(islice(chosen, asked.offset, asked.offset + asked.limit + 1))
    more = len(found) > asked.limit
    return {
        "now": view.now,
        "jobs": [accounted_data(one) for one in found[: asked.limit]],
        "next": asked.offset + asked.limit if more else None,
    }


def _passes(job: JobLine, asked: q.Accounted, now: int) -> bool:
    ended = now if job.end_time is None or job.base_state in {"PENDING", "RUNNING", "SUSPENDED"} else job.end_time
    return (
        asked.user in {"", job.user}
        and asked.account.lower() in {"", job.account}
        and asked.state in {"", job.base_state}
        and (asked.start is None or ended >= asked.start)
        and (asked.end is None or job.submit_time <= asked.end)
    )


def _diag(cluster: Cluster, view: LiveView, _: q.Nothing) -> dict[str, Any]:
    found, nodes = view.statistics(), view.nodes()
    backfill = None
    if found.backfill is not None:
        backfill = {name: getattr(found.backfill, name) for name in _BACKFILL}
    return {
        "version": cluster.version,
        "cluster": cluster.name,
        "now": view.now,
        "boot_time": found.boot_time,
        "nodes": len(nodes),
        "cpus": sum(node.cpus for node in nodes),
        "cpus_allocated": sum(node.cpus_allocated for node in nodes),
        "jobs": dict(found.jobs),
        "plugin_faults": dict(found.faults),
        "trouble": cluster.driver.trouble,
        "events": found.events,
        "passes": found.passes,
        "main": {name: getattr(found.main, name) for name in _MAIN},
        "backfill": backfill,
    }


def _metrics(cluster: Cluster, view: LiveView, _: q.Nothing) -> dict[str, Any]:
    nodes = view.nodes()
    found = view.statistics()
    return {
        "version": cluster.version,
        "cluster": cluster.name,
        "trouble": bool(cluster.driver.trouble),
        "start_time": found.boot_time,
        "jobs": dict(found.jobs),
        "nodes": dict(Counter(node.base_state for node in nodes)),
        "cpus": sum(node.cpus for node in nodes),
        "cpus_allocated": sum(node.cpus_allocated for node in nodes),
        "memory": sum(node.memory for node in nodes),
        "memory_allocated": sum(node.memory_allocated for node in nodes),
        "events": found.events,
        "passes": found.passes,
        "started": {"main": found.main.jobs_started}
        | ({} if found.backfill is None else {"backfill": found.backfill.jobs_started}),
        "backfill_cycles": 0 if found.backfill is None else found.backfill.cycles,
        "queue_length": found.main.last_queue_length,
        "faults": dict(found.faults),
        "licenses": {one.name: [one.total, one.used] for one in view.licenses()},
    }


def _everything(_: Cluster, view: LiveView, __: q.Nothing) -> dict[str, Any]:
    """Answer whether the user may see what concerns all jobs: events, forecasts."""
    require_all(view)
    return {}


# ---- what others may not see ------------------------------------------------------------------------------------


def _may_see(view: LiveView, job: JobLine) -> bool:
    return view.privacy.shows("jobs", job.user, job.account)


def _require(view: LiveView, kind: str) -> None:
    if kind in view.privacy.kinds:
        raise _denied()


def _denied() -> RequestError:
    return RequestError("Access/permission denied", Errno.ACCESS_DENIED)


def require_all(view: LiveView) -> None:
    """Refuse what tells about all jobs, where ``PrivateData`` hides those of others.

    Raises:
        RequestError: it does.
    """
    if not view.privacy.shows_all_jobs:
        raise _denied()


# ---- the paths of slurmrestd ------------------------------------------------------------------------------------


def _slurm(kind: str) -> Answer:
    def answer(_: Cluster, view: LiveView, asked: q.Named) -> Any:
        _require(view, kind)
        return show(kind, asked.name or None, view)

    return answer


def _slurm_job(cluster: Cluster, view: LiveView, asked: q.Named) -> Any:
    wanted = parse_job_id(asked.name)
    return show("jobs", asked.name, view if wanted is None else OneJobView(cluster, view.uid, wanted.job_id))


def _slurm_jobs(cluster: Cluster, view: LiveView, asked: q.Changed) -> Any:
    return None if asked.update_time > cluster.driver.changed_at else show("jobs", None, view)


def _slurm_nodes(cluster: Cluster, view: LiveView, asked: q.Changed) -> Any:
    _require(view, "nodes")
    return None if asked.update_time > cluster.driver.changed_at else show("nodes", None, view)


#: The questions by name: their parameters, and who answers.
ANSWERS: dict[str, tuple[type[Any], Answer]] = {
    "accounting": (q.Accounted, _accounting),
    "diag": (q.Nothing, _diag),
    "everything": (q.Nothing, _everything),
    "explain": (q.Named, _explain),
    "job": (q.Named, _job),
    "jobs": (q.JobsAsked, _jobs),
    "metrics": (q.Nothing, _metrics),
    "nodes": (q.Named, _nodes),
    "partitions": (q.Named, _partitions),
    "plan": (q.Page, _plan),
    "queue": (q.Page, _queue),
    "slurm-diag": (q.Nothing, lambda _, view, __: diagnostics(view)),
    "slurm-job": (q.Named, _slurm_job),
    "slurm-jobs": (q.Changed, _slurm_jobs),
    "slurm-licenses": (q.Nothing, lambda _, view, __: licenses(view)),
    "slurm-node": (q.Named, _slurm("nodes")),
    "slurm-nodes": (q.Changed, _slurm_nodes),
    "slurm-partitions": (q.Named, _slurm("partitions")),
    "slurm-ping": (q.Nothing, lambda _, view, __: pings(view)),
    "slurm-reservations": (q.Named, _slurm("reservations")),
    "slurmdb-jobs": (q.Queried, slurmdb_jobs),
}
#: Questions that are answered by a child of the controller if there are many jobs, or always.
OF_ALL_JOBS = frozenset({"slurm-jobs"})
OF_THE_PAST = frozenset({"accounting", "slurmdb-jobs"})
