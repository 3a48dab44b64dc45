"""Recording a history of a replay: plans and fair-share at intervals, and the factors of the longest-waiting jobs."""

from __future__ import annotations

from heapq import nsmallest
from typing import TYPE_CHECKING

import numpy as np

from rota.inspect.plan_reader import PlanReader
from rota.model import JobState, PriorityFactorsRequest
from rota.results.plan_history import PlanHistory
from rota.results.priority_history import MAX_WAITS, JobFactors, PriorityHistory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rota.core import Engine
    from rota.model import PriorityFactors
    from rota.results.plan_history import Plan

#: Number of samples during the submission of jobs. At least so many are kept of a long replay.
SAMPLES = 150
#: Number of digits of recorded figures.
_DIGITS = 6


class HistoryRecorder:
    """Takes samples of an engine: of its plan and, where usage is kept, of fair-share.

    Args:
        engine: The engine.
    """

    def __init__(self, engine: Engine) -> None:
        self._jobs = engine.jobs
        self._view = engine.view
        self._reader = PlanReader(engine.view)
        self._keeps_usage = engine.view.keeps_usage
        self._times: list[int] = []
        self._plans: list[Plan] = []
        #: Usage and fair-share by account, for each sample.
        self._usage: list[dict[str, float]] = []
        self._fairshare: list[dict[str, float]] = []
        #: Last known factors of jobs that were among the longest-waiting ones.
        self._factors: dict[int, PriorityFactors] = {}

    def sample(self) -> None:
        """Take a sample."""
        now = self._view.now
        if self._times and now <= self._times[-1]:
            return
        self._times.append(now)
        self._plans.append(self._reader.plan())
        if self._keeps_usage:
            self._sample_shares()

    def _sample_shares(self) -> None:
        lines = self._view.associations(users=False, run_seconds=False)
        accounts = [line.association for line in lines if line.depth]
        self._usage.append({one.account: one.usage_norm for one in accounts})
        self._fairshare.append(
            {one.account: one.fs_factor if one.level_fs is None else one.level_fs for one in accounts}
        )
        waiting = (job for job in self._jobs.values() if job.state is JobState.PENDING and job.priority)
        oldest = frozenset(job.job_id for job in nsmallest(MAX_WAITS, waiting, key=lambda job: job.submit_time))
        if oldest:
            for one in self._view.factors(PriorityFactorsRequest(job_ids=oldest)):
                self._factors[one.job_id] = one

    @property
    def is_full(self) -> bool:
        """Whether there are more samples than a chart can show."""
        return len(self._times) >= 2 * SAMPLES

    def thin(self) -> None:
        """Drop every other sample."""
        for samples in (self._times, self._plans, self._usage, self._fairshare):
            del samples[1::2]

    def plans(self) -> PlanHistory:
        """Give the history of plans."""
        return PlanHistory(nodes=self._reader.nodes, plans=tuple(self._plans), kinds=self._reader.kinds)

    def history(self, waits: dict[int, int]) -> PriorityHistory | None:
        """Give the history of fair-share and factors; ``None`` if usage is not kept.

        Args:
            waits: Seconds that each job waited, by job id.
        """
        if not self._keeps_usage:
            return None
        shown = [line for line in self._view.associations(users=False, run_seconds=False) if line.depth]
        names = [line.association.account for line in shown]
        longest = sorted(self._factors.keys() & waits.keys(), key=lambda job_id: (-waits[job_id], job_id))[:MAX_WAITS]
        return PriorityHistory(
            times=np.array(self._times, np.int64),
            accounts=tuple(names),
            depth=tuple(line.depth for line in shown),
            usage_share=_matrix(self._usage, names),
            target_share=np.array([self._view.target_share(line.association) for line in shown]),
            fairshare=_matrix(self._fairshare, names),
            fair_tree=self._view.priority_conf.fair_tree,
            waits=tuple(_job_factors(self._factors[job_id], waits[job_id]) for job_id in longest),
        )


def _matrix(samples: list[dict[str, float]], names: list[str]) -> NDArray[np.float64]:
    rows = [[float(f"{sample.get(name, 0.0):.{_DIGITS}g}") for name in names] for sample in samples]
    return np.array(rows).reshape(len(samples), len(names))


def _job_factors(one: PriorityFactors, wait: int) -> JobFactors:
    return JobFactors(
        job_id=one.job_id,
        user=one.user,
        account=one.account,
        wait=wait,
        priority=one.priority,
        age=one.priority_age,
        assoc=one.priority_assoc,
        fairshare=one.priority_fs,
        job_size=one.priority_js,
        partition=one.priority_part,
        qos=one.priority_qos,
        tres=sum(one.priority_tres.values()),
        site=one.priority_site,
        nice=one.nice,
    )
