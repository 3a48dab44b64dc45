"""``rota forecast``: when the jobs that wait on a live cluster will start."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from rota.cli.echo import echo
from rota.cli.live import ask, known_state, state_option
from rota.cli.scenario import say
from rota.config.local_time import system_utc_offset
from rota.forecast.future import waiting_jobs
from rota.forecast.futures import deadline, run_futures
from rota.forecast.present import Present
from rota.forecast.ranges import forecasts
from rota.listings.clock import Clock, duration
from rota.listings.text import plain
from rota.model import InputError
from rota.model.counts import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from rota.core import Engine
    from rota.forecast.future import Outcome
    from rota.forecast.ranges import Forecast
    from rota.forecast.run_times import Learned

#: Number of futures below which a range says little, and of jobs that teach little.
_FEW = 10
#: Number of moments of a check, and of futures at each of them.
_MOMENTS, _CHECKED = 20, 20


@click.command()
@click.argument("jobs", metavar="[JOB]...", nargs=-1)
@state_option
@click.option("--seconds", type=click.FloatRange(0.1), default=2.0, show_default=True, help="How long it may take.")
@click.option("--futures", type=click.IntRange(1), help="Look at so many futures, however long it takes.")
@click.option("--check", is_flag=True, help="Say how often such ranges have held for the jobs that have ended.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON; times are Unix seconds.")
def forecast(
    *, jobs: tuple[str, ...], state: Path | None, seconds: float, futures: int | None, check: bool, as_json: bool
) -> None:
    """Say when jobs that wait on the live cluster will start.

    The queue is run ahead many times: jobs take as long as past ones, and new ones come as they came. A job starts
    when it does in half of these futures; the range has four in five of them. JOB is a job id, or that of a task such
    as 17_3.
    """
    until = deadline(seconds)
    if check:
        _check(state or known_state(), as_json=as_json)
        return
    present = Present.read(ask("present", state=state))
    with ExitStack() as stack:
        faults: list[str] = []
        engine = present.engine(stack, present.config, faults.append)
        only = _wanted(engine, jobs) if jobs else None
        run_times, arrivals = present.run_times(engine), present.arrivals(engine)
        drawn = run_futures([engine], run_times, present.now, arrivals=arrivals, only=only, count=futures, until=until)
        outcomes = [one for (one,) in drawn]
        found = forecasts(engine, outcomes, only)
    say_faults(faults, outcomes)
    if as_json:
        record = {"now": present.now, "futures": len(outcomes), "learned_from": run_times.learned._asdict()}
        echo(json.dumps({**record, "jobs": [asdict(one) for one in found]}))
    else:
        _print(found, present.now, len(outcomes), run_times.learned)


def say_faults(faults: Sequence[str], outcomes: Sequence[Outcome]) -> None:
    """Warn of faults of plugins, each kind once."""
    for fault in dict.fromkeys([*faults, *(one.fault for one in outcomes if one.fault)]):
        echo(f"rota: warning: {' '.join(fault.split())}", err=True)


def told_learned(learned: Learned, moment: Callable[[int], str]) -> str:
    """Say from what run times are learned.

    Args:
        learned: From what they are.
        moment: Formats a point of time.
    """
    if learned.first_end is None or learned.last_end is None:
        return "No job has ended so far: run times are guesses up to the time limits."
    if learned.jobs == 1:
        told = f"Run times are learned from one job, which ended at {moment(learned.first_end)}"
    else:
        period = f"from {moment(learned.first_end)} to {moment(learned.last_end)}"
        told = f"Run times are learned from {learned.jobs:,} jobs, which ended {period}"
    return f"{told}{': few, so they are mostly guesses.' if learned.jobs < _FEW else '.'}"


def _wanted(engine: Engine, jobs: Sequence[str]) -> frozenset[str]:
    """Give the names of the jobs and tasks that are meant.

    Raises:
        InputError: one of them does not wait.
    """
    waiting = waiting_jobs(engine)
    found: set[str] = set()
    for text in jobs:
        keys = {key for key, job in waiting.items() if text in {key, str(job.job_id), key.partition("_")[0]}}
        if not keys:
            runs = text.isdigit() and int(text) in engine.jobs
            problem = f"job {text} runs already" if runs else f"no job {text} waits; see squeue"
            raise InputError(problem, field="JOB")
        found |= keys
    return frozenset(found)


def _print(found: Sequence[Forecast], now: int, futures: int, learned: Learned) -> None:
    if not found:
        echo("No job waits.")
        return
    clock = Clock(now, system_utc_offset)
    print_table(
        [("job", "name", "user", "partition", "starts", "in", "early", "late"), *_rows(found, now, clock.moment)]
    )
    few = ": too few for ranges, more --seconds give more" if futures < _FEW else ""
    echo(f"\n{futures:,} futures{few}. Four in five starts should be between early and late.")
    echo(told_learned(learned, clock.moment))
    echo("How often such ranges have held here: rota forecast --check")


def _rows(found: Sequence[Forecast], now: int, moment: Callable[[int], str]) -> Iterator[tuple[str, ...]]:
    for one in found:
        job = f"{one.job} {one.task}".rstrip()
        if one.never:
            times = [f"never ({one.never})", "", "", ""]
        else:
            later = "" if one.after is None else f">{moment(one.after)}"
            starts, early, late = (
                later if time is None else moment(time) for time in (one.expected, one.early, one.late)
            )
            times = [starts, "" if one.expected is None else duration(one.expected - now), early, late]
        yield job, plain(one.name), one.user, one.partition, *times


def print_table(rows: Sequence[tuple[str, ...]], right: frozenset[int] = frozenset({0})) -> None:
    """Print a table whose first row is its head.

    Args:
        rows: The rows.
        right: Places of the columns that are set to the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            text.rjust(width) if place in right else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        echo("  ".join(cells).rstrip())


def _check(state: Path, *, as_json: bool) -> None:
    """Print how often ranges have held in the cluster's own past."""
    from rota.forecast.check import check, held
    from rota.replays.scenario import Scenario

    scenario = Scenario.from_files(state, report=say)
    found = held(check(scenario, moments=_MOMENTS, futures=_CHECKED))
    if as_json:
        echo(json.dumps(found._asdict()))
        return
    echo(
        f"In a replay of the {counted(len(scenario.workload), 'job that has', '{} jobs that have')} run, "
        f"{found.jobs:,} waited at {found.moments} moments.\n"
        f"{found.inside:.0%} of them started between early and late, of which 80% should.\n"
        f"The median error is {duration(round(found.error))}; that of the scheduler's plan is "
        f"{duration(round(found.plan_error))}, for the {found.planned:,} jobs that it had planned."
    )
