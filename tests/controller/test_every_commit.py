"""The controller is lost before and after each commit of a scripted day, and goes on from what is written.

Here the processes are of memory, so that the moment can be chosen exactly; `test_kills` does the same to real ones at
random moments. What is expected follows from the script: each job that was acknowledged ends once, as it says, and no
run begins twice.
"""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from rota.cli.serve import Booter
from rota.controller.clock import ClusterClock
from rota.controller.devices import Devices
from rota.controller.driver import LiveDriver
from rota.controller.live_runs import LiveRuns
from rota.controller.login_shell import LoginShells
from rota.controller.reports import Reports
from rota.controller.shortages import Shortages
from rota.controller.spool import Spool
from rota.controller.steps.clients import StepClients
from rota.core import events as ev
from rota.core.plain import shape_of
from rota.executor.protocol import Capabilities, Ended, Outcome, Started
from rota.model import JobSpec, NodeState
from rota.model.accounting import JobDetails
from rota.model.step import Usage
from rota.model.submission import Submission
from rota.store import Database, make_or_upgrade
from rota.store.database import compress
from rota.store.heads import Heads
from rota.store.writes import add_submission
from rota.testing.builders import cluster as make_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from rota.executor.protocol import Report, RunSpec
    from rota.store import Write

#: Name, processors, seconds for which the script runs, its exit code.
_DAY = (("a", 2, 0.03, 0), ("b", 4, 0.02, 3), ("c", 1, 0.01, 0), ("d", 3, 0.02, 1), ("e", 4, 0.01, 0))


class _Lost(BaseException):
    """The controller is lost."""


class _Memory:
    """Runs of memory, which outlive the controller. It is an `Executor`."""

    supervisor_pid = 0

    def __init__(self) -> None:
        self.listener: Callable[[Report], None] = lambda _: None
        self.is_suspect = False
        self.begun: list[tuple[int, int]] = []
        self._last: dict[tuple[int, int], Report] = {}

    async def start(self) -> None:
        for report in list(self._last.values()):
            self.listener(report)

    def launch(self, run: RunSpec, *, again: bool = False) -> None:
        key = run.job_id, run.restart_count
        if key in self._last:
            self.listener(self._last[key])
            return
        self.begun.append(key)
        self._tell(key, Started(job_id=key[0], restart_count=key[1], pid=1, time=0.0))
        seconds, code = next((seconds, code) for name, _, seconds, code in _DAY if run.env["NAME"] == name)
        asyncio.get_running_loop().call_later(seconds, self._end, key, code, 0)

    def _end(self, key: tuple[int, int], code: int, signal: int) -> None:
        if isinstance(self._last.get(key), Started):
            times: dict[str, Any] = {"time": 0.0, "outcome": Outcome.ENDED, "usage": Usage()}
            self._tell(key, Ended(job_id=key[0], restart_count=key[1], exit_code=code, signal=signal, **times))

    def _tell(self, key: tuple[int, int], report: Report) -> None:
        self._last[key] = report
        self.listener(report)

    def kill(self, job_id: int, restart_count: int, signal: int, wait: float, said: str = "") -> None:
        asyncio.get_running_loop().call_soon(self._end, (job_id, restart_count), 0, signal)

    def has_launched_all(self) -> None: ...
    def signal(self, job_id: int, restart_count: int, signal: int, *, batch_only: bool = False) -> None: ...
    def suspend(self, job_id: int, restart_count: int) -> None: ...
    def resume(self, job_id: int, restart_count: int) -> None: ...
    async def join(self, job_id: int, restart_count: int, pid: int) -> bool:
        return True

    def measure(self) -> None: ...

    def forget(self, job_id: int, restart_count: int) -> None:
        self._last.pop((job_id, restart_count), None)

    def capabilities(self) -> Capabilities:
        return Capabilities(tree="memory", memory="memory", energy=False)

    async def close(self) -> None: ...


class _Fragile(Database):
    """A database with which the controller is lost at one commit: before or after it is made."""

    def __init__(self, url: str, at: int, *, before: bool) -> None:
        self.count = 0
        self._at = at
        self._before = before
        super().__init__(url)

    def write(self, writes: Iterable[Write]) -> None:
        self.count += 1
        if self.count == self._at and self._before:
            raise _Lost
        super().write(writes)
        if self.count == self._at:
            raise _Lost


class _Day:
    """A scripted day on a cluster of 4 processors, with as many lives of the controller as it takes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._config = make_cluster(nodes=1, cpus_per_node=4, SelectType="select/cons_tres")
        self.executor = _Memory()
        #: Job ids of what was acknowledged, by name; and names of jobs whose cancellation was.
        self.jobs: dict[str, int] = {}
        self.cancelled: set[str] = set()
        #: Whether the new account was acknowledged, and whether it is there in the end.
        self.added = self.has_account = False
        self.lost = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop

    async def live(self, at: int, *, before: bool) -> int:
        """Live until all is done, or the controller is lost; give the number of commits."""
        self.lost.clear()
        self._loop = asyncio.get_running_loop()
        url = f"sqlite:///{self._folder / 'rota.db'}"
        make_or_upgrade(url, lambda _: None)
        database = _Fragile(url, at, before=before)
        clock, booter = ClusterClock(), Booter(ClusterClock(), lambda _: None)
        clients, shortages = StepClients(), Shortages(lambda _: None, clock.now)
        runs = LiveRuns(
            database,
            self.executor,
            lambda: Devices(self._config.nodes, range(4), 0),
            spool=Spool(self._folder / "spool"),
            login_shells=LoginShells(self._folder),
            clients=clients,
            cluster_name="day",
            conf="",
            mark="day",
            config=lambda: self._config,
            shortages=shortages,
            log=lambda _: None,
        )
        reports = Reports(clock, asyncio.get_running_loop(), shortages, lambda _: None)
        heads = Heads(self._folder)
        driver = LiveDriver(
            database,
            clock,
            heads=heads,
            boot=booter,
            config=self._config,
            runs=runs,
            shortages=shortages,
            log=lambda _: None,
        )
        reports.connect(driver, runs, self.executor, clients)
        self.executor.listener = reports
        await self.executor.start()
        driver.start()
        work = asyncio.create_task(self._work(driver))
        lost = asyncio.create_task(self.lost.wait())
        await asyncio.wait([work, lost], return_when="FIRST_COMPLETED")
        work.cancel()
        lost.cancel()
        self.executor.listener = lambda _: None
        driver.trouble = "lost"  # nothing comes of it any more
        count = database.count
        booter.close()
        database.close()
        return count

    def lose(self, args: threading.ExceptHookArgs) -> None:
        """Notice that the thread that commits is lost, and the controller with it."""
        if args.exc_type is _Lost:
            self._loop.call_soon_threadsafe(self.lost.set)

    async def _work(self, driver: LiveDriver) -> None:
        # What was not acknowledged may have been written down all the same: a user looks first.
        unknown = {job.spec.name: job.job_id for job in driver.engine.jobs.values() if job.spec.name not in self.jobs}
        self.jobs |= unknown
        for name, cpus, _, _ in _DAY:
            if name not in self.jobs:
                await self._submit(driver, name, cpus)
        if not self.added and driver.engine.view.tree.find("", "day") is None:
            one = ev.AssociationRecord(key=ev.AssociationKey("day"), parent="root", limits={"GrpJobs": "9"})
            assert await driver.request(ev.UpdateAccounting(associations=(one,))) is None
        self.added = True
        if "e" not in self.cancelled:
            await driver.request(ev.Cancel(job_id=self.jobs["e"]))
            self.cancelled.add("e")
        done = asyncio.Event()
        driver.on_finished.append(lambda _: done.set())
        while driver.engine.jobs:
            done.clear()
            await done.wait()
        self.has_account = driver.engine.view.tree.find("", "day") is not None
        # The answer comes when all before it is on disk.
        await driver.request(ev.UpdateNode(name="n0", state=NodeState.UP))

    async def _submit(self, driver: LiveDriver, name: str, cpus: int) -> None:
        job_id = driver.next_job_id
        spec = JobSpec(name=name, num_cpus=cpus, payload=str(job_id), hold=name == "e", user_id=os.getuid())
        one = Submission(details=JobDetails(), script="#!/bin/sh\n", environment={"NAME": name})
        write = add_submission(spec.payload, compress(shape_of(Submission).encode(one)))
        refused = await driver.submit(ev.Submit(job_id, spec), [write])
        assert refused is None
        self.jobs[name] = job_id

    def check(self) -> None:
        """Check what is written down in the end."""
        assert self.has_account
        assert len(set(self.executor.begun)) == len(self.executor.begun)
        database = Database(f"sqlite:///{self._folder / 'rota.db'}")
        ended = [record["job"] for record in database.job_records()]
        assert not database.runs()
        database.close()
        by_id = {one["job_id"]: one for one in ended}
        assert len(by_id) == len(ended)
        for name, _, _, code in _DAY:
            one = by_id[self.jobs[name]]
            expected = ("CANCELLED", 0) if name == "e" else ("FAILED" if code else "COMPLETED", code)
            assert (one["state"], one.get("exit_code", 0)) == expected, name


def _play(folder: Path, at: int, *, before: bool) -> int:
    """Play a day with a controller that is lost at one commit; give the number of commits up to there."""
    day = _Day(folder)
    threading.excepthook = day.lose

    async def play() -> int:
        try:
            count = await day.live(at, before=before)
        except _Lost:
            count = at
        await asyncio.wait_for(day.live(0, before=False), 30)
        return count

    try:
        count = asyncio.run(play())
    finally:
        threading.excepthook = threading.__excepthook__
    day.check()
    return count


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_lost_at_each_commit(tmp_path: Path, *, before: bool) -> None:
    at, reached = 0, 0
    while reached == at:  # until there is no such commit
        at += 1
        folder = tmp_path / str(at)
        folder.mkdir()
        reached = _play(folder, at, before=before)
    assert at > 8
