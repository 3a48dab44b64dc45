r"""`rota jobstats parse`: what is in a text of ``job_stats``.

With ``--json``, a line for each target, job and operation:

=================== ===========================================================================================
key                 value
=================== ===========================================================================================
``target``          such as ``lustre-OST0001``
``job_id``          the id that is meant
``raw_job_id``      the id as it is written, with quotes and escapes; bytes that are not UTF-8 as ``\\xHH``
``snapshot_time``   when the target last counted something for the job: seconds, or null
``start_time``      when the entry was made: seconds, or null
``operation``       as it is written: ``read`` are bytes until 2.5, and microseconds from 2.14, as the unit says
``samples``         how often it was done
``unit``            ``bytes``, ``usecs`` or ``reqs``
``min`` ``max``     and ``sum``, ``sumsq``, in that unit; null where the text has none
``hist``            samples by size, such as ``{"4K": 35}``; null where the text has none
=================== ===========================================================================================

The table leaves out what never happened. Bad lines are shown on standard error, the first twenty; the last line there
sums up. They are no failure: the exit status is 0.
"""

from __future__ import annotations

import json
import sys
import time
from functools import lru_cache
from typing import TYPE_CHECKING

import click

from rota.cli.echo import echo
from rota.model.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.lustre.counters import Counter, JobStats

_Row = tuple[str, ...]
_HEADINGS: _Row = ("TARGET", "JOB", "OPERATION", "SAMPLES", "UNIT", "MIN", "MAX", "SUM")
_NUMBERS = frozenset({"SAMPLES", "MIN", "MAX", "SUM"})
#: Rows that are printed at once.
_PIECE = 10_000


@click.command()
@click.argument("source", metavar="FILE|-")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object a line for each target, job and operation.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=60.0, help="Seconds for lctl and ssh.")
def parse(source: str, as_json: bool, timeout: float) -> None:
    """Print what a text of job_stats says, of any release of Lustre.

    Instead of a file, standard input (-), lctl, ssh://[USER@]HOST[:PORT] or dir:PATH can be read.
    """
    from rota.lustre.output import SourceError
    from rota.lustre.sources import parse_source

    begun = time.perf_counter()
    jobs = counters = bad_lines = 0
    table = _Table()
    failures = []
    for stream in parse_source(source).streams(timeout):
        entries, findings = stream.entries(zeros=as_json)
        try:
            for entry in entries:
                if as_json:
                    sys.stdout.write(_json_lines(entry))
                else:
                    table.add(_rows(entry))
        except SourceError as error:  # what was read of it, and the other streams, are shown
            failures.append(str(error))
        jobs += findings.jobs
        counters += findings.counters + findings.zeros
        bad_lines += findings.bad_lines
        if findings.nameless > 1:
            echo(
                f"{stream.target}: {findings.nameless} targets have no name: they are numbered by their places",
                err=True,
            )
        for bad in findings.shown:
            echo(bad.said(stream.name), err=True)
    if not as_json:
        table.end()
    seconds = time.perf_counter() - begun
    sys.stdout.flush()
    echo(f"{jobs} jobs, {counters} counters, {bad_lines} bad lines, {seconds:.3f} s", err=True)
    if failures:
        raise SourceError("; ".join(failures))


def _json_lines(entry: JobStats) -> str:
    head = {
        "target": entry.target,
        "job_id": entry.job_id,
        "raw_job_id": entry.raw_id.decode("utf-8", "backslashreplace"),
        "snapshot_time": entry.snapshot_time,
        "start_time": entry.start_time,
    }
    beginning = json.dumps(head)[:-1]
    return "".join(
        [
            f"{beginning}, {(_counter if counter.samples else _zero)(operation, counter)}"
            for operation, counter in entry.counters.items()
        ]
    )


def _counter(operation: str, counter: Counter) -> str:
    """Give the rest of a line."""
    rest = {
        "operation": operation,
        "samples": counter.samples,
        "unit": counter.unit,
        "min": counter.minimum,
        "max": counter.maximum,
        "sum": counter.total,
        "sumsq": counter.sum_of_squares,
        "hist": None if counter.histogram is None else counter.sizes,
    }
    return json.dumps(rest)[1:] + "\n"


#: Four counters of five never happened, and are all alike.
_zero = lru_cache(4096)(_counter)


def _rows(entry: JobStats) -> list[_Row]:
    job_id = printable(entry.job_id) or "(empty)"
    return [
        (entry.target, job_id, operation, f"{samples:,}", unit, *["" if one is None else f"{one:,}" for one in numbers])
        for operation, (samples, unit, *numbers, _, _) in entry.counters.items()
    ]


class _Table:
    """A table that is printed as it grows, in pieces, each as wide as it needs; a target or job is said once."""

    def __init__(self) -> None:
        self._rows = [_HEADINGS]
        self._widths = [0] * len(_HEADINGS)
        self._above = ("", "")

    def add(self, rows: Sequence[_Row]) -> None:
        """Add rows."""
        self._rows += rows
        if len(self._rows) >= _PIECE:
            self.end()

    def end(self) -> None:
        """Print what was not yet."""
        if not self._rows:
            return
        longest = [max(map(len, column)) for column in zip(*self._rows, strict=True)]
        self._widths = [max(pair) for pair in zip(self._widths, longest, strict=True)]
        line = "  ".join(
            f"%{'' if heading in _NUMBERS else '-'}{width}s"
            for heading, width in zip(_HEADINGS, self._widths, strict=True)
        )
        lines = []
        above_target, above_job = self._above
        for row in self._rows:
            target, job, *others = row
            if target != above_target:
                above_target, above_job = target, job
            elif job != above_job:
                target, above_job = "", job
            else:
                target = job = ""
            lines.append((line % (target, job, *others)).rstrip())
        self._above = (above_target, above_job)
        self._rows.clear()
        print(*lines, sep="\n")
