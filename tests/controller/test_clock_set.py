"""A live cluster whose machine's wall clock is set: libfaketime (Debian: faketime) sets it, for the real programs.

A machine that sleeps looks the same to a program: the wall clock is ahead, and the monotonic one is not.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_HOUR = 3600
_CONF = "NodeName=n1 CPUs=4\nPartitionName=p Nodes=ALL Default=YES\nKillWait=1\nSelectTypeParameters=CR_Core\n"


def _library() -> str | None:
    """Give the path of the library that sets clocks; ``None``: it is not here."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    return str(found[0]) if found else None


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_library() is None, reason="Debian's faketime is not installed"),
]


class _Machine:
    """A cluster and the wall clock of its programs."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.set_clock(0)
        self.cluster = LiveCluster(folder, _CONF)

    def set_clock(self, offset: int) -> None:
        """Set the wall clock to the real time plus some seconds."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{offset:+d}\n")
        new.replace(self._file)

    def up(self) -> None:
        """Start the controller and, if there is none, the supervisor."""
        environment = {
            "LD_PRELOAD": _library() or "",
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.cluster.run(
            sys.executable, "-m", "rota", "up", "--config", str(self.cluster.conf), environment=environment
        )

    def field(self, job_id: int, name: str) -> str:
        """Give a field of a job: times as Unix seconds."""
        words = ("sacct", "-X", "-n", "-P", "-j", str(job_id), "-o", name)
        return self.cluster.run(*words, environment={"SLURM_TIME_FORMAT": "%s"}).stdout.strip()

    def until(self, job_id: int, state: str) -> None:
        """Wait until a job is in a state."""
        self.cluster.wait(lambda: self.field(job_id, "State") == state)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[_Machine]:
    found = _Machine(tmp_path)
    found.up()
    try:
        yield found
    finally:
        found.cluster.rota("down", "--jobs", "cancel")


def test_limits_and_begins_do_not_notice(machine: _Machine) -> None:
    submit = machine.cluster.submit
    stays = submit("-o", "/dev/null", "-t", "60", "--wrap", "while [ ! -e end ]; do sleep 0.05; done")
    over = submit("-o", "/dev/null", "-t", "1", "--wrap", "sleep 1000")
    later = submit("-o", "/dev/null", "--begin=now+3", "--wrap", "exit 5")
    machine.until(stays, "RUNNING")
    machine.set_clock(-2 * _HOUR)
    set_back = submit("-o", "/dev/null", "--wrap", "exit 6")
    machine.until(later, "FAILED")
    machine.until(set_back, "FAILED")
    machine.set_clock(30 * _HOUR)
    set_ahead = submit("-o", "/dev/null", "--wrap", "exit 7")
    machine.until(set_ahead, "FAILED")
    machine.until(over, "TIMEOUT")
    assert machine.field(stays, "State") == "RUNNING"
    (machine.cluster.directory / "end").touch()
    machine.until(stays, "COMPLETED")
    assert [machine.field(job, "ExitCode") for job in (later, set_back, set_ahead)] == ["5:0", "6:0", "7:0"]
    assert 60 <= int(machine.field(over, "ElapsedRaw")) < _HOUR
    for job in (stays, over, later, set_back, set_ahead):
        submitted, start, end = (int(machine.field(job, name)) for name in ("Submit", "Start", "End"))
        assert submitted <= start <= end < time.time() + _HOUR  # the cluster's time, not the wall clock's
        assert end - submitted < _HOUR


def test_the_clock_is_set_back_while_there_is_no_controller(machine: _Machine) -> None:
    first = machine.cluster.submit("-o", "/dev/null", "--wrap", "while [ ! -e end ]; do sleep 0.05; done; exit 7")
    machine.until(first, "RUNNING")
    machine.cluster.kill()
    machine.set_clock(-5 * _HOUR)
    machine.up()
    second = machine.cluster.submit("-o", "/dev/null", "--wrap", "exit 8")
    machine.until(second, "FAILED")
    (machine.cluster.directory / "end").touch()
    machine.until(first, "FAILED")
    assert [machine.field(job, "ExitCode") for job in (first, second)] == ["7:0", "8:0"]
    assert int(machine.field(first, "Submit")) <= int(machine.field(second, "Submit"))
    assert 0 <= int(machine.field(first, "ElapsedRaw")) < _HOUR


def test_an_idle_cluster_is_not_taken_along_by_a_clock_that_is_wrong_for_a_moment(machine: _Machine) -> None:
    waits = machine.cluster.submit("-o", "/dev/null", f"--begin=now+{_HOUR}", "--wrap", "exit 9")
    machine.set_clock(10 * 365 * 24 * _HOUR)
    time.sleep(15)
    machine.set_clock(0)
    time.sleep(5)
    assert abs(machine.cluster.status()["now"] - time.time()) < 60
    assert machine.field(waits, "State") == "PENDING"


def test_an_idle_cluster_catches_up_with_a_clock_that_goes_on_from_there(machine: _Machine) -> None:
    waits = machine.cluster.submit("-o", "/dev/null", f"--begin=now+{8 * _HOUR}", "--wrap", "exit 9")
    machine.set_clock(8 * _HOUR)
    machine.cluster.wait(lambda: machine.field(waits, "State") == "FAILED", patience=180)
    assert int(machine.field(waits, "Start")) >= time.time() + 7 * _HOUR
