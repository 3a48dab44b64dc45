"""UsageThreshold, and MinPrioThreshold, below which jobs do not block others.

More is in data/real_slurm/limits.txt.
"""

from __future__ import annotations

import pytest

from rota.accounting import AssociationTree
from rota.model import Association, JobState, Qos, Reason
from rota.testing import Harness, cluster, with_parameters
from rota.testing.builders import accounting_of

_ENFORCE = {"AccountingStorageEnforce": "limits", "PriorityCalcPeriod": "1", "PriorityFlags": "NO_FAIR_TREE"}


def _tree(*, threshold: float | None = None, flags: tuple[str, ...] = (), **limits: str) -> AssociationTree:
    """Make ann and bob, each with an account and half of the shares, and two QOS."""
    qos = [Qos(name="normal", id=1), Qos(name="q", id=2, usage_threshold=threshold, flags=flags, limits=limits)]
    places = [
        Association(id=1, account="root", qos=("normal", "q"), default_qos="normal"),
        Association(id=2, account="phys", parent_id=1),
        Association(id=3, account="phys", user="ann", parent_id=2),
        Association(id=4, account="chem", parent_id=1),
        Association(id=5, account="chem", user="bob", parent_id=4),
    ]
    return AssociationTree("cluster", places, qos=qos)


def _rota(tree: AssociationTree, priority: str = "priority/multifactor", **parameters: str) -> Harness:
    config = with_parameters(cluster(nodes=2), **_ENFORCE, **parameters)
    return Harness(config, sched="sched/backfill", priority=priority, associations=tree)


def test_a_job_waits_until_its_users_share_is_large_enough_again() -> None:
    """Ann has used all that was used, which is a factor of 1/4; when bob has used more it is above 1/2.

    That is known at the end of a period of a minute, and the job is looked at again once a minute.
    """
    with _rota(_tree(threshold=0.5, flags=("enforceusagethreshold",))) as rota:
        rota.submit(user="ann", account="phys", run=600)
        rota.until(601)
        job = rota.submit(nodes=2, cpus=2, user="ann", account="phys", qos="q", limit=600)
        other = rota.submit(nodes=1, user="bob", account="chem", qos="q", run=610)
        assert (other.start_time, rota.reason(job)) == (601, Reason.QOS_USAGE_THRESHOLD)
        rota.until(1800)
        assert job.start_time == 1261


@pytest.mark.parametrize(("weight", "reason"), [("1", Reason.QOS_USAGE_THRESHOLD), ("3", Reason.NONE)])
def test_the_weight_of_fair_share_multiplies_it(weight: str, reason: Reason) -> None:
    """Ann has a quarter."""
    tree = _tree(threshold=0.5, flags=("EnforceUsageThreshold",))
    with _rota(tree, PriorityWeightFairshare=weight) as rota:
        rota.submit(user="ann", account="phys", run=600)
        rota.until(601)
        assert rota.reason(rota.submit(user="ann", account="phys", qos="q")) is reason


@pytest.mark.parametrize(
    ("flags", "qos", "priority"),
    [
        ((), "q", "priority/multifactor"),
        (("EnforceUsageThreshold",), "normal", "priority/multifactor"),
        (("EnforceUsageThreshold",), "q", "priority/basic"),
    ],
    ids=["no flag", "another QOS", "nobody knows what was used"],
)
def test_otherwise_it_does_not(flags: tuple[str, ...], qos: str, priority: str) -> None:
    with _rota(_tree(threshold=0.5, flags=flags), priority) as rota:
        rota.submit(user="ann", account="phys", run=600)
        rota.until(601)
        assert rota.submit(user="ann", account="phys", qos=qos).state is JobState.RUNNING


def test_the_threshold_is_not_forgotten_when_limits_are_read_again_or_slurm_restarts() -> None:
    tree = _tree(threshold=0.5, flags=("EnforceUsageThreshold",))
    with _rota(tree) as rota:
        rota.submit(user="ann", account="phys", run=600)
        rota.until(601)
        job_id = rota.submit(user="ann", account="phys", qos="q").job_id
        rota.send(accounting_of(tree))
        rota.until(900)
        assert rota.reason(rota.job(job_id)) is Reason.QOS_USAGE_THRESHOLD
        rota.restart()
        rota.until(1000)
        assert rota.reason(rota.job(job_id)) is Reason.QOS_USAGE_THRESHOLD


@pytest.mark.parametrize(("threshold", "starts"), [("10", False), ("11", True)])
@pytest.mark.parametrize("sched", ["main pass", "backfill"])
def test_what_is_below_the_threshold_holds_up_nobody(threshold: str, starts: bool, sched: str) -> None:
    """The main pass starts the one behind it, or backfill does where there is no main pass."""
    options = "bf_interval=1" + (",sched_interval=-1" if sched == "backfill" else "")
    with _rota(_tree(MinPrioThreshold=threshold), SchedulerParameters=options) as rota:
        rota.submit(nodes=1, user="ann", account="phys", limit=600)
        rota.until(1)
        first = rota.submit(nodes=2, cpus=2, user="ann", account="phys", qos="q", limit=600, priority=10)
        second = rota.submit(nodes=1, user="bob", account="chem", limit=3600, priority=5)
        rota.until(2)
        assert (first.start_time, second.start_time is not None) == (None, starts)
        assert (first.planned_start is None) is starts


def test_jobs_of_a_qos_for_reservations_are_refused_without_one() -> None:
    with _rota(_tree(flags=("RequiresReservation",))) as rota:
        with pytest.raises(Exception, match="Invalid qos specification: QOS 'q' is for jobs with --reservation"):
            rota.submit(user="ann", account="phys", qos="q")
        assert rota.submit(user="ann", account="phys").state is JobState.RUNNING
