"""What schedulers remember of jobs of one request class saves tests, and changes no decision."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.accounting import AssociationTree
from rota.core import events as ev
from rota.core.plugin_api.controller import PluginController
from rota.model import Association, Qos, RequestError
from rota.model.reservation import Reservation
from rota.testing import MACHINES, Harness, random_script, with_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from rota.model import ClusterConfig
    from rota.resources.future.job_ends import Releases
    from rota.testing import Script
    from rota.testing.scripts import Submission

RANDOMS = st.randoms(use_true_random=False)
SCHEDULERS = ("sched/backfill", "sched/easy", "sched/conservative")
TYPES = ("preempt/none", "preempt/partition_prio", "preempt/qos")
#: Machines with nodes, as only jobs on these can be preempted.
WITH_NODES = sorted(set(MACHINES) - {"processors"})
QOS = ("low", "middle", "high", "first")


class _Forgetful(PluginController):
    """No two jobs are alike to its plugin, so that each is tried for itself."""

    __slots__ = ()

    def _read_machine(self) -> None:
        super()._read_machine()
        self.request_class = lambda job: object()


def _accounts(rng: Random) -> AssociationTree:
    """Draw what each QOS may preempt."""
    qos = [
        Qos(
            name=name,
            priority=rng.randint(0, 3),
            preempt=tuple(other for other in QOS[:place] if rng.random() < 0.5),
            preempt_mode=rng.choice(((), (), ("requeue",))),
            preempt_exempt_time=rng.choice((None, None, 100)),
            grace_time=rng.choice((0, 0, 40)),
        )
        for place, name in enumerate(QOS)
    ]
    return AssociationTree("cluster", [Association(id=1, account="root")], qos=[Qos(name="normal"), *qos])


def _machine(rng: Random, name: str) -> ClusterConfig:
    """Draw what jobs of a machine may preempt."""
    config = MACHINES[name]()
    parts = tuple(
        replace(one, priority_tier=rng.randint(1, 3), grace_time=rng.choice((0, 40))) for one in config.partitions
    )
    options = (f"bf_resolution={rng.choice((1, 60))}", f"easy_order={rng.choice(('fcfs', 'sjf'))}")
    return with_parameters(
        replace(config, partitions=parts),
        PreemptType=rng.choice(TYPES),
        PreemptMode=rng.choice(("CANCEL", "REQUEUE")),
        PreemptExemptTime=rng.choice(("0", "00:01:00")),
        SlurmVersion=rng.choice(("22.05", "25.11")),
        SchedulerParameters=",".join(["bf_interval=30", *options]),
    )


def _few_kinds(rng: Random, script: Script) -> Script:
    """Let the jobs of a script ask for one of a few things, with QOS and reservations of their own."""
    kinds = [one.spec for one in script.submissions[:3]]
    submissions = [
        one._replace(
            spec=rng.choice(kinds)._replace(
                qos=rng.choice(QOS), reservation=rng.choice(("", "", "r")), begin_time=one.spec.begin_time
            )
        )
        for one in script.submissions
    ]
    return script._replace(submissions=tuple(submissions))


def _submit(rota: Harness, one: Submission) -> None:
    """Submit a job, which is refused if the nodes of its reservation could never serve it."""
    with suppress(RequestError):
        rota.submit(one.spec, job_id=one.job_id, run=one.run)


def _decisions(config: ClusterConfig, tree: AssociationTree, nodes: int, script: Script, sched: str) -> list[object]:
    """Play a script on a machine with a reservation; give the plans after each event, the starts and the ends."""
    found: list[object] = []
    with Harness(config, sched=sched, associations=tree) as rota:
        shut = Reservation(name="r", nodes=nodes, start_time=0, end_time=10**6, accounts=("default",))
        rota.send(ev.CreateReservation(reservation=shut))
        rota.checks.append(lambda: found.append([(job.job_id, job.planned_start) for job in rota.ctld.queue]))
        script._replace(submissions=()).put(rota)
        for one in script.submissions:
            rota.at(one.time, partial(_submit, rota, one))
        rota.run_to_end(horizon=5000)
        found.append([(one.job_id, one.resources) for one in rota.launches])
        found.append([(job.job_id, job.state, job.start_time, job.end_time) for job in rota.known])
        assert not rota.faults
    return found


def _one_by_one(releases: Releases, nodes: int, gone: int, _step: int, least: int = 0) -> Iterator[int]:
    """Take no ends of running jobs together: in Slurm's batches a later job may be planned seconds before an alike one.

    rota does not follow that: see docs/differences.md.
    """
    limit = len(releases.ends)
    while (index := releases.next_on(gone, nodes, limit)) < limit:
        gone = index + 1
        if gone >= least:
            yield gone


@patch("rota.resources.future.node_space.batches", _one_by_one)
@pytest.mark.parametrize("sched", SCHEDULERS)
@given(rng=RANDOMS, machine=st.sampled_from(WITH_NODES), calm=st.booleans())
def test_what_is_remembered_of_alike_jobs_changes_nothing(sched: str, rng: Random, machine: str, calm: bool) -> None:
    config, tree = _machine(rng, machine), _accounts(rng)
    nodes = rng.randrange(1, 1 << len(config.nodes))
    script = _few_kinds(rng, random_script(rng, config, jobs=15, calm=calm))
    remembered = _decisions(config, tree, nodes, script, sched)
    with patch("rota.core.engine.PluginController", _Forgetful):
        assert _decisions(config, tree, nodes, script, sched) == remembered
