"""One run of a sweep: a replay, as ``rota replay`` makes it, and what is kept of it.

A run that fails is a row with its error: the others go on.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from time import process_time
from traceback import format_exception
from typing import TYPE_CHECKING, Any

from rota import __version__
from rota.model import InvariantError, RotaError
from rota.replays.run import replay
from rota.sweep.figures import figures_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rota.replays.scenario import Scenario
    from rota.sweep.search import Point

#: Format of a row on disk; to be changed when older ones can no longer be read.
ROW_FORMAT = "rota-sweep-2"


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is to be made."""

    #: A value for each axis.
    point: Point
    #: How much of the log's time is replayed, from 0 to 1: all of it, except in successive halving.
    part: float = 1.0

    def key(self, fingerprint: str) -> str:
        """Name the run: another version, other files or another value give another name.

        Args:
            fingerprint: What all runs of the sweep have in common.
        """
        told = json.dumps([ROW_FORMAT, __version__, fingerprint, sorted(self.point.items()), self.part])
        return sha256(told.encode()).hexdigest()[:20]


@dataclass(slots=True)
class Row:
    """What has become of a run."""

    point: Point
    part: float
    #: One line; empty: it was done.
    error: str = ""
    #: See `rota.sweep.figures.figures_of`; empty if it has failed.
    figures: dict[str, Any] = field(default_factory=dict)
    drawn: dict[str, list[float]] = field(default_factory=dict)
    #: What rota had to tell.
    messages: list[str] = field(default_factory=list)
    #: Processor time in seconds, with reading files that its process had not read before.
    cpu_s: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Convert it to JSON data."""
        return {"format": ROW_FORMAT, **asdict(self)}


def row_of(told: Mapping[str, Any]) -> Row:
    """Make a row from the data of `Row.as_dict`.

    Raises:
        ValueError: the data is no such row.
    """
    named = dict(told)
    if named.pop("format", None) != ROW_FORMAT or not named.keys() == asdict(Row({}, 1.0)).keys():
        raise ValueError("no row of a sweep")
    return Row(**named)


def carry_out(run: Run, read: Callable[[Run, Callable[[str], object]], Scenario]) -> Row:
    """Make a run.

    Args:
        run: The run.
        read: Reads what it is of; is given a function for messages as well.
    """
    row, begun = Row(run.point, run.part), process_time()
    try:
        row.figures, row.drawn = figures_of(replay(read(run, row.messages.append)))
    except Exception as error:  # noqa: BLE001 - plugins raise what they like, and the other runs are not to blame
        row.error = _one_line(error)
    row.cpu_s = process_time() - begun
    return row


def _one_line(error: Exception) -> str:
    """Give the text of an error: of one that is not the user's with its type and its place."""
    if isinstance(error, RotaError) and not isinstance(error, InvariantError):
        return " ".join(str(error).split())
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = "" if frame is None else f"{frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}: "
    return place + " ".join(format_exception(error)[-1].split())
