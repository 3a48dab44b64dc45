"""``rota explain JOB WORKLOAD``: why a job is pending, what its priority is made of, and which jobs are before it."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from rota.cli.scenario import read_scenario, scenario_options
from rota.inspect.explain import explain as explain_job
from rota.listings.squeue import duration
from rota.replay.run import Replay

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.inspect.explain import Explanation
    from rota.inspect.start_estimate import StartEstimate

#: Number of jobs before it that are listed; the others are counted.
_LISTED = 10
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@click.command()
@click.argument("job_id", metavar="JOB", type=int)
@scenario_options
@click.option("--at", metavar="TIME", help="When: see rota replay --until.  [default: just before it starts]")
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON.")
def explain(*, job_id: int, at: str | None, as_json: bool, **words: Any) -> None:
    """Say what a job's priority is made of, and which jobs are before it in the queue.

    The workload is replayed with the same options as `rota replay` takes, so the answer is about that very schedule.
    """
    scenario = read_scenario(**words)
    start, moment = None, 0
    if at is None:
        with Replay(scenario.log, scenario.config, scenario.options) as first:
            start = first.find_start(job_id)
            submit = first.trace.submit[first.trace.job_id.index(job_id)]
            # A job that starts at once, or never, is explained as of its submission.
            moment = submit if start is None else max(start - 1, submit)
        scenario.options.report = lambda _text: None  # the first replay has reported everything
    with Replay(scenario.log, scenario.config, scenario.options) as run:
        run.run(run.moment(at) if at is not None else moment)
        explanation = explain_job(run.engine.view, job_id)
        start = explanation.start_time if start is None else start
        utc_offset = run.utc_offset
    if as_json:
        click.echo(json.dumps({**asdict(explanation), "starts": start}))
    else:
        _print(explanation, start, utc_offset)


def _print(one: Explanation, start: int | None, utc_offset: Callable[[int], int]) -> None:
    def when(time: int) -> str:
        return f"{_EPOCH + timedelta(seconds=time + utc_offset(time)):%Y-%m-%d %H:%M:%S}"

    who = f"user {one.user or '(none)'} of account {one.account}"
    click.echo(f"Job {one.job_id} of {who}: {one.num_cpus:,} CPUs for up to {duration(one.time_limit)},")
    click.echo(
        f"submitted {when(one.submit_time)} to partition {one.partition}{f', QOS {one.qos}' if one.qos else ''}."
    )
    click.echo()
    if one.state != "PENDING":
        waited = f" after {duration(start - one.submit_time)}" if start is not None else ""
        click.echo(f"At {when(one.now)} it is {one.state}: it started{waited}, with priority {one.priority:,}.")
        return
    place = f"place {one.place:,} of {one.queue_length:,} in the queue" if one.place else "not in the queue"
    waited = duration(one.now - one.submit_time)
    click.echo(f"At {when(one.now)} it has waited {waited} and is {one.state} ({one.reason}),")
    click.echo(f"{place}, with priority {one.priority:,}{' that an administrator has set' if one.direct else ''}.")
    if one.planned_start is not None:
        click.echo(f"The scheduler plans to start it at {when(one.planned_start)}.")
    if start is not None:
        click.echo(f"It starts at {when(start)}, after {duration(start - one.submit_time)}.")
    _print_held(one)
    _print_start_estimate(one, when)
    _print_factors(one)
    _print_before(one)


def _print_held(one: Explanation) -> None:
    """Print the limit that holds the job back, and its dependencies."""
    if (held := one.held_by) is not None:
        size = _time if held.name == "MaxWallDurationPerJob" else _number
        counts = f"{size(held.used)} is in use, and the job would add {size(held.asked)}"
        if held.name == "UsageThreshold":
            counts = f"the fair-share that counts is {_number(held.used)}"
        click.echo(f"\nIt is held back by {held.name} of {held.whose}, which is {size(held.most)}: {counts}.")
    if one.dependency:
        click.echo(f"\nIt waits for what its user has asked for: {one.dependency}.")


def _time(seconds: float) -> str:
    return duration(int(seconds))


def _number(value: float) -> str:
    return f"{value:,.10g}"


def _print_start_estimate(one: Explanation, when: Callable[[int], str]) -> None:
    """Print what the job waits for, and what would make it start sooner."""
    plan = one.start_estimate
    if plan.start is not None and plan.start > one.now:
        where = f" on {plan.nodes}" if plan.nodes else ""
        click.echo(
            f"\nAfter all jobs before it, it fits at {when(plan.start)}{where}, if jobs run to their time limits."
        )
    if plan.waits_for:
        last, *others = plan.waits_for
        more = f", and for {len(others):,} more" if others else ""
        click.echo(f"It waits for job {last.job_id} of {last.user}, which ends by {when(last.end_time)}{more}.")
    if plan.backfilled:
        job, count = plan.backfilled[0], len(plan.backfilled) - 1
        more = f" and {count:,} more" if count else ""
        click.echo(f"Job {job.job_id} of {job.user}{more} behind it started meanwhile. {_cost(plan, when)}")
    for change in plan.sooner:
        words = {
            "time limit": f"a time limit of {duration(int(change.value))}" if change.what == "time limit" else "",
            "processors": f"{change.value} CPUs",
            "partition": f"partition {change.value}",
        }
        start = "now" if change.start <= one.now else f"at {when(change.start)}"
        click.echo(f"With {words[change.what]} it would start {start}.")


def _cost(plan: StartEstimate, when: Callable[[int], str]) -> str:
    """Describe by how much jobs that were started ahead of it delay the job."""
    if plan.start is None or plan.start_without is None or plan.start_without >= plan.start:
        return "That costs it nothing: without them it would fit no sooner."
    return f"Without them it would fit at {when(plan.start_without)}."


def _print_factors(one: Explanation) -> None:
    if not one.factors:
        if not one.direct:
            click.echo("\nThe priority plugin gives no factors: its order is that of the priorities alone.")
        return
    click.echo()
    rows = [("factor", "value", "weight", "points")]
    for factor in one.factors:
        value = "" if factor.value is None else f"{factor.value:.4f}"
        weight = "" if factor.weight is None else f"{factor.weight:,.10g}"
        rows.append((factor.name, value, weight, f"{factor.points:,.1f}"))
    rows.append(("sum", "", "", f"{sum(factor.points for factor in one.factors):,.1f}"))
    _table(rows)
    for name, used, target in one.shares:
        verdict = "more than" if used > target else "less than" if used < target else "just"
        click.echo(f"{name} has used {used:.2%} of the cluster, {verdict} its share of {target:.2%}.")


def _print_before(one: Explanation) -> None:
    if not one.before:
        if one.place:
            click.echo("\nNo job stands before it.")
        return
    click.echo(f"\nBefore it: {len(one.before):,} job{'s' if len(one.before) > 1 else ''}")
    rows = [("job", "user", "account", "priority", "because of")]
    for other in one.before[:_LISTED]:
        points = f" (+{other.points:,.0f})" if other.points > 0 else ""
        rows.append((str(other.job_id), other.user, other.account, f"{other.priority:,}", f"{other.because}{points}"))
    _table(rows, left={1, 2, 4})
    if len(one.before) > _LISTED:
        click.echo(f"and {len(one.before) - _LISTED:,} more")


def _table(rows: Sequence[tuple[str, ...]], left: frozenset[int] | set[int] = frozenset({0})) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (text.ljust(widths[i]) if i in left else text.rjust(widths[i]) for i, text in enumerate(row))
        click.echo("  " + "  ".join(cells).rstrip())
