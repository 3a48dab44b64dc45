"""The explanation of a job's state, in sentences and tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rota.listings.clock import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rota.inspect.explain import Explanation
    from rota.inspect.start_estimate import StartEstimate

#: Number of jobs before it that are listed; the others are counted.
_LISTED = 10
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def describe(one: Explanation, start: int | None, utc_offset: Callable[[int], int]) -> str:
    """Describe an explanation in sentences and tables.

    Args:
        one: The explanation.
        start: When the job starts or has started, Unix seconds; ``None``: that is not known.
        utc_offset: Gives local time minus UTC in seconds, at a Unix time.
    """
    return "".join(f"{line}\n" for line in _lines(one, start, utc_offset))


def _lines(one: Explanation, start: int | None, utc_offset: Callable[[int], int]) -> Iterator[str]:
    def when(time: int) -> str:
        return f"{_EPOCH + timedelta(seconds=time + utc_offset(time)):%Y-%m-%d %H:%M:%S}"

    who = f"user {one.user or '(none)'} of account {one.account}"
    yield f"Job {one.job_id} of {who}: {one.num_cpus:,} CPUs for up to {duration(one.time_limit)},"
    yield f"submitted {when(one.submit_time)} to partition {one.partition}{f', QOS {one.qos}' if one.qos else ''}."
    yield ""
    if one.state != "PENDING":
        waited = f" after {duration(start - one.submit_time)}" if start is not None else ""
        yield f"At {when(one.now)} it is {one.state}: it started{waited}, with priority {one.priority:,}."
        return
    place = f"place {one.place:,} of {one.queue_length:,} in the queue" if one.place else "not in the queue"
    waited = duration(one.now - one.submit_time)
    yield f"At {when(one.now)} it has waited {waited} and is {one.state} ({one.reason}),"
    yield f"{place}, with priority {one.priority:,}{' that an administrator has set' if one.direct else ''}."
    if one.planned_start is not None:
        yield f"The scheduler plans to start it at {when(one.planned_start)}."
    if start is not None:
        yield f"It starts at {when(start)}, after {duration(start - one.submit_time)}."
    yield from _held_lines(one)
    yield from _start_estimate_lines(one, when)
    yield from _factors_lines(one)
    yield from _before_lines(one)


def _held_lines(one: Explanation) -> Iterator[str]:
    """Say the limit that holds the job back, and its dependencies."""
    if (held := one.held_by) is not None:
        size = _time if held.name == "MaxWallDurationPerJob" else _number
        counts = f"{size(held.used)} is in use, and the job would add {size(held.asked)}"
        if held.name == "UsageThreshold":
            counts = f"the fair-share that counts is {_number(held.used)}"
        yield f"\nIt is held back by {held.name} of {held.whose}, which is {size(held.most)}: {counts}."
    if one.dependency:
        yield f"\nIt waits for what its user has asked for: {one.dependency}."


def _time(seconds: float) -> str:
    return duration(int(seconds))


def _number(value: float) -> str:
    return f"{value:,.10g}"


def _start_estimate_lines(one: Explanation, when: Callable[[int], str]) -> Iterator[str]:
    """Say what the job waits for, and what would make it start sooner."""
    plan = one.start_estimate
    if plan.start is not None and plan.start > one.now:
        where = f" on {plan.nodes}" if plan.nodes else ""
        yield f"\nAfter all jobs before it, it fits at {when(plan.start)}{where}, if jobs run to their time limits:"
        yield "nothing is learned for that from jobs that have ended."
    if plan.waits_for:
        last, *others = plan.waits_for
        more = f", and for {len(others):,} more" if others else ""
        yield f"It waits for job {last.job_id} of {last.user}, which ends by {when(last.end_time)}{more}."
    if plan.backfilled:
        job, count = plan.backfilled[0], len(plan.backfilled) - 1
        more = f" and {count:,} more" if count else ""
        yield f"Job {job.job_id} of {job.user}{more} behind it started meanwhile. {_cost(plan, when)}"
    for change in plan.sooner:
        words = {
            "time limit": f"a time limit of {duration(int(change.value))}" if change.what == "time limit" else "",
            "processors": f"{change.value} CPUs",
            "partition": f"partition {change.value}",
        }
        start = "now" if change.start <= one.now else f"at {when(change.start)}"
        yield f"With {words[change.what]} it would start {start}."


def _cost(plan: StartEstimate, when: Callable[[int], str]) -> str:
    """Describe by how much jobs that were started ahead of it delay the job."""
    if plan.start is None or plan.start_without is None or plan.start_without >= plan.start:
        return "That costs it nothing: without them it would fit no sooner."
    return f"Without them it would fit at {when(plan.start_without)}."


def _factors_lines(one: Explanation) -> Iterator[str]:
    if not one.factors:
        if not one.direct:
            yield "\nThe priority plugin gives no factors: its order is that of the priorities alone."
        return
    yield ""
    rows = [("factor", "value", "weight", "points")]
    for factor in one.factors:
        value = "" if factor.value is None else f"{factor.value:.4f}"
        weight = "" if factor.weight is None else f"{factor.weight:,.10g}"
        rows.append((factor.name, value, weight, f"{factor.points:,.1f}"))
    rows.append(("sum", "", "", f"{sum(factor.points for factor in one.factors):,.1f}"))
    yield from _table(rows)
    for name, used, target in one.shares:
        verdict = "more than" if used > target else "less than" if used < target else "just"
        yield f"{name} has used {used:.2%} of the cluster, {verdict} its share of {target:.2%}."


def _before_lines(one: Explanation) -> Iterator[str]:
    if not one.before:
        if one.place:
            yield "\nNo job stands before it."
        return
    yield f"\nBefore it: {len(one.before):,} job{'s' if len(one.before) > 1 else ''}"
    rows = [("job", "user", "account", "priority", "because of")]
    for other in one.before[:_LISTED]:
        points = f" (+{other.points:,.0f})" if other.points > 0 else ""
        rows.append((str(other.job_id), other.user, other.account, f"{other.priority:,}", f"{other.because}{points}"))
    yield from _table(rows, left={1, 2, 4})
    if len(one.before) > _LISTED:
        yield f"and {len(one.before) - _LISTED:,} more"


def _table(rows: Sequence[tuple[str, ...]], left: frozenset[int] | set[int] = frozenset({0})) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (text.ljust(widths[i]) if i in left else text.rjust(widths[i]) for i, text in enumerate(row))
        yield "  " + "  ".join(cells).rstrip()
