"""From slurm.conf, tree and jobs, through the engine and priority/multifactor, to the text that Slurm printed.

The jobs, accounts and keys are those of the recorded cluster (data/rig-16-nodes.txt): 16 nodes with 4 CPUs. Two jobs
run on two nodes each; of those that wait some cannot be made here yet (an array at its limit, a dependency), so that a
later begin time stands for what they wait for, which changes none of their factors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rota.accounting import AssociationTree
from rota.core import Engine
from rota.core.events import SchedulePass, Submit
from rota.inspect.view import EngineView
from rota.listings import View, render
from rota.loader import PluginHost
from rota.model import Association, Node, Qos, User
from rota.testing import cluster, partition, spec

from .conftest import recording

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.model import ClusterConfig

RECORDED = recording("rig-16-nodes.txt")


def _config() -> ClusterConfig:
    nodes = [Node(name=f"n{number:02}", cpus=4, real_memory=8000) for number in range(1, 17)]
    return cluster(
        nodes=nodes,
        partitions=[
            partition("debug", def_mem_per_cpu=100),
            partition("high", priority_job_factor=10, def_mem_per_cpu=100),
        ],
        PriorityDecayHalfLife="1-0",
        PriorityMaxAge="1-0",
        PriorityWeightAge="1000",
        PriorityWeightFairshare="10000",
        PriorityWeightJobSize="100",
        PriorityWeightPartition="1000",
        PriorityWeightQOS="2000",
        PriorityFlags="ACCRUE_ALWAYS",
        AccountingStorageTRES="gres/gpu",
    )


def _tree() -> AssociationTree:
    rows = [("root", "", 1), ("root", "root", 1), ("chem", "", 40), ("chem", "carol", 10), ("phys", "", 60)]
    rows += [("phys", "alice", 10), ("phys", "bob", 5)]
    ids = {"root": 1, "chem": 3, "phys": 5}
    return AssociationTree(
        "rig",
        [
            Association(
                id=number,
                account=account,
                user=user,
                parent_id=ids[account] if user else int(account != "root"),
                shares_raw=shares,
            )
            for number, (account, user, shares) in enumerate(rows, start=1)
        ],
        users=[User(name=user, default_account=account) for account, user, _ in rows if user],
        qos=[Qos(name="normal", id=1), Qos(name="urgent", id=2, priority=100)],
    )


@pytest.fixture(scope="module")
def view() -> Iterator[View]:
    with PluginHost([]) as host:
        priority, sched = host.load("priority/multifactor"), host.load("sched/builtin")
        engine = Engine(_config(), priority=priority.container, sched=sched.container, associations=_tree())
        priority.start(engine.priority_controller)
        sched.start(engine.sched_controller)
        engine.begin()
        later = {"begin_time": 10**6, "user": "root", "limit": 180}
        jobs = {
            1: spec(cpus=8, nodes=2, limit=300, user="alice", name="alicejob"),
            2: spec(cpus=8, nodes=2, limit=300, user="carol", name="caroljob"),
            6: spec(cpus=1, name="arr", **later),
            7: spec(cpus=1, name="dep", **later),
            8: spec(cpus=1, name="held", hold=True, user="root"),
            9: spec(cpus=16, nodes=16, name="big", **later),
            10: spec(cpus=1, name="begin", qos="urgent", **later),
        }
        for job_id, request in jobs.items():
            engine.handle(Submit(job_id=job_id, spec=request), 0)
        engine.handle(SchedulePass(), 0)
        yield EngineView(engine.view)


@pytest.mark.parametrize(
    "command", ["sprio -l", "sprio -w", "sprio -n", "sshare -a -P", "sshare -A phys -u alice -l -P"]
)
def test_text_is_slurms(command: str, view: View) -> None:
    assert render(command, view) == RECORDED[command]


def test_what_the_jobs_of_shared_nodes_may_still_use_apart(view: View) -> None:
    # In the recording two more jobs share a node, which gives root and root's user other TRESRunMins.
    def cut(text: str) -> list[str]:
        return [line[:135] if line.startswith((" root", "root")) else line for line in text.splitlines()]

    assert cut(render("sshare -l", view)) == cut(RECORDED["sshare -l"])
