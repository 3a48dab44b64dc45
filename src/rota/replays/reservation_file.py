"""Files of advance reservations: the options of ``scontrol create reservation``, one reservation a line.

For the options see `rota.commands.create_reservation`. Times are dates in local time, or the time since the log's
start: ``days-hours:minutes:seconds``, or seconds. The syntax of the lines is that of slurm.conf: comments begin with
``#``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.commands.create_reservation import ReservationRequest, parse_reservation
from rota.commands.option_error import OptionError
from rota.config.lines import read_lines
from rota.config.local_time import parse_moment
from rota.model import Errno, InputError, RequestError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rota.config.lines import Line
    from rota.model import ClusterConfig
    from rota.model.reservation import Reservation


class ReservationLine(NamedTuple):
    """One line of the file."""

    line: Line
    request: ReservationRequest

    def reservation(self, origin: int, utc_offset: Callable[[int], int]) -> Reservation:
        """Make the reservation.

        Args:
            origin: When the log begins, Unix seconds.
            utc_offset: Local time minus UTC, seconds, at a Unix time.

        Raises:
            InputError: a time cannot be used.
        """
        start, end = (
            self._moment(key, origin, utc_offset) if key in self.request.words else None
            for key in ("StartTime", "EndTime")
        )
        try:
            return self.request.reservation(self.request.value("ReservationName"), start or 0, end)
        except OptionError as error:
            raise self.line.error(str(error), error.option) from None

    def _moment(self, key: str, origin: int, utc_offset: Callable[[int], int]) -> int:
        try:
            return parse_moment(self.request.value(key), origin, utc_offset)
        except InputError as error:
            raise self.line.error(error.problem, key) from None


def read_reservations(path: Path, config: ClusterConfig) -> tuple[ReservationLine, ...]:
    """Read a file of reservations.

    Args:
        path: The file.
        config: The machine on which nodes are to be reserved.

    Raises:
        InputError: it cannot be read, or has a line that cannot be used.
    """
    found = tuple(ReservationLine(line, _request(line, config)) for line in read_lines(path))
    if found and len(config.nodes) == 1:
        raise InputError("a machine of one node has nothing to reserve: give a slurm.conf with nodes", path=path)
    return found


def _request(line: Line, config: ClusterConfig) -> ReservationRequest:
    try:
        found = parse_reservation((f"{key}={value}" for key, value in line.pairs), config)
    except OptionError as error:
        raise line.error(str(error), error.option) from None
    except RequestError as error:
        field = "PartitionName" if error.errno is Errno.INVALID_PARTITION_NAME else "Nodes"
        raise line.error(str(error), field) from None
    # Slurm passes over these two.
    if "Nodes" in found.words and "NodeCnt" in found.words:
        raise line.error("goes without Nodes", "NodeCnt")
    if "Features" in found.words and not found.node_cnt:
        raise line.error("goes with NodeCnt", "Features")
    if "ReservationName" not in found.words:
        raise line.error("a reservation needs a name", "ReservationName")
    return found
