"""The lines of the view, in situations in which their values are known.

Over 400 lines: it has the situations of all kinds of lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rota.accounting import AssociationTree
from rota.core import events as ev
from rota.core.scheduling.main_pass import END_OF_QUEUE
from rota.inspect.view import EngineView
from rota.listings import render
from rota.model import Association, Node, NodeState, PartitionState, Qos
from rota.model.lines import BlockingLimit
from rota.model.reservation import Reservation
from rota.testing import Harness, cluster, partition, scheduler

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.core.job import Job
    from rota.model import ClusterConfig
    from rota.model.lines import JobLine, NodeLine

SHARED: dict[str, Any] = {"SelectType": "select/cons_tres", "SelectTypeParameters": "CR_CPU"}
WITH_MEMORY = SHARED | {"SelectTypeParameters": "CR_CPU_Memory"}


def nodes_of(rota: Harness) -> dict[str, NodeLine]:
    return {node.name: node for node in rota.engine.view.nodes()}


def line_of(rota: Harness, job: Job) -> JobLine:
    line = rota.engine.view.job(job.job_id)
    assert line is not None
    return line


def reserve(rota: Harness, name: str, nodes: int, start: int, end: int, *flags: str) -> None:
    one = Reservation(
        name=name, nodes=nodes, start_time=start, end_time=end, users=("ann",), flags=frozenset(flags), features=""
    )
    rota.send(ev.CreateReservation(reservation=one))


# ---- nodes ----------------------------------------------------------------------------------------------------


def test_nodes_are_idle_mixed_allocated() -> None:
    with Harness(cluster(nodes=3, cpus_per_node=4, **SHARED)) as rota:
        rota.submit(cpus=4)
        rota.submit(cpus=1)
        nodes = nodes_of(rota)
        assert [(one.state, one.base_state, one.cpus_allocated, one.jobs) for one in nodes.values()] == [
            ("ALLOCATED", "ALLOCATED", 4, (1,)),
            ("MIXED", "MIXED", 1, (2,)),
            ("IDLE", "IDLE", 0, ()),
        ]


def test_what_jobs_hold_of_nodes_that_they_share() -> None:
    node = Node(
        name="n0",
        cpus=8,
        sockets=2,
        cores_per_socket=4,
        real_memory=1000,
        gres=("gpu:a100:2",),
        features=("IB",),
        weight=3,
    )
    parts = [partition("a", def_mem_per_cpu=100), partition("b", (0,), def_mem_per_cpu=100)]
    with Harness(cluster(nodes=[node, Node(name="n1", cpus=2)], partitions=parts, **WITH_MEMORY)) as rota:
        rota.submit(cpus=3, partition="b", gres="gpu:1")
        rota.submit(cpus=2, partition="b", mem_per_node=50)
        line, other = rota.engine.view.nodes()
        assert (line.cpus, line.cpus_allocated, line.memory, line.memory_allocated) == (8, 5, 1000, 350)
        assert (line.gres, line.gres_used) == (("gpu:a100:2",), {"gpu": 1, "gpu:a100": 1})
        assert (line.sockets, line.cores_per_socket, line.threads_per_core) == (2, 4, 1)
        assert (line.features, line.weight, line.partitions, line.jobs) == (("IB",), 3, ("a", "b"), (1, 2))
        assert (other.partitions, other.gres_used, other.memory_allocated) == (("a",), {}, 0)


@pytest.mark.parametrize(
    ("config", "cpus"),
    [
        (cluster(cpus=4), 3),
        (cluster(nodes=2, cpus_per_node=4), 4),
        (cluster(nodes=2, cpus_per_node=4, partitions=[partition("a", max_share=2)], SelectType="select/linear"), 4),
        (cluster(nodes=2, cpus_per_node=4, partitions=[partition("a", max_share=2)], **SHARED), 3),
    ],
    ids=["processors", "whole", "whole and shared", "shared"],
)
def test_processors_of_each_kind_of_machine(config: ClusterConfig, cpus: int) -> None:
    with Harness(config) as rota:
        job = rota.submit(cpus=3)
        first, *others = rota.engine.view.nodes()
        assert (first.cpus_allocated, first.jobs) == (cpus, (job.job_id,))
        assert not any(one.cpus_allocated for one in others)
        assert line_of(rota, job).tres_allocated == {"cpu": cpus, "node": 1, "billing": cpus}


def test_processors_that_are_given_out_twice_count_once() -> None:
    parts = [partition("a", max_share=2, force_share=True)]
    with Harness(cluster(nodes=2, cpus_per_node=2, partitions=parts, **SHARED)) as rota:
        for _ in range(3):
            rota.submit(cpus=2, nodes=1)
        assert {one.cpus_allocated for one in rota.engine.view.nodes()} == {2}


@pytest.mark.parametrize(
    ("state", "used", "shown", "base", "flags"),
    [
        (NodeState.DRAIN, False, "DRAINED", "IDLE", ("DRAIN",)),
        (NodeState.DRAIN, True, "DRAINING", "ALLOCATED", ("DRAIN",)),
        (NodeState.DOWN, False, "DOWN", "DOWN", ()),
        (NodeState.DOWN, True, "DOWN", "DOWN", ("COMPLETING",)),
    ],
)
def test_nodes_that_are_not_up(state: NodeState, used: bool, shown: str, base: str, flags: tuple[str, ...]) -> None:
    with Harness(cluster(nodes=1), performs=False) as rota:
        if used:
            rota.submit(nodes=1)
        rota.node("n0", state)
        (line,) = rota.engine.view.nodes()
        assert (line.state, line.base_state, line.flags) == (shown, base, flags)
        assert rota.engine.view.nodes_in(state) == 1


def test_nodes_whose_jobs_are_completing() -> None:
    with Harness(cluster(nodes=3, cpus_per_node=2, **SHARED), performs=False) as rota:
        stopped = [rota.submit(cpus=cpus) for cpus in (2, 1)]
        rota.submit(cpus=1)
        for job in stopped:
            rota.cancel(job)
        whole, shared, _ = rota.engine.view.nodes()
        assert (whole.state, whole.base_state, whole.flags, whole.cpus_allocated) == (
            "COMPLETING",
            "IDLE",
            ("COMPLETING",),
            2,
        )
        assert (shared.state, shared.base_state, shared.jobs) == ("COMPLETING", "MIXED", (2, 3))
        assert {line_of(rota, job).completing for job in stopped} == {True}
        rota.node("n0", NodeState.DRAIN)
        assert nodes_of(rota)["n0"].state == "DRAINING"
        assert rota.engine.view.statistics().jobs == {"COMPLETING": 2, "RUNNING": 1}


def test_a_node_that_others_have_all_of_while_a_job_is_completing() -> None:
    parts = [partition("a", max_share=2, force_share=True)]
    with Harness(cluster(nodes=2, cpus_per_node=1, partitions=parts, **SHARED), performs=False) as rota:
        jobs = [rota.submit(cpus=2, nodes=2) for _ in range(2)]
        rota.cancel(jobs[0])
        assert {one.state for one in rota.engine.view.nodes()} == {"ALLOCATED+"}


def test_nodes_that_are_reserved_or_planned() -> None:
    with Harness(cluster(nodes=5), sched="sched/conservative") as rota:
        rota.submit(nodes=1, limit=1000)
        reserve(rota, "now", 0b00010, 0, 100)
        reserve(rota, "mended", 0b00101, 0, 100, "MAINT", "IGNORE_JOBS")
        reserve(rota, "later", 0b01000, 50, 100)
        nodes = nodes_of(rota)
        assert [nodes[name].state for name in ("n0", "n1", "n2")] == ["ALLOCATED$", "RESERVED", "MAINT"]
        assert (nodes["n2"].flags, nodes["n2"].base_state) == (("MAINTENANCE", "RESERVED"), "IDLE")
        assert (nodes["n3"].state, nodes["n3"].flags) == ("IDLE", ())
        rota.node("n2", NodeState.DRAIN)
        rota.node("n1", NodeState.DOWN)
        assert [nodes_of(rota)[name].state for name in ("n1", "n2")] == ["DOWN", "DRAINED$"]


def test_nodes_that_a_waiting_job_is_to_get_are_planned() -> None:
    with Harness(cluster(nodes=2), sched="sched/conservative") as rota:
        rota.submit(nodes=1, limit=1000)
        waits = rota.submit(nodes=2, cpus=2, limit=100)
        assert [one.state for one in rota.engine.view.nodes()] == ["ALLOCATED", "PLANNED"]
        line = line_of(rota, waits)
        assert (line.planned_start, line.planned_nodes, line.nodes, line.start_time) == (1000, ("n0", "n1"), (), None)
        (planned,) = rota.engine.view.planned(10)
        assert (planned.job_id, planned.place, planned.start, planned.num_cpus, planned.nodes, planned.reason) == (
            (waits.job_id, 1, 1000, 2, 0b11, "Resources")
        )
        assert rota.engine.view.planned(0) == ()


def test_a_plugin_may_not_plan_nodes_that_there_are_not() -> None:
    def plan(ctld: Any) -> None:
        ctld.plan(ctld.queue[0], 100, 0b1000_0001)

    with Harness(cluster(nodes=1, SelectType="select/linear")) as rota:
        rota.submit(nodes=1)
        waits = rota.submit(nodes=1)
        rota.propose(plan)
        assert "bitmap 0x81 has other nodes than the machine's 1" in rota.faults[-1].message
        assert line_of(rota, waits).planned_start is None


# ---- jobs -----------------------------------------------------------------------------------------------------


def test_a_job_that_runs() -> None:
    nodes = [Node(name=f"n{place}", cpus=4, real_memory=100) for place in range(2)]
    config = cluster(nodes=nodes, partitions=[partition("a", def_mem_per_cpu=10)], **WITH_MEMORY)
    with Harness(config, now=1000) as rota:
        job = rota.submit(
            name="x",
            user="ann",
            account="phys",
            cpus=2,
            nodes=2,
            limit=600,
            num_tasks=2,
            nice=5,
            requeue=False,
            begin=10,
            required_nodes="n0",
        )
        rota.wait(5)
        line = line_of(rota, job)
        request = line.request
        assert (line.job_id, line.shown_id, line.array_job_id, line.array_task) == (1, "1", None, "")
        assert (line.name, line.user, line.assoc_user, line.account, line.qos) == ("x", "ann", "ann", "phys", "normal")
        assert (line.partition, line.state, line.state_compact, line.base_state) == ("a", "RUNNING", "R", "RUNNING")
        assert (line.pending, line.completing, line.reason) == (False, False, "None")
        assert (line.submit_time, line.eligible_time, request.begin_time) == (1000, 1000, 10)
        assert (line.start_time, line.expected_start, line.end_time, line.time_limit) == (1000, 1000, 1600, 600)
        assert (line.num_nodes, line.num_cpus, request.num_tasks, request.cpus_per_task) == (2, 2, 2, 1)
        assert (line.nodes, request.required_nodes, line.nice, request.requeue) == (("n0", "n1"), "n0", 5, False)
        wanted = {"cpu": 2, "mem": 20, "node": 2, "billing": 2}
        assert (line.tres_requested, line.tres_allocated) == (wanted, wanted)
        with pytest.raises(AttributeError):
            line.priority = 1  # type: ignore[misc]
        with pytest.raises(TypeError):
            line.tres_allocated["cpu"] = 9  # type: ignore[index]


def test_a_job_that_waits_and_asks_for_a_lot() -> None:
    with Harness(cluster(cpus=2, Licenses="lic:2")) as rota:
        first = rota.submit(cpus=2)
        asked: dict[str, Any] = {
            "licenses": "lic:2",
            "deadline": 10**6,
            "time_min": 60,
            "oversubscribe": True,
            "exclusive": True,
            "contiguous": True,
        }
        dependency = f"afterok:{first.job_id}"
        line = line_of(rota, rota.submit(cpus=2, user=7, group_id=8, limit=None, dependency=dependency, **asked))
        assert {name: getattr(line.request, name) for name in asked} == asked
        assert line.dependency == "afterok:1(unfulfilled)"
        assert (line.user, line.assoc_user, line.user_id, line.group_id) == ("7", "user7", 7, 8)
        assert (line.reason, line.reason_text("".join), line.time_limit) == ("Dependency", "Dependency", None)
        assert (line.tres_requested, line.tres_allocated) == ({"cpu": 2, "node": 1, "billing": 2}, {})
        assert rota.engine.view.licenses()[0].free == 2


def test_held_jobs() -> None:
    with Harness(cluster(cpus=1)) as rota:
        own, others = rota.submit(hold=True), rota.submit(begin=100)
        rota.hold(others)
        lines = rota.engine.view.jobs()
        assert [(one.priority, one.reason) for one in lines] == [(0, "JobHeldUser"), (0, "JobHeldAdmin")]
        assert [one.job_id for one in lines] == rota.engine.view.waiting() == [own.job_id, others.job_id]
        assert (rota.engine.view.queue(), rota.engine.view.queue_length) == ((), 0)


def test_jobs_of_an_array() -> None:
    with Harness(cluster(cpus=1)) as rota:
        rota.submit(array="1-4%2", limit=100)
        assert [(one.job_id, one.shown_id, one.state_compact) for one in rota.engine.view.jobs()] == [
            (1, "1_[2-4%2]", "PD"),
            (2, "1_1", "R"),
        ]


def test_a_job_with_several_partitions() -> None:
    parts = [partition("a", (0,)), partition("b", (1,), tier=2), partition("c", (1,))]
    with Harness(cluster(nodes=2, partitions=parts)) as rota:
        rota.submit(partition="a")
        rota.submit(partition="b")
        waits = rota.submit(partition="a,b", priority=7)
        last = rota.submit(partition="c")
        line = line_of(rota, waits)
        assert (line.partition, line.priority, line.direct) == ("b,a", 7, True)
        queue = [(one.job_id, one.partition, one.tier, one.priority) for one in rota.engine.view.queue()]
        assert queue == [(3, "b", 2, 7), (4, "c", 1, last.priority), (3, "a", 1, 7)]
        position = rota.engine.view.queue_position(waits.job_id)
        assert position is not None
        assert (position.place, position.queue_length, position.partition, position.tier) == (1, 2, "b", 2)
        assert (position.job.partition, position.ahead, position.held_by) == ("b", (), None)
        behind = rota.engine.view.queue_position(last.job_id)
        assert behind is not None
        assert (behind.place, [one.job_id for one in behind.ahead]) == (2, [3])
        rota.end(2)
        assert line_of(rota, waits).partition == "b"


def test_a_job_that_nodes_keep_waiting_names_them() -> None:
    with Harness(cluster(nodes=3)) as rota:
        for name in ("n0", "n2"):
            rota.node(name, NodeState.DRAIN)
        line = line_of(rota, rota.submit(nodes=1, cpus=1, required_nodes="n2"))
        assert (line.reason, line.reason_nodes) == ("ReqNodeNotAvail", ("n2",))
        assert line.reason_text(",".join) == "ReqNodeNotAvail, UnavailableNodes:n2"


def test_a_job_that_is_over() -> None:
    with Harness(cluster(cpus=1)) as rota:
        job = rota.submit(run=10, exit_code=3)
        rota.wait(10)
        assert rota.engine.view.job(job.job_id) is None
        line = rota.engine.view.line(job)
        assert (line.state, line.reason, line.exit_code, line.start_time, line.end_time) == (
            ("FAILED", "NonZeroExitCode", 3, 0, 10)
        )


def test_a_job_that_was_queued_again() -> None:
    with Harness(cluster(cpus=1)) as rota:
        job = rota.submit()
        rota.requeue(job)
        line = line_of(rota, job)
        assert (line.restart_count, line.state) == (1, "RUNNING")


def test_a_job_whose_reservation_is_over_waits_for_squeue_too() -> None:
    with Harness(cluster(nodes=1)) as rota:
        reserve(rota, "r", 1, 100, 200)
        rota.submit(user="ann", nodes=1, cpus=1, limit=600, reservation="r", hold=True)
        rota.until(300)
        view = EngineView(rota.engine.view)
        assert render("squeue -h -o '%i %t %T %r'", view) == "1 RD RESV_DEL_HOLD ReservationDeleted\n"
        assert render("squeue -h -t PD -S t -o '%i'", view) == "1\n"


def test_a_limit_that_holds_a_job_back() -> None:
    qos = [Qos(name="normal", id=1, limits={"MaxJobsPerUser": "1"})]
    ones = [Association(id=1, account="root"), Association(id=2, account="root", user="ann", parent_id=1)]
    tree = AssociationTree("cluster", ones, qos=qos)
    with Harness(cluster(cpus=4, AccountingStorageEnforce="limits"), associations=tree) as rota:
        rota.submit(user="ann")
        held, other = rota.submit(user="ann"), rota.submit(user="ann", account="root", cpus=4)
        position = rota.engine.view.queue_position(held.job_id)
        assert position is not None
        assert position.held_by == BlockingLimit(whose="QOS normal", name="MaxJobsPerUser", most=1, used=1, asked=1)
        assert [one.is_candidate for one in rota.engine.view.queue()] == [False, False]
        assert rota.queue == []
        assert rota.engine.view.future(held.job_id) is None
        assert rota.engine.view.future(other.job_id) is None


# ---- the future -----------------------------------------------------------------------------------------------


def test_what_if_is_asked_of_a_copy() -> None:
    """Job 3 waits for both nodes; without job 1, and with half of what it asks for, it would not."""
    with Harness(cluster(nodes=2)) as rota:
        rota.submit(nodes=1, limit=600)
        rota.submit(nodes=1, limit=1200)
        job = rota.submit(nodes=2, cpus=2, limit=600)
        future = rota.engine.view.future(job.job_id)
        assert future is not None
        assert (future.partition, future.time_limit) == ("batch", 600)
        start, nodes = future.earliest() or (0, 0)
        assert (start, nodes) == (1200, 0b11)
        assert future.holders(start, nodes) == [2, 1]
        assert future.started_ahead() == []
        half = future.spec._replace(num_cpus=1, min_nodes=1)
        assert (future.earliest_of(half, "batch") or 0) < start
        assert future.earliest_of(future.spec._replace(min_nodes=3), "batch") is None
        assert (future.without([2]).earliest() or (0, 0))[0] < start
        assert future.earliest() == (start, nodes)
        assert rota.engine.view.future(99) is None


# ---- all else -------------------------------------------------------------------------------------------------


def test_partitions() -> None:
    parts = [
        partition("a", (0, 2), max_time=600, default_time=60, max_nodes=2, def_mem_per_cpu=5),
        partition("b", tier=3, priority_job_factor=4, qos="normal", allow_users=frozenset({"bob", "ann"})),
    ]
    with Harness(cluster(nodes=3, cpus_per_node=2, partitions=parts)) as rota:
        rota.partition("b", PartitionState.DOWN)
        first, second = rota.engine.view.partitions()
        assert (first.name, first.state, first.nodes, first.tres["cpu"], first.tres["node"]) == (
            ("a", "UP", ("n0", "n2"), 4, 2)
        )
        assert (first.max_time, first.default_time, first.max_nodes, first.def_mem_per_cpu) == (600, 60, 2, 5)
        assert (second.state, second.max_time, second.priority_tier, second.priority_job_factor) == ("DOWN", None, 3, 4)
        assert (second.qos, second.allow_users, first.allow_users) == ("normal", ("ann", "bob"), None)


def test_reservations() -> None:
    with Harness(cluster(nodes=3)) as rota:
        reserve(rota, "r", 0b101, 100, 200, "MAINT", "FLEX")
        (line,) = rota.engine.view.reservations()
        assert (line.name, line.state, line.start_time, line.end_time) == ("r", "INACTIVE", 100, 200)
        assert (line.nodes, line.users, line.accounts, line.flags) == (("n0", "n2"), ("ann",), (), ("MAINT", "FLEX"))
        rota.until(100)
        assert rota.engine.view.reservations()[0].state == "ACTIVE"


def test_associations_with_the_accounts_above() -> None:
    ones = [
        Association(id=1, account="root"),
        Association(id=2, account="phys", parent_id=1, shares_raw=3),
        Association(id=3, account="chem", parent_id=1, shares_raw=1),
        Association(id=4, account="phys", user="ann", parent_id=2),
        Association(id=5, account="phys", user="bob", parent_id=2),
    ]
    tree = AssociationTree("cluster", ones)
    with Harness(cluster(cpus=2), priority="priority/multifactor", associations=tree) as rota:
        job = rota.submit(user="ann", account="phys", hold=True)
        view = rota.engine.view
        own, above = view.associations_of(job.job_id)
        assert (own.association.user, own.depth, view.target_share(own.association)) == ("ann", 2, 0.375)
        assert (above.association.account, above.depth, view.target_share(above.association)) == ("phys", 1, 0.75)
        assert [one.depth for one in view.associations()] == [0, 1, 1, 2, 2]
        assert [one.association.account for one in view.associations(users=False)] == ["root", "chem", "phys"]
        usage = view.usage()
        assert view.keeps_usage
        assert usage is not None
        assert len(usage["associations"]) == 5


def test_statistics_of_main_passes_cycles_and_plugins() -> None:
    with Harness(cluster(cpus=1, SchedulerParameters="bf_interval=30"), sched="sched/backfill") as rota:
        rota.submit(limit=600)
        rota.submit()
        rota.wait(70)
        rota.tick()
        found = rota.engine.view.statistics()
        assert (found.now, found.boot_time, found.jobs) == (70, 0, {"RUNNING": 1, "PENDING": 1})
        assert (found.events, found.passes) == (rota.engine.events, rota.engine.passes)
        assert (found.main.jobs_started, found.faults) == (1, {})
        assert found.main.exits[END_OF_QUEUE] == found.main.cycles
        assert found.backfill is not None
        assert (found.backfill.cycles, found.backfill.last_queue_length, found.backfill.jobs_started) == (1, 1, 0)
        before = found.main.cycles
        rota.run_pass()
        assert found.main.cycles == before


@pytest.mark.parametrize("kept", [None, "many", {"cycles": 1}])
def test_what_else_a_plugin_calls_statistics_is_left_out(kept: object) -> None:
    def fail() -> int:
        raise ValueError

    fields: Mapping[str, Any] = {"statistics": kept, "slurm_sched_p_schedule": fail}
    with Harness(sched=scheduler(**fields)) as rota:
        rota.submit()
        found = rota.engine.view.statistics()
        assert found.backfill is None
        assert list(found.faults.values()) == [1]
        assert next(iter(found.faults)).endswith(": slurm_sched_p_schedule")
