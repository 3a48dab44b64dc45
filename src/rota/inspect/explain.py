"""Why a job stands where it stands: its priority factor by factor, and the jobs before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.config.hostlist import fold
from rota.inspect.start_estimate import StartEstimate, estimate_start
from rota.model import InputError, JobState, MultifactorConf, PriorityFactorsRequest

if TYPE_CHECKING:
    from rota.core import Engine
    from rota.core.job import Job
    from rota.model import Association, PriorityFactors

#: Factors by job id and partition.
_Known = dict[tuple[int, str], "PriorityFactors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """One factor of a priority."""

    name: str
    #: ``None`` where a factor has none: site and nice count as they are.
    weight: float | None
    #: What it adds to the priority.
    points: float

    @property
    def value(self) -> float | None:
        """The factor before it was weighted, from 0 to 1 as a rule."""
        return self.points / self.weight if self.weight else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A job that stands before the one that is explained."""

    job_id: int
    user: str
    account: str
    partition: str
    priority: int
    #: What puts it before: ``PriorityTier``, the name of the factor that gives it most, or ``submitted earlier``.
    because: str
    #: How much more that factor gives it.
    points: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBy:
    """A bound that keeps a job from starting although there may be room for it."""

    #: Whose: ``QOS long``, ``account phys``, ``user ann of account phys``, ``cluster`` for licences, ``array 7``.
    whose: str
    #: As users have written it: ``GrpTRES=cpu``, ``Licenses=matlab``.
    name: str
    most: float
    #: What counts already, and what the job would add.
    used: float
    asked: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One job at one moment; times are Unix seconds."""

    job_id: int
    now: int
    user: str
    account: str
    partition: str
    qos: str
    state: str
    reason: str
    priority: int
    #: An administrator has set the priority.
    direct: bool
    submit_time: int
    eligible_time: int | None
    start_time: int | None
    planned_start: int | None
    num_cpus: int
    time_limit: int
    #: Empty when the priority plugin has no factors, or the job does not wait.
    factors: tuple[Factor, ...]
    #: Part of the cluster's usage, and of its shares, of the association and of the accounts above it, that of the job
    #: first; empty without fair-share.
    shares: tuple[tuple[str, float, float], ...]
    #: Place in the queue, from 1; 0 when it is not in it.
    place: int
    queue_length: int
    before: tuple[Before, ...]
    #: The limit, licence or array that holds it back, if one does.
    held_by: HeldBy | None
    #: The jobs that it waits for by its own wish, as ``squeue -o %E`` shows them; empty: none.
    dependency: str
    #: When it could start, by the plan of that moment; empty when it is not in the queue.
    start_estimate: StartEstimate


def explain(engine: Engine, job_id: int) -> Explanation:
    """Explain a live job as it stands now.

    Raises:
        InputError: there is no such job now.
    """
    job = engine.state.jobs.get(job_id)
    if job is None:
        raise InputError(f"job {job_id} is not in the cluster at that time: not submitted yet, or over", field="JOB")
    accounts = engine.cluster.accounts
    queue = [other for other in engine.cluster.queue.jobs if other.state is JobState.PENDING]
    # Of a job with several partitions the one in which it comes first.
    job = next((record for record in queue if record.job_id == job_id), job)
    ahead = queue[: queue.index(job)] if job in queue else []
    first: dict[int, Job] = {}
    for other in ahead:
        first.setdefault(other.job_id, other)
    asked = frozenset({job_id, *first})
    factors = engine.priority_factors(PriorityFactorsRequest(job_ids=asked))
    known = {(one.job_id, one.partition): one for one in factors}
    association, qos = accounts.association_of(job), accounts.qos_of(job)
    own = known.get((job_id, job.partition.name))
    return Explanation(
        job_id=job_id,
        now=engine.state.now,
        user=association.user,
        account=association.account,
        partition=job.partition.name,
        qos=qos.name if qos else job.spec.qos,
        state=job.state.value,
        reason=engine.reason_text(job, fold),
        priority=job.priority,
        direct=job.admin_priority,
        submit_time=job.submit_time,
        eligible_time=job.eligible_time,
        start_time=job.start_time,
        planned_start=job.whole.planned_start,
        num_cpus=job.num_cpus,
        time_limit=job.time_limit,
        factors=() if own is None or own.direct else _factors(engine, own),
        shares=_shares(engine, association) if known else (),
        place=len(first) + 1 if job in queue else 0,
        queue_length=len(engine.cluster.queue.waiting()),
        before=tuple(_before(engine, other, job, known) for other in first.values()),
        held_by=_held_by(job),
        dependency=engine.cluster.dependencies.text(job.whole),
        start_estimate=estimate_start(engine, job) if job in queue and job.held_back() is None else StartEstimate(),
    )


def _held_by(job: Job) -> HeldBy | None:
    if job.state is not JobState.PENDING:
        return None
    excess = job.held_back() or (job.limits.never(job) if job.limits is not None else None)
    if excess is None:
        return None
    limit, used, asked = excess
    return HeldBy(whose=limit.of, name=limit.name, most=limit.most, used=used, asked=asked)


def _factors(engine: Engine, one: PriorityFactors) -> tuple[Factor, ...]:
    weights = MultifactorConf.of(engine.state.config, engine.cluster.accounts.tres).weights
    listed = [
        Factor(name="age", weight=weights.age, points=one.priority_age),
        Factor(name="association", weight=weights.assoc, points=one.priority_assoc),
        Factor(name="fair-share", weight=weights.fairshare, points=one.priority_fs),
        Factor(name="job size", weight=weights.job_size, points=one.priority_js),
        Factor(name="partition", weight=weights.partition, points=one.priority_part),
        Factor(name="QOS", weight=weights.qos, points=one.priority_qos),
        *(
            Factor(name=f"TRES {name}", weight=weights.tres.get(name), points=points)
            for name, points in one.priority_tres.items()
        ),
        Factor(name="site", weight=None, points=float(one.priority_site)),
        Factor(name="nice", weight=None, points=float(-one.nice)),
    ]
    return tuple(factor for factor in listed if factor.weight or factor.points)


def _shares(engine: Engine, association: Association) -> tuple[tuple[str, float, float], ...]:
    tree = engine.cluster.accounts.tree
    if engine.cluster.accounts.usage is None or association not in tree:
        return ()
    path = tree.path(tree.row(association)).tolist()
    found = []
    for row in path[:-1]:
        one = engine.association_usage(tree.associations[row])
        found.append((one.user or one.account, one.usage_norm, tree.target_share(row)))
    return tuple(found)


def _before(engine: Engine, other: Job, job: Job, known: _Known) -> Before:
    association = engine.cluster.accounts.association_of(other)
    because, points = "submitted earlier", 0.0
    mine = known.get((job.job_id, job.partition.name))
    theirs = known.get((other.job_id, other.partition.name))
    if other.partition.priority_tier != job.partition.priority_tier:
        because = "PriorityTier"
    elif other.priority != job.priority:
        because, points = "priority", float(other.priority - job.priority)
        if mine is not None and theirs is not None and not (mine.direct or theirs.direct):
            own = {factor.name: factor.points for factor in _factors(engine, mine)}
            more = {factor.name: factor.points - own.get(factor.name, 0.0) for factor in _factors(engine, theirs)} or {
                because: points
            }
            because = max(more, key=lambda name: more[name])
            points = more[because]
    return Before(
        job_id=other.job_id,
        user=association.user,
        account=association.account,
        partition=other.partition.name,
        priority=other.priority,
        because=because,
        points=points,
    )
