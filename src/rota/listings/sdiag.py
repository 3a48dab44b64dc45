"""``sdiag``: what the scheduler has done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.commands.getopt import NEEDED, Option, UsageError, parse, table
from rota.listings.answer import Answer
from rota.listings.clock import Clock
from rota.listings.common import about, cluster_heading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rota.listings.view import View
    from rota.model.lines import Activity, BackfillStatistics, Statistics

_SORTED = "rota counts no remote calls"
_OPTIONS = table(
    "sdiag",
    [
        Option("all", "a"),
        Option("help", "h"),
        Option("json", refused=True),
        Option("clusters cluster", "M", NEEDED),
        Option("reset", "r", refused=True),
        Option("sort-by-id", "i", ignored=_SORTED),
        Option("sort-by-time", "t", ignored=_SORTED),
        Option("sort-by-time2", "T", ignored=_SORTED),
        Option("usage"),
        Option("version", "V"),
    ],
)
_USAGE = "Usage: sdiag [-M cluster] [-aV]\n"
_LINE = "*" * 55


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
    heading = cluster_heading("sdiag", parsed, view)
    return Answer(heading + "".join(f"{line}\n" for line in _lines(view.statistics(), view)))


def _lines(found: Statistics, view: View) -> Iterator[str]:
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
    if done is not None:
        yield f"\tMean cycle:   {done.mean_pass}"
    yield f"\tMean depth cycle:  {int(found.main.mean_depth)}"
    if done is not None:
        yield f"\tCycles per minute: {done.passes // max((found.now - done.since) // 60, 1)}"
    yield f"\tLast queue length: {found.main.last_queue_length}"
    if found.backfill is not None:
        yield from _backfill(found.backfill)
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


def _backfill(found: BackfillStatistics) -> Iterator[str]:
    yield ""
    yield "Backfilling stats"
    yield f"\tTotal backfilled jobs (since last slurm start): {found.jobs_started}"
    yield f"\tTotal backfilled jobs (since last stats cycle start): {found.jobs_started}"
    yield "\tTotal backfilled heterogeneous job components: 0"
    yield f"\tTotal cycles: {found.cycles}"
    yield f"\tLast depth cycle: {found.last_depth}"
    yield f"\tLast queue length: {found.last_queue_length}"
    yield f"\tLast table size: {found.last_table_size}"
