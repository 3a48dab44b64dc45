"""``rota recover``: what a live cluster has kept is damaged, older than it was, or gone; save what can be saved."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rota.cli.echo import echo
from rota.cli.live import default_state, state_option
from rota.model.counts import counted

if TYPE_CHECKING:
    from rota.controller.recovery.recover import Plan

#: What is said of jobs, by what became of them.
_JOBS = {
    "running": "run on, and their ends will be recorded",
    "found": "of these were not in the database: what is known of them comes from the supervisor and their processes",
    "held": "are held, as they may have run since: look at them, and `scontrol release` those that have not",
    "cancelled": "are cancelled: what was handed in with them is lost, or tasks of their array have run",
    "ended": "have ended, as the supervisor knows",
    "unknown": "have ended, and nobody knows how",
}


@click.command()
@state_option
@click.option("--config", "conf", type=click.Path(path_type=Path), help="slurm.conf.  [default: as before]")
@click.option("--yes", is_flag=True, help="Do it. Without, it is only shown.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def recover(*, state: Path | None, conf: Path | None, yes: bool, as_json: bool) -> None:
    """Save what can be saved of a live cluster that was damaged.

    Shows what is wrong with what the cluster has kept, what can be saved of it, and what is lost. With --yes a new
    database is made of what can be saved. Jobs that run are kept running; the files that are there are moved aside,
    and none is deleted. Then `rota up` starts the cluster.
    """
    from rota.cli.only_one import OnlyOne
    from rota.cli.serve import Booter, Settings
    from rota.controller.clock import ClusterClock
    from rota.controller.recovery import inspect
    from rota.controller.recovery.found_job import conf_of
    from rota.controller.recovery.recover import Plan
    from rota.controller.recovery.state import Rebuilding
    from rota.model import InputError

    directory = (state or default_state()).absolute()
    if not directory.is_dir():
        raise InputError("there is no cluster: start one with `rota up`", path=directory)
    with OnlyOne(directory):
        found = inspect(directory, most_jobs=None)
        known = found.remains.facts.get("slurm_conf") or conf_of(found.traces.runs.values())
        config = Settings(directory, conf or (Path(known) if known else None)).read()
        booter = Booter(ClusterClock(), lambda line: echo(line, err=True))
        try:
            made = Rebuilding(found, booter, config, int(time.time())).run()
            plan = Plan(found, made, config)
            is_whole = not found.losses and not made.findings
            if yes and not is_whole:
                plan.carry_out()
        finally:
            booter.close()
    _print(plan, as_json=as_json, done=yes, is_whole=is_whole)


def _print(plan: Plan, *, as_json: bool, done: bool, is_whole: bool) -> None:
    said = plan.describe() | {"done": done and not is_whole}
    if as_json:
        echo(json.dumps(said, indent=2))
        return
    if is_whole:
        echo(f"{said['state']}: all that is kept is as it was written. There is nothing to recover.")
        return
    _print_findings(said)
    if done:
        echo(f"Done. What was there is in {said['aside']}. `rota up` starts the cluster.")
    else:
        echo(f"What is there goes to {said['aside']}. Nothing has been changed: `rota recover --yes` does it.")


def _print_findings(said: dict[str, Any]) -> None:
    echo(f"{said['state']}: what is wrong")
    for one in said["findings"]:
        echo(f"  {one['what']}")
        echo(f"    {'lost: ' + one['lost'] if one['lost'] else 'nothing is lost by it'}")
    saved = said["saved"]
    echo("What is saved")
    state = f"the state at event {saved['snapshot']}, and {saved['events']:,} events after it"
    echo(f"  {state if saved['snapshot'] or saved['events'] else 'no state: accounts and reservations begin anew'}")
    echo(counted(saved["ended_jobs"], "  the record of a job that has ended", "  records of {} jobs that have ended"))
    for kind, jobs in said["jobs"].items():
        if jobs:
            named = ", ".join(map(str, jobs[:20])) + (", …" if len(jobs) > 20 else "")
            echo(f"  {len(jobs):,} jobs {_JOBS[kind]}: {named}")
    echo(f"  the next job gets the id {said['next_job_id']}")
