"""Reading a workload of any supported format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.model import InputError
from rota.workload.events import is_event_file, read_events
from rota.workload.files import first_bytes
from rota.workload.sacct import is_sacct, read_sacct
from rota.workload.swf import read_swf

if TYPE_CHECKING:
    from pathlib import Path

    from rota.workload.workload import Workload

#: Enough for the longest comment before the first line.
_BEGINNING = 2**16


def read_workload(path: Path, time_zone: str = "") -> Workload:
    """Read a file of SWF, of ``sacct`` or of events, gzip or plain. The format is recognised by content.

    Args:
        path: The file, or a folder of files of ``sacct``.
        time_zone: Of local times in files of ``sacct``; empty: UTC.

    Raises:
        InputError: the file cannot be read.
    """
    if path.is_dir():
        return read_sacct(files_of(path), time_zone)
    beginning = first_bytes(path, _BEGINNING)
    if is_event_file(beginning):
        return read_events(path)
    return read_sacct([path], time_zone) if is_sacct(beginning) else read_swf(path)


def files_of(path: Path) -> list[Path]:
    """Give the files of a workload: the file, or those of ``sacct`` in a folder, by name; hidden ones do not count.

    Raises:
        InputError: the folder holds anything else, or nothing.
    """
    if not path.is_dir():
        return [path]
    files = [one for one in sorted(path.iterdir()) if not one.name.startswith(".")]
    if not files:
        raise InputError("is an empty folder: name a file, or a folder with files of sacct", path=path)
    other = next((one for one in files if not is_sacct(first_bytes(one, _BEGINNING))), None)
    if other is not None:
        raise InputError(f"is a folder with {other.name}, which is no file of sacct: name the one file", path=path)
    return files
