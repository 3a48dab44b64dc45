"""What plugins are handed they read: whatever one does to it, the engine's state stays."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, MutableSequence
from contextlib import suppress
from enum import Enum
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rota.accounting import AssociationTree
from rota.core.plugin_api.accounting_views import AccountingViews, PluginTree
from rota.core.snapshot import save
from rota.interfaces import Job
from rota.model import Association, Partition
from rota.testing import Harness, cluster, priority, scheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ATTRIBUTES = [name for name in vars(Job) if not name.startswith("_")]


@pytest.fixture
def rota() -> Iterator[Harness]:
    parts = [Partition(name="batch", nodes=0b11, options={"alternate": "x"}), Partition(name="other", nodes=0b10)]
    with Harness(cluster(nodes=2, cpus_per_node=4, partitions=parts), sched=scheduler()) as rota:
        rota.submit(cpus=8, limit=60)
        rota.submit(cpus=8, limit=60)
        rota.submit(cpus=2, limit=60, partition="batch,other")
        rota.submit(cpus=1, array="1-3%1", limit=60)
        rota.submit(hold=True)
        yield rota


def last_fault(rota: Harness) -> str:
    return rota.faults[-1].message


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_attribute_of_a_job_is_not_written(rota: Harness, name: str) -> None:
    before = save(rota.engine)
    for job_id in (1, 2, 3):

        def write(ctld: Any, job_id: int = job_id) -> None:
            setattr(ctld.jobs[job_id], name, None)

        rota.propose(write)
        assert f"job {job_id}: {name!r} is read-only" in last_fault(rota)
        assert __file__ in last_fault(rota)  # the plugin's line, not the engine's

        def delete(ctld: Any, job_id: int = job_id) -> None:
            delattr(ctld.jobs[job_id], name)

        rota.propose(delete)
        assert "is read-only" in last_fault(rota)
    assert save(rota.engine) == before


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("priority", "ctld.set_priority"),
        ("state", "ctld.start"),
        ("planned_start", "ctld.plan"),
        ("alloc", "ctld.start"),
    ],
)
def test_it_is_said_what_to_use(rota: Harness, name: str, instead: str) -> None:
    rota.propose(lambda ctld: setattr(ctld.jobs[2], name, 7))
    assert instead in last_fault(rota)


def test_after_a_plugin_has_tried_to_write_a_state_jobs_are_still_taken() -> None:
    def newalloc(job: Any) -> int:
        job.state = "DONE"
        return 0

    with Harness(sched=scheduler(slurm_sched_p_newalloc=newalloc)) as rota:
        for _ in range(3):
            rota.submit(cpus=1, run=5)
        assert len(rota.running) == 3
        rota.run_to_end()
        assert {fault.job_id for fault in rota.faults} == {1, 2, 3}


def _touch(thing: Any, seen: set[int], depth: int) -> None:
    """Do to something, and all that is reached from it by public names, whatever a program can do to it."""
    if (
        depth == 0
        or id(thing) in seen
        or isinstance(thing, str | int | float | bytes | Enum | type | ModuleType | None)
    ):
        return
    if isinstance(thing, FunctionType | MethodType) or (callable(thing) and not hasattr(thing, "_fields")):
        return
    seen.add(id(thing))
    inner = [getattr(thing, name, None) for name in dir(thing) if not name.startswith("_")]
    if isinstance(thing, Mapping):
        inner += thing.values()
    elif hasattr(thing, "__iter__") and not isinstance(thing, np.ndarray):
        inner += list(thing)[:20]
    for one in inner:
        _touch(one, seen, depth - 1)
    for name in [one for one in dir(thing) if not one.startswith("__")]:
        with suppress(Exception):
            setattr(thing, name, None)
        with suppress(Exception):
            delattr(thing, name)
    for change in _CHANGES:
        with suppress(Exception):
            change(thing)


_CHANGES: list[Callable[[Any], object]] = [
    lambda thing: thing.clear(),
    lambda thing: thing.append(None),
    lambda thing: thing.update({"PriorityType": "x"}),
    lambda thing: thing.__setitem__(0, None),
    lambda thing: thing.__setitem__(slice(None), 0),
    lambda thing: thing.__setitem__(next(iter(thing)), None),
    lambda thing: thing.__delitem__(next(iter(thing))),
    lambda thing: thing.__ior__({"a": 1}),
    lambda thing: thing.__iadd__([1]),
    lambda thing: thing.__imul__(0),
    lambda thing: thing.sort(),
    lambda thing: thing.fill(0),
    lambda thing: vars(thing).clear(),
    lambda thing: thing.__init__(),
    lambda thing: setattr(thing, "__class__", object),
]


def test_nothing_that_is_reached_from_the_controller_changes_the_state(rota: Harness) -> None:
    before, nodes = save(rota.engine), repr(rota.engine.state.nodes)
    parts, config = repr(rota.engine.state.partitions), repr(rota.engine.state.config)
    rota.propose(lambda ctld: _touch(ctld, set(), 6))
    assert save(rota.engine) == before
    assert (repr(rota.engine.state.nodes), repr(rota.engine.state.partitions)) == (nodes, parts)
    assert repr(rota.engine.state.config) == config
    rota.tick()
    rota.run_to_end()


def test_nor_do_the_records_of_accounting() -> None:
    with Harness(
        cluster(cpus=4, AccountingStorageEnforce="associations"),
        priority="priority/multifactor",
        associations=AssociationTree(
            "cluster",
            [
                Association(id=1, account="root"),
                Association(id=2, account="phys", parent_id=1),
                Association(id=3, account="phys", user="ann", parent_id=2),
            ],
        ),
    ) as rota:
        rota.submit(cpus=1, user="ann", account="phys")
        before = save(rota.engine)
        rota.propose(lambda ctld: _touch(ctld.associations, set(), 6))
        rota.propose(lambda ctld: _touch(ctld.association_of(ctld.jobs[1]), set(), 6))
        rota.propose(lambda ctld: _touch(ctld.qos_of(ctld.jobs[1]), set(), 6))
        assert save(rota.engine) == before


def test_what_callbacks_get_is_read_only() -> None:
    got: list[Any] = []

    def keep(*arguments: Any) -> int:
        got.append(arguments[-1])
        return 0 if len(arguments) == 1 else 5

    with Harness(sched=scheduler(slurm_sched_p_newalloc=keep), priority=priority(priority_p_set=keep)) as rota:
        rota.submit(cpus=1)
        rota.propose(lambda ctld: ctld.profile(estimate=keep))
        assert len(got) == 3
        for job in got:
            with pytest.raises(AttributeError, match="read-only"):
                job.priority = 9
            assert not hasattr(job, "__dict__")
        assert got[0] is got[1] is got[2]  # one view of each job


def test_containers_of_the_standard_library_say_that_they_cannot_be_written(rota: Harness) -> None:
    ctld = rota.ctld
    for found in (ctld.jobs, ctld.partitions, ctld.queue, ctld.running, ctld.nodes):
        assert not isinstance(found, MutableMapping | MutableSequence)


def test_views_of_records_that_are_gone_are_dropped() -> None:
    """Each change of sacctmgr makes new records of accounts, users and QOS."""
    tree = AssociationTree("cluster", [Association(id=1, account="root")])
    views = AccountingViews()
    shown = PluginTree(tree, views)
    before = shown.root
    for _ in range(3):
        tree.become(AssociationTree("cluster", [Association(id=1, account="root")]))
        assert shown.qos.keys() == tree.qos.keys()
        assert shown.users.keys() == tree.users.keys()
        assert shown.root is before
        assert len(views) <= 1 + len(tree.accounts) + len(tree.users) + len(tree.qos)
