"""The controller of a live cluster: everything put together, in the process that `rota up` leaves behind."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import signal
import sys
import traceback
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rota import __version__
from rota.cli.http_process import HttpProcess
from rota.cli.only_one import OnlyOne
from rota.client.commands import install
from rota.config import read_slurm_conf, this_machine
from rota.config.doubts import unmodelled
from rota.config.local_time import system_utc_offset
from rota.config.plugins import plugin_types
from rota.config.this_machine import gpu_count
from rota.controller.clock import ClusterClock
from rota.controller.cluster import Cluster
from rota.controller.crowd import Places, allow_many_files, most_files
from rota.controller.desk import COMMANDS, Desk
from rota.controller.devices import Devices
from rota.controller.door import Door
from rota.controller.driver import CLOCK, LiveDriver
from rota.controller.housekeeping import Housekeeping
from rota.controller.known_jobs import KnownJobs
from rota.controller.live_runs import LiveRuns
from rota.controller.log_file import log_to
from rota.controller.login_shell import LoginShells
from rota.controller.mail.carrier import Carrier
from rota.controller.mail.post import Post
from rota.controller.memory import limit_memory, usual_limit
from rota.controller.programs import closed_python, missing_programs
from rota.controller.recovery import inspect
from rota.controller.recovery.inspection import CLUSTER, begin_generation
from rota.controller.reports import Reports
from rota.controller.shortages import Shortages
from rota.controller.spool import Spool
from rota.controller.steps.clients import StepClients
from rota.controller.steps.registry import Steps
from rota.controller.tokens import Tokens
from rota.controller.unclaimed import Unclaimed
from rota.executor.local import LocalExecutor
from rota.model import RotaError
from rota.runtime.boot import LIVE_PLUGINS, boot_live
from rota.store import Database, make_or_upgrade
from rota.store.heads import Head, Heads
from rota.store.location import database_url, set_database_url
from rota.store.schema import FIRST_SUMMED, VERSION
from rota.store.writes import set_fact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rota.core import Engine
    from rota.model import ClusterConfig

#: Seconds after which the thread that commits gets its turn; Python's 5 ms are longer than a commit.
_SWITCH = 0.0002
#: Name of the fact that is the secret from which marks are made.
_SECRET = "secret"
#: Names of the facts that are the path of slurm.conf, and the seconds for which jobs that have ended are kept.
_CONF, _KEEP = "slurm_conf", "keep"
#: For how long a new cluster keeps them.
_DAYS_30 = 30 * 86_400
#: Default of ``MaxJobCount``.
_JOBS = 10_000


class Settings:
    """Where a cluster is, and how it is configured.

    Args:
        state: Directory of its state.
        conf: slurm.conf; ``None``: as before or, if there was none, this machine.
        keep: Seconds for which jobs that have ended are kept; 0: for ever; ``None``: as before, 30 days in a new one.
        memory: Bytes that the controller may take; 0: as many as the jobs and nodes of slurm.conf may need.
        database: URL of the database; empty: as before, or SQLite in the state directory.
        http: Whether it is served over HTTP.
        http_tcp: ``HOST:PORT`` on loopback where this is done beside the Unix socket; empty: nowhere.
    """

    def __init__(
        self,
        state: Path,
        conf: Path | None,
        *,
        keep: int | None = None,
        memory: int = 0,
        database: str = "",
        http: bool = False,
        http_tcp: str = "",
    ) -> None:
        self.database = database
        self.http = http or bool(http_tcp)
        self.http_tcp = http_tcp
        self.state = state
        self.keep = keep
        self.memory = memory
        self.conf = None if conf is None else conf.absolute()

    def read(self) -> ClusterConfig:
        """Read the configuration.

        Raises:
            InputError: slurm.conf cannot be used.
        """
        if self.conf is None:
            return replace(this_machine(), cores_apart=True)
        loaded = read_slurm_conf(self.conf)
        types = plugin_types(loaded.config, LIVE_PLUGINS)
        qos = {one.qos.lower() for one in loaded.config.partitions}  # sacctmgr may define them at any time
        for warning in (*loaded.warnings, *unmodelled(loaded.config, types, qos)):
            logging.getLogger("rota").warning(warning)
        loaded.config.prolog_epilog_timeout()  # a mistake is found now, and not when a job is launched
        return replace(loaded.config, cores_apart=True)


class Booter:
    """Makes engines, each with plugins of its own; those of the one before are unloaded.

    Args:
        clock: The cluster's clock.
        log: Writes a line for the administrator.
    """

    def __init__(self, clock: ClusterClock, log: Callable[[str], None]) -> None:
        self._clock = clock
        self._log = log
        self._stack = ExitStack()

    def __call__(self, saved: dict[str, Any] | None, config: ClusterConfig) -> Engine:
        """Make an engine."""
        self.close()
        with ExitStack() as stack:
            engine = boot_live(
                stack,
                config,
                saved,
                boot_time=self._clock.now(),
                report=self._log,
                utc_offset=system_utc_offset,
                clock=perf_counter,
            )
            self._stack = stack.pop_all()
        return engine

    def close(self) -> None:
        """Unload the plugins."""
        self._stack.close()


def serve(settings: Settings, ready: Callable[[list[str]], None]) -> None:
    """Run the controller until it is told to stop.

    Args:
        settings: Where the cluster is, and how it is configured.
        ready: Is called when commands are answered, with warnings: what was damaged, and what is missing.

    Raises:
        InputError: the configuration or the saved state cannot be used, or a controller runs there already.
        PluginError: a plugin cannot be used.
        DatabaseError: the database cannot be used.
    """
    callers = limit_memory(settings.memory or usual_limit(_JOBS, 0))
    try:
        _serve_alone(settings, ready, callers)
    except MemoryError:
        raise RotaError("slurm.conf, or the saved state, takes more memory than `rota up --memory` permits") from None


def _serve_alone(settings: Settings, ready: Callable[[list[str]], None], memory: int) -> None:
    with OnlyOne(settings.state) as lock:
        if settings.database:
            set_database_url(settings.state, settings.database)
        os.chdir(settings.state)  # its path may be longer than that of a socket may be
        sys.setswitchinterval(_SWITCH)
        gc.freeze()  # what has been imported stays: it need not be looked at again
        asyncio.run(_serve(settings, lock, ready, memory))


async def _serve(settings: Settings, lock: int, ready: Callable[[list[str]], None], memory: int) -> None:
    state, log = settings.state, log_to(settings.state / "controller.log")
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.set_exception_handler(lambda _, context: log(f"error: this is a defect of rota: {_describe(context)}"))
    head, notices = _inspected(state, log)
    make_or_upgrade(database_url(state), log)
    database, heads = Database(database_url(state)), Heads(state)
    facts = database.facts()
    mark = _random_fact(database, facts, CLUSTER, 8)
    if settings.conf is None and facts.get(_CONF):
        settings.conf = Path(facts[_CONF])
    if settings.keep is None:
        settings.keep = int(facts.get(_KEEP, _DAYS_30))
    config = settings.read()
    if not settings.memory:
        limit_memory(usual_limit(config.integer("MaxJobCount", _JOBS, 1, 2**31), len(config.nodes)))
    last = database.last_time()
    clock = _clock(database, facts, last, log)
    booter = Booter(clock, log)
    shortages = Shortages(log, clock.now)
    reports = Reports(clock, loop, shortages, log)
    executor = LocalExecutor(
        state,
        reports,
        cluster=mark,
        head=lambda: heads.head,
        options=(f"--files={allow_many_files()}", f"--memory={memory}"),
        log=log,
    )
    clients = StepClients()
    login_shells = LoginShells(state)
    login_shells.install()
    runs = LiveRuns(
        database,
        executor,
        lambda: Devices(config.nodes, sorted(os.sched_getaffinity(0)), gpu_count()),
        spool=Spool(state / "spool"),
        login_shells=login_shells,
        clients=clients,
        cluster_name=config.cluster_name,
        conf=str(settings.conf or ""),
        mark=_random_fact(database, facts, _SECRET, 16),
        config=lambda: driver.engine.view.config,
        shortages=shortages,
        log=log,
    )
    executor.look_for = runs.look_for
    first = config.integer("FirstJobId", 1, 1, 2**31)
    begin_generation(database, heads, head or Head(cluster=mark))
    driver = LiveDriver(
        database,
        clock,
        heads=heads,
        boot=booter,
        config=config,
        runs=runs,
        first_job_id=first,
        shortages=shortages,
        log=log,
    )
    reports.connect(driver, runs, executor, clients)
    carrier = Carrier(database, driver, shortages, log)
    post = Post(database, driver, runs, clock, carrier)
    known = {CLOCK: json.dumps(clock.save()), _CONF: str(settings.conf or ""), _KEEP: str(settings.keep)}
    database.write([write for name, value in known.items() for write in set_fact(name, value)])
    await executor.start()
    if clock.was_booted:
        reports.lost()
    driver.start()
    post.start()
    steps = Steps(driver, clock, clients, database.facts(), runs.gpu_kinds)
    unclaimed = Unclaimed(driver, steps)
    cluster = Cluster(
        database=database,
        driver=driver,
        runs=runs,
        executor=executor,
        steps=steps,
        step_clients=clients,
        unclaimed=unclaimed,
        clock=clock,
        tokens=Tokens(database),
        known_jobs=KnownJobs(driver, database, clock),
        mail=carrier,
        shortages=shortages,
        children=Places(most_files() // 16),
        state=state,
        conf=str(settings.conf or ""),
        lock=lock,
        keep=settings.keep,
        version=__version__,
        read_config=settings.read,
        stop=stop.set,
        log=log,
    )
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    install(state / "bin", state, COMMANDS)
    door = Door(Desk(cluster, COMMANDS))
    door.open()
    rounds = Housekeeping(
        driver,
        clock,
        keep=settings.keep,
        oldest=database.oldest_end,
        last=last or clock.now(),
        looks=(door.look, unclaimed.look),
        forget=cluster.runs.submissions.forget,
        log=log,
    )
    housekeeping = loop.create_task(rounds.run())
    http = HttpProcess(state, settings.http_tcp, shortages, log)
    try:
        if settings.http:
            await http.start()
        log(f"rota {__version__} is up, process {os.getpid()}")
        gc.enable()
        ready([*notices, *missing_programs(config), *closed_python(state)])
        await stop.wait()
    finally:
        await http.stop()
        housekeeping.cancel()
        await door.leave()
        await carrier.close()
        driver.close()
        await executor.shut_down()
        booter.close()
        database.close()
        log("down")


def _inspected(state: Path, log: Callable[[str], None]) -> tuple[Head | None, list[str]]:
    """See whether what is kept fits together; give how far the cluster had come, and what is written anew.

    Raises:
        DatabaseError: it does not.
    """
    found = inspect(state)
    found.refuse()
    if FIRST_SUMMED <= (found.remains.version or 0) < VERSION:
        make_or_upgrade(database_url(state), log)
        found = inspect(state)
        found.refuse()
    notices = [f"{one.what}: it is written anew" for one in found.mended]
    for notice in notices:
        log(f"error: {notice}")
    return found.head, notices


def _clock(database: Database, facts: Mapping[str, str], last: int, log: Callable[[str], None]) -> ClusterClock:
    """Make the cluster's clock; it may go back if no job runs."""
    saved = json.loads(facts[CLOCK]) if CLOCK in facts else None
    clock = ClusterClock(saved, last=last, may_go_back=not database.runs())
    if clock.went_back:
        log(f"cluster time was {clock.went_back:,} s ahead of the machine's clock, and has gone back: no job runs")
    return clock


def _describe(context: dict[str, Any]) -> str:
    error = context.get("exception")
    lines = traceback.format_exception(error) if error is not None else []
    return "".join([f"{context['message']}\n", *lines])


def _random_fact(database: Database, facts: Mapping[str, str], name: str, size: int) -> str:
    """Give a text that no other cluster has, of so many bytes; it is made if it is not among the facts."""
    known = facts.get(name)
    if known is None:
        known = os.urandom(size).hex()
        database.write(set_fact(name, known))
    return known
