"""A cluster as it is now: what its controller tells, and engines that are made from it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from rota.config.local_time import system_utc_offset
from rota.core.plain import shape_of
from rota.forecast.arrivals import Arrival, Arrivals
from rota.forecast.run_times import PastRun, RunTimes
from rota.model import YEAR, ClusterConfig, JobSpec
from rota.runtime.boot import boot_live

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from rota.core import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """A cluster as it is now."""

    #: Unix seconds.
    now: int
    config: ClusterConfig
    #: State of the engine, as `rota.core.snapshot` saves it: JSON, as an engine takes over what it is restored from.
    state: str
    #: The last runs that have ended, oldest first.
    past: tuple[PastRun, ...]
    #: The jobs of these, by job id, of an array one; and whether no others have ended before them.
    submitted: dict[int, Arrival]
    is_all: bool

    @classmethod
    def read(cls, text: str) -> Present:
        """Read what the controller tells; see `rota.controller.present`."""
        told = json.loads(text)
        return cls(
            now=told["now"],
            config=shape_of(ClusterConfig).decode(told["config"]),
            state=json.dumps(told["engine"]),
            past=tuple(
                PastRun(user, account, name, limit or YEAR, took, end)
                for user, account, name, limit, took, end in told["past"]
            ),
            submitted={
                job_id: Arrival(time, shape_of(JobSpec).decode(request)) for job_id, time, request in told["submitted"]
            },
            is_all=told["is_all"],
        )

    def engine(self, stack: ExitStack, config: ClusterConfig, report: Callable[[str], object]) -> Engine:
        """Make an engine in this state.

        Args:
            stack: Unloads its plugins when it is closed.
            config: Its configuration, the cluster's or another one.
            report: Is called with messages for the administrator.

        Raises:
            InputError: the configuration cannot be used.
            PluginError: a plugin cannot be used.
        """
        return boot_live(
            stack, config, json.loads(self.state), boot_time=self.now, report=report, utc_offset=system_utc_offset
        )

    def run_times(self, engine: Engine) -> RunTimes:
        """Give the distributions of run times."""
        return RunTimes([*self.past, *present_runs(engine, self.now)])

    def arrivals(self, engine: Engine) -> Arrivals:
        """Give the jobs that are still to come."""
        present = {(job.array or job).job_id: Arrival(job.submit_time, job.spec) for job in engine.jobs.values()}
        known = sorted((self.submitted | present).values(), key=attrgetter("time"))
        if not self.is_all:  # of those that were submitted since the first of them has ended, each is known
            since = min(run.end for run in self.past if run.end is not None)
        else:
            since = known[0].time if known else self.now
        return Arrivals(known, since, self.now)


def present_runs(engine: Engine, now: int) -> list[PastRun]:
    """Give what is known of the runs that have not ended."""
    return [
        PastRun(job.user_name, job.spec.account, job.spec.name, job.time_limit, max(now - job.effective_start, 0), None)
        for job in engine.jobs.values()
        if job.alloc and job.suspended_since is None and not job.completing
    ]
