"""priority/multifactor through the engine: what each factor, flag and request comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rota.accounting import AssociationTree
from rota.model import MAX_PRIORITY, Association, JobState, NodeState, PartitionState, PriorityFactorsRequest, Qos
from rota.testing import Harness, cluster, partition, spec, with_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.core.job import Job
    from rota.model import ClusterConfig, PriorityFactors

WEIGHTS = {
    "PriorityWeightAge": "1000",
    "PriorityWeightAssoc": "200",
    "PriorityWeightFairshare": "10000",
    "PriorityWeightJobSize": "1000",
    "PriorityWeightPartition": "1000",
    "PriorityWeightQOS": "2000",
    "PriorityWeightTRES": "cpu=300",
}
DAY = 86400


def _tree() -> AssociationTree:
    """Five users; ann's fair-share is .8: only bob has shares, the others follow with one and the same."""
    users = [
        Association(id=id_, account="physics", user=name, parent_id=2, shares_raw=shares, priority=priority)
        for id_, name, shares, priority in (
            (3, "ann", 0, 3),
            (4, "bob", 1, 4),
            (5, "cleo", 0, 0),
            (6, "dan", 0, 0),
            (7, "eve", 0, 0),
        )
    ]
    tops = [Association(id=1, account="root"), Association(id=2, account="physics", parent_id=1, priority=2)]
    qos = [Qos(name="normal"), Qos(name="low", priority=20), Qos(name="high", priority=100)]
    return AssociationTree("cluster", [*tops, *users], qos=qos)


def _machine(**parameters: str) -> ClusterConfig:
    """100 nodes of 16 processors; the highest PriorityJobFactor is 20."""
    parts = [partition("batch", priority_job_factor=10), partition("prime", priority_job_factor=20)]
    return with_parameters(cluster(nodes=100, cpus_per_node=16, partitions=parts), **WEIGHTS | parameters)


def _harness(config: ClusterConfig) -> Harness:
    """Make a cluster whose users are `_tree`'s; a job of bob's has all of it."""
    rota = Harness(config, priority="priority/multifactor", associations=_tree())
    _submit(rota, "bob", nodes=len(config.nodes), priority=MAX_PRIORITY, limit=20 * DAY)
    return rota


@pytest.fixture
def rota() -> Iterator[Harness]:
    with _harness(_machine()) as harness:
        yield harness


def _submit(rota: Harness, user: str, **fields: Any) -> Job:
    """Submit a job of a user by name; the other fields are `spec`'s."""
    return rota.submit(spec(**fields)._replace(user=user))


def _factors(rota: Harness, *jobs: Job, users: frozenset[int] = frozenset()) -> list[PriorityFactors]:
    request = PriorityFactorsRequest(job_ids=frozenset(job.job_id for job in jobs), user_ids=users)
    return list(rota.engine.view.factors(request))


def _published(rota: Harness, config: ClusterConfig, *, age: int = DAY, begin: int = 0) -> Job:
    """Submit the job of the published table and let it wait."""
    job = _submit(rota, "ann", qos="low", nodes=10, cpus=160, limit=3600, nice=50, begin=begin)
    job.site_factor = 25
    rota.wait(age)
    rota.reconfigure(config)
    return job


@pytest.mark.parametrize(
    ("parameters", "size", "priority"),
    [
        ({}, 100.0, 9297),
        ({"PriorityFavorSmall": "YES"}, 900.0, 10097),
        ({"PriorityFlags": "SMALL_RELATIVE_TO_TIME"}, 1.666667, 9199),
        ({"PriorityFlags": "SMALL_RELATIVE_TO_TIME", "PriorityFavorSmall": "YES"}, 998.333333, 10196),
        ({"PriorityFlags": "NO_NORMAL_ALL"}, 100.0, 106817),
    ],
    ids=["default", "small", "relative", "small-relative", "no-normal"],
)
def test_the_published_job(parameters: dict[str, str], size: float, priority: int) -> None:
    """Worked out with Slurm's formulas: age 1/7, association 3/4, fair-share .8, partition 1/2, QOS 1/5, cpu 1/10.

    1000/7 + 150 + 8000 + size + 500 + 400 + 30 + 25 − 50, cut; NO_NORMAL_ALL takes 3, 10, 20 and 160 as they are.
    """
    config = _machine(**parameters)
    with _harness(config) as rota:
        job = _published(rota, config)
        assert job.priority == priority
        (factors,) = _factors(rota, job)
    assert factors.priority_js == pytest.approx(size)
    assert factors.priority_age == pytest.approx(1000 / 7)
    assert factors.priority_fs == pytest.approx(8000.0)
    raw = "NO_NORMAL_ALL" in parameters.get("PriorityFlags", "")
    assert factors.priority_assoc == (600 if raw else 150)
    assert factors.priority_part == (10000 if raw else 500)
    assert factors.priority_qos == (40000 if raw else 400)
    assert factors.priority_tres == {"cpu": pytest.approx(48000 if raw else 30)}
    assert (factors.priority_site, factors.nice, factors.priority) == (25, 50, priority)
    assert (factors.user, factors.account, factors.partition, factors.qos) == ("ann", "physics", "batch", "low")


@pytest.mark.parametrize(
    ("flag", "priority"),
    [
        ("NO_NORMAL_ASSOC", 9297 + 450),
        ("NO_NORMAL_PART", 9297 + 9500),
        ("NO_NORMAL_QOS", 9297 + 39600),
        ("NO_NORMAL_TRES", 9297 + 47970),
    ],
)
def test_each_factor_may_be_left_as_it_is(flag: str, priority: int) -> None:
    """The published table's sums for NO_NORMAL_ALL, one at a time: each has its own term only."""
    config = _machine(PriorityFlags=flag)
    with _harness(config) as rota:
        assert _published(rota, config).priority == priority


@pytest.mark.parametrize(("age", "priority"), [(7 * DAY, 10155), (14 * DAY, 10155), (0, 9155)])
def test_the_age_of_the_published_job(rota: Harness, age: int, priority: int) -> None:
    """From PriorityMaxAge on it is 1: 1000 in place of 142.86."""
    assert _published(rota, _machine(), age=age).priority == priority


def test_the_published_job_without_an_age(rota: Harness) -> None:
    job = _published(rota, _machine(), begin=30 * DAY)
    assert (job.priority, job.eligible_time) == (9155, None)


@pytest.mark.parametrize(
    ("nice", "site", "priority"),
    [(2_000_000, 25, 1), (-2_147_483_645, 2_147_483_645, MAX_PRIORITY), (0, 2_147_483_645, 2_147_492_825)],
)
def test_a_priority_is_at_least_1_and_at_most_32_bits(rota: Harness, nice: int, site: int, priority: int) -> None:
    """Bounds of nice and of the site factor as Slurm's test24.5 has them; without those two the sum is 9180."""
    job = _submit(rota, "ann", qos="low", nodes=10, cpus=160, nice=nice, begin=DAY)
    job.site_factor = site
    rota.reconfigure(_machine())
    assert job.priority == priority


def test_a_job_of_one_processor(rota: Harness) -> None:
    """The published table's last row: size 1000 · (1/100 + 1/1600)/2 = 5.3125, cpu 300/1600 = .1875."""
    job = _submit(rota, "ann", qos="low", nodes=1, cpus=1)
    assert job.priority == 9055
    (factors,) = _factors(rota, job)
    assert (factors.priority_js, factors.priority_tres) == (5.3125, {"cpu": 0.1875})


def test_how_small_a_job_of_one_processor_is() -> None:
    """Its nodes and its processors count half each: 1000 · (99/100 + 1599/1600)/2 = 994.6875."""
    with _harness(_machine(PriorityFavorSmall="YES")) as rota:
        job = _submit(rota, "ann", nodes=1, cpus=1)
        assert [one.priority_js for one in _factors(rota, job)] == [pytest.approx(994.6875)]


def test_an_association_without_a_priority_has_its_accounts(rota: Harness) -> None:
    """cleo has none, physics has 2 of at most 4."""
    job = _submit(rota, "cleo", nodes=1)
    assert [one.priority_assoc for one in _factors(rota, job)] == [100.0]


def test_a_job_whose_qos_there_is_not_has_no_qos_factor(rota: Harness) -> None:
    (factors,) = _factors(rota, _submit(rota, "ann", qos="none such"))
    assert (factors.qos, factors.priority_qos) == ("", 0.0)


def test_tres_that_a_partition_has_not_count_nothing() -> None:
    config = _machine(AccountingStorageTRES="gres/gpu", PriorityWeightTRES="gres/gpu=1000,cpu=-160")
    with _harness(config) as rota:
        (factors,) = _factors(rota, _submit(rota, "ann", nodes=1, cpus=16))
    assert factors.priority_tres == {"cpu": pytest.approx(-1.6), "gres/gpu": 0.0}


# ---- the requests of the API ------------------------------------------------------------------------------------


def test_other_weights_count_at_once_when_the_configuration_is_read_again(rota: Harness) -> None:
    job = _submit(rota, "ann", nodes=10, cpus=160, begin=30 * DAY)
    held = _submit(rota, "ann", hold=True)
    assert job.priority == 150 + 8000 + 100 + 500 + 30
    rota.reconfigure(with_parameters(_machine(), PriorityWeightFairshare="0", PriorityWeightJobSize="5000"))
    assert (job.priority, held.priority) == (150 + 500 + 500 + 30, 0)


def test_a_reconfiguration_that_cannot_be_used_leaves_things_as_they_were(rota: Harness) -> None:
    job = _submit(rota, "ann", nodes=10, cpus=160, begin=30 * DAY)
    rota.reconfigure(with_parameters(_machine(), PriorityWeightFairshare="-1"))
    assert [(fault.plugin, fault.symbol) for fault in rota.faults] == [("priority/multifactor", "priority_p_reconfig")]
    assert "PriorityWeightFairshare" in rota.faults[0].message
    assert job.priority == 8780
    rota.wait(600)
    assert job.priority == 8780


def test_a_partitions_factor_follows_the_configuration(rota: Harness) -> None:
    job = _submit(rota, "ann", nodes=10, cpus=160, begin=30 * DAY)
    parts = [partition("batch", range(100), priority_job_factor=30, default=True), partition("prime", range(100))]
    rota.reconfigure(with_parameters(cluster(nodes=100, cpus_per_node=16, partitions=parts), **WEIGHTS))
    assert job.priority == 8780 + 500


def test_factors_of_everybody_or_of_some_jobs_or_of_some_users(rota: Harness) -> None:
    first = _submit(rota, "ann", user_id=1001)
    second = _submit(rota, "cleo", user_id=1002)
    third = _submit(rota, "ann", user_id=1001)
    assert {one.job_id for one in _factors(rota)} == {first.job_id, second.job_id, third.job_id}
    assert [one.job_id for one in _factors(rota, second)] == [second.job_id]
    assert {one.job_id for one in _factors(rota, users=frozenset({1001}))} == {first.job_id, third.job_id}
    assert [one.job_id for one in _factors(rota, second, third, users=frozenset({1001}))] == [third.job_id]
    assert _factors(rota, second, users=frozenset({1001})) == []


def test_jobs_that_run_are_held_or_may_not_start_yet_have_no_factors_to_show(rota: Harness) -> None:
    held = _submit(rota, "ann", hold=True)
    later = _submit(rota, "ann", begin=DAY)
    assert _factors(rota) == []  # bob's job runs
    rota.release(held)
    assert [one.job_id for one in _factors(rota)] == [held.job_id]
    rota.wait(DAY)
    assert {one.job_id for one in _factors(rota)} == {held.job_id, later.job_id}


def test_with_accrue_always_a_job_has_an_age_from_its_submission_on() -> None:
    with _harness(_machine(PriorityFlags="ACCRUE_ALWAYS")) as rota:
        later = _submit(rota, "ann", begin=5 * DAY)
        rota.wait(DAY)
        assert [one.priority_age for one in _factors(rota, later)] == [pytest.approx(1000 / 7)]


def test_without_it_the_age_begins_with_the_begin_time(rota: Harness) -> None:
    later = _submit(rota, "ann", begin=5 * DAY)
    rota.wait(6 * DAY)
    assert [one.priority_age for one in _factors(rota, later)] == [pytest.approx(1000 / 7)]


@pytest.mark.parametrize(("flags", "shown"), [("CALCULATE_RUNNING", True), ("", False)])
def test_running_jobs_are_computed_if_the_configuration_says_so(flags: str, shown: bool) -> None:
    """Ann has nothing but her age, and her job has half of the machine: 800 of the sum are processors it was given."""
    weights = dict.fromkeys(WEIGHTS, "0") | {"PriorityWeightAge": "7000", "PriorityWeightTRES": "cpu=1600"}
    config = with_parameters(cluster(nodes=2, cpus_per_node=16, PriorityFlags=flags), **weights)
    rota = Harness(config, priority="priority/multifactor", associations=_tree())
    with rota:
        job = _submit(rota, "ann", nodes=1, cpus=1, limit=20 * DAY)
        assert job.state is JobState.RUNNING
        assert job.priority == 50
        rota.wait(DAY)
        assert rota.queue == []
        assert job.priority == (1800 if shown else 50)
        assert [one.priority for one in _factors(rota)] == ([1800] if shown else [])


@pytest.mark.parametrize(("flags", "priority"), [("", 500), ("INCR_ONLY", 1000)])
def test_priorities_that_may_only_grow(flags: str, priority: int) -> None:
    """Two users, nobody has used anything: both have 1. Then ann has, and is the second of two."""
    tree = AssociationTree("cluster")
    tree.add("ann", "a")
    tree.add("bob", "a")
    config = cluster(cpus=4, PriorityWeightFairshare="1000", PriorityFlags=flags)
    rota = Harness(config, priority="priority/multifactor", associations=tree)
    with rota:
        _submit(rota, "ann", account="a", cpus=4, limit=DAY)
        waiting = [_submit(rota, user, account="a", cpus=4) for user in ("ann", "bob")]
        assert [job.priority for job in waiting] == [1000, 1000]
        rota.wait(600)
        assert len(rota.queue) == 2
        assert [job.priority for job in waiting] == [priority, 1000]


def test_a_priority_that_an_administrator_has_set_is_left_alone_and_has_no_factors(rota: Harness) -> None:
    """As Slurm's test24.7 sets 999."""
    job = _submit(rota, "ann", priority=999, nice=7)
    rota.wait(DAY)
    rota.reconfigure(_machine())
    assert (job.priority, job.admin_priority) == (999, True)
    (factors,) = _factors(rota, job)
    assert (factors.direct, factors.priority, factors.nice, factors.priority_tres) == (True, 999, 0, {})
    assert factors.priority_fs == factors.priority_age == factors.priority_part == 0.0


def test_a_released_job_has_its_factors_again(rota: Harness) -> None:
    job = _submit(rota, "ann", qos="low", nodes=10, cpus=160)
    before = job.priority
    rota.hold(job)
    rota.reconfigure(_machine())
    assert job.priority == 0
    rota.release(job)
    assert job.priority == before == 9180


def test_the_size_of_a_job_is_measured_by_the_machine_that_is_left() -> None:
    """When a node is down 1584 of 1600 processors are left: 1000 · (1/10 + 160/1584)/2 = 100.5."""
    with _harness(_machine(PriorityFlags="ACCRUE_ALWAYS")) as rota:
        job = _submit(rota, "ann", nodes=10, cpus=160, begin=30 * DAY)
        assert [one.priority_js for one in _factors(rota, job)] == [100.0]
        rota.node("n99", NodeState.DOWN)
        rota.wait(300)
        assert [one.priority_js for one in _factors(rota, job)] == [pytest.approx(500 * (0.1 + 160 / 1584))]


def test_a_job_that_is_queued_again_is_computed_again() -> None:
    """Its priority stays as it was until the next period; its age begins anew.

    So Slurm 22.05.8 shows SubmitTime, EligibleTime and AccrueTime of a requeued job.
    """
    config = cluster(cpus=4, PriorityWeightAge="7000")
    rota = Harness(config, priority="priority/multifactor", associations=_tree())
    with rota:
        job = _submit(rota, "ann", cpus=4, limit=20 * DAY)
        _submit(rota, "bob", cpus=4, limit=20 * DAY)
        rota.wait(DAY)
        rota.partition("batch", PartitionState.DOWN)
        rota.requeue(job)
        assert job.state is JobState.PENDING
        rota.partition("batch", PartitionState.UP)
        assert rota.queue == [job.job_id]  # bob's job is older by now, and runs
        rota.wait(DAY)
        assert [(one.direct, one.priority) for one in _factors(rota)] == [(False, 1000)]


def test_jobs_from_before_a_restart_have_priorities_that_go_on(rota: Harness) -> None:
    job = _submit(rota, "ann", qos="low", nodes=10, cpus=160)
    rota.restart()
    again = rota.job(job.job_id)
    assert again is not job
    assert again.priority == 9180
    rota.wait(DAY)
    assert [(one.direct, one.priority) for one in _factors(rota, again)] == [(False, 9180 + 142)]
    assert again.priority == 9180 + 142


def test_factors_are_those_of_before_a_restart_as_priorities_are(rota: Harness) -> None:
    """They were computed at the submission, and sprio's sum must be the priority at any time."""
    job = _submit(rota, "ann", qos="low", nodes=10, cpus=160)
    rota.wait(100)  # within the period
    before = _factors(rota, job)
    rota.restart()
    assert _factors(rota, rota.job(job.job_id)) == before
    assert before[0].priority_age == 0


@pytest.mark.parametrize("flags", ["", "NO_FAIR_TREE", "DEPTH_OBLIVIOUS"])
def test_a_maximum_age_of_0_makes_every_job_that_may_start_old(flags: str) -> None:
    """Whoever may not start yet has no age all the same."""
    config = _machine(PriorityMaxAge="0", PriorityFlags=flags, PriorityWeightFairshare="0")
    with _harness(config) as rota:
        now, later = _submit(rota, "ann"), _submit(rota, "ann", begin=DAY)
        rota.wait(600)
        assert len(rota.queue) == 1
        assert now.priority - later.priority == 1000
        assert later.priority > 1


def test_v100_knows_no_priority_below_2_and_gives_1_before_the_begin_time() -> None:
    """Slurm 2.0: 0 was a user's hold, 1 what could not start yet."""
    config = cluster(cpus=4, PriorityFlags="V100", PriorityWeightAge="0")
    with Harness(config, priority="priority/multifactor") as rota:
        blocker = rota.submit(cpus=4, run=900, limit=1000)
        waiting, later = rota.submit(cpus=4), rota.submit(cpus=1, begin=600)
        assert (blocker.priority, waiting.priority, later.priority) == (2, 2, 1)
        rota.wait(300)  # a period
        assert (waiting.priority, later.priority) == (2, 1)
        rota.wait(300)
        rota.wait(300)
        assert (waiting.priority, later.priority) == (2, 2)


def test_a_job_that_lost_its_node_counts_again_for_what_it_asks_for() -> None:
    """It asks for 1 of 8 processors: 125. While it gives its node back it still has 4 of them."""
    config = cluster(nodes=2, cpus_per_node=4, PriorityWeightTRES="cpu=1000")
    with Harness(config, priority="priority/multifactor") as rota:
        job = rota.submit(nodes=1, cpus=1, limit=DAY, requeue=True)
        rota.submit(nodes=1, cpus=1, limit=DAY, priority=MAX_PRIORITY)
        rota.wait(300)  # a period: it runs, and does not count
        rota.node("n0", NodeState.DOWN)
        assert (job.state, job.alloc) == (JobState.PENDING, 0)
        rota.wait(300)
        assert rota.queue == [job.job_id]
        assert job.priority == 125
