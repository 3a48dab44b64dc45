"""An event with which the engine fails leaves nothing behind: the driver goes back to what is written down."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from rota.cli.serve import Booter
from rota.controller import driver as driver_module
from rota.controller import second_tries
from rota.controller.clock import ClusterClock
from rota.controller.driver import LiveDriver
from rota.core import Engine
from rota.core import events as ev
from rota.model import Errno, JobSpec
from rota.store import Database, make_or_upgrade
from rota.testing.builders import cluster as make_cluster

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from rota.core.effects import Effect, Refused

    #: Runs a test with a driver.
    Live = Callable[[Callable[["LiveDriver"], Awaitable[None]]], None]

#: An event, and the exceptions that the engine raises when it has handled it, one each time.
Faults = dict[type[Any], list[Exception]]


class _NoRuns:
    """Runs of which nothing becomes."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return (lambda *_: []) if name in {"choose", "ended", "finished", "requeued", "agree"} else (lambda *_: None)


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    """Have the engine fail with events after it has changed its state."""
    found: Faults = {}
    handle = Engine.handle

    def failing(engine: Engine, event: ev.Event, now: int) -> list[Effect]:
        effects = handle(engine, event, now)
        if left := found.get(type(event)):
            raise left.pop()
        return effects

    monkeypatch.setattr(Engine, "handle", failing)
    return found


@pytest.fixture
def log() -> list[str]:
    """What the administrator is told."""
    return []


@pytest.fixture
def live(tmp_path: Path, log: list[str]) -> Live:
    """Give a function that runs a test with a driver."""
    url = f"sqlite:///{tmp_path / 'rota.db'}"

    def run(test: Callable[[LiveDriver], Awaitable[None]]) -> None:
        async def work() -> None:
            make_or_upgrade(url, lambda _: None)
            clock, database = ClusterClock(), Database(url)
            booter, config = Booter(clock, log.append), make_cluster(nodes=1, cpus_per_node=4)
            driver = LiveDriver(database, clock, boot=booter, config=config, runs=_NoRuns(), log=log.append)
            driver.start()
            try:
                await asyncio.wait_for(test(driver), 20)
                driver.engine.check_invariants()
            finally:
                driver.close()
                booter.close()
                database.close()

        asyncio.run(work())

    return run


def _submit(driver: LiveDriver, name: str, *, hold: bool = False) -> Awaitable[Refused | None]:
    return driver.submit(ev.Submit(driver.next_job_id, JobSpec(name=name, num_cpus=1, time_limit=600, hold=hold)), [])


def _names(driver: LiveDriver) -> list[str]:
    return [job.spec.name for job in driver.engine.jobs.values()]


async def _until(condition: Callable[[], object]) -> None:
    while not condition():  # noqa: ASYNC110 - the driver has no event for it
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("fault", [MemoryError(), RuntimeError("half changed")])
def test_a_request_is_refused_and_nothing_of_it_stays(
    live: Live, faults: Faults, log: list[str], fault: Exception
) -> None:
    async def test(driver: LiveDriver) -> None:
        assert await _submit(driver, "before", hold=True) is None
        faults[ev.Submit] = [fault]
        release = driver.request(ev.Release(job_id=1))  # in the same commit, before the one that fails
        refused = await _submit(driver, "bad")
        assert await release is None
        assert refused is not None
        assert refused.errno is Errno.INTERNAL
        assert "nothing was changed" in refused.message
        await _until(lambda: not driver.trouble)
        assert _names(driver) == ["before"]
        assert driver.engine.jobs[1].priority
        assert await _submit(driver, "after") is None
        assert _names(driver) == ["before", "after"]

    live(test)

    async def read_again(driver: LiveDriver) -> None:
        assert _names(driver) == ["before", "after"]

    live(read_again)
    assert ["MemoryError" in line or "half changed" in line for line in log].count(True) == 1


def test_what_is_half_changed_is_not_saved(live: Live, faults: Faults, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "_SNAPSHOT_AFTER", 0)  # a snapshot is due with each commit

    async def test(driver: LiveDriver) -> None:
        assert await _submit(driver, "before", hold=True) is None
        for _ in range(9):
            _ = driver.request(ev.Hold(job_id=1))
        faults[ev.Submit] = [RuntimeError("half changed")]
        assert await _submit(driver, "bad") is not None
        await _until(lambda: not driver.trouble)
        assert _names(driver) == ["before"]

    live(test)


def test_a_report_comes_again(live: Live, faults: Faults, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_tries, "_FIRST", 0.01)

    async def test(driver: LiveDriver) -> None:
        assert await _submit(driver, "one") is None
        await _until(lambda: driver.engine.jobs[1].alloc)
        faults[ev.JobEnded] = [RuntimeError("1"), RuntimeError("2"), RuntimeError("3")]
        driver.report(ev.JobEnded(1))
        await _until(lambda: not faults[ev.JobEnded] and not driver.trouble and not driver.engine.jobs)

    live(test)


def test_a_pass_that_fails_again_and_again_keeps_nobody_waiting(live: Live, faults: Faults) -> None:
    async def test(driver: LiveDriver) -> None:
        left = faults[ev.SchedulePass] = [RuntimeError("a defect")] * 1000
        for name in "abcde":
            assert await _submit(driver, name) is None
            await _until(lambda: not driver.trouble)
        assert len(left) == 999  # the next one is a second later
        left.clear()
        await _until(lambda: any(job.alloc for job in driver.engine.jobs.values()))

    live(test)


def test_pauses_grow(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_tries, "_LONGEST", 5)

    async def test(driver: LiveDriver) -> None:
        tries, event = second_tries.SecondTries(asyncio.get_running_loop()), ev.JobEnded(1)
        assert [tries.failed(event, lambda: None) for _ in range(5)] == [1, 2, 4, 5, 5]
        assert tries.waits(ev.JobEnded(1, exit_code=3))
        assert not tries.waits(ev.JobEnded(2))
        tries.succeeded(event)
        assert tries.failed(event, lambda: None) == 1
        assert not driver.trouble

    live(test)
