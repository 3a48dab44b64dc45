"""Reading a workload of any supported format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.workload.events import is_event_file, read_events
from rota.workload.files import first_bytes
from rota.workload.swf import read_swf

if TYPE_CHECKING:
    from pathlib import Path

    from rota.workload.workload import Workload


def read_workload(path: Path) -> Workload:
    """Read an SWF or event file, gzip or plain. The format is recognised by content.

    Raises:
        InputError: the file cannot be read.
    """
    # Enough for the longest comment before the first line.
    return read_events(path) if is_event_file(first_bytes(path, 2**16)) else read_swf(path)
