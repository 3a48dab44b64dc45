"""The cluster's clock, with clocks that are set by hand."""

from __future__ import annotations

import pytest

from rota.controller.clock import ClusterClock

_HOUR, _DAY, _YEAR = 3_600, 86_400, 365 * 86_400
#: Wall clocks show this at first: 2027.
_BEGIN = 1_800_000_000


class _Machine:
    """A machine's clocks."""

    def __init__(self, wall: float = _BEGIN) -> None:
        self.wall = wall
        self.monotonic = 1_000.0
        self.slept = 0.0

    def pass_time(self, seconds: float, *, wall: float | None = None) -> None:
        """Let time pass; the wall clock may show something else."""
        self.monotonic += seconds
        self.wall += seconds if wall is None else wall

    def clock(
        self, before: ClusterClock | None = None, *, boot_id: str = "a", last: int = 0, idle: bool = False
    ) -> ClusterClock:
        """Make a cluster's clock, after a restart if there was one before."""
        return ClusterClock(
            None if before is None else before.save(),
            last=last,
            may_go_back=idle,
            wall=lambda: self.wall,
            monotonic=lambda: self.monotonic,
            slept=lambda: self.slept,
            boot_id=boot_id,
        )

    def until_it_catches_up(self, clock: ClusterClock, patience: float) -> float | None:
        """Let time pass until an idle cluster has caught up; give how long that took, ``None``: longer."""
        begun = self.monotonic
        while not clock.catch_up(idle=True):
            if self.monotonic > begun + patience:
                return None
            self.pass_time(2)
        return self.monotonic - begun


def test_a_wall_clock_that_is_set_changes_nothing() -> None:
    machine = _Machine()
    clock = machine.clock()
    machine.pass_time(10, wall=-3600)
    assert clock.now() == _BEGIN + 10
    machine.pass_time(10, wall=7200)
    assert clock.now() == _BEGIN + 20
    assert clock.at(machine.wall) == _BEGIN + 20
    assert clock.until(_BEGIN + 25) == 5


def test_it_goes_on_over_a_restart_of_the_controller() -> None:
    machine = _Machine()
    clock = machine.clock()
    machine.pass_time(100, wall=-500)
    again = machine.clock(clock)
    assert (again.now(), again.was_booted) == (_BEGIN + 100, False)


def test_it_never_goes_back_over_a_reboot() -> None:
    machine = _Machine()
    clock = machine.clock()
    machine.pass_time(100)
    machine.monotonic, machine.wall = 3.0, _BEGIN - 100_000.0
    again = machine.clock(clock, boot_id="b", last=_BEGIN + 90)
    assert (again.now(), again.was_booted) == (_BEGIN + 90, True)
    machine.pass_time(5)
    assert again.now() == _BEGIN + 95


def test_it_catches_up_at_once_with_a_machine_that_slept() -> None:
    machine = _Machine()
    clock = machine.clock()
    machine.slept += 8 * _HOUR
    machine.pass_time(1, wall=8 * _HOUR)
    assert clock.now() == _BEGIN + 1
    assert not clock.catch_up(idle=False)
    assert clock.catch_up(idle=True)
    assert clock.now() == _BEGIN + 8 * _HOUR
    machine.pass_time(1, wall=-100)
    assert not clock.catch_up(idle=True)
    assert clock.now() == _BEGIN + 1 + 8 * _HOUR
    machine.pass_time(1, wall=20 * _HOUR)  # what was slept before explains nothing any more
    assert not clock.catch_up(idle=True)


def test_what_was_slept_is_known_over_a_restart() -> None:
    machine = _Machine()
    clock = machine.clock()
    machine.slept += _DAY
    machine.pass_time(1, wall=_DAY)
    assert machine.clock(clock).catch_up(idle=True)
    assert not machine.clock(clock).catch_up(idle=False)


@pytest.mark.parametrize("seconds", [15, 50, 600, 3_000])
def test_a_wall_clock_that_is_years_ahead_for_a_while_takes_nothing_along(seconds: int) -> None:
    machine = _Machine()
    clock = machine.clock()
    machine.pass_time(0, wall=10 * _YEAR)
    assert machine.until_it_catches_up(clock, seconds) is None
    machine.pass_time(0, wall=-10 * _YEAR)
    assert machine.until_it_catches_up(clock, 2 * _DAY) is None
    assert abs(clock.ahead) < 1


@pytest.mark.parametrize(("ahead", "least", "most"), [(60, 60, 64), (_DAY, 140, 150), (10 * _YEAR, 3_600, 3_604)])
def test_it_catches_up_with_one_that_goes_on_from_there(ahead: int, least: int, most: int) -> None:
    machine = _Machine()
    clock = machine.clock()
    machine.pass_time(0, wall=ahead)
    found = machine.until_it_catches_up(clock, _DAY)
    assert found is not None
    assert least <= found <= most
    assert abs(clock.ahead) < 1


def test_one_that_jumps_again_and_again_is_not_believed() -> None:
    machine = _Machine()
    clock = machine.clock()
    for _ in range(2_000):
        machine.pass_time(10, wall=60)
        assert not clock.catch_up(idle=True)


def test_a_machine_that_gets_the_time_after_it_was_booted_gives_it_on_at_once() -> None:
    machine = _Machine(wall=12.0)  # 1970
    clock = machine.clock()
    machine.pass_time(30)
    assert not clock.catch_up(idle=True)
    machine.pass_time(1, wall=float(_BEGIN))
    assert clock.catch_up(idle=True)
    assert clock.now() == _BEGIN + 42


def test_it_comes_back_from_another_year_when_a_controller_is_started_and_no_job_runs() -> None:
    machine = _Machine()
    machine.wall += 10 * _YEAR
    clock = machine.clock()
    machine.pass_time(100, wall=100 - 10 * _YEAR)
    last = clock.now() - 5
    assert machine.clock(clock, last=last).now() == clock.now()  # a job runs
    again = machine.clock(clock, last=last, idle=True)
    assert (again.now(), again.went_back) == (_BEGIN + 100, 10 * _YEAR)
    assert machine.clock(again).now() == _BEGIN + 100


def test_it_does_not_go_back_to_a_time_that_cannot_be() -> None:
    machine = _Machine()
    clock = machine.clock()
    machine.pass_time(100, wall=-_BEGIN)  # 1970
    assert machine.clock(clock, idle=True).now() == _BEGIN + 100
    machine.monotonic, machine.wall = 20.0, _BEGIN - 3.0 * _DAY  # just booted: it has not asked for the time yet
    assert machine.clock(clock, boot_id="b", last=_BEGIN, idle=True).now() == _BEGIN
    machine.monotonic, machine.wall = 2_000.0, _BEGIN - 5.0  # and not for a few seconds
    assert machine.clock(clock, boot_id="b", last=_BEGIN, idle=True).now() == _BEGIN
