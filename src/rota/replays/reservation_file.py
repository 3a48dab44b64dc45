"""Files of advance reservations: the options of ``scontrol create reservation``, one reservation a line.

For the options see `rota.commands.create_reservation`. The syntax of the lines is that of slurm.conf: comments begin
with ``#``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.commands.create_reservation import ReservationRequest, parse_reservation
from rota.commands.option_error import OptionError
from rota.config.lines import read_lines
from rota.model import InputError

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
        """Make the reservation; for the arguments see `ReservationRequest.reservation`.

        Raises:
            InputError: a time cannot be used.
        """
        try:
            return self.request.reservation(origin, utc_offset)
        except OptionError as error:
            raise self.line.error(str(error), error.option) from None


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
        return parse_reservation(line.pairs, config)
    except OptionError as error:
        raise line.error(str(error), error.option) from None
