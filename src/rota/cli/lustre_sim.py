"""`rota lustre-sim`: a Lustre to try things on, as files of ``job_stats``.

Each target is a file in a directory, in the form of ``lctl get_param``, and is replaced whole at each interval. So
``dir:DIRECTORY`` is a source for all that reads ``job_stats``.

Times in the texts: with ``--once`` those of the workload, so that the same options give the same bytes. Else the
workload begins now.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rota.lustre.simulation.texts import GENERATIONS

if TYPE_CHECKING:
    from rota.lustre.simulation.targets import Jobs

#: The simulated servers were booted so long before the simulation begins.
_UPTIME = 12 * 86400.0
_NOT_NEGATIVE = click.FloatRange(min=0)
_POSITIVE = click.FloatRange(min=0, min_open=True)


@click.command("lustre-sim", context_settings={"show_default": True})
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--workload", default="KTH-SP2", metavar="NAME|FILE", help="The log whose jobs use the file system.")
@click.option("--live", is_flag=True, help="Instead, the jobs that squeue shows: those of a live cluster.")
@click.option("--squeue", default="squeue", metavar="COMMAND", help="With --live: what to ask.")
@click.option("--generation", type=click.Choice(list(GENERATIONS)), default="2.16", help="Release of Lustre.")
@click.option("--osts", type=click.IntRange(1, 65536), default=4, help="Targets that hold data.")
@click.option("--mdts", type=click.IntRange(1, 65536), default=1, help="Targets that hold names.")
@click.option("--name", default="lustre", help="Name of the file system.")
@click.option("--job-id", "template", default="%j", help="Form of the jobs' ids, as Lustre's jobid_name.")
@click.option("--login-users", type=click.IntRange(0), default=8, help="People at login nodes.")
@click.option("--cleanup-interval", type=_NOT_NEGATIVE, default=600.0, help="Lustre's job_cleanup_interval.")
@click.option("--restarts", type=click.FloatRange(0, 1), default=0.1, help="Chance of a target to restart in a day.")
@click.option("--begin", "passed", type=_NOT_NEGATIVE, default=0.0, help="Seconds after the log's first job starts.")
@click.option("--speed", type=_POSITIVE, default=1.0, help="Simulated seconds in a real one.")
@click.option("--interval", type=_POSITIVE, default=5.0, help="Real seconds between changes.")
@click.option("--once", is_flag=True, help="Write the files of the begin, and end.")
@click.option("--seed", type=int, default=0, help="Of all that the jobs do.")
def lustre_sim(
    *,
    directory: Path,
    workload: str,
    live: bool,
    squeue: str,
    generation: str,
    osts: int,
    mdts: int,
    name: str,
    template: str,
    login_users: int,
    cleanup_interval: float,
    restarts: float,
    passed: float,
    speed: float,
    interval: float,
    once: bool,
    seed: int,
) -> None:
    """Write job_stats into DIRECTORY that change as those of a real Lustre do, until interrupted."""
    from rota.lustre.simulation.jobs import LoginNodes, QueuedJobs, RecordedJobs
    from rota.lustre.simulation.targets import FileSystem
    from rota.replays.files import find_workload
    from rota.workload.files import write_bytes

    started = begin = time.time()
    sources: list[Jobs] = [LoginNodes(login_users, seed)]
    queue = None
    if live:
        queue = QueuedJobs(squeue, template, speed=speed)
        sources.append(queue)
        speed = 1.0  # of the clock
    else:
        recorded = RecordedJobs(find_workload(workload), template)
        sources.append(recorded)
        begin = recorded.begin + passed
    file_system = FileSystem(
        sources,
        name=name,
        osts=osts,
        mdts=mdts,
        seed=seed,
        begin=begin,
        cleanup_interval=cleanup_interval,
        restarts=restarts,
    )

    def stamp(moment: float | None) -> float | None:
        """Tell when, on this machine's clock, something of the simulation happens."""
        return moment if once or moment is None else started + (moment - begin) / speed

    directory.mkdir(parents=True, exist_ok=True)
    moment = begin
    while True:
        if queue is not None:
            queue.ask(moment)
        for target, entries in file_system.entries(moment).items():
            for entry in entries:
                entry.snapshot_time, entry.start_time = stamp(entry.snapshot_time), stamp(entry.start_time)
            boot = (begin if once else started) - _UPTIME
            write_bytes(directory / f"{target}.lctl", GENERATIONS[generation].text(target, entries, boot))
        if once:
            return
        time.sleep(interval)
        moment = begin + (time.time() - started) * speed
