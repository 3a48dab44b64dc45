"""A real cluster with pending, running and ended jobs, as it was left; and whether what was damaged is still true.

Copies of its state directory are read as the controller reads them, with the same code, but without its processes.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rota.cli.serve import Booter, Settings
from rota.controller.clock import ClusterClock
from rota.controller.driver import LiveDriver
from rota.controller.recovery import inspect
from rota.controller.recovery.recover import Plan
from rota.controller.recovery.state import Rebuilding
from rota.controller.shortages import Shortages
from rota.core.plain import shape_of
from rota.executor.traces import read_traces
from rota.model import JobSpec
from rota.store import Database
from rota.store.heads import Heads
from rota.store.location import database_url
from rota.testing.live import LiveCluster, virtual_nodes

from .ways import daemons, kill_9

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.controller.recovery.inspection import Inspection

DOWN, KILLED = "down", "killed"
_INDEXES = {"jobs_by_job_id": "job_id", "jobs_by_times": "end_time, submit_time", "jobs_by_payload": "payload"}
_SLEEPER = "#!/bin/bash\nexec sleep 900\n"


class Truth(NamedTuple):
    """What a state directory says."""

    #: By job id: state, exit code, signal, start, end.
    ended: dict[int, tuple[Any, ...]]
    #: By job id: its state and its request.
    live: dict[int, tuple[str, Any]]
    next_job_id: int
    #: What was handed in, by payload, and what was chosen for runs.
    submissions: dict[str, Any]
    runs: dict[tuple[int, int], Any]
    #: What each index finds, in its order.
    found: dict[str, list[int]]
    #: The runs that the supervisor knows, with their marks.
    traced: dict[tuple[int, int], str]

    @property
    def running(self) -> set[int]:
        """The jobs that run."""
        return {job_id for job_id, (state, _) in self.live.items() if state == "RUNNING"}


class _NoRuns:
    """Takes what a driver says of runs."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: []


class Scene:
    """A cluster that was left in two ways, and copies of both.

    Args:
        folder: Where everything is.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cluster = LiveCluster(folder, virtual_nodes(4))
        self._sleepers: set[int] = set()

    def __enter__(self) -> Self:
        cluster = self._cluster
        cluster.up()
        for code in (0, 3, 0):
            cluster.submit("--wait", "-o", "/dev/null", "--wrap", f"exit {code}") if not code else cluster.run(
                "sbatch", "--wait", "-o", "/dev/null", "--wrap", f"exit {code}", check=False
            )
        self._run_one()
        cluster.submit("-H", "-J", "waits", "--wrap", "true")
        cluster.rota("down")
        shutil.copytree(cluster.state, self._folder / "older", ignore=_no_sockets)
        cluster.up()
        self._run_one()
        for number in range(4):
            cluster.submit("-H", "-J", f"later{number}", "--wrap", "true")
        cluster.submit("--wait", "-a", "1-3", "-o", "/dev/null", "--wrap", "true")
        self._leave(KILLED)
        cluster.up()
        cluster.submit("--wait", "-o", "/dev/null", "--wrap", "true")
        self._leave(DOWN)
        self.truths = {how: _read(self._folder / how, self._cluster.conf) for how in (KILLED, DOWN)}
        return self

    def _run_one(self) -> None:
        job = self._cluster.submit("-o", "/dev/null", stdin=_SLEEPER)
        self._cluster.wait(lambda: any(key[0] == job for key in read_traces(self._cluster.state).runs))

    def _leave(self, how: str) -> None:
        """Stop everything but the jobs, and keep a copy of the state."""
        cluster = self._cluster
        pids = daemons(cluster)
        cluster.rota("down") if how == DOWN else cluster.kill()
        kill_9(cluster, pids)
        self._sleepers |= {run.pid for run in read_traces(cluster.state).runs.values()}
        shutil.copytree(cluster.state, self._folder / how, ignore=_no_sockets)

    def __exit__(self, *_: object) -> None:
        for pid in self._sleepers:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def copy(self, how: str) -> Path:
        """Make a copy of the state to be damaged."""
        work = self._folder / "work" / "state"
        shutil.rmtree(work.parent, ignore_errors=True)
        shutil.copytree(self._folder / how, work)
        return work

    @property
    def older(self) -> Path:
        """An older copy of the state."""
        return self._folder / "older"

    def judge(self, state: Path, how: str) -> str:
        """Say what a controller would make of a damaged state: ``whole``, ``mended`` or ``told``.

        Raises:
            AssertionError: something is missing or untrue, and nobody was told.
        """
        truth, found = self.truths[how], inspect(state)
        if not found.losses:
            self._check_whole(truth, state, found)
            return "mended" if found.mended else "whole"
        self._recover(truth, state)
        return "told"

    def _check_whole(self, truth: Truth, state: Path, found: Inspection) -> None:
        read = _read(state, self._cluster.conf)
        assert read == truth
        for (job_id, _), run in read.runs.items():
            payload = run["job"]["request"]["payload"]
            script = state / "spool" / f"job{job_id:05}" / "slurm_script"
            whole = script.exists() and script.read_text(errors="replace") == read.submissions[payload]["script"]
            assert whole or any(f"{script} is" in one.what for one in found.mended)

    def _recover(self, truth: Truth, state: Path) -> None:
        found, conf = inspect(state, most_jobs=None), self._cluster.conf
        before = {path: path.read_bytes() for path in state.rglob("*") if path.is_file() and path.suffix != ".db-shm"}
        config = Settings(state, conf).read()
        booter = Booter(ClusterClock(), lambda _: None)
        try:
            made = Rebuilding(found, booter, config, int(time.time())).run()
            plan = Plan(found, made, config)
            plan.carry_out()
        finally:
            booter.close()
        kept = {path.read_bytes() for path in state.rglob("*") if path.is_file()}
        moved = {path for path in before if path.name.startswith("rota.db") and not path.name.endswith("-shm")}
        assert all(before[path] in kept for path in moved)
        after = inspect(state)
        assert not after.losses, after.losses
        read = _read(state, conf)
        now_ended = {*made.ended, *made.unknown, *made.cancelled}
        for job_id, record in read.ended.items():
            assert job_id in now_ended or record == truth.ended.get(job_id), job_id
        assert read.next_job_id >= truth.next_job_id
        given_up = {int(one.what.split()[1]) for one in made.findings}
        lost = truth.running - read.running - given_up - now_ended
        assert not lost, f"jobs run, and nothing is said of them: {lost}"
        assert read.running <= truth.running
        assert {job_id for job_id in read.live if job_id not in truth.live} <= set()
        more = read.traced.keys() - truth.traced.keys()  # that their ends were recorded is lost, and told again
        assert {job_id for job_id, _ in more} <= read.ended.keys()


def _no_sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_socket()]


def _read(state: Path, conf: Path) -> Truth:
    """Read a state directory as a controller does."""
    database = Database(database_url(state))
    booter, config = Booter(ClusterClock(), lambda _: None), Settings(state, conf).read()

    async def drive() -> LiveDriver:
        heads = Heads(state.parent / "heads")
        (state.parent / "heads").mkdir(exist_ok=True)
        clock = ClusterClock()
        driver = LiveDriver(
            database,
            clock,
            heads=heads,
            boot=booter,
            config=config,
            runs=_NoRuns(),
            shortages=Shortages(lambda _: None, clock.now),
            log=lambda _: None,
        )
        driver._committer.close()
        return driver

    try:
        driver = asyncio.run(drive())
        ended = {one["job"]["job_id"]: _essence(one["job"]) for one in database.job_records()}
        live = {
            job.job_id: (job.state.value, shape_of(JobSpec).encode(job.spec)) for job in driver.engine.jobs.values()
        }
        submissions = dict(database.submissions(database.payloads()))
        runs, next_job_id = database.runs(), driver.next_job_id
    finally:
        booter.close()
        database.close()
    with closing(sqlite3.connect(state / "rota.db")) as connection:
        indexed = {name: _by_index(connection, name, column) for name, column in _INDEXES.items()}
    traced = {key: run.mark for key, run in read_traces(state).runs.items()}
    return Truth(ended, live, next_job_id, submissions, runs, indexed, traced)


def _by_index(connection: sqlite3.Connection, name: str, column: str) -> list[int]:
    rows = connection.execute(f"SELECT job_id FROM jobs INDEXED BY {name} ORDER BY {column}, id")  # noqa: S608 - our names
    return [job_id for (job_id,) in rows]


def _essence(job: dict[str, Any]) -> tuple[Any, ...]:
    names = ("state", "exit_code", "signal", "start_time", "end_time", "nodes")
    return tuple(str(job.get(name)) for name in names)


def seeds(first: int, count: int) -> Iterator[tuple[int, str]]:
    """Give seeds, and in which way the state was left."""
    for seed in range(first, first + count):
        yield seed, (KILLED, DOWN)[seed % 2]
