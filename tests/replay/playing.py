"""Logs of a few jobs played by the virtual-time driver, under plugins that a test writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.core import Engine
from rota.interfaces import SLURM_SUCCESS
from rota.replays.driver import ReplayDriver
from rota.replays.trace import make_trace
from rota.testing import cluster, priority, scheduler

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import SimpleNamespace

    from rota.core.effects import Effect
    from rota.interfaces import Controller, Job
    from rota.model import ClusterConfig, JobRecord
    from rota.workload import Workload


class Ran(NamedTuple):
    """What became of a job."""

    start: int | None
    end: int | None
    state: str


def play(
    log: Workload,
    config: ClusterConfig | int = 4,
    *,
    sched: SimpleNamespace | None = None,
    prio: SimpleNamespace | None = None,
    pass_per: str = "instant",
    effects: list[Effect] | None = None,
) -> dict[int, Ran]:
    """Replay a log on a machine, or on so many processors, under a FIFO or the plugins given."""
    sched = sched or scheduler()
    prio = prio or priority(priority_p_set=lambda last_prio, _job: last_prio - 1)
    trace = make_trace(log)
    machine = cluster(cpus=config) if isinstance(config, int) else config
    engine = Engine(machine, priority=prio, sched=sched, boot_time=trace.start)
    prio.init(engine.priority_controller)
    sched.init(engine.sched_controller)
    ran: dict[int, Ran] = {}

    def finished(row: int, job: JobRecord) -> None:
        assert trace.job_id[row] == job.job_id
        assert job.job_id not in ran
        ran[job.job_id] = Ran(job.start_time, job.end_time, str(job.state))

    ReplayDriver(
        engine,
        trace,
        pass_per_event=pass_per == "event",
        on_finished=finished,
        on_effect=([] if effects is None else effects).append,
        on_refused=lambda _rows, effect: None if effects is None else effects.append(effect),
    ).run()
    engine.check_invariants()
    left = {job.job_id: Ran(job.start_time, job.end_time, str(job.state)) for job in engine.jobs.values()}
    assert not left.keys() & ran.keys()
    return ran | left


def starts(ran: dict[int, Ran]) -> dict[int, int | None]:
    return {job_id: one.start for job_id, one in sorted(ran.items())}


def greedy(**functions: object) -> SimpleNamespace:
    """Start whatever fits, in queue order; nothing else starts anything."""
    plugin = scheduler()

    def init(ctld: Controller) -> int:
        plugin.ctld = ctld
        ctld.disable_main_pass()
        return SLURM_SUCCESS

    def schedule() -> int:
        for job in plugin.ctld.queue:
            plugin.ctld.start(job)
        return SLURM_SUCCESS

    vars(plugin).update({"init": init, "slurm_sched_p_schedule": schedule} | functions)
    return plugin


def with_init(plugin: SimpleNamespace, more: Callable[[Controller], object]) -> SimpleNamespace:
    """Have a plugin do more when it is started."""
    before = plugin.init

    def init(ctld: Controller) -> int:
        more(ctld)
        code: int = before(ctld)
        return code

    plugin.init = init
    return plugin


def shortest_first() -> SimpleNamespace:
    return priority(priority_p_set=lambda _last, job: 10_000 - job.time_limit)


def telling(told: list[str], **functions: object) -> SimpleNamespace:
    """A scheduler that writes down what it is told, with the time."""
    plugin = greedy()
    do_schedule = plugin.slurm_sched_p_schedule

    def note(what: str) -> int:
        told.append(f"{plugin.ctld.now} {what}")
        return SLURM_SUCCESS

    def initial_priority(last_prio: int, job: Job) -> int:
        note(f"submitted {job.job_id}")
        return last_prio - 1

    def schedule() -> int:
        note("pass")
        code: int = do_schedule()
        return code

    plugin.note = note
    plugin.slurm_sched_p_initial_priority = initial_priority
    plugin.slurm_sched_p_newalloc = lambda job: note(f"start {job.job_id}")
    plugin.slurm_sched_p_freealloc = lambda job: note(f"end {job.job_id}")
    plugin.slurm_sched_p_schedule = schedule
    vars(plugin).update(functions)
    return plugin
