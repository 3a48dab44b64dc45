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
from typing import TYPE_CHECKING

import click

from rota.lustre.job_ids import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.lustre.counters import JobStats

_Row = tuple[str, ...]
_HEADINGS: _Row = ("TARGET", "JOB", "OPERATION", "SAMPLES", "UNIT", "MIN", "MAX", "SUM")
_NUMBERS = frozenset({"SAMPLES", "MIN", "MAX", "SUM"})


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
    rows: list[_Row] = []
    failures = []
    for stream in parse_source(source).streams(timeout):
        entries, findings = stream.entries(zeros=True)
        try:
            for entry in entries:
                counters += len(entry.counters)
                if as_json:
                    sys.stdout.writelines(_json_lines(entry))
                else:
                    rows += _rows(entry)
        except SourceError as error:  # what was read of it, and the other streams, are shown
            failures.append(str(error))
        jobs += findings.jobs
        bad_lines += findings.bad_lines
        for bad in findings.shown:
            click.echo(f"{bad.target}: line {bad.number}: {bad.reason}: {bad.text!r}", err=True)
    if not as_json:
        _print_table(rows)
    seconds = time.perf_counter() - begun
    sys.stdout.flush()
    click.echo(f"{jobs} jobs, {counters} counters, {bad_lines} bad lines, {seconds:.3f} s", err=True)
    if failures:
        raise SourceError("; ".join(failures))


def _json_lines(entry: JobStats) -> Iterator[str]:
    for operation, counter in entry.counters.items():
        line = {
            "target": entry.target,
            "job_id": entry.job_id,
            "raw_job_id": entry.raw_id.decode("utf-8", "backslashreplace"),
            "snapshot_time": entry.snapshot_time,
            "start_time": entry.start_time,
            "operation": operation,
            "samples": counter.samples,
            "unit": counter.unit,
            "min": counter.minimum,
            "max": counter.maximum,
            "sum": counter.total,
            "sumsq": counter.sum_of_squares,
            "hist": None if counter.histogram is None else counter.sizes,
        }
        yield json.dumps(line) + "\n"


def _rows(entry: JobStats) -> Iterator[_Row]:
    for operation, counter in entry.counters.items():
        if counter.samples or counter.total:
            numbers = ("" if number is None else f"{number:,}" for number in counter[2:5])
            job_id = printable(entry.job_id) or "(empty)"
            yield entry.target, job_id, operation, f"{counter.samples:,}", counter.unit, *numbers


def _print_table(rows: list[_Row]) -> None:
    """Print the rows; a target or job that is that of the line above is not repeated."""
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True)]
    above: _Row = ("", "")
    for row in (_HEADINGS, *rows):
        same_target = row[0] == above[0]
        shown = ("" if same_target else row[0], "" if same_target and row[1] == above[1] else row[1], *row[2:])
        above = row
        cells = (
            cell.rjust(width) if heading in _NUMBERS else cell.ljust(width)
            for heading, cell, width in zip(_HEADINGS, shown, widths, strict=True)
        )
        print("  ".join(cells).rstrip())
