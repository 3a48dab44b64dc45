"""Accounting through the engine with priority/multifactor: what is charged, to whom, and what comes of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from rota.accounting import AssociationTree, Usage
from rota.model import Association, Node, PriorityFactorsRequest, Qos
from rota.model.tres import STATIC_TRES
from rota.testing import Harness, cluster, partition, spec, with_parameters

from .conftest import FIGURE_3, TEST_24_4, G, Scenario, machine

if TYPE_CHECKING:
    from rota.core.job import Job
    from rota.model import ClusterConfig

#: Usage does not fade: sums are whole numbers.
_lasting = partial(with_parameters, PriorityDecayHalfLife="0", PriorityUsageResetPeriod="YEARLY")


def _tree() -> AssociationTree:
    ones = [
        Association(id=1, account="root"),
        Association(id=2, account="physics", parent_id=1, default_qos="double"),
        Association(id=3, account="physics", user="ann", parent_id=2),
        Association(id=4, account="maths", parent_id=1),
        Association(id=5, account="maths", user="bob", parent_id=4),
    ]
    qos = [
        Qos(name="normal"),
        Qos(name="double", usage_factor=2.0),
        Qos(name="kept", flags=("NoDecay",)),
        Qos(name="ofpart"),
    ]
    return AssociationTree("cluster", ones, qos=qos)


def _submit(rota: Harness, user: str, run: int, **fields: Any) -> Job:
    return rota.submit(spec(**fields)._replace(user=user), run=run)


def _usage(rota: Harness) -> Usage:
    usage = rota.engine.cluster.accounts.usage
    assert usage is not None
    return usage


def _raw(rota: Harness) -> dict[str, float]:
    """Give the usage of accounts and users, as `sshare` would read it."""
    return {name: one.usage_raw for name, one in _asked(rota).items()}


# ---- what is charged --------------------------------------------------------------------------------------------


def test_the_example_of_16_processors_for_an_hour() -> None:
    """57471.484065 after 12 periods, 57234.902343 an idle hour later: Slurm's formulas, half-life 7 days."""
    with machine(cluster(cpus=16), _tree) as rota:
        job = _submit(rota, "bob", 7200, cpus=16, limit=7200)
        rota.wait(3600)
        assert {name: f"{raw:.6f}" for name, raw in _raw(rota).items()} == {
            "root": "57471.484065",
            "maths": "57471.484065",
            "bob": "57471.484065",
            "physics": "0.000000",
            "ann": "0.000000",
        }
        rota.end(job)  # when the period is over: nothing is left to charge
        rota.wait(3600)
        assert f"{_raw(rota)['bob']:.6f}" == "57234.902343"


def test_jobs_are_charged_what_their_partition_bills_for_them() -> None:
    """CPU=1, 0.25 a GB: 4 processors and 8 GB are 6 a second, for 100 s; with MAX_TRES 4 a second."""
    for flags, raw in (("", 600.0), ("MAX_TRES", 400.0)):
        nodes = [Node(name="n0", cpus=4, real_memory=16384), Node(name="n1", cpus=4, real_memory=16384)]
        parts = [partition("batch", billing_weights={"cpu": 1.0, "mem": 0.25 / 1024})]
        config = _lasting(cluster(nodes=nodes, partitions=parts, PriorityFlags=flags))
        with machine(config, _tree) as rota:
            _submit(rota, "bob", 100, cpus=1, mem_per_node=8192)
            rota.wait(100)
            bob = _asked(rota)["bob"]
            assert (bob.usage_raw, bob.grp_used_wall) == (raw, 100.0)
            tres = dict(zip(STATIC_TRES, bob.usage_tres_raw, strict=True))
            # All of the node's processors: nobody else can have them.
            assert (tres["cpu"], tres["mem"], tres["node"]) == (400.0, 819200.0, 100.0)
            assert tres["billing"] == raw


def test_a_qos_multiplies_usage_and_is_charged_itself_as_is_the_partitions() -> None:
    """Ann's account has a default QOS with UsageFactor 2; bob has the normal one."""
    config = _lasting(cluster(cpus=4, partitions=[partition("batch", qos="ofpart")]))
    with machine(config, _tree) as rota:
        _submit(rota, "ann", 100, cpus=1)
        _submit(rota, "bob", 100, cpus=1)
        _submit(rota, "bob", 100, cpus=1, qos="ofpart")
        rota.wait(100)
        assert _raw(rota) == {"root": 400.0, "physics": 200.0, "ann": 200.0, "maths": 200.0, "bob": 200.0}
        usage = _usage(rota)
        assert [usage.qos_raw(name) for name in ("normal", "double", "ofpart")] == [100.0, 200.0, 400.0]


def test_a_qos_with_nodecay_keeps_its_usage_while_its_users_fades() -> None:
    with machine(cluster(cpus=4, PriorityDecayHalfLife="60"), _tree) as rota:
        _submit(rota, "bob", 300, qos="kept")
        rota.wait(300)
        usage = _usage(rota)
        before, kept = _raw(rota)["bob"], usage.qos_raw("kept")
        rota.wait(3600)
        assert usage.qos_raw("kept") == kept
        assert _raw(rota)["bob"] == pytest.approx(before * (1 - 0.693 / 3600) ** 3600)


def test_a_job_that_is_queued_again_is_charged_for_both_runs() -> None:
    with machine(_lasting(cluster(cpus=4)), _tree) as rota:
        job = _submit(rota, "bob", 1000, cpus=2)
        rota.wait(450)
        rota.requeue(job)
        assert job.start_time == 450
        rota.end(job)
        _submit(rota, "bob", 150, cpus=2)
        rota.wait(150)
        assert _raw(rota)["bob"] == 2 * (450 + 150)


def test_what_running_jobs_may_still_use() -> None:
    """Two processors until the time limit of an hour, counted from the end of the last period."""
    with machine(cluster(cpus=4), _tree) as rota:
        _submit(rota, "bob", 3000, cpus=2, limit=3600)
        rota.wait(700)
        left = {name: one.grp_used_tres_run_secs for name, one in _asked(rota).items()}
        assert left["bob"][0] == left["root"][0] == 2 * 3000
        assert left["ann"][0] == 0
        rota.wait(3000)
        assert not any(any(one.grp_used_tres_run_secs) for one in _asked(rota).values())


# ---- resets -----------------------------------------------------------------------------------------------------

#: Clocks in Central Europe go from 2:00 to 3:00 at this time.
SUMMER = int(datetime(2024, 3, 31, 1, tzinfo=UTC).timestamp())


def test_usage_is_reset_at_local_midnight_though_the_clock_changes() -> None:
    """Midnight is at 23:00 UTC before the change and at 22:00 UTC after it."""
    noon = int(datetime(2024, 3, 30, 12, tzinfo=UTC).timestamp())
    config = cluster(cpus=4, PriorityDecayHalfLife="0", PriorityUsageResetPeriod="DAILY")
    with machine(config, _tree, now=noon, utc_offset=lambda time: 7200 if time >= SUMMER else 3600) as rota:
        _submit(rota, "bob", 30 * 3600, cpus=1, limit=40 * 3600)
        resets: list[int] = []
        while rota.now < noon + 48 * 3600:
            rota.wait(300)
            if _usage(rota).last_reset not in {0, *resets}:
                resets.append(_usage(rota).last_reset)
                assert _raw(rota)["bob"] <= 300
        assert [datetime.fromtimestamp(time, UTC).isoformat() for time in resets] == [
            "2024-03-30T23:00:00+00:00",
            "2024-03-31T22:00:00+00:00",
        ]
        assert _raw(rota)["root"] == 0.0


def test_usage_may_be_reset_once_now() -> None:
    saved = _saved(Scenario({"ann": (1, 10.0)}))
    config = cluster(cpus=4, PriorityUsageResetPeriod="NOW", PriorityDecayHalfLife="0")
    with machine(config, lambda: Scenario({"ann": (1, 0.0)}).tree, usage=saved, now=5000) as rota:
        assert _raw(rota) == {"root": 0.0, "ann": 0.0}
        rota.submit(spec(cpus=1)._replace(user="ann"), run=100)
        rota.wait(1000)
        assert _raw(rota)["ann"] == 100.0
        assert _usage(rota).last_reset == 5000


def test_a_reset_that_was_missed_while_the_controller_was_down_is_made_up_for() -> None:
    saved = _saved(Scenario({"ann": (1, 10.0)})) | {"last_reset": 86400}
    config = cluster(cpus=4, PriorityUsageResetPeriod="MONTHLY", PriorityDecayHalfLife="0")
    with machine(config, lambda: Scenario({"ann": (1, 0.0)}).tree, usage=saved, now=40 * 86400) as rota:
        assert _raw(rota)["ann"] == 0.0


# ---- fair-share as people ask for it ----------------------------------------------------------------------------


def _saved(scenario: Scenario, *, scale: float = 1.0) -> dict[str, Any]:
    """Save a published tree's usage, for a cluster of that name; it is of time 0, so that nothing fades."""
    usage = Usage(scenario.tree, STATIC_TRES)
    usage._associations.values[:, 0] = scenario.usage * scale
    usage.last_ran = 0
    return usage.save()


def _asked(rota: Harness) -> dict[str, Association]:
    each = (line.association for line in rota.engine.view.associations())
    return {one.user or one.account: one for one in each}


def _golden(**parameters: str) -> ClusterConfig:
    """Make a cluster of the trees' name, 16 processors."""
    return with_parameters(replace(cluster(cpus=16), cluster_name="golden"), **parameters)


def test_every_association_of_test24_1_says_what_it_has() -> None:
    """Slurm's test24.1 reads these from sshare; without Fair Tree there is no level fair-share."""
    scenario = Scenario({**FIGURE_3, **G})
    with machine(_golden(PriorityFlags="NO_FAIR_TREE"), lambda: scenario.tree, usage=_saved(scenario)) as rota:
        asked = _asked(rota)
        user = asked["User1"]
        figures = (user.shares_norm, user.usage_norm, user.usage_efctv, user.fs_factor)
        assert [f"{one:.6f}" for one in figures] == ["0.300000", "0.200000", "0.387500", "0.408479"]
        assert (user.usage_raw, asked["root"].usage_raw) == (20.0, 100.0)
        assert all(one.level_fs is None for one in asked.values())
        job = rota.submit(spec(cpus=1)._replace(user="User2"))
        (own, *_) = rota.engine.view.associations_of(job.job_id)
        assert (own.association.user, f"{own.association.fs_factor:.6f}") == ("User2", "0.022097")


def test_every_association_of_test24_4_says_what_it_has() -> None:
    """Slurm's test24.4; the root and associations without shares of their own have no level fair-share."""
    scenario = Scenario(TEST_24_4)
    with machine(_golden(), lambda: scenario.tree, usage=_saved(scenario)) as rota:
        asked = _asked(rota)
    assert f"{asked['uD2'].level_fs:.6f} {asked['uD2'].fs_factor:.6f}" == "1.294118 0.238095"
    assert f"{asked['uD3'].level_fs:.6f} {asked['uD3'].fs_factor:.6f}" == "1.294118 0.333333"
    assert [name for name, one in asked.items() if one.level_fs is None] == ["root", "uD1", "aDA", "uDA1"]


def test_classic_fair_share_has_accounts_go_by_the_usage_at_the_beginning_of_a_period() -> None:
    """As slurmctld does: after bob's first period maths has used nothing yet, and bob, its only user, goes by that.

    After the second maths is at all that there was, and UE/S = 1/.5.
    """
    with machine(cluster(cpus=4, PriorityFlags="NO_FAIR_TREE"), _tree) as rota:
        _submit(rota, "bob", 3000, cpus=2)
        rota.wait(300)
        assert _asked(rota)["bob"].fs_factor == 1.0
        rota.wait(300)
        assert _asked(rota)["bob"].fs_factor == pytest.approx(2**-2)


def test_a_copy_of_an_association_is_filled_in_and_one_of_another_cluster_is_left_as_it_is() -> None:
    with machine(cluster(cpus=4), _tree) as rota:
        fill = rota.engine.priority_plugin.set_assoc_usage
        bob = rota.engine.view.associations()[-1].association
        copied, stranger = replace(bob, usage_norm=0.125), replace(bob, account="elsewhere", usage_norm=0.125)
        fill(copied)
        fill(stranger)
        assert (copied.usage_norm, stranger.usage_norm) == (bob.usage_norm, 0.125) != (0.125, 0.125)


def test_slurm_2_0_measures_usage_by_what_the_machine_does_in_two_half_lives() -> None:
    """16 processors for twice 10 minutes are 19200; usage is 192 times test24.1's, so U and UE are as there.

    F = (S − UE + 1)/2 then: User1 (.3 − .3875 + 1)/2, User6, who has no shares, (0 − .3 + 1)/2.
    """
    scenario = Scenario({**FIGURE_3, **G})
    config = _golden(PriorityFlags="V100", PriorityDecayHalfLife="10", PriorityWeightJobSize="1000")
    with machine(config, lambda: scenario.tree, usage=_saved(scenario, scale=192.0)) as rota:
        asked = _asked(rota)
        assert f"{asked['User1'].usage_norm:.6f} {asked['User1'].usage_efctv:.6f}" == "0.200000 0.387500"
        assert asked["User1"].fs_factor == pytest.approx(0.45625)
        assert asked["User6"].fs_factor == pytest.approx(0.35)
        # Twice the half-life: half the part.
        rota.reconfigure(_golden(PriorityFlags="V100", PriorityDecayHalfLife="20", PriorityWeightJobSize="1000"))
        assert _asked(rota)["User1"].usage_norm == pytest.approx(0.1)


def test_slurm_2_0_takes_only_nodes_into_account_and_shows_only_what_may_start() -> None:
    """8 of 10 nodes; held jobs and those before their begin time, with priority 1, have no factors to show."""
    for favor, size in (("NO", 800.0), ("YES", 200.0)):
        config = cluster(
            nodes=10, cpus_per_node=4, PriorityFlags="V100", PriorityWeightJobSize="1000", PriorityFavorSmall=favor
        )
        with machine(config, _tree) as rota:
            _submit(rota, "bob", 1000, nodes=10, cpus=40, priority=5000)
            large = _submit(rota, "ann", 10, nodes=8, cpus=8)
            _submit(rota, "ann", 10, nodes=8, hold=True)
            _submit(rota, "ann", 10, nodes=8, begin=600)
            factors = rota.engine.view.factors(PriorityFactorsRequest())
            assert [one.job_id for one in factors] == [large.job_id]
            assert [one.priority_js for one in factors] == pytest.approx([size])
            rota.wait(600)
            assert len(rota.engine.view.factors(PriorityFactorsRequest())) == 2


# ---- keeping it -------------------------------------------------------------------------------------------------


def test_usage_goes_on_through_a_restart_as_if_there_had_been_none() -> None:
    """The engine's snapshot goes through JSON; a job that runs is charged on from the last period."""
    found = []
    for restarts in (False, True):
        with machine(cluster(cpus=4, PriorityWeightFairshare="1000"), _tree) as rota:
            _submit(rota, "bob", 2000, cpus=2, qos="kept")
            _submit(rota, "ann", 400, cpus=2)
            rota.wait(700)
            if restarts:
                rota.restart()
            rota.wait(2300)
            usage = _usage(rota)
            found.append((_raw(rota), usage.qos_raw("kept"), usage.qos_raw("double"), usage.wall.tolist()))
            assert rota.live == []
    assert found[0][0]["bob"] > 0
    assert found[1][0] == pytest.approx(found[0][0])
    assert found[1][1:3] == pytest.approx(found[0][1:3])
    assert found[1][3] == pytest.approx(found[0][3])


def test_without_a_plugin_that_asks_no_usage_is_kept() -> None:
    """priority/basic does not: nobody pays for what nobody wants to know, and nobody is added to the tree."""
    with Harness(cluster(cpus=4)) as rota:
        rota.submit(cpus=1, run=10)
        rota.wait(10)
        view = rota.engine.view
        assert (view.keeps_usage, view.usage(), len(view.associations())) == (False, None, 1)
