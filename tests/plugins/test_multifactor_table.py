"""priority/multifactor keeps all priorities up to date: of tasks, of requeued jobs, after a restart as without."""

from __future__ import annotations

from rota.testing import Harness, cluster, with_parameters


def test_tasks_that_wait_by_themselves_grow_old_like_others() -> None:
    config = cluster(cpus=1, PriorityWeightAge="1000", PriorityMaxAge="1000", PriorityCalcPeriod="1")
    with Harness(config, priority="priority/multifactor") as rota:
        first = rota.submit(array="0-1", limit=5000)
        waits = rota.submit(array="0-1", dependency=f"aftercorr:{first.job_id}")
        rota.until(600)
        assert {job.priority for job in rota.live if job.array_job_id == waits.job_id} == {1}  # not eligible so far
        rota.end(first.job_id + 1)
        rota.until(1140)
        assert rota.queue  # priorities are worked out when somebody looks
        assert {job.priority for job in rota.live if job.array_job_id == waits.job_id and not job.alloc} != {1}


def test_a_job_that_is_queued_again_is_computed_again_after_a_restart() -> None:
    config = cluster(cpus=1, PriorityWeightAge="1000", PriorityMaxAge="1000", PriorityCalcPeriod="1")
    seen = []
    for restarts in (False, True):
        with Harness(config, priority="priority/multifactor") as rota:
            job = rota.submit(limit=5000, user=1).job_id
            rota.until(120)  # it is struck off
            rota.requeue(job)
            if restarts:
                rota.restart()
            rota.submit(limit=5000, user=2)
            rota.until(400)
            seen.append([(one.job_id, one.priority) for one in rota.live])
    assert seen[0] == seen[1]


def test_another_algorithm_of_fair_share_counts_at_once() -> None:
    with Harness(cluster(cpus=2), priority="priority/multifactor") as rota:
        for flags in ("NO_FAIR_TREE", ""):
            words = {"PriorityWeightFairshare": "1000", "PriorityFlags": flags}
            rota.reconfigure(with_parameters(cluster(cpus=2), **words))
            rota.submit(user="ann", cpus=1, run=100)
            rota.submit(user="bob", cpus=1, run=50)
            rota.until(rota.now + 400)
        before = rota.submit(user="ann").priority
        rota.restart()
        assert rota.submit(user="ann").priority == before
