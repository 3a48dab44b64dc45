"""The tables that ``rota compare`` prints: as wide as the terminal at most, and nothing cut off.

Runs have columns. Where these have no room for a difference and its interval on one line, they have several; and where
that does not suffice, there are several tables, each with the first run. Many runs have rows where these fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich import box
from rich.table import Table

from rota.cli.echo import shown
from rota.results.report import wording
from rota.results.report.metrics import say_difference, say_interval, say_signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rota.results.report.comparison import ClassRow, RunRow
    from rota.results.report.metrics import Difference, Metric, MetricRow

#: With more runs than this each has a row instead of a column, if rows fit.
_MOST_COLUMNS = 3
#: Longest word of a run's name, and longest label of a row, for which a column is made wide enough; else it is folded.
_LONGEST_WORD, _LONGEST_LABEL = 24, 27
_GAP = 3
#: Blanks in place of a ratio and a mark, so that values are aligned.
_NO_MARK = " " * 9


class Line(NamedTuple):
    """A line of a table: what it is, and a cell for each run."""

    label: str
    cells: Sequence[str]


def texts(title: str, names: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> Table:
    """Make a table of what differs between runs, with a row for each thing."""
    return _table([title, *names], [Line(label, [text or "–" for text in cells]) for label, cells in rows], right=False)


def figures(names: Sequence[str], runs: Sequence[RunRow], rows: Sequence[MetricRow], width: int) -> Iterator[Table]:
    """Make the tables of what became of the jobs, and of the figures."""
    counts = [
        Line("Jobs run", [f"{one.ran:,}" for one in runs]),
        Line("refused", [f"{one.refused:,}" for one in runs]),
        Line("not run to an end", [f"{one.unfinished:,}" for one in runs]),
        Line("plugin faults", [f"{one.faults:,}" for one in runs]),
        Line("drain after the last submission", [wording.duration(one.drain) for one in runs]),
    ]
    if len(runs) > _MOST_COLUMNS:
        columns = [*counts, *(_values(row.metric.label, row) for row in rows)]
        turned = [Line(name, [one.cells[i] for one in columns]) for i, name in enumerate(names)]
        if _width(head := ["", *(one.label for one in columns)], turned) <= width:
            yield _table(head, turned, width=width)
            return
    first = [Line(label, [f"{cell}{_NO_MARK}" for cell in cells]) for label, cells in counts]
    yield from _fitting([""], names, first, [((row.metric.label,), row) for row in rows], width)


def classes(way: str, names: Sequence[str], rows: Iterable[ClassRow], width: int) -> Iterator[Table]:
    """Make the tables of mean waits by class of job."""
    labelled = [((row.label, f"{row.jobs:,}"), row.wait) for row in rows]
    yield from _fitting([f"Mean wait by {way}", "Jobs"], names, [], labelled, width)


def _fitting(
    corner: Sequence[str],
    names: Sequence[str],
    first: Sequence[Line],
    rows: Sequence[tuple[tuple[str, ...], MetricRow]],
    width: int,
) -> Iterator[Table]:
    """Make a table of figures that fits; or several, each with the first run and as many others as fit.

    Args:
        corner: What is above the labels: as many texts as each row has labels.
        names: What the runs are called.
        first: Lines that come first.
        rows: The figures, with their labels.
        width: Number of characters that fit.
    """
    head, lines = [*corner, *names], list[Line]()
    for parts in (1, 2, 3):
        lines = [*first, *(line for labels, row in rows for line in _lines(labels, row, parts))]
        if _width(head, lines) <= width:
            yield _table(head, lines, width=width)
            return
    kept, place = range(len(corner) + 1), len(corner) + 1
    while place < len(head):
        end = len(head)
        while end > place + 1 and _width(*_chosen(head, lines, (*kept, *range(place, end)))) > width:
            end -= 1
        yield _table(*_chosen(head, lines, (*kept, *range(place, end))), width=width)
        place = end


def _chosen(head: Sequence[str], lines: Sequence[Line], places: Sequence[int]) -> tuple[list[str], list[Line]]:
    """Choose columns, of which the first is that of the labels."""
    return [head[i] for i in places], [Line(one.label, [one.cells[i - 1] for i in places[1:]]) for one in lines]


def _values(label: str, row: MetricRow) -> Line:
    """Format the values of all runs, ``01:53:56 ×0.98 *``. What is missing is blank, to align columns."""
    cells = []
    for value, ratio, difference in zip(row.values, row.ratios, row.differences, strict=True):
        versus = "" if difference is None or ratio is None else f"×{ratio:.2f}"
        mark = "*" if difference is not None and difference.is_marked else " "
        cells.append(f"{row.metric.say(value)} {versus:>6} {mark}")
    return Line(label, cells)


def _lines(labels: tuple[str, ...], row: MetricRow, parts: int) -> Iterator[Line]:
    """Format a figure: its values, the differences, and their intervals.

    Args:
        labels: What it is called, and what else is before its values.
        row: The figure.
        parts: On how many lines difference, lower and upper bound are: 1 to 3.
    """
    label, *more = labels
    yield Line(label, [*more, *_values(label, row).cells])
    blank, metric, found = [""] * len(more), row.metric, row.differences[1:]
    off = "" if row.error is None else f"off by {metric.say(row.error)}"
    say = say_difference if parts == 1 else _say_value
    told = ["" if one is None else say(metric, one) for one in found]
    yield Line("  Δ", [*blank, *(f"{cell}  " for cell in (off, *told))])
    intervals = [None if one is None else one.interval for one in found]
    if parts == 1 or not any(intervals):
        return
    if parts == 2:
        yield Line("  95 %", [*blank, "", *(f"{say_interval(metric, one)}  " if one else "" for one in intervals)])
        return
    for word, end in (("from", "low"), ("to", "high")):
        bounds = [f"{say_signed(metric, getattr(one, end))}  " if one else "" for one in intervals]
        yield Line(f"  {word}", [*blank, "", *bounds])


def _say_value(metric: Metric, one: Difference) -> str:
    return say_signed(metric, one.value)


def _width(head: Sequence[str], lines: Sequence[Line]) -> int:
    """Count the characters of the widest line of a table, if only long words of its head are folded."""
    return _sum(_widths(head, lines))


def _widths(head: Sequence[str], lines: Sequence[Line]) -> list[int]:
    columns = zip(*((one.label[:_LONGEST_LABEL], *one.cells) for one in lines), strict=True)
    return [_column_width(name, cells) for name, cells in zip(head, columns, strict=True)]


def _sum(widths: Sequence[int]) -> int:
    return 2 + sum(_GAP + one for one in widths) - _GAP


def _column_width(name: str, cells: Iterable[str]) -> int:
    words = (min(len(word), _LONGEST_WORD) for word in name.split())
    return max(max(words, default=0), *map(len, cells))


def _table(head: Sequence[str], lines: Sequence[Line], *, right: bool = True, width: int = 0) -> Table:
    """Make a table.

    Args:
        head: What is above the columns.
        lines: The lines.
        right: Whether all columns but the first are aligned to the right.
        width: Number of characters that fit: if they do not, head and labels are folded; 0: whatever fits.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    columns = [list(column) for column in zip(*((one.label, *one.cells) for one in lines), strict=True)]
    wide = [max(map(len, (name, *column))) for name, column in zip(head, columns, strict=True)]
    # rich would take the room from the widest column, and cut off its figures.
    narrow = _widths(head, lines) if 0 < width < _sum(wide) else None
    for place, (name, column) in enumerate(zip(head, columns, strict=True)):
        align = right and place > 0
        # Aligned here: rich would strip the blanks that stand for a missing ratio or mark.
        least = max(map(len, column), default=0) if align else 0
        columns[place] = [cell.rjust(least) for cell in column]
        table.add_column(
            shown(name),
            overflow="fold",
            justify="right" if align else "left",
            min_width=least or None,
            width=None if narrow is None else narrow[place],
        )
    for cells in zip(*columns, strict=True):
        table.add_row(*(shown(cell, style="bold" if cell.endswith("*") else "") for cell in cells))
    return table
