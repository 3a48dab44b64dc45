"""``rota explain JOB WORKLOAD``: why a job is pending, what its priority is made of, and which jobs are before it."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from rota.cli.echo import echo
from rota.cli.live import ask
from rota.cli.scenario import is_about_cluster, keep_option, read_scenario, required, scenario_or_cluster
from rota.inspect.description import describe
from rota.inspect.explain import explain as explain_job
from rota.model import InputError
from rota.replays.moment import Moment
from rota.replays.run import Replay

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rota.inspect.explain import Explanation


#: A task of an array or a component of a heterogeneous job, as sacct names them.
_PART = re.compile(r"\d+[_+]\d+", re.ASCII)


@click.command()
@click.argument("job", metavar="JOB")
@scenario_or_cluster
@click.option("--at", metavar="TIME", help="When: see rota replay --until.  [default: just before it starts]")
@keep_option
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON.")
def explain(*, job: str, state: Path | None, at: str | None, keep: Path | None, as_json: bool, **words: Any) -> None:
    """Say what a job's priority is made of, and which jobs are before it in the queue.

    Without WORKLOAD the job is one of the live cluster, see `rota up`. Else the workload is replayed with the same
    options as `rota replay` takes, so the answer is about that very schedule. JOB may be a task such as 17_3: in a
    workload if its file, of sacct, has such ids. There it may be a component of a heterogeneous job, too, 17+1.
    """
    if is_about_cluster(words["workload"]):
        echo(ask("explain", job, *(["json"] if as_json else []), state=state), nl=False)
        return
    is_number = job.isascii() and job.isdigit()
    if not (is_number or _PART.fullmatch(job)):
        raise _no_job(job)
    scenario = read_scenario(**words)
    job_id = int(job) if is_number else scenario.workload.number_of(job)
    if job_id is None:
        raise InputError(f"the workload has no job {job}", field="JOB")
    if keep is not None:
        moment = Moment(scenario, required(at), keep)
        with moment.engine() as engine:
            _print(explain_job(engine.view, job_id), None, moment.utc_offset, as_json=as_json)
        return
    start, until = None, 0
    if at is None:
        with Replay(scenario) as first:
            start = first.find_start(job_id)
            submit = first.trace.submit[first.trace.job_id.index(job_id)]
            # A job that starts at once, or never, is explained as of its submission.
            until = submit if start is None else max(start - 1, submit)
        scenario = scenario.using(report=lambda _text: None)  # the first replay has reported everything
    with Replay(scenario) as run:
        run.run(run.moment(at) if at is not None else until)
        _print(explain_job(run.engine.view, job_id), start, run.utc_offset, as_json=as_json)


def _no_job(text: str) -> click.BadParameter:
    problem = f"{text!r} is no job id of a workload."
    return click.BadParameter(problem, click.get_current_context(), param_hint="'JOB'")


def _print(explanation: Explanation, start: int | None, utc_offset: Callable[[int], int], *, as_json: bool) -> None:
    start = explanation.start_time if start is None else start
    if as_json:
        echo(json.dumps({**asdict(explanation), "starts": start}))
    else:
        echo(describe(explanation, start, utc_offset), nl=False)
