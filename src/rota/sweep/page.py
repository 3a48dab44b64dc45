"""The page of a sweep: response curves with their intervals, the settings by rank, and which beat which."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from rota.pages import environment
from rota.results.report import wording
from rota.sweep.effects import lines_along
from rota.sweep.figures import METRICS
from rota.sweep.search import REPLICATES
from rota.sweep.summary import say_difference, say_value

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Environment

    from rota.results.provenance import Provenance
    from rota.sweep.axes import Axis
    from rota.sweep.effects import Cell, Line
    from rota.sweep.figures import Metric
    from rota.sweep.summary import Summary

#: Most settings in the table; the Parquet file has all.
MOST_SHOWN = 200
#: Digits of figures in the page's data.
_DIGITS = 6


def write_page(summary: Summary, provenance: Provenance, path: Path) -> None:
    """Write the page.

    Raises:
        OSError: the file cannot be written.
    """
    curves = _varied(summary)
    html = (
        _environment()
        .get_template("sweep.html.j2")
        .render(
            summary=summary,
            provenance=provenance,
            metrics=METRICS,
            curves=curves,
            shown=[one for one in summary.ranked if not one.failed][:MOST_SHOWN],
            say=say_value,
            say_interval=_say_interval,
            say_difference=say_difference,
            data=_data(summary, curves),
        )
    )
    path.write_text(html, encoding="utf-8", newline="\n")


def _varied(summary: Summary) -> list[Axis]:
    """Give the axes that have a response curve: parameters of more than one value."""
    return [axis for axis in summary.sweep.axes if axis.name not in REPLICATES and len(axis.values) > 1]


def _data(summary: Summary, curves: list[Axis]) -> dict[str, Any]:
    """Give what the page's scripts draw."""
    places = {id(one): place for place, one in enumerate(summary.ranked, start=1)}
    is_grid = summary.sweep.search == "grid"
    settings = [one for one in summary.settings if not one.failed]
    return {
        "metrics": [{"key": one.key, "label": one.label, "isGain": one.is_gain} for one in METRICS],
        "curves": [_curve(axis, lines_along(axis, settings) if is_grid else [], summary) for axis in curves],
        "settings": [
            {
                "place": places[id(one)],
                "name": one.name,
                "onFront": one in summary.front,
                "values": [round(one.mean(metric.key), _DIGITS) for metric in METRICS],
            }
            for one in summary.alike
        ],
    }


def _curve(axis: Axis, lines: list[Line], summary: Summary) -> dict[str, Any]:
    numbers = axis.numbers
    order = range(len(axis.values)) if numbers is None else sorted(range(len(axis.values)), key=numbers.__getitem__)
    place = {
        value: spot if numbers is None else numbers[index]
        for spot, index in enumerate(order)
        for value in [axis.values[index]]
    }
    return {
        "name": axis.name,
        "labels": None if numbers is not None else [axis.values[index] for index in order],
        "x": [place[axis.values[index]] for index in order],
        "lines": [
            {
                "name": line.name,
                "cells": {key: _bounds([cells[index] for index in order]) for key, cells in line.cells.items()},
            }
            for line in lines
        ],
        "dots": [] if lines else _dots(axis, place, summary),
    }


def _dots(axis: Axis, place: dict[str, float], summary: Summary) -> list[list[float]]:
    """Give the settings of a search that leaves gaps: their places on the axis, and their figures."""
    return sorted(
        [place[one.point[axis.name]], *(round(one.mean(metric.key), _DIGITS) for metric in METRICS)]
        for one in summary.alike
    )


def _bounds(cells: list[Cell | None]) -> list[list[float | None]]:
    """Give the value of each cell of a line, and the interval of its change from the first one, added to that."""
    first = next((one for one in cells if one is not None), None)
    found: list[list[float | None]] = []
    for cell in cells:
        interval = None if cell is None or first is None else cell.minus(first).interval
        if cell is None or first is None or interval is None:
            found.append([None if cell is None else round(cell.value, _DIGITS), None, None])
        else:
            found.append(
                [round(one, _DIGITS) for one in (cell.value, first.value + interval.low, first.value + interval.high)]
            )
    return found


def _say_interval(metric: Metric, cell: Cell) -> str:
    interval = cell.interval
    return "" if interval is None else f"{say_value(metric, interval.low)} to {say_value(metric, interval.high)}"


@cache
def _environment() -> Environment:
    made = environment("rota.sweep")
    made.filters["count"] = wording.count
    return made
