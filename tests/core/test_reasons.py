"""Reasons of pending jobs: each has one reason, and it is right, since it goes away with its cause.

A scenario is drawn once, and run once for each job that is pending at its end. Then only the cause of this job's reason
is removed. The job has to start, or to have another reason.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from hypothesis import assume, given
from hypothesis import strategies as st

from rota.core import events as ev
from rota.core.accounts.policy import AccountingPolicy
from rota.core.sorted_jobs import queue_key
from rota.model import JobState, NodeState, PartitionState, Reason
from rota.model.dependency import DependencyType
from rota.model.licenses import parse_licenses
from rota.testing import Harness, cluster, partition, with_parameters

from .random_clusters import OWNERS, Scenario, draw, make_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from rota.core.job import Job
    from rota.core.limits.job_limits import JobLimits
    from rota.core.limits.start_limits import Limit
    from rota.model.dependency import Dependency

#: Chance that hypothesis draws, and therefore shrinks.
RANDOMS = st.randoms(use_true_random=False)


# ---- removing causes ------------------------------------------------------------------------------------------


def _let_it_be_found_out(rota: Harness) -> None:
    """Reconsider pending jobs, and make a pass, after a change that users cannot make."""
    rota.engine.cluster.reload_policy()
    rota.engine.cluster.queue.reconsider_all()
    rota.run_pass()


def _release(rota: Harness, job: Job) -> None:
    rota.release(job)


def _wait_for_begin(rota: Harness, job: Job) -> None:
    rota.until(job.spec.begin_time)


def _open_partitions(rota: Harness, job: Job) -> None:
    for name in job.spec.partition.split(","):
        rota.partition(name, PartitionState.UP)


def _reconfigure(rota: Harness, *, bounds: tuple[str, ...] = (), **words: str) -> None:
    """Change parameters of slurm.conf, or remove bounds of its partitions, whose states are kept."""
    now = {part.name: PartitionState(part.state) for part in rota.engine.view.partitions()}
    no_bounds: dict[str, Any] = dict.fromkeys(bounds)
    parts = [replace(part, state=now[part.name], **no_bounds) for part in rota.engine.view.config.partitions]
    rota.reconfigure(replace(with_parameters(rota.engine.view.config, **words), partitions=tuple(parts)))


def _allow_longer(rota: Harness, job: Job) -> None:
    _reconfigure(rota, bounds=("max_time",))


def _allow_more_nodes(rota: Harness, job: Job) -> None:
    _reconfigure(rota, bounds=("max_nodes",))


def _buy_licenses(rota: Harness, job: Job) -> None:
    _reconfigure(rota, Licenses="lic:99")


def _limits_for(limits: JobLimits[Job], reason: Reason) -> list[Limit]:
    """Give the limits that have a reason."""
    several: list[tuple[Any, ...]] = [*limits.jobs, *limits.tres, *limits.nodes, *limits.run_minutes, *limits.per_job]
    every: list[Limit] = [one[-1] for one in several]
    every += [one.limit for _, one in limits.used]
    if limits.max_wall is not None:
        every.append(limits.max_wall)
    return [one for one in every if one.reason is reason]


def _drop_limits(rota: Harness, job: Job, reason: Reason) -> None:
    """Remove a limit from its QOS, or from its association and the accounts above."""
    tree = rota.engine.cluster.accounts.tree
    found = [limit for one in job.records or (job,) if one.limits for limit in _limits_for(one.limits, reason)]
    assert found, "no limit gives that reason"
    row = tree.row(tree.find(job.user_name, job.spec.account, "") or tree.associations[0])
    for limit in found:
        name, _, tres = limit.name.partition("=")
        above = [tree.associations[place].limits for place in tree.path(row).tolist()]
        for texts in [one.limits for one in tree.qos.values()] if limit.of.startswith("QOS") else above:
            kept = [item for item in texts.pop(name, "").split(",") if tres and not item.startswith(f"{tres}=")]
            if any(kept):
                texts[name] = ",".join(kept)
    _let_it_be_found_out(rota)


def _fulfil(rota: Harness, job: Job, one: Dependency) -> None:
    """Satisfy a dependency of a job if that is possible; else cancel the pending job that it depends on."""
    jobs = rota.engine.jobs
    if one.type is DependencyType.SINGLETON:
        same = [other for other in jobs.values() if _name(other) == _name(job) and other is not job]
        for other in same:
            if other.state is JobState.RUNNING or other.job_id < job.job_id:
                rota.cancel(other)
        return
    live = jobs.get(one.job_id)
    if live is None:
        if one.type is DependencyType.AFTER:
            rota.until((rota.job(one.job_id).start_time or 0) + one.seconds)
    elif live.state is JobState.PENDING:
        rota.cancel(live)
    elif one.type is DependencyType.AFTER:
        rota.until((live.start_time or 0) + one.seconds)
    else:
        rota.end(live, exit_code=int(one.type is DependencyType.AFTER_NOT_OK))


def _name(job: Job) -> tuple[str, str]:
    return job.user_name, job.spec.name


def _end_dependencies(rota: Harness, job: Job) -> None:
    assert job.dependencies is not None
    for one in job.dependencies.each:
        _fulfil(rota, job, one)


def _ahead(rota: Harness, job: Job, *, in_all: bool = False) -> list[Job]:
    """Give the jobs that are before a job in one of its partitions, in queue order.

    Jobs that wait for licences, if backfill plans these, are before it in all partitions, as the main pass ends there.
    """
    queue = rota.engine.cluster.queue
    own = {one.partition.name: one.sort_key for one in job.records or (job,) if one.sort_key}
    last = max(own.values(), default=())

    def is_before(one: Job) -> bool:
        excess = one.held_back()
        ends = in_all or (excess is not None and excess.reason in queue.planned_reasons)
        return one.whole is not job and one.sort_key < (last if ends else own.get(one.partition.name, ()))

    return list(dict.fromkeys(one.whole for one in queue.queued if is_before(one)))


def _cancel_those_ahead(rota: Harness, job: Job) -> None:
    """Cancel the jobs before it, and those that come before it then."""
    while job.state is JobState.PENDING and (ahead := _ahead(rota, job)):
        rota.cancel(ahead[0])


def _mend_nodes(rota: Harness, job: Job) -> None:
    for node in rota.engine.view.nodes():
        rota.node(node.name, NodeState.UP)
    assume(not job.records)  # in one partition nodes may be set aside for the job itself in another


def _end_running(rota: Harness, job: Job) -> None:
    """Set nodes up and end running jobs until it starts, or a start limit holds it back.

    Until then only jobs before it may start in its partition.
    """
    # As Slurm does, a main pass writes `Resources` of where a job never fits over a limit in another partition.
    assume(not any(one.obstacle for one in job.records))
    own = {one.partition.name: queue_key(one) for one in job.records or (job,)}
    for node in rota.engine.view.nodes():
        rota.node(node.name, NodeState.UP)
    with patch.object(AccountingPolicy, "refuse", autospec=True, side_effect=AccountingPolicy.refuse) as refuse:
        while job.state is JobState.PENDING and rota.reason(job) in {Reason.RESOURCES, Reason.PRIORITY}:
            running = [other for other in rota.live if other.state is JobState.RUNNING]
            launched = len(rota.launches)
            if running:
                rota.end(running[0])
            rota.run_pass()
            # The reason that it has after that may be wrong: see the tests at the end.
            assume(job.job_id not in {call.args[1].job_id for call in refuse.call_args_list})
            if rota.reason(job) in {Reason.RESOURCES, Reason.PRIORITY}:
                assert running, "it waits for what runs, and nothing runs any more"
                started = [rota.job(launch.job_id) for launch in rota.launches[launched:]]
                assert all(queue_key(one) < own.get(one.partition.name, (2**64,)) for one in started), started


REMEDIES: Mapping[Reason, Callable[[Harness, Job], None]] = {
    Reason.JOB_HELD_ADMIN: _release,
    Reason.JOB_HELD_USER: _release,
    Reason.BEGIN_TIME: _wait_for_begin,
    Reason.PARTITION_DOWN: _open_partitions,
    Reason.PARTITION_INACTIVE: _open_partitions,
    Reason.PARTITION_TIME_LIMIT: _allow_longer,
    Reason.PARTITION_NODE_LIMIT: _allow_more_nodes,
    Reason.NONE: _buy_licenses,  # with bf_licenses passes go no further than a job that waits for some
    Reason.LICENSES: _buy_licenses,
    Reason.DEPENDENCY: _end_dependencies,
    Reason.PRIORITY: _cancel_those_ahead,
    Reason.RESOURCES: _end_running,
    Reason.REQ_NODE_NOT_AVAIL: _mend_nodes,
}


def _without_the_failure(scenario: Scenario, rota: Harness, job: Job) -> Scenario:
    """Change the final states of the jobs that a job depends on."""
    assert job.dependencies is not None
    ends, cancels = dict(scenario.ends), set(scenario.cancels)
    for one in job.dependencies.each:
        if one.job_id in rota.engine.jobs or one.type not in _ABOUT_SUCCESS:
            continue
        failed = one.job_id in cancels or ends[one.job_id] != 0
        if failed is (one.type is DependencyType.AFTER_NOT_OK):
            continue  # it is satisfied
        if one.job_id in cancels:
            cancels.remove(one.job_id)
            ends.pop(one.job_id, None)
        else:
            ends[one.job_id] = 1 - ends[one.job_id]
    return scenario._replace(ends=ends, cancels=frozenset(cancels))


_ABOUT_SUCCESS = (DependencyType.AFTER_OK, DependencyType.AFTER_NOT_OK)


def _is_refused_in_secret(job: Job, rota: Harness) -> bool:
    """Whether a job waits for a limit that is not its reason: see `test_what_a_job_would_be_given_is_its_reason`."""
    refused = None if job.state is not JobState.PENDING else rota.engine.cluster.policy.context.refused.get(job.job_id)
    return refused is not None and rota.reason(job) is not refused.reason


def _pending(rota: Harness) -> dict[int, Reason]:
    assume(not any(_is_refused_in_secret(job, rota) for job in rota.live))
    return {job.job_id: rota.reason(job) for job in rota.live if job.state is JobState.PENDING}


def _counted(rota: Harness, reasons: dict[int, Reason]) -> dict[Reason, tuple[int, int]]:
    """Count jobs and processors by reason, tasks of arrays each."""
    counts: dict[Reason, tuple[int, int]] = {}
    for job_id, reason in reasons.items():
        job, (jobs, cpus) = rota.job(job_id), counts.get(reason, (0, 0))
        tasks = max(job.waiting_tasks, 1)
        counts[reason] = jobs + tasks, cpus + tasks * job.num_cpus
    return counts


# ---- the properties -------------------------------------------------------------------------------------------


@given(rng=RANDOMS)
def test_without_its_cause_a_reason_goes_away(rng: Random) -> None:
    scenario = draw(rng)
    with scenario.play() as first:
        reasons = _pending(first)
    for job_id, reason in reasons.items():
        in_vain = reason is Reason.DEPENDENCY_NEVER_SATISFIED
        again = _without_the_failure(scenario, first, first.job(job_id)) if in_vain else scenario
        with again.play() as rota:
            job = rota.job(job_id)
            if reason.name.startswith(("QOS_", "ASSOC_")):
                _drop_limits(rota, job, reason)
            elif not in_vain:
                REMEDIES[reason](rota, job)
            # A reason is kept until somebody looks again, and main passes end at jobs that wait, as in Slurm.
            rota.run_pass()
            while job.state is JobState.PENDING and rota.reason(job) is reason:
                ahead = _ahead(rota, job, in_all=True)
                assert ahead, (job, reason)
                rota.cancel(ahead[0])


@given(rng=RANDOMS)
def test_reasons_agree_with_what_can_be_seen(rng: Random) -> None:
    """Each job has one reason, and queries change nothing."""
    with draw(rng).play() as rota:
        state, trace = rota.engine.state, list(rota.trace)
        reasons = _pending(rota)
        assert reasons == _pending(rota)
        assert rota.engine.view.reasons() == _counted(rota, reasons), "all at once is as one by one"
        assert (rota.trace, rota.faults) == (trace, [])
        rota.engine.check_invariants()
        used: Counter[str] = Counter()
        for job in state.running:
            used.update(parse_licenses(job.spec.licenses))
        # The main pass goes no further than a job that waits for resources or, with bf_licenses, for licences.
        planned = rota.engine.cluster.queue.planned_reasons
        ends = {Reason.RESOURCES, *planned}
        for job_id, reason in reasons.items():
            job = rota.job(job_id)
            seen = {
                Reason.NONE: any(reasons[other.job_id] in planned for other in _ahead(rota, job)),
                Reason.BEGIN_TIME: job.spec.begin_time > rota.now,
                Reason.JOB_HELD_USER: job.spec.hold,
                Reason.LICENSES: used["lic"] + parse_licenses(job.spec.licenses).get("lic", 0) > 2,
                Reason.DEPENDENCY: bool(job.spec.dependency),
                Reason.PARTITION_TIME_LIMIT: job.time_limit > 1200,
                Reason.PRIORITY: any(reasons[other.job_id] in ends for other in _ahead(rota, job)),
            }
            assert seen.get(reason, True), (job, reason)
            if job.priority == 0:
                assert reason in {Reason.JOB_HELD_USER, Reason.JOB_HELD_ADMIN}
            if reason is Reason.RESOURCES and len(state.partitions) == 1:
                # With bf_licenses those behind one that waits for licences wait too: see the last test.
                held = planned and Reason.LICENSES in reasons.values()
                assert held or not state.pool.select(job, state.pool.free)
        for name in state.partitions:
            first = [job_id for job_id, reason in reasons.items() if reason is Reason.RESOURCES]
            assert sum(rota.job(job_id).spec.partition == name for job_id in first) <= 1


# ---- what is known to be wrong --------------------------------------------------------------------------------

_ENFORCING = cluster(nodes=3, AccountingStorageEnforce="associations,limits,qos")


def test_what_a_job_would_be_given_is_its_reason() -> None:
    """Two processors of nodes that have one each are two nodes, which the limit does not allow."""
    limits: dict[str, dict[str, str]] = {owner: {} for owner in OWNERS}
    limits["account phys"] = {"MaxTRESPerJob": "node=1"}
    with Harness(_ENFORCING, associations=make_tree(limits)) as rota:
        job = rota.submit(cpus=2, user="ann", account="phys")
        assert rota.reason(job) is Reason.ASSOC_MAX_NODE_PER_JOB


def test_what_a_job_was_refused_for_is_not_forgotten() -> None:
    """As above; that another job starts afterwards, of another account, changes nothing about it."""
    limits: dict[str, dict[str, str]] = {owner: {} for owner in OWNERS}
    limits |= {"account phys": {"GrpTRES": "node=1"}, "account chem": {"GrpJobs": "9"}}
    with Harness(_ENFORCING, associations=make_tree(limits)) as rota:
        job = rota.submit(cpus=2, user="ann", account="phys")
        assert rota.reason(job) is Reason.ASSOC_GRP_NODE
        rota.submit(cpus=1, user="cat", account="chem")
        assert rota.reason(job) is Reason.ASSOC_GRP_NODE


def test_what_a_job_was_refused_for_is_forgotten_with_what_it_asked_for() -> None:
    limits: dict[str, dict[str, str]] = {owner: {} for owner in OWNERS}
    limits["account phys"] = {"MaxTRESPerJob": "node=1"}
    with Harness(_ENFORCING, associations=make_tree(limits)) as rota:
        job = rota.submit(cpus=2, user="ann", account="phys")
        rota.restart()
        assert rota.reason(job.job_id) is Reason.ASSOC_MAX_NODE_PER_JOB
        rota.send(ev.UpdateJob(job_id=job.job_id, changes={"num_cpus": 1}))
        assert rota.state(job.job_id) is JobState.RUNNING


def test_behind_a_job_that_waits_for_licences_the_others_do_not_wait_for_resources() -> None:
    """With bf_licenses Slurm's pass ends at the second job, so that nothing is found of the third."""
    config = cluster(cpus=5, Licenses="lic:2", SchedulerParameters="bf_interval=30,bf_licenses")
    with Harness(config, sched="sched/backfill") as rota:
        rota.submit(licenses="lic")
        second = rota.submit(licenses="lic:2")
        third = rota.submit(licenses="lic")
        rota.wait(30)
        assert (rota.reason(second), third.state) == (Reason.LICENSES, JobState.PENDING)
        assert rota.reason(third) is Reason.NONE


def test_a_job_in_two_partitions_that_lacks_licences_and_nodes_in_one_waits_behind_others_in_the_other() -> None:
    """Each pass writes both reasons, also one that finds the queue as the last one left it; it has the latter."""
    parts = [partition("a", range(3)), partition("b", range(3, 5), tier=2)]
    config = cluster(nodes=5, partitions=parts, Licenses="lic:2")
    with Harness(config, sched="sched/backfill") as rota:
        rota.node("n3", NodeState.DRAIN)
        rota.submit(cpus=3, partition="a", licenses="lic")
        blocking = rota.submit(cpus=1, partition="a")
        job = rota.submit(cpus=2, nodes=2, partition="a,b", licenses="lic:2")
        for _ in range(3):
            rota.run_pass()
            assert (rota.reason(blocking), rota.reason(job)) == (Reason.RESOURCES, Reason.PRIORITY)
