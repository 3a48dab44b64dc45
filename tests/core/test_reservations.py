"""Advance reservations, by the rules of scontrol's manual page; more in data/real_slurm/reservations.txt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rota.core import events as ev
from rota.inspect.start_estimate import estimate_start
from rota.model import Errno, JobState, Node, NodeState, Reason
from rota.model.reservation import Reservation
from rota.testing import Harness, cluster, partition

if TYPE_CHECKING:
    from rota.core.job import Job

SCHEDULERS = ("sched/builtin", "sched/backfill", "sched/easy", "sched/conservative")


def reserve(rota: Harness, name: str = "maint", *, nodes: int = 0b11, start: int = 1000, end: int = 2000,
            users: tuple[str, ...] = ("root",), flags: tuple[str, ...] = ()) -> None:  # fmt: skip
    one = Reservation(name=name, nodes=nodes, start_time=start, end_time=end, users=users, flags=frozenset(flags))
    rota.send(ev.CreateReservation(reservation=one))
    assert not rota.refused


@pytest.mark.parametrize("sched", SCHEDULERS)
def test_a_job_that_would_reach_into_a_reservation_gets_other_nodes_or_waits(sched: str) -> None:
    with Harness(cluster(nodes=3), sched=sched) as rota:
        reserve(rota)
        short, long = rota.submit(nodes=2, limit=1000, run=1000), rota.submit(nodes=1, limit=1001)
        assert (short.alloc_nodes, long.alloc_nodes) == (0b011, 0b100)
        waits = rota.submit(nodes=1, limit=600)
        rota.until(500)
        assert waits.state is JobState.PENDING
        rota.until(1500)
        # The third node comes free at 1001; the others only when the reservation is over.
        assert (waits.start_time, waits.alloc_nodes) == (1001, 0b100)


@pytest.mark.parametrize("sched", SCHEDULERS)
def test_what_needs_the_reserved_nodes_starts_when_it_is_over(sched: str) -> None:
    with Harness(cluster(nodes=2), sched=sched) as rota:
        reserve(rota)
        job = rota.submit(nodes=1, limit=1500)
        rota.until(1999)
        planned = {"sched/builtin": None, "sched/backfill": 2040}  # the one plans nothing, the other on its grid
        assert (job.state, job.planned_start) == (JobState.PENDING, planned.get(sched, 2000))
        rota.until(2060)
        assert job.state is JobState.RUNNING
        assert job.start_time == 2000 or sched == "sched/backfill"


@pytest.mark.parametrize("sched", SCHEDULERS)
def test_a_job_runs_in_its_reservation_and_ends_within(sched: str) -> None:
    with Harness(cluster(nodes=3), sched=sched) as rota:
        reserve(rota, users=("ann",))
        rota.submit(user="bob", nodes=1, limit=5000)
        job = rota.submit(user="ann", nodes=1, limit=600, reservation="maint")
        long = rota.submit(user="ann", nodes=1, limit=3000, reservation="maint")
        assert rota.reason(job) is Reason.RESERVATION
        rota.until(1000)
        assert (job.state, job.start_time, job.alloc_nodes) == (JobState.RUNNING, 1000, 0b001)
        assert (long.state, long.alloc_nodes) == (JobState.RUNNING, 0b010)
        rota.until(2000)
        assert (long.state, long.end_time) == (JobState.TIMEOUT, 2000)


def test_a_flexible_reservation_lets_its_jobs_begin_before_and_outside() -> None:
    """Backfill starts one with more nodes than the reservation: FLEX in data/real_slurm/reservations.txt."""
    with Harness(cluster(nodes=3), sched="sched/backfill") as rota:
        reserve(rota, users=("ann",), flags=("FLEX",))
        job = rota.submit(user="ann", nodes=3, cpus=3, limit=5000, reservation="maint")
        assert (job.state, job.reason) == (JobState.PENDING, Reason.NONE)
        rota.until(30)
        assert (job.state, job.start_time) == (JobState.RUNNING, 30)


def test_a_job_whose_reservation_is_over_is_held_until_somebody_releases_it() -> None:
    parts = [partition("a"), partition("b")]
    with Harness(cluster(nodes=2, partitions=parts)) as rota:
        reserve(rota, users=("ann",))
        rota.submit(user="ann", nodes=2, cpus=2, limit=2000, reservation="maint")
        jobs = [
            rota.submit(user="ann", nodes=2, cpus=2, limit=900, reservation="maint", **more)
            for more in ({"partition": "a,b"}, {"hold": True}, {"begin": 5000})
        ]
        rota.until(2000)
        lines = [rota.engine.view.line(job) for job in jobs]
        assert {(line.state, line.state_compact) for line in lines} == {("RESV_DEL_HOLD", "RD")}
        rota.restart()
        for job in jobs:
            assert (rota.job(job.job_id).priority, rota.reason(job.job_id)) == (0, Reason.RESERVATION_DELETED)
            rota.release(job.job_id, by_user=True)
        starts = [rota.job(job.job_id) for job in jobs]
        lines = [rota.engine.view.line(job) for job in starts]
        assert [(line.state_compact, line.request.reservation) for line in lines] == [("R", ""), ("PD", ""), ("PD", "")]
        rota.cancel(starts[2])
        assert rota.finished[-1].state is JobState.CANCELLED


def test_a_job_changes_to_a_reservation_that_there_is() -> None:
    with Harness(cluster(nodes=2)) as rota:
        reserve(rota, start=0, users=("ann",))
        job = rota.submit(user="ann", nodes=1, limit=600)
        rota.send(ev.UpdateJob(job_id=job.job_id, changes={"reservation": "nowhere"}))
        assert [one.errno for one in rota.refused] == [Errno.RESERVATION_INVALID]
        rota.send(ev.UpdateJob(job_id=job.job_id, changes={"reservation": "maint"}))
        assert job.state is JobState.RUNNING


def test_what_runs_in_a_reservation_that_comes_again_goes_on() -> None:
    with Harness(cluster(nodes=1)) as rota:
        reserve(rota, nodes=1, users=("ann",), flags=("HOURLY",))
        job = rota.submit(user="ann", nodes=1, limit=3000, reservation="maint")
        rota.until(2500)
        assert (job.state, job.end_time) == (JobState.RUNNING, 4000)


def test_nodes_that_are_chosen_are_kept_unless_they_go_down() -> None:
    with Harness(cluster(nodes=4)) as rota:
        rota.submit(nodes=1, limit=5000)
        one = Reservation(name="r", nodes=0b1111, node_cnt=2, start_time=100, end_time=200, flags=frozenset(["HOURLY"]))
        rota.send(ev.CreateReservation(reservation=one))
        seen = [rota.engine.view.reservations()[0].nodes]
        rota.until(200)
        for name, state in (("n1", NodeState.DRAIN), ("n2", NodeState.DOWN), ("n1", NodeState.UP)):
            rota.restart()
            rota.node(name, state)
            seen.append(rota.engine.view.reservations()[0].nodes)
        # There is no third one when n2 goes down too; then n1 takes its place.
        assert seen == [("n1", "n2"), ("n2", "n3"), ("n2", "n3"), ("n1", "n3")]


@pytest.mark.parametrize("features", ["nosuch", "a&nosuch", "a*2", "[a|b]", "a&", "(a"])
def test_features_of_nodes_to_choose_from_are_known(features: str) -> None:
    nodes = [Node(name=f"n{place}", features=("a", "b")) for place in range(2)]
    with Harness(cluster(nodes=nodes)) as rota:
        one = Reservation(name="r", nodes=0b11, node_cnt=1, features=features, start_time=100, end_time=200)
        rota.send(ev.CreateReservation(reservation=one))
        assert [refused.errno for refused in rota.refused] == [Errno.INVALID_FEATURE]


@pytest.mark.parametrize(("limit", "planned"), [(1740, 7200), (1860, None), (1000 * 3600, None)])
def test_a_job_that_never_fits_between_two_times_has_no_planned_start(limit: int, planned: int | None) -> None:
    """The nodes are reserved for the second half of every hour; until the first such time they are in use."""
    with Harness(cluster(nodes=2), sched="sched/backfill") as rota:
        rota.submit(nodes=2, limit=1700)
        reserve(rota, start=1800, end=3600, flags=("HOURLY",))
        rota.submit(nodes=2, limit=1740)
        job = rota.submit(nodes=2, limit=limit)
        rota.until(60)
        # The one before it has the first half of the second hour.
        assert (job.planned_start, estimate_start(rota.engine.view, job.job_id).start) == (planned, planned)


def test_a_reservation_beyond_the_window_of_backfill_is_heeded() -> None:
    config = cluster(nodes=2, SchedulerParameters="bf_window=60,bf_interval=30")
    with Harness(config, sched="sched/backfill") as rota:
        reserve(rota, start=10_000, end=20_000)
        rota.submit(nodes=2, limit=600)
        job = rota.submit(nodes=2, limit=9_460)  # plans end at full minutes
        rota.until(60)
        assert (job.state, job.planned_start) == (JobState.PENDING, None)


def test_it_comes_again() -> None:
    with Harness(cluster(nodes=2), sched="sched/builtin") as rota:
        reserve(rota, end=1500, flags=("HOURLY",))
        rota.until(1600)
        starts: list[Job] = [rota.submit(nodes=2, cpus=2, limit=3000), rota.submit(nodes=2, cpus=2, limit=3001)]
        assert (starts[0].state, starts[1].state) == (JobState.RUNNING, JobState.PENDING)  # the next is from 4600
        rota.end(starts[0])
        rota.until(5099)
        assert rota.queue == [starts[1].job_id]
        rota.until(5100)
        assert starts[1].start_time == 5100


def test_who_may_use_it() -> None:
    one = Reservation(name="r", nodes=1, start_time=0, end_time=9, users=("ann",), accounts=("phys",))
    assert one.allows("ann", ["phys", "root"])
    assert not one.allows("ann", ["chem", "root"])
    assert not one.allows("bob", ["phys"])
    others = Reservation(name="r", nodes=1, start_time=0, end_time=9, users=("-bob",))
    assert (others.allows("ann", ["x"]), others.allows("bob", ["x"])) == (True, False)


@pytest.mark.parametrize(
    ("fields", "errno"),
    [
        ({"reservation": "nowhere"}, Errno.RESERVATION_INVALID),
        ({"reservation": "maint", "user": "bob"}, Errno.RESERVATION_ACCESS),
    ],
)
def test_jobs_that_are_refused(fields: dict[str, Any], errno: Errno) -> None:
    with Harness(cluster(nodes=2)) as rota:
        reserve(rota)
        with pytest.raises(Exception, match="reservation") as caught:
            rota.submit(**fields)
        assert caught.value.errno is errno  # type: ignore[attr-defined] # a RequestError


@pytest.mark.parametrize(
    ("fields", "errno"),
    [
        ({"name": "maint", "start": 3000, "end": 4000}, Errno.RESERVATION_NAME_DUP),
        ({"start": 1500, "end": 2500}, Errno.RESERVATION_OVERLAP),
        ({"start": 100, "end": 900}, Errno.NODES_BUSY),
        ({"end": 1000}, Errno.RESERVATION_INVALID),
    ],
)
def test_reservations_that_are_refused(fields: dict[str, Any], errno: Errno) -> None:
    with Harness(cluster(nodes=2)) as rota:
        rota.submit(nodes=1, limit=500)
        reserve(rota)
        given: dict[str, Any] = {"name": "other", "start": 1000, "end": 2000} | fields
        one = Reservation(name=given["name"], nodes=0b11, start_time=given["start"], end_time=given["end"])
        rota.send(ev.CreateReservation(reservation=one))
        assert [refused.errno for refused in rota.refused] == [errno]


def test_a_reservation_with_jobs_is_not_deleted() -> None:
    with Harness(cluster(nodes=2)) as rota:
        reserve(rota, users=("ann",))
        rota.submit(user="ann", nodes=1, limit=100, reservation="maint")
        rota.restart()
        rota.send(ev.DeleteReservation(name="maint"))
        assert [one.errno for one in rota.refused] == [Errno.RESERVATION_BUSY]
        rota.cancel(1)
        rota.send(ev.DeleteReservation(name="maint"))
        assert rota.submit(nodes=2, cpus=2, limit=5000).state is JobState.RUNNING


def test_jobs_that_need_reserved_nodes_say_so() -> None:
    with Harness(cluster(nodes=2)) as rota:
        reserve(rota)
        assert rota.reason(rota.submit(nodes=2, cpus=2, limit=5000)) is Reason.REQ_NODE_NOT_AVAIL


@pytest.mark.parametrize("nodes", [0b100, -1, 1 << 200])
@pytest.mark.parametrize("field", ["nodes", "choice"])
def test_nodes_that_there_are_not_cannot_be_reserved(field: str, nodes: int) -> None:
    with Harness(cluster(nodes=2)) as rota:
        places: dict[str, Any] = {"nodes": 0b11, "flags": frozenset(["IGNORE_JOBS"])} | {field: nodes}
        one = Reservation(name="r", start_time=10, end_time=20, **places)
        rota.send(ev.CreateReservation(reservation=one))
        assert [refused.errno for refused in rota.refused] == [Errno.INVALID_NODE_NAME]


@pytest.mark.parametrize(
    ("start", "end"), [(1000, 2000), (-(2**60), 2**60), pytest.param(-(2**60), 1, marks=pytest.mark.slow)]
)
def test_estimates_end_although_a_reservation_never_does(start: int, end: int) -> None:
    config = cluster(nodes=2, SchedulerParameters="bf_interval=30")
    with Harness(config, sched="sched/builtin") as rota:
        one = Reservation(
            name="r", start_time=start, end_time=end, nodes=1, users=("ann",), flags=frozenset(["HOURLY"])
        )
        rota.send(ev.CreateReservation(reservation=one))
        rota.submit(nodes=2, limit=600)
        job = rota.submit(nodes=1, limit=60)
        rota.until(30)
        assert job.planned_start is None or job.planned_start >= 0


def test_conservative_backfilling_plans_anew_when_a_reservation_goes() -> None:
    with Harness(cluster(nodes=1), sched="sched/conservative") as rota:
        reserve(rota, nodes=1, start=100, end=5000)
        job = rota.submit(nodes=1, limit=600)
        assert job.planned_start == 5000
        rota.send(ev.DeleteReservation(name="maint"))
        assert job.start_time == 0
