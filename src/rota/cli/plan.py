"""``rota plan WORKLOAD``: the plan of one backfill cycle at a given time."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from rota.cli.echo import echo
from rota.cli.live import ask
from rota.cli.scenario import is_about_cluster, keep_option, read_scenario, required, scenario_or_cluster
from rota.listings.clock import duration
from rota.model import InputError
from rota.model.printable import printable
from rota.replays.moment import Moment
from rota.replays.queue_plan import Planned
from rota.replays.run import Replay

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: From what is learned how long jobs run.
_LEARNED = "\nPlanned by time limits: nothing is learned from jobs that have ended."
_LEARNED_LIVE = "\nThis is the scheduler's plan. What is learned from jobs that have ended: rota forecast."


@click.command()
@scenario_or_cluster
@click.option(
    "--at",
    metavar="TIME",
    help="When: 2022-01-01T12:00:00, or D-HH:MM:SS after the log's start.  [default: when the first job is submitted]",
)
@keep_option
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(*, state: Path | None, at: str | None, keep: Path | None, as_json: bool, **words: Any) -> None:
    """Make one backfill cycle at a given time; print which jobs start, and when and where the others would start.

    Without WORKLOAD it is the plan of the live cluster's scheduler, see `rota up`, and no cycle is made. Else the
    workload is replayed up to that time. Jobs submitted in that second are pending: only the cycle starts them.
    """
    live = is_about_cluster(words["workload"])
    if live:
        planned = [Planned(**one) for one in json.loads(ask("plan", state=state))]
    else:
        planned = _plan(at, words) if keep is None else Moment(read_scenario(**words), required(at), keep).plan()
    if as_json:
        echo(json.dumps([_record(one) for one in planned]))
    else:
        _print(planned)
        echo(_LEARNED_LIVE if live else _LEARNED)


def _plan(at: str | None, words: dict[str, Any]) -> list[Planned]:
    with Replay(read_scenario(**words)) as run:
        moment = run.trace.submit[0] if at is None else run.moment(at)
        if moment < run.trace.submit[0]:
            raise InputError(f"no job is submitted before {run.trace.submit[0] - run.trace.origin} s", field="--at")
        return run.plan(moment)


def _record(one: Planned) -> dict[str, Any]:
    record = asdict(one)
    if one.array_job_id is None:
        del record["array_job_id"], record["array_task"]
    return {"job": record.pop("job_id"), **record}


def _print(planned: Sequence[Planned]) -> None:
    rows = [("job", "name", "state", "start in", "nodes")]
    for one in planned:
        when = "-" if one.start is None else "now" if not one.start else duration(one.start)
        job = str(one.job_id) if one.array_job_id is None else f"{one.array_job_id}_{one.array_task}"
        rows.append((job, printable(one.name), one.state, when, one.nodes))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for job, name, state, when, nodes in rows:
        cells = (job.rjust(widths[0]), name.ljust(widths[1]), state.ljust(widths[2]), when.rjust(widths[3]), nodes)
        echo("  ".join(cells).rstrip())
