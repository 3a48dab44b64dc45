"""The controller of a live cluster: everything put together, in the process that `rota up` leaves behind."""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
import signal
import sys
import traceback
from contextlib import ExitStack
from dataclasses import replace
from logging.handlers import RotatingFileHandler
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rota import __version__
from rota.cli.http_process import HttpProcess
from rota.client.commands import install
from rota.config import read_slurm_conf, this_machine
from rota.config.doubts import unmodelled
from rota.config.local_time import system_utc_offset
from rota.config.plugins import plugin_types
from rota.config.this_machine import gpu_count
from rota.controller.clock import ClusterClock
from rota.controller.cluster import Cluster
from rota.controller.crowd import allow_many_files
from rota.controller.desk import COMMANDS, Desk
from rota.controller.devices import Devices
from rota.controller.door import Door
from rota.controller.driver import CLOCK, LiveDriver
from rota.controller.housekeeping import Housekeeping
from rota.controller.known_jobs import KnownJobs
from rota.controller.live_runs import LiveRuns
from rota.controller.mail.carrier import Carrier
from rota.controller.mail.post import Post
from rota.controller.reports import Reports
from rota.controller.spool import Spool
from rota.controller.steps.clients import StepClients
from rota.controller.steps.registry import Steps
from rota.controller.tokens import Tokens
from rota.controller.unclaimed import Unclaimed
from rota.executor.local import LocalExecutor
from rota.listings.text import plain
from rota.model import InputError
from rota.runtime.boot import LIVE_PLUGINS, boot_live
from rota.store import Database, make_or_upgrade
from rota.store.location import database_url, set_database_url
from rota.store.writes import set_fact

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.core import Engine
    from rota.model import ClusterConfig

#: Seconds after which the thread that commits gets its turn; Python's 5 ms are longer than a commit.
_SWITCH = 0.0002
_LOG_SIZE = 5_000_000
#: Name of the fact that is the path of slurm.conf.
_CONF = "slurm_conf"


class Settings:
    """Where a cluster is, and how it is configured.

    Args:
        state: Directory of its state.
        conf: slurm.conf; ``None``: as before or, if there was none, this machine.
        keep: Seconds for which jobs that have ended are kept; 0: for ever.
        database: URL of the database; empty: as before, or SQLite in the state directory.
        http: Whether it is served over HTTP.
        http_tcp: ``HOST:PORT`` on loopback where this is done beside the Unix socket; empty: nowhere.
    """

    def __init__(
        self,
        state: Path,
        conf: Path | None,
        *,
        keep: int = 0,
        database: str = "",
        http: bool = False,
        http_tcp: str = "",
    ) -> None:
        self.database = database
        self.http = http or bool(http_tcp)
        self.http_tcp = http_tcp
        self.state = state
        self.keep = keep
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


def serve(settings: Settings, ready: Callable[[], None]) -> None:
    """Run the controller until it is told to stop.

    Args:
        settings: Where the cluster is, and how it is configured.
        ready: Is called when commands are answered.

    Raises:
        InputError: the configuration or the saved state cannot be used, or a controller runs there already.
        PluginError: a plugin cannot be used.
        DatabaseError: the database cannot be used.
    """
    os.umask(0o077)  # what is kept is nobody else's to read
    with _OnlyOne(settings.state) as lock:
        if settings.database:
            set_database_url(settings.state, settings.database)
        os.chdir(settings.state)  # its path may be longer than that of a socket may be
        sys.setswitchinterval(_SWITCH)
        asyncio.run(_serve(settings, lock, ready))


async def _serve(settings: Settings, lock: int, ready: Callable[[], None]) -> None:
    state, log = settings.state, _log_to(settings.state / "controller.log")
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.set_exception_handler(lambda _, context: log(f"error: this is a defect of rota: {_describe(context)}"))
    make_or_upgrade(database_url(state), log)
    database = Database(database_url(state))
    facts = database.facts()
    if settings.conf is None and facts.get(_CONF):
        settings.conf = Path(facts[_CONF])
    config = settings.read()
    clock = ClusterClock(json.loads(facts[CLOCK]) if CLOCK in facts else None, last=database.last_time())
    booter = Booter(clock, log)
    reports = Reports(clock, loop, log)
    executor = LocalExecutor(state, reports, options=(f"--files={allow_many_files()}",))
    clients = StepClients()
    runs = LiveRuns(
        database,
        executor,
        lambda: Devices(config.nodes, sorted(os.sched_getaffinity(0)), gpu_count()),
        spool=Spool(state / "spool"),
        clients=clients,
        cluster_name=config.cluster_name,
        conf=str(settings.conf or ""),
        mark=_mark(database),
        config=lambda: driver.engine.view.config,
        log=log,
    )
    first = config.integer("FirstJobId", 1, 1, 2**31)
    driver = LiveDriver(database, clock, boot=booter, config=config, runs=runs, first_job_id=first, log=log)
    reports.connect(driver, runs, executor, clients)
    carrier = Carrier(database, driver, log)
    post = Post(database, driver, runs, clock, carrier)
    database.write([*set_fact(CLOCK, json.dumps(clock.save())), *set_fact(_CONF, str(settings.conf or ""))])
    await executor.start()
    if clock.was_booted:
        reports.lost()
    driver.start()
    post.start()
    steps = Steps(driver, clock, clients, database.facts())
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
        state=state,
        conf=str(settings.conf or ""),
        lock=lock,
        version=__version__,
        read_config=settings.read,
        stop=stop.set,
        log=log,
    )
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    install(state / "bin", state, COMMANDS)
    door = Door(Desk(cluster, COMMANDS))
    await door.open()
    rounds = Housekeeping(
        driver, clock, keep=settings.keep, looks=(door.look, unclaimed.look), forget=runs.submissions.forget
    )
    housekeeping = loop.create_task(rounds.run())
    http = HttpProcess(state, settings.http_tcp, log)
    try:
        if settings.http:
            await http.start()
        log(f"rota {__version__} is up, process {os.getpid()}")
        ready()
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


def _describe(context: dict[str, Any]) -> str:
    error = context.get("exception")
    lines = traceback.format_exception(error) if error is not None else []
    return "".join([f"{context['message']}\n", *lines])


class _OnlyOne:
    """Makes sure that there is one controller for a state directory, which is nobody else's."""

    def __init__(self, state: Path) -> None:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        if state.stat().st_uid != os.geteuid():
            raise InputError("this directory is another user's, who could have files there that mislead", path=state)
        # Batch scripts of root's cluster are in it, and can only be read by their users.
        state.chmod(0o711 if os.geteuid() == 0 else 0o700)
        self._path = state / "lock"
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def __enter__(self) -> int:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError("a controller runs there already: see `rota status`", path=self._path.parent) from None
        os.ftruncate(self._file, 0)
        os.write(self._file, f"{os.getpid()}\n".encode())
        return self._file

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


def _log_to(path: Path) -> Callable[[str], None]:
    handler = RotatingFileHandler(path, maxBytes=_LOG_SIZE, backupCount=2)
    handler.setFormatter(_OneRecord("%(asctime)s %(message)s"))
    logger = logging.getLogger("rota")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    return logger.info


class _OneRecord(logging.Formatter):
    """Writes records such that nothing in them looks like another one: further lines are indented."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        return "\n    ".join(plain(line) for line in super().format(record).split("\n"))


def _mark(database: Database) -> str:
    """Give a text that no other cluster has; it marks the processes of this one's jobs."""
    known = database.facts().get("mark")
    if known is None:
        known = os.urandom(8).hex()
        database.write(set_fact("mark", known))
    return known
