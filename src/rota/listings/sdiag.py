"""``sdiag``: what the scheduler has done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.commands.getopt import NEEDED, Option, UsageError, parse, table
from rota.listings.answer import Answer
from rota.listings.clock import Clock
from rota.listings.common import about, cluster_heading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rota.listings.view import View
    from rota.model.lines import Activity, BackfillStatistics, BackfillTimes, CallCount, Statistics

_OPTIONS = table(
    "sdiag",
    [
        Option("all", "a"),
        Option("help", "h"),
        Option("json", refused=True),
        Option("clusters cluster", "M", NEEDED),
        Option("reset", "r"),
        Option("sort-by-id", "i"),
        Option("sort-by-time", "t"),
        Option("sort-by-time2", "T"),
        Option("usage"),
        Option("version", "V"),
    ],
)
_USAGE = "Usage: sdiag [-M cluster] [-airtTV]\n"
#: In which order calls are listed, by option; without any the most frequent ones come first.
_ORDERS: dict[str, Callable[[CallCount], float]] = {
    "sort-by-id": lambda one: one.number,
    "sort-by-time": lambda one: -one.microseconds,
    "sort-by-time2": lambda one: -one.microseconds / one.count,
}
_LINE = "*" * 55


def asks_for_reset(argv: Sequence[str]) -> bool:
    """Whether a command line asks for counts to begin anew, and for nothing that comes before that.

    Args:
        argv: The words after ``sdiag``.
    """
    try:
        parsed = parse(argv, _OPTIONS)
    except UsageError:
        return False
    return parsed.has("reset") and not parsed.words and about(parsed, _USAGE) is None


def sdiag(argv: Sequence[str], environ: Mapping[str, str], view: View) -> Answer:  # noqa: ARG001 -- as all commands
    """Evaluate a command line.

    Args:
        argv: The words after ``sdiag``.
        environ: The user's environment.
        view: The cluster.

    Raises:
        UsageError: the command line is refused.
    """
    parsed = parse(argv, _OPTIONS)
    if (told := about(parsed, _USAGE)) is not None:
        return told
    if parsed.words:
        raise UsageError(f"sdiag: error: Unrecognized option: {parsed.words[0]}\n")
    if parsed.has("reset"):
        raise UsageError("sdiag: error: only what a running controller counts can be reset\n")
    heading = cluster_heading("sdiag", parsed, view)
    order = next((_ORDERS[one] for one in _ORDERS if parsed.has(one)), lambda one: -one.count)
    return Answer(heading + "".join(f"{line}\n" for line in _lines(view.statistics(), view, order)))


def _lines(found: Statistics, view: View, order: Callable[[CallCount], float]) -> Iterator[str]:
    done = found.activity
    began = found.boot_time if done is None else done.since
    now, since = (Clock(one, view.utc_offset).heading() for one in (found.now, began))
    yield from (_LINE, f"sdiag output at {now} ({found.now})", f"Data since      {since} ({began})", _LINE)
    if done is None:
        started = found.main.jobs_started + (found.backfill.jobs_started if found.backfill else 0)
        yield f"Jobs started:   {started}"
    else:
        yield from _done(done)
    yield ""
    yield f"Job states ts:  {now} ({found.now})"
    yield f"Jobs pending:   {found.jobs.get('PENDING', 0)}"
    yield f"Jobs running:   {found.jobs.get('RUNNING', 0)}"
    yield ""
    yield f"Main schedule statistics{'' if done is None else ' (microseconds)'}:"
    if done is not None:
        yield f"\tLast cycle:   {done.last_pass}"
        yield f"\tMax cycle:    {done.longest_pass}"
    yield f"\tTotal cycles: {found.main.cycles}"
    if done is not None and done.passes:
        yield f"\tMean cycle:   {done.mean_pass}"
    if found.main.cycles:
        yield f"\tMean depth cycle:  {int(found.main.mean_depth)}"
    if done is not None and done.passes:
        yield f"\tCycles per minute: {done.passes // max((found.now - done.since) // 60, 1)}"
    yield f"\tLast queue length: {found.main.last_queue_length}"
    if found.backfill is not None:
        yield from _backfill(found.backfill, None if done is None else done.backfill, view)
    if done is not None:
        yield from _calls(done, view, order)
    if found.faults:
        yield ""
        yield "Faults of plugins"
        yield from (f"\t{where}: {count}" for where, count in found.faults.items())


def _done(done: Activity) -> Iterator[str]:
    """Say what the controller has done. It has one thread, and no agents that wait to send something."""
    yield "Server thread count:  1"
    yield "Agent queue size:     0"
    yield "Agent count:          0"
    yield "Agent thread count:   0"
    yield "DBD Agent queue size: 0"
    yield ""
    yield f"Jobs submitted: {done.jobs.get('submitted', 0)}"
    yield f"Jobs started:   {done.jobs.get('started', 0)}"
    yield f"Jobs completed: {done.jobs.get('completed', 0)}"
    yield f"Jobs canceled:  {done.jobs.get('canceled', 0)}"
    yield f"Jobs failed:    {done.jobs.get('failed', 0)}"


def _calls(done: Activity, view: View, order: Callable[[CallCount], float]) -> Iterator[str]:
    """List what was asked. Nothing waits to be sent to anybody."""
    yield ""
    yield "Remote Procedure Call statistics by message type"
    for one in sorted(done.calls, key=order):
        yield f"\t{one.name:<40}({one.number:>5}) {_times(one)}"
    yield ""
    yield "Remote Procedure Call statistics by user"
    for one in sorted(done.calls_by_user, key=order):
        yield f"\t{view.user_name(one.number):<16}({one.number:>8}) {_times(one)}"
    yield from ("", "Pending RPC statistics", "\tNo pending RPCs")


def _times(one: CallCount) -> str:
    mean = one.microseconds // one.count
    return f"count:{one.count:<6} ave_time:{mean:<6} total_time:{one.microseconds}"


def _backfill(found: BackfillStatistics, times: BackfillTimes | None, view: View) -> Iterator[str]:
    means = times if found.cycles else None
    yield ""
    yield "Backfilling stats"
    yield f"\tTotal backfilled jobs (since last slurm start): {found.jobs_started}"
    yield f"\tTotal backfilled jobs (since last stats cycle start): {found.jobs_started}"
    yield "\tTotal backfilled heterogeneous job components: 0"
    yield f"\tTotal cycles: {found.cycles}"
    if times is not None:
        yield f"\tLast cycle when: {Clock(times.last_at, view.utc_offset).heading()} ({times.last_at})"
        yield f"\tLast cycle: {times.last}"
        yield f"\tMax cycle:  {times.longest}"
    if means is not None:
        yield f"\tMean cycle: {means.mean}"
    yield f"\tLast depth cycle: {found.last_depth}"
    yield f"\tLast depth cycle (try sched): {found.last_depth}"
    if means is not None:
        yield f"\tDepth Mean: {means.mean_depth}"
        yield f"\tDepth Mean (try depth): {means.mean_depth}"
    yield f"\tLast queue length: {found.last_queue_length}"
    if means is not None:
        yield f"\tQueue length mean: {means.mean_queue_length}"
    yield f"\tLast table size: {found.last_table_size}"
    if means is not None:
        yield f"\tMean table size: {means.mean_table_size}"
