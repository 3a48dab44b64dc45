"""How a result came about: the command, rota's version, the files that were read, and every change of them.

A result can be made again from this, and two runs are told apart by it. Nothing in it depends on when or where the
result was written.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from rota import __version__
from rota.results.stored import reading

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

#: Format of the provenance in ``summary.json``; to be changed when older files can no longer be read.
PROVENANCE_FORMAT = "rota-provenance-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file that was read."""

    #: What it is: ``workload``, ``config``, ``associations`` …
    role: str
    #: Path as it was given.
    path: str
    #: SHA-256 of its content; empty: it is no single file, such as a live cluster's state.
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """How a result came about."""

    version: str = __version__
    #: The command line, without where the result was written to; empty: the replay was made in Python.
    command: str = ""
    files: tuple[SourceFile, ...] = ()
    #: Every change of the configuration and of associations, and every other option that is not at its default.
    settings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Convert it to JSON data."""
        return {"format": PROVENANCE_FORMAT, **asdict(self)}


def read_provenance(stored: dict[str, Any], path: Path) -> Provenance:
    """Make it from the data of `Provenance.as_dict`.

    Args:
        stored: The data.
        path: Path of the file, for error messages.

    Raises:
        InputError: the data is not such a provenance.
    """
    with reading("provenance", stored, PROVENANCE_FORMAT, path):
        return Provenance(
            version=str(stored["version"]),
            command=str(stored["command"]),
            files=tuple(SourceFile(**{name: str(one[name]) for name in _FILE}) for one in stored["files"]),
            settings=tuple(map(str, stored["settings"])),
        )


_FILE = ("role", "path", "sha256")


def source_files(role: str, paths: Iterable[Path]) -> list[SourceFile]:
    """Describe files that have been read. One that cannot be read again has no hash."""
    return [SourceFile(role=role, path=str(path), sha256=_hash(path)) for path in paths]


def _hash(path: Path) -> str:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
