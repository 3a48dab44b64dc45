"""priority/multifactor on random scripts: what it leaves for later and what it works out at once make no difference."""

from __future__ import annotations

from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.accounting import AssociationTree
from rota.model import Association, JobState, Qos
from rota.testing import Harness, cluster, partition, random_script, with_parameters

if TYPE_CHECKING:
    from random import Random

    from rota.model import ClusterConfig
    from rota.testing import Script

RANDOMS = st.randoms(use_true_random=False)
FLAGS = (
    "ACCRUE_ALWAYS",
    "CALCULATE_RUNNING",
    "COMPAT",
    "DEPTH_OBLIVIOUS",
    "INCR_ONLY",
    "NO_FAIR_TREE",
    "NO_NORMAL_ALL",
    "NO_NORMAL_TRES",
    "SMALL_RELATIVE_TO_TIME",
    "V100",
)
WEIGHTS = ("Age", "Assoc", "Fairshare", "JobSize", "Partition", "QOS")


def _plugin() -> Any:
    """Load the plugin as a module of its own, as the plugin host would."""
    found = find_spec("rota.plugins.priority.multifactor")
    assert found is not None
    assert found.loader is not None
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _parameters(rng: Random) -> dict[str, str]:
    """Draw weights and flags, and periods and half-lives so short that priorities change all the time."""
    weights = {f"PriorityWeight{name}": str(rng.choice((0, 1, 1000, rng.randint(0, 10**6)))) for name in WEIGHTS}
    return weights | {
        "PriorityWeightTRES": rng.choice(("", "cpu=1000.7", "cpu=-333.3,node=1e4")),
        "PriorityFlags": ",".join(rng.sample(FLAGS, rng.choice((0, 0, 1, 1, 2)))),
        "PriorityFavorSmall": rng.choice(("NO", "YES")),
        "PriorityMaxAge": rng.choice(("0", "10", "1-0")),
        "PriorityCalcPeriod": "1",
        "PriorityDecayHalfLife": rng.choice(("5", "1-0")),
    }


def _machine(rng: Random) -> ClusterConfig:
    """Draw a machine, often one without any room to spare."""
    if rng.random() < 0.5:
        return with_parameters(cluster(cpus=rng.randint(2, 8)), **_parameters(rng))
    parts = [partition("a", range(4), priority_job_factor=3), partition("b", range(2, 6))]
    return with_parameters(cluster(nodes=6, cpus_per_node=2, partitions=parts), **_parameters(rng))


def _tree() -> AssociationTree:
    """Three accounts, two users in each; scripts have users 1 to 4."""
    ones = [Association(id=1, account="root")]
    for place, account in enumerate(("a", "b", "c")):
        ones.append(Association(id=10 + place, account=account, parent_id=1, shares_raw=place + 1, priority=place))
        ones += [
            Association(id=20 + 2 * place + one, account=account, user=f"user{2 * place + one}", parent_id=10 + place)
            for one in range(2)
        ]
    return AssociationTree("cluster", ones, qos=[Qos(name="normal", priority=5), Qos(name="high", priority=9)])


def _harness(config: ClusterConfig, plugin: object, *, users: bool = True) -> Harness:
    return Harness(config, priority=plugin, associations=_tree() if users else None)


def _play(config: ClusterConfig, script: Script, plugin: object, *, users: bool) -> list[str]:
    with _harness(config, plugin, users=users) as rota:
        script.put(rota)
        rota.run_to_end()
        assert not rota.engine.faults
        assert rota.live == []
        return rota.trace


@given(rng=RANDOMS, users=st.booleans(), calm=st.booleans())
def test_priorities_that_are_computed_late_never_change_a_schedule(rng: Random, users: bool, calm: bool) -> None:
    """The same script, played to the plugin as it is and to one that computes all priorities in every period.

    Without ``users`` they are added as they come, and so change the others' fair-share. The scheduler is the one that
    goes by nothing but the queue: others also ask what has called for a pass, and a new order does.
    """
    config = _machine(rng)
    script = random_script(rng, config, jobs=25, calm=calm)
    at_once = _plugin()
    at_once._Table.is_contested = lambda self, free: True
    late = _play(config, script, _plugin(), users=users)
    assert late == _play(config, script, at_once, users=users)


@given(rng=RANDOMS)
def test_pricing_one_job_and_all_jobs_come_to_the_same_integers(rng: Random) -> None:
    """Whenever a period is over each job is priced once more by itself, by the same usage and at the same time."""
    config, plugin = _machine(rng), _plugin()
    with _harness(config, plugin) as rota:
        random_script(rng, config, jobs=20).put(rota)
        for time in range(0, 3000, 60):
            rota.until(time)
            assert rota.queue is not None
            if plugin._usage.last_ran == rota.now and "INCR_ONLY" not in plugin._conf.flags:
                plugin._table.refresh()  # jobs that were queued again at this instant, when the period was over
                plugin._table.recompute(rota.now, rota.ctld.associations.columns)
                for job in rota.live:
                    if job.state is JobState.PENDING and job.priority and not job.admin_priority:
                        together = job.priority
                        records = {record.view: record.priority for record in job.records or (job,)}
                        assert {one: plugin._table._sum(plugin._table._slot[one]) for one in records} == records
                        assert plugin.priority_p_set(0, job.view) == together == max(records.values())


@given(rng=RANDOMS)
def test_an_account_has_used_what_its_children_have_used(rng: Random) -> None:
    """No job of a script is charged to an account itself, so there is nothing of its own."""
    config = _machine(rng)
    with _harness(config, "priority/multifactor") as rota:
        accounts = rota.engine.cluster.accounts
        random_script(rng, config, jobs=20).put(rota)
        rota.run_to_end()
        usage, tree = accounts.usage, accounts.tree
        assert usage is not None
        assert (usage.raw >= 0).all()
        for row, one in enumerate(tree.associations):
            below = [place for place, other in enumerate(tree.associations) if other.parent_id == one.id]
            if below:
                assert usage.raw[row] == pytest.approx(usage.raw[below].sum())
                assert usage.wall[row] == pytest.approx(usage.wall[below].sum())
        assert usage.raw[0] > 0 or not rota.launches


def test_priorities_are_deferred_until_somebody_looks_and_are_then_those_of_the_periods_end() -> None:
    """Else the property would say nothing. A second of age is 1 here; periods end at 60 and 120, and at 180 s."""
    plugin = _plugin()
    parameters = {"PriorityCalcPeriod": "1", "PriorityMaxAge": "1-0", "PriorityWeightAge": "86400"}
    with _harness(with_parameters(cluster(cpus=4), **parameters), plugin) as rota:
        rota.submit(cpus=4, limit=10**6)
        waiting = [rota.submit(cpus=4) for _ in range(2)]
        rota.wait(150)
        rota.tick()  # the engine's clock goes by events
        assert (plugin._deferred[0], [job.priority for job in waiting]) == (120, [1, 1])
        assert rota.queue == [job.job_id for job in waiting]
        assert (plugin._deferred, [job.priority for job in waiting]) == (None, [120, 120])
