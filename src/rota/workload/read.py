"""Reading a workload in whichever format it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.workload.events import is_event_file, read_events
from rota.workload.files import first_bytes
from rota.workload.swf import read_swf

if TYPE_CHECKING:
    from pathlib import Path

    from rota.workload.workload import Workload


def read_workload(path: Path) -> Workload:
    """Read SWF or an event file, gzip or plain; which of the two, its content tells.

    Raises:
        InputError: it cannot be read.
    """
    # Enough for the longest comment that may stand before the first line.
    return read_events(path) if is_event_file(first_bytes(path, 2**16)) else read_swf(path)
