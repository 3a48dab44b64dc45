"""Why a job is pending: its priority factor by factor, and the jobs before it in the queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.config.hostlist import fold_sorted
from rota.inspect.start_estimate import StartEstimate, estimate_start
from rota.model import YEAR, InputError, PriorityFactorsRequest, PriorityWeights

if TYPE_CHECKING:
    from rota.core import ClusterView
    from rota.model import PriorityFactors
    from rota.model.lines import BlockingLimit, QueueLine, QueuePosition

#: Priority factors by job id and partition.
_Known = dict[tuple[int, str], "PriorityFactors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """A factor of a job's priority."""

    name: str
    #: ``None``: the factor has no weight, as site factor and nice value.
    weight: float | None
    #: What the factor adds to the priority.
    points: float

    @property
    def value(self) -> float | None:
        """The factor without its weight, usually from 0 to 1."""
        return self.points / self.weight if self.weight else None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAhead:
    """A job that is before another in the queue, and why."""

    job_id: int
    user: str
    account: str
    partition: str
    priority: int
    #: What decides the order: ``PriorityTier``, the factor with the largest difference, or ``submitted earlier``.
    because: str
    #: Difference of that factor in points of priority.
    points: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The explanation of a job at one moment. Times are Unix seconds."""

    job_id: int
    now: int
    user: str
    account: str
    partition: str
    qos: str
    state: str
    reason: str
    priority: int
    #: Whether an administrator has set the priority.
    direct: bool
    submit_time: int
    eligible_time: int | None
    start_time: int | None
    planned_start: int | None
    num_cpus: int
    time_limit: int
    #: Factors of the priority; empty if the priority plugin gives none, or the job is not pending.
    factors: tuple[Factor, ...]
    #: Name, part of the cluster's usage, and target share: of the job's association first, then of the accounts above
    #: it; empty without fair-share.
    shares: tuple[tuple[str, float, float], ...]
    #: Position in the queue, from 1; 0: the job is not in the queue.
    place: int
    queue_length: int
    before: tuple[JobAhead, ...]
    #: The limit, licence or array throttle that keeps the job from starting, if there is one.
    held_by: BlockingLimit | None
    #: Unsatisfied dependencies, as ``squeue -o %E`` shows them; empty: none.
    dependency: str
    #: When the job could start, according to a plan of the queue; empty if the job is not in the queue.
    start_estimate: StartEstimate


def explain(cluster: ClusterView, job_id: int) -> Explanation:
    """Explain a live job.

    Raises:
        InputError: the cluster has no such job now.
    """
    position = cluster.queue_position(job_id)
    if position is None:
        raise InputError(f"job {job_id} is not in the cluster at that time: not submitted yet, or over", field="JOB")
    job = position.job
    first: dict[int, QueueLine] = {}
    for other in position.ahead:
        first.setdefault(other.job_id, other)
    factors = cluster.factors(PriorityFactorsRequest(job_ids=frozenset({job_id, *first})))
    known = {(one.job_id, one.partition): one for one in factors}
    own = known.get((job_id, position.partition))
    weights = cluster.priority_conf.weights if known else PriorityWeights()
    return Explanation(
        job_id=job_id,
        now=cluster.now,
        user=job.assoc_user,
        account=job.account,
        partition=position.partition,
        qos=job.qos,
        state=job.base_state,
        reason=job.reason_text(fold_sorted),
        priority=job.priority,
        direct=job.direct,
        submit_time=job.submit_time,
        eligible_time=job.eligible_time,
        start_time=job.start_time,
        planned_start=position.planned_start,
        num_cpus=position.num_cpus,
        time_limit=YEAR if job.time_limit is None else job.time_limit,
        factors=() if own is None or own.direct else _factors(weights, own),
        shares=_shares(cluster, job_id) if known else (),
        place=position.place,
        queue_length=position.queue_length,
        before=tuple(_before(weights, other, position, known) for other in first.values()),
        held_by=position.held_by,
        dependency=job.dependency,
        start_estimate=estimate_start(cluster, job_id),
    )


def _factors(weights: PriorityWeights, one: PriorityFactors) -> tuple[Factor, ...]:
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


def _shares(cluster: ClusterView, job_id: int) -> tuple[tuple[str, float, float], ...]:
    if not cluster.keeps_usage:
        return ()
    path = [line.association for line in cluster.associations_of(job_id)]
    return tuple((one.user or one.account, one.usage_norm, cluster.target_share(one)) for one in path)


def _before(weights: PriorityWeights, other: QueueLine, position: QueuePosition, known: _Known) -> JobAhead:
    because, points = "submitted earlier", 0.0
    mine = known.get((position.job.job_id, position.partition))
    theirs = known.get((other.job_id, other.partition))
    more = other.priority - position.job.priority
    if other.tier != position.tier:
        because = "PriorityTier"
    elif more:
        because, points = "priority", float(more)
        if mine is not None and theirs is not None and not (mine.direct or theirs.direct):
            own = {factor.name: factor.points for factor in _factors(weights, mine)}
            gains = {one.name: one.points - own.get(one.name, 0.0) for one in _factors(weights, theirs)}
            if gains:
                because = max(gains, key=lambda name: gains[name])
                points = gains[because]
    return JobAhead(
        job_id=other.job_id,
        user=other.user,
        account=other.account,
        partition=other.partition,
        priority=other.priority,
        because=because,
        points=points,
    )
