"""Queries change nothing: with any queries, and without, the outcome is the same."""

from __future__ import annotations

import json
import re
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rota as package
from rota.accounting import AssociationTree
from rota.core import ClusterView
from rota.core.snapshot import save
from rota.inspect.explain import explain
from rota.inspect.plan_reader import PlanReader
from rota.inspect.view import EngineView
from rota.listings import render, to_json
from rota.model import Association, JobState, NodeState, PriorityFactorsRequest
from rota.testing import MACHINES, Harness, cluster, random_script, with_parameters

from .random_clusters import draw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

RANDOMS = st.randoms(use_true_random=False)
SCHEDULERS = ("sched/builtin", "sched/easy", "sched/conservative", "sched/backfill")
#: Fair-share counts, and priorities change with time.
MULTIFACTOR = {"PriorityWeightAge": "1000", "PriorityWeightFairshare": "10000", "PriorityMaxAge": "3600"}
COMMANDS = ("squeue -t all", "squeue --start", "sprio -l", "sprio -w", "sshare -a -l")
#: An id that no job has.
_NOBODY = 10**9


def _ask_about_jobs(view: ClusterView, job_ids: Iterable[int]) -> None:
    for job_id in job_ids:
        view.job(job_id)
        view.queue_position(job_id)
        view.associations_of(job_id)
        view.factors(PriorityFactorsRequest(job_ids=frozenset({job_id})))
        future = view.future(job_id)
        if future is not None:
            for one in (future, future.without(future.started_ahead())):
                found = one.earliest()
                one.holders(*(found or (view.now, 0)))
                for part in view.partitions():
                    one.earliest_of(one.spec._replace(time_limit=60), part.name)


#: How each question of the view is asked.
QUESTIONS: dict[str, Callable[[Harness], object]] = {
    "accounting": lambda rota: rota.engine.view.accounting(),
    "allocation": lambda rota: list(map(rota.engine.view.allocation, (*rota.engine.jobs, _NOBODY))),
    "associations": lambda rota: [rota.engine.view.associations(users=users) for users in (True, False)],
    "associations_of": lambda rota: rota.engine.view.associations_of(_NOBODY),
    "backfill": lambda rota: rota.engine.view.backfill(),
    "config": lambda rota: rota.engine.view.config,
    "cpus_by_node": lambda rota: [rota.engine.view.cpus_by_node(job) for job in rota.live if job.alloc],
    "ended": lambda rota: list(map(rota.engine.view.ended, rota.finished)),
    "factors": lambda rota: rota.engine.view.factors(),
    "find": lambda rota: [rota.engine.view.find(job.job_id, None) for job in rota.live if job.array is None],
    "future": lambda rota: rota.engine.view.future(_NOBODY),
    "goes_on": lambda rota: rota.engine.view.goes_on(),
    "gpus": lambda rota: list(map(rota.engine.view.gpus, (*rota.engine.jobs, _NOBODY))),
    "gres_of": lambda rota: [rota.engine.view.gres_of(job) for job in rota.live if job.alloc],
    "has_array": lambda rota: list(map(rota.engine.view.has_array, (*rota.engine.jobs, _NOBODY))),
    "interchangeable": lambda rota: rota.engine.view.interchangeable,
    "is_stuck": lambda rota: [rota.engine.view.is_stuck(job) for job in rota.live if job.state is JobState.PENDING],
    "job": lambda rota: _ask_about_jobs(rota.engine.view, (*rota.engine.jobs, _NOBODY)),
    "job_count": lambda rota: rota.engine.view.job_count(),
    "jobs": lambda rota: rota.engine.view.jobs(),
    "keeps_usage": lambda rota: rota.engine.view.keeps_usage,
    "licenses": lambda rota: rota.engine.view.licenses(),
    "line": lambda rota: list(map(rota.engine.view.line, rota.known)),
    "machine": lambda rota: rota.engine.view.machine,
    "names": lambda rota: rota.engine.view.names(-1),
    "nodes": lambda rota: rota.engine.view.nodes(),
    "nodes_in": lambda rota: list(map(rota.engine.view.nodes_in, NodeState)),
    "now": lambda rota: rota.engine.view.now,
    "partitions": lambda rota: rota.engine.view.partitions(),
    "planned": lambda rota: rota.engine.view.planned(100),
    "priority_conf": lambda rota: rota.engine.view.priority_conf,
    "qos_usage": lambda rota: rota.engine.view.qos_usage("normal"),
    "queue": lambda rota: rota.engine.view.queue(),
    "queue_length": lambda rota: rota.engine.view.queue_length,
    "reason": lambda rota: list(map(rota.engine.view.reason, rota.known)),
    "reasons": lambda rota: rota.engine.view.reasons(),
    "reservation": lambda rota: rota.engine.view.reservation("nobody"),
    "reservations": lambda rota: rota.engine.view.reservations(),
    "scheduler_parameters": lambda rota: rota.engine.view.scheduler_parameters(),
    "compute_deferred": lambda rota: rota.engine.view.compute_deferred(),
    "queue_position": lambda rota: rota.engine.view.queue_position(_NOBODY),
    "settings": lambda rota: rota.engine.view.settings,
    "statistics": lambda rota: rota.engine.view.statistics(),
    "target_share": lambda rota: [
        rota.engine.view.target_share(line.association) for line in rota.engine.view.associations()
    ],
    "tree": lambda rota: len(rota.engine.view.tree),
    "tres": lambda rota: rota.engine.view.tres,
    "usable_parts": lambda rota: rota.engine.view.usable_parts([-1]).count(),
    "usage": lambda rota: rota.engine.view.usage(),
    "utc_offset": lambda rota: rota.engine.view.utc_offset(rota.now),
    "waiting": lambda rota: rota.engine.view.waiting(),
}


def ask_everything(rota: Harness) -> None:
    """Make every query of the view."""
    for ask in QUESTIONS.values():
        ask(rota)
    PlanReader(rota.engine.view).plan()
    for job_id in rota.engine.jobs:
        explain(rota.engine.view, job_id)
    view = EngineView(rota.engine.view)
    for command in COMMANDS:
        render(command, view)
        to_json(command, view)
    save(rota.engine)


def state_of(rota: Harness) -> str:
    """Give the whole state of an engine as text; deferred priorities are computed before."""
    engine, cluster = rota.engine, rota.engine.cluster
    saved: dict[str, Any] = save(engine)
    tree = cluster.accounts.tree
    others = {
        "associations": [astuple(one) for one in tree.associations],
        "accounts and users": [sorted(tree.accounts), sorted(tree.users)],
        "new": None if cluster.queue.new is None else [job.job_id for job in cluster.queue.new],
        "limited": cluster.queue.limited,
        "parked": list(cluster.queue.parked),
        "licences": dict(cluster.licenses.used),
        "ledgers": [[one.name, one.jobs, one.submitted, *one.tres] for one in cluster.policy.context.ledgers.values()],
        "refused": sorted(cluster.policy.context.refused),
        "named": sorted(cluster.dependencies.by_name or ()),
        "to end": [job.job_id for job in cluster.state.to_end],
        "free": cluster.state.pool.free,
        "engine": [engine.pass_due, engine.wakeup, engine.events, engine.passes, sorted(engine.faults)],
    }
    return json.dumps([saved, others], indent=1)


def _require_that_asking_changes_nothing(rota: Harness) -> None:
    before = state_of(rota)
    ask_everything(rota)
    assert state_of(rota) == before


def test_every_question_is_asked() -> None:
    assert set(QUESTIONS) == {name for name in dir(ClusterView) if not name.startswith("_")}


def test_who_is_not_of_the_core_looks_at_the_view() -> None:
    folder = Path(package.__file__).parent
    files = [path for path in folder.rglob("*.py") if not path.is_relative_to(folder / "core")]
    reach = re.compile(r"engine\.(state|cluster|lifecycle|preemption)\b")
    assert files
    assert [path.name for path in files if reach.search(path.read_text())] == []


@given(rng=RANDOMS)
def test_at_the_end_of_a_scenario_asking_changes_nothing(rng: Random) -> None:
    with draw(rng).play() as rota:
        _require_that_asking_changes_nothing(rota)


@given(rng=RANDOMS, priority=st.sampled_from(("priority/basic", "priority/multifactor")))
def test_a_scenario_goes_on_as_if_nobody_had_asked(rng: Random, priority: str) -> None:
    scenario = draw(rng)
    with scenario.play(priority=priority) as alone, scenario.play(ask_everything, priority=priority) as asked:
        assert (asked.trace, asked.logs, state_of(asked)) == (alone.trace, alone.logs, state_of(alone))


def _play(
    rng: Random, machine: str, sched: str, priority: str, look: Callable[[Harness], object] | None = None
) -> Harness:
    """Run a random script halfway through."""
    config = with_parameters(MACHINES[machine](), **MULTIFACTOR)
    script = random_script(rng, config, jobs=12)
    rota = Harness(config, sched=sched, priority=priority)
    if look is not None:
        rota.checks.append(partial(look, rota))
    script.put(rota)
    rota.until(script.last // 2)
    return rota


_PLAYS = {
    "rng": RANDOMS,
    "machine": st.sampled_from(sorted(MACHINES)),
    "sched": st.sampled_from(SCHEDULERS),
    "priority": st.sampled_from(("priority/basic", "priority/multifactor")),
}


@given(**_PLAYS)
def test_in_the_middle_of_a_script_asking_changes_nothing(rng: Random, machine: str, sched: str, priority: str) -> None:
    with _play(rng, machine, sched, priority) as rota:
        _require_that_asking_changes_nothing(rota)


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 4)  # each is played twice
@given(**_PLAYS)
def test_a_script_goes_on_as_if_nobody_had_asked(rng: Random, machine: str, sched: str, priority: str) -> None:
    chance = rng.getstate()
    with _play(rng, machine, sched, priority) as alone:
        rng.setstate(chance)
        with _play(rng, machine, sched, priority, ask_everything) as asked:
            for rota in (alone, asked):
                rota.until(rota.now + 1000)
            assert (asked.trace, asked.logs, state_of(asked)) == (alone.trace, alone.logs, state_of(alone))


# ---- what used to write ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [{"hold": True}, {"priority": 7}, {"begin": 100}])
def test_to_ask_about_a_job_of_a_stranger_adds_nobody(fields: dict[str, Any]) -> None:
    """Neither a held job nor one whose priority is set has been given an association for the sake of its priority."""
    ones = [Association(id=1, account="root"), Association(id=2, account="phys", parent_id=1)]
    tree = AssociationTree("cluster", ones)
    with Harness(cluster(cpus=2), associations=tree) as rota:
        job = rota.submit(account="phys", user="ann", **fields)
        line = rota.engine.view.job(job.job_id)
        assert line is not None
        assert (line.assoc_user, line.account, line.qos) == ("ann", "phys", "normal")
        assert rota.engine.view.associations_of(job.job_id) == ()
        assert len(rota.engine.view.associations()) == 2


@pytest.mark.parametrize("fields", [{"hold": True}, {"priority": 7}, {"begin": 100}])
def test_where_usage_is_kept_a_stranger_is_added_when_the_job_is_submitted(fields: dict[str, Any]) -> None:
    with Harness(cluster(cpus=2), priority="priority/multifactor") as rota:
        rota.submit(account="root", user="root", cpus=2)
        rota.submit(account="phys", user="ann", **fields)
        names = [(one.association.account, one.association.user) for one in rota.engine.view.associations()]
        assert names == [("root", ""), ("root", "root"), ("phys", ""), ("phys", "ann")]


def test_lines_of_associations_are_copies() -> None:
    with Harness(cluster(cpus=2), priority="priority/multifactor") as rota:
        rota.submit(user="ann", run=100, limit=3600)
        rota.wait(400)
        *_, own = rota.engine.view.associations()
        record = rota.engine.cluster.accounts.tree.associations[-1]
        assert (own.association.user, own.association.usage_raw > 0, own.association.fs_factor) == ("ann", True, 1.0)
        assert (record.user, record.usage_raw, record.fs_factor) == ("ann", 0.0, 0.0)


def test_priorities_that_were_owed_call_for_no_pass() -> None:
    """The machine is full, so nobody can start, in whatever order they wait."""
    config = with_parameters(cluster(cpus=1), PriorityCalcPeriod="1", **MULTIFACTOR)
    with Harness(config, priority="priority/multifactor") as rota:
        rota.submit(user="ann", run=1000, limit=2000)
        rota.submit(user="ann")
        rota.submit(user="bob")
        rota.wait(600)
        assert [one.user for one in rota.engine.view.queue()] == ["bob", "ann"]
        assert not rota.engine.pass_due


def test_what_is_owed_is_saved() -> None:
    config = with_parameters(cluster(cpus=1), PriorityCalcPeriod="1", **MULTIFACTOR)
    with Harness(config, priority="priority/multifactor") as rota:
        rota.submit(user="ann", run=1000, limit=2000)
        rota.submit(user="ann")
        rota.submit(user="bob")
        rota.wait(600)
        rota.restart()
        assert [one.user for one in rota.engine.view.queue()] == ["bob", "ann"]
