"""Flags of advance reservations: recurring, purged, of a partition, magnetic; more in data/real_slurm/magnetic.txt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rota.core import events as ev
from rota.model import JobState
from rota.model.reservation import Reservation
from rota.testing import Harness, cluster, partition

from .test_reservations import reserve


@pytest.mark.parametrize(("every", "step"), [("HOURLY", 3600), ("DAILY", 86400), ("WEEKLY", 7 * 86400)])
def test_times_of_a_reservation_that_comes_again(every: str, step: int) -> None:
    one = Reservation(name="r", nodes=1, start_time=1000, end_time=2000, flags=frozenset({every}))
    times = [(start, start + length) for start in range(0, 3 * step, step // 7) for length in (1, 500, step // 2)]
    for start, end in times:
        naive = any(1000 + k * step < end and 2000 + k * step > start for k in range(6))
        assert one.overlaps(start, end) is naive, (start, end)


@pytest.mark.parametrize(
    ("flags", "starts"),
    [
        # scontrol's manual page: each weekday (Monday to Friday), each weekend day; a first time may be on another.
        ({"WEEKDAY"}, "Sat 5 Mon 7 Tue 8 Wed 9 Thu 10 Fri 11 Mon 14"),
        ({"WEEKEND"}, "Sat 5 Sun 6 Sat 12 Sun 13"),
        ({"WEEKDAY", "WEEKEND"}, "Sat 5 Sun 6 Mon 7 Tue 8 Wed 9 Thu 10 Fri 11 Sat 12 Sun 13 Mon 14"),
    ],
)
def test_a_reservation_comes_again_on_some_days_of_the_week(flags: set[str], starts: str) -> None:
    days = [int(day) for day in starts.split()[1::2]]  # of December 2026
    first = 1796425200  # Friday 4 at 23:00 in UTC is Saturday at noon where the clocks are 13 hours ahead
    begins = [first + (day - 5) * 86400 for day in days]
    with Harness(cluster(nodes=1), now=first - 1000) as rota:
        rota.engine.cluster.reservations._utc_offset = lambda _: 13 * 3600
        reserve(rota, nodes=1, start=first, end=first + 3600, flags=tuple(flags))
        one = rota.engine.view.reservation("maint")
        assert one is not None
        for hour in range(-24, 9 * 24):
            begin = first + hour * 3600
            assert one.overlaps(begin, begin + 3600) is (begin in begins), hour
        for begin in begins:
            rota.until(begin)
            assert [line.start_time for line in rota.engine.view.reservations()] == [begin]


def test_a_reservation_that_is_purged_ends_some_time_after_its_last_job() -> None:
    with Harness(cluster(nodes=2)) as rota:
        for name, nodes in (("idle", 0b01), ("used", 0b10)):
            one = Reservation(
                name=name, nodes=nodes, start_time=100, end_time=9000, users=("ann",), flags=frozenset({"PURGE_COMP"}),
                purge_after=300,
            )  # fmt: skip
            rota.send(ev.CreateReservation(reservation=one))
        rota.submit(user="ann", nodes=1, limit=1000, run=500, reservation="used")
        names = {time: _reservations_at(rota, time) for time in (399, 400, 899, 900)}
        assert names == {399: {"idle", "used"}, 400: {"used"}, 899: {"used"}, 900: set()}


def test_a_reservation_is_not_purged_while_jobs_wait_for_it() -> None:
    """Idle is one without jobs associated with it, says scontrol's manual page."""
    flags = frozenset({"PURGE_COMP"})
    with Harness(cluster(nodes=1)) as rota:
        one = Reservation(
            name="r", nodes=1, start_time=0, end_time=9000, users=("ann",), flags=flags, purge_after=300
        )  # fmt: skip
        rota.send(ev.CreateReservation(reservation=one))
        first, second = (rota.submit(user="ann", nodes=1, begin=5000, reservation="r") for _ in range(2))
        assert _reservations_at(rota, 1000) == {"r"}
        rota.send(ev.Cancel(job_id=first.job_id))
        assert _reservations_at(rota, 2000) == {"r"}
        rota.restart()
        rota.send(ev.UpdateJob(job_id=second.job_id, changes={"reservation": ""}))
        names = {time: _reservations_at(rota, time) for time in (2299, 2300)}
        assert names == {2299: {"r"}, 2300: set()}


def test_a_reservation_is_not_purged_while_a_job_of_its_own_is_suspended() -> None:
    with Harness(cluster(nodes=1)) as rota:
        one = Reservation(
            name="r", nodes=1, start_time=0, end_time=9000, users=("ann",), flags=frozenset({"PURGE_COMP"}),
            purge_after=300,
        )  # fmt: skip
        rota.send(ev.CreateReservation(reservation=one))
        job = rota.submit(user="ann", nodes=1, limit=1000, reservation="r")
        rota.send(ev.Suspend(job_id=job.job_id))
        assert _reservations_at(rota, 2000) == {"r"}


def test_a_reservation_that_is_purged_comes_again() -> None:
    with Harness(cluster(nodes=1)) as rota:
        one = Reservation(
            name="r", nodes=1, start_time=100, end_time=3000, users=("ann",), flags=frozenset({"PURGE_COMP", "DAILY"}),
            purge_after=300,
        )  # fmt: skip
        rota.send(ev.CreateReservation(reservation=one))
        rota.until(399)
        rota.restart()
        rota.until(400)
        found = rota.engine.view.reservation("r")
        assert found is not None
        assert (found.start_time, found.end_time) == (100 + 86400, 3000 + 86400)


def _reservations_at(rota: Harness, time: int) -> set[str]:
    rota.until(time)
    return {line.name for line in rota.engine.view.reservations()}


def test_a_reservation_of_a_partition_has_its_nodes() -> None:
    part = partition("part", nodes=range(2))
    with Harness(cluster(nodes=4, partitions=[partition("all"), part])) as rota:
        flags = frozenset({"SPEC_NODES", "PART_NODES"})
        one = Reservation(
            name="r", nodes=0b11, start_time=0, end_time=9000, users=("ann",), flags=flags, partition="part"
        )
        rota.send(ev.CreateReservation(reservation=one))
        for nodes in (0b1110, 0b1):
            rota.send(ev.UpdatePartition(name="part", partition=replace(part, nodes=nodes)))
            found = rota.engine.view.reservation("r")
            assert found is not None
            assert found.nodes == nodes


def test_an_attracted_job_stays_so_through_a_restart_and_not_when_it_is_requeued() -> None:
    with Harness(cluster(nodes=2)) as rota:
        reserve(rota, nodes=0b10, start=0, users=("ann",), flags=("MAGNETIC",))
        job = rota.submit(user="ann", nodes=1, limit=600)
        rota.restart()
        line = rota.engine.view.line(rota.job(job.job_id))
        assert (line.nodes, line.request.reservation) == (("n1",), "maint")
        rota.send(ev.Requeue(job_id=job.job_id))
        rota.until(rota.now + 1)
        assert rota.engine.view.line(rota.job(job.job_id)).request.reservation == "maint"  # it was attracted again
        rota.send(ev.UpdateReservation(reservation=_without(rota, "MAGNETIC")))
        rota.send(ev.Requeue(job_id=job.job_id))
        rota.until(rota.now + 1)
        line = rota.engine.view.line(rota.job(job.job_id))
        assert (line.nodes, line.request.reservation) == (("n0",), "")


@pytest.mark.parametrize("option", ["default_queue_depth=1", "sched_max_job_start=1", "partition_job_depth=1"])
def test_a_job_names_what_attracts_it_in_the_pass_alone(option: str) -> None:
    parts = [partition("a"), partition("b")]
    config = cluster(nodes=3, partitions=parts, SchedulerParameters=option)
    with Harness(config) as rota:
        reserve(rota, nodes=0b100, start=0, users=("ann",), flags=("MAGNETIC",))
        rota.submit(user="ann", nodes=1, limit=600)
        rota.submit(user="bob", nodes=2, cpus=2, limit=600)
        waiting = [rota.submit(user="ann", nodes=1, limit=600, partition=names) for names in ("a", "a,b", "b,a")]
        for job in waiting:
            rota.engine.check_invariants()
            assert [rota.job(one.job_id).spec.reservation for one in waiting] == ["", "", ""]
            rota.until(rota.now + 1)
            assert job.state is JobState.PENDING
        rota.until(600)
        running = [job for job in waiting if job.state is JobState.RUNNING]
        assert running


def test_a_job_is_not_attracted_in_a_partition_where_it_can_never_run() -> None:
    parts = [partition("a"), partition("b", deny_accounts=("lab",))]
    with Harness(cluster(nodes=2, partitions=parts)) as rota:
        reserve(rota, nodes=0b10, start=0, users=("ann",), flags=("MAGNETIC",))
        running = [rota.submit(user="bob", nodes=1, limit=600), rota.submit(user="ann", nodes=1, limit=600)]
        waiting = rota.submit(user="ann", account="lab", nodes=1, limit=600, partition="a,b")
        rota.until(rota.now + 1)
        assert [job.state for job in (*running, waiting)] == [JobState.RUNNING, JobState.RUNNING, JobState.PENDING]
        rota.until(601)
        assert (waiting.state, waiting.partition.name) == (JobState.RUNNING, "a")


def _without(rota: Harness, flag: str) -> Reservation:
    one = rota.engine.view.reservation("maint")
    assert one is not None
    return replace(one, flags=one.flags - {flag})
