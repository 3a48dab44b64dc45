"""The cluster's clock, with clocks that are set by hand."""

from __future__ import annotations

from rota.controller.clock import ClusterClock


class _Machine:
    """A machine's clocks."""

    def __init__(self) -> None:
        self.wall = 1_000_000.0
        self.monotonic = 50.0

    def pass_time(self, seconds: float, *, wall: float | None = None) -> None:
        """Let time pass; the wall clock may show something else."""
        self.monotonic += seconds
        self.wall += seconds if wall is None else wall

    def clock(self, before: ClusterClock | None = None, *, boot_id: str = "a", last: int = 0) -> ClusterClock:
        """Make a cluster's clock, after a restart if there was one before."""
        saved = None if before is None else before.save()
        return ClusterClock(saved, last=last, wall=lambda: self.wall, monotonic=lambda: self.monotonic, boot_id=boot_id)


def test_a_wall_clock_that_is_set_changes_nothing() -> None:
    machine = _Machine()
    clock = machine.clock()
    machine.pass_time(10, wall=-3600)
    assert clock.now() == 1_000_010
    machine.pass_time(10, wall=7200)
    assert clock.now() == 1_000_020
    assert clock.at(machine.wall) == 1_000_020
    assert clock.until(1_000_025) == 5


def test_it_goes_on_over_a_restart_of_the_controller() -> None:
    machine = _Machine()
    clock = machine.clock()
    machine.pass_time(100, wall=-500)
    again = machine.clock(clock)
    assert (again.now(), again.was_booted) == (1_000_100, False)


def test_it_never_goes_back_over_a_reboot() -> None:
    machine = _Machine()
    clock = machine.clock()
    machine.pass_time(100)
    machine.monotonic, machine.wall = 3.0, 900_000.0
    again = machine.clock(clock, boot_id="b", last=1_000_090)
    assert (again.now(), again.was_booted) == (1_000_090, True)
    machine.pass_time(5)
    assert again.now() == 1_000_095


def test_it_catches_up_with_a_wall_clock_that_is_ahead() -> None:
    machine = _Machine()
    clock = machine.clock()
    machine.pass_time(1, wall=8 * 3600)  # the machine slept
    assert clock.now() == 1_000_001
    assert clock.catch_up()
    assert clock.now() == 1_000_000 + 8 * 3600
    machine.pass_time(1, wall=-100)
    assert not clock.catch_up()
    assert clock.now() == 1_000_001 + 8 * 3600
