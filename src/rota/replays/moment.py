"""A moment of a replay, kept in a file: what is asked about it later need not replay what was before.

Two states of the engine are kept: *before* the scheduling passes of that second, from which a plan is made, and *after*
them, which is explained. The file says of which scenario and moment it is, and is used for no other. A plugin goes on
from what it has given to `Controller.keep`.
"""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rota.config.local_time import parse_moment, utc_offset_of
from rota.model import InputError
from rota.replays.plugins import load_plugins
from rota.replays.queue_plan import Planned, plan_queue
from rota.replays.run import Replay
from rota.replays.trace import make_trace
from rota.results.provenance import source_files
from rota.runtime.boot import boot
from rota.workload.files import write_bytes
from rota.workload.header import time_zone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.core import Engine
    from rota.replays.scenario import Scenario

#: Format of the file; to be changed when older files can no longer be read.
FORMAT = "rota-moment-1"


class Moment:
    """A moment of a scenario, read from a file or, if that does not exist, replayed and written to it.

    Args:
        scenario: The scenario, which was read from files.
        at: Point of time, see `parse_moment`.
        path: The file.

    Raises:
        InputError: the file is of something else or damaged, or the scenario cannot be replayed up to then.
    """

    def __init__(self, scenario: Scenario, at: str, path: Path) -> None:
        options = scenario.options
        if options.pass_per == "event":
            raise InputError(
                "keeps moments of replays with one pass a second: leave out --pass-per event", field="--keep"
            )
        trace = make_trace(scenario.workload, options.estimate, think_time=options.think_time)
        self.utc_offset = utc_offset_of(options.time_zone or time_zone(scenario.workload.header))
        self._scenario = scenario
        self._now = parse_moment(at, trace.origin, self.utc_offset)
        if self._now < trace.submit[0]:
            raise InputError(f"no job is submitted before {trace.submit[0] - trace.origin} s", field="--at")
        if not path.exists():
            with Replay(scenario) as run:
                before, after = run.states(self._now)
            kept = {"format": FORMAT, "of": self._of(), "before": before, "after": after}
            write_bytes(path, json.dumps(kept).encode())
        self._kept = _read(path)
        if self._kept["of"] != self._of():
            raise InputError("is of another scenario or moment: name another file, or remove it", path=path)

    def plan(self) -> list[Planned]:
        """Make one cycle of ``sched/backfill`` over the queue, see `Replay.plan`."""
        with self._engine("before") as (engine, backfill):
            backfill.start(engine.sched_controller)
            return plan_queue(engine, backfill.container)

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        """Give the engine as it was after the passes of that second, to be read within the block."""
        with self._engine("after") as (engine, _):
            yield engine

    @contextmanager
    def _engine(self, state: str) -> Iterator[tuple[Engine, Any]]:
        """Make an engine from one of the states; give the plugin ``sched/backfill`` too, which is not started."""
        scenario = self._scenario
        with ExitStack() as stack:
            host, plugins = load_plugins(stack, scenario)
            engine, _ = boot(
                scenario.config,
                plugins,
                boot_time=self._now,
                saved=self._kept[state],
                utc_offset=self.utc_offset,
            )
            engine.begin()
            yield engine, host.load("sched/backfill")

    def _of(self) -> dict[str, Any]:
        """Say what the states depend on."""
        options = self._scenario.options
        told = options.provenance
        plugins = [path for folder in options.plugin_dir for path in sorted(Path(folder).rglob("*.py"))]
        return {
            "at": self._now,
            "plugins": [options.scheduler, options.priority, options.select],
            "files": [asdict(one) for one in (*told.files, *source_files("plugin", plugins))],
            "settings": [*told.settings, options.time_zone],
            "version": told.version,
        }


def _read(path: Path) -> dict[str, Any]:
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", path=path) from error
    if not isinstance(kept, dict) or kept.get("format") != FORMAT:
        raise InputError("is no moment of a replay: name another file", path=path)
    return kept
