"""A sweep from its axes to its rows: what is done already is read, the rest is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.sweep.effects import ranked, settings_in
from rota.sweep.runs import Run
from rota.sweep.search import Rung, replicates_of, rungs_of, settings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rota.sweep.axes import Axis
    from rota.sweep.folder import Folder
    from rota.sweep.runs import Row
    from rota.sweep.workers import Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What is to be run."""

    axes: tuple[Axis, ...]
    #: One of `rota.sweep.search.SEARCHES`.
    search: str = "grid"
    #: How many settings random search and halving draw; ``None``: `rota.sweep.search.SAMPLES`.
    samples: int | None = None
    #: Seed of that draw.
    draw: int = 0
    #: Key of the metric by which settings are ranked.
    by: str = "mean_bounded_slowdown"
    #: What all runs have in common, which names their files.
    fingerprint: str = ""


def play(
    sweep: Sweep,
    folder: Folder,
    workers: Workers,
    make: Callable[[Run], Row],
    progress: Callable[[int, int], object] | None = None,
) -> list[Row]:
    """Make the runs that are not done; give all rows, by round of the search and in the order of the grid.

    Args:
        sweep: What is to be run.
        folder: Where it goes.
        workers: Who makes the runs.
        make: Makes one. It is sent to other processes: a function of a module, or a partial one of such.
        progress: Is told how many runs are done, and how many there are in all.

    Raises:
        InputError: the grid is too large, or a row cannot be written.
    """
    settings = settings_of(sweep.axes, sweep.search, sweep.samples, sweep.draw)
    replicates = replicates_of(sweep.axes)
    rungs = rungs_of(len(settings)) if sweep.search == "halving" else [Rung(len(settings), 1.0)]
    total = sum(rung.settings for rung in rungs) * len(replicates)
    found: list[Row] = []
    for rung in rungs:
        points = [{**one, **other} for one in settings[: rung.settings] for other in replicates]
        runs = [Run({axis.name: point[axis.name] for axis in sweep.axes}, rung.part) for point in points]
        rows: dict[str, Row] = {}
        for key, row in _rows({run.key(sweep.fingerprint): run for run in runs}, folder, workers, make):
            rows[key] = row
            if progress is not None:
                progress(len(found) + len(rows), total)
        found += [rows[run.key(sweep.fingerprint)] for run in runs]
        settings = [one.point for one in ranked(settings_in(rows.values()), sweep.by)]
    return found


def _rows(
    runs: dict[str, Run], folder: Folder, workers: Workers, make: Callable[[Run], Row]
) -> Iterator[tuple[str, Row]]:
    """Give the rows of runs by their keys: first of those that are done, then of others, which are written."""
    left = {}
    for key, run in runs.items():
        row = folder.read(key)
        if row is None:
            left[key] = run
        else:
            yield key, row
    for key, row in workers.rows(left, make):
        folder.keep(key, row)
        yield key, row
