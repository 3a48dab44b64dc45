"""One moment of a replay as records: what ``squeue``, ``sprio`` and ``sshare`` show of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.config.hostlist import fold
from rota.listings import JobLine, View
from rota.model import YEAR, JobState, MultifactorConf, PriorityFactorsRequest, Reason
from rota.resources.nodeset import indices

if TYPE_CHECKING:
    from rota.core import Engine
    from rota.core.job import Job


def view_of(engine: Engine) -> View:
    """Look at an engine as it is now."""
    accounts = engine.cluster.accounts
    # Before the jobs: it brings their priorities up to date.
    factors = tuple(engine.priority_factors(PriorityFactorsRequest()))
    conf = MultifactorConf.of(engine.state.config, accounts.tres)
    return View(
        now=engine.state.now,
        utc_offset=engine.utc_offset,
        jobs=tuple(_line(engine, job) for job in engine.state.jobs.values()),
        factors=factors,
        weights=conf.weights,
        associations=tuple(engine.association_usages()),
        tres=accounts.tres,
        fair_tree=conf.fair_tree,
    )


def _line(engine: Engine, job: Job) -> JobLine:
    state = engine.state
    words = state_words(job)
    qos = engine.cluster.accounts.qos_of(job)
    running = job.start_time is not None
    num_nodes = job.alloc_nodes.bit_count() or state.pool.least_nodes(job)
    return JobLine(
        job_id=job.job_id,
        array_job_id=None if job.array is None else job.array.job_id,
        array_task=job.array_task,
        partition=job.spec.partition if job.records and not running else job.partition.name,
        name=job.spec.name or "(null)",
        user=job.spec.user or str(job.user_id),
        user_id=job.user_id,
        account=engine.cluster.accounts.association_of(job).account,
        qos=qos.name if qos else job.spec.qos,
        state=words[0],
        state_compact=words[1],
        reason=engine.reason_text(job, fold),
        priority=job.priority,
        nice=job.nice,
        num_nodes=num_nodes,
        num_cpus=int(engine.cluster.accounts.tres_of(job)[0]),
        time_limit=None if job.time_limit == YEAR else job.time_limit,
        submit_time=job.submit_time,
        eligible_time=job.eligible_time,
        start_time=job.start_time if running else job.planned_start,
        end_time=job.end_time if running else None,
        nodes=_nodes(engine, job.alloc_nodes),
        planned_nodes=_nodes(engine, job.planned_nodes),
    )


def _nodes(engine: Engine, nodes: int) -> str:
    return fold(engine.state.nodes[index].name for index in indices(nodes))


def state_words(job: Job) -> tuple[str, str]:
    """Give a job's state as ``squeue`` shows it, long and short: the base state, or that its reservation is over."""
    if job.state is JobState.PENDING and job.reason is Reason.RESERVATION_DELETED:
        return "RESV_DEL_HOLD", "RD"
    return job.state.value, job.state.compact
