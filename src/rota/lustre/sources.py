"""Where ``job_stats`` are read: here, on servers over ssh, or from files.

A source is written in one way everywhere:

======================= ===========================================================================================
``lctl``                ``lctl get_param obdfilter.*.job_stats mdt.*.job_stats`` on this machine
``ssh://[USER@]HOST``   the same on a server; ``:PORT`` may follow. ssh must get in without asking, and know the host
``dir:PATH``            every file in a directory, and ``*/job_stats`` in it; hidden files are passed over
``-``                   standard input
any other               a file; gzip and zstd are unpacked
======================= ===========================================================================================

A source gives one or more streams. Each is read, and fails, for itself.
"""

from __future__ import annotations

import gzip
import re
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Protocol, cast

from rota.lustre.job_stats import CHUNK, JobStatsParser
from rota.lustre.output import SourceError, output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.lustre.counters import JobStats
    from rota.lustre.job_stats import Findings

PARAMETERS = ("obdfilter.*.job_stats", "mdt.*.job_stats")
#: A server has OSTs or MDTs, seldom both; lctl then complains about the other, and fails.
_MISSING = re.compile(r"error: get_param: param_path '(?:obdfilter|mdt)[./]\*[./]job_stats': No such file or directory")
_REMOTE = re.compile(
    r"ssh://(?:(?P<user>[\w.][\w.-]*)@)?(?P<host>[\w.][\w.-]*|\[[0-9A-Fa-f:]+\])(?::(?P<port>\d{1,5}))?"
)
#: Nothing is asked, an unknown host is refused, and only errors are printed.
_SSH_OPTIONS = ("BatchMode=yes", "StrictHostKeyChecking=yes", "ClearAllForwardings=yes", "LogLevel=ERROR")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class Stream(NamedTuple):
    """One text, of one or more targets."""

    #: Of entries in front of which none is named.
    target: str
    #: Reading them raises `SourceError`.
    pieces: Iterator[bytes]
    #: What it is called: the source, or a file of it.
    name: str

    def entries(self, *, zeros: bool = False) -> tuple[Iterator[JobStats], Findings]:
        """Give its entries, and what the parser finds while they are taken."""
        parser = JobStatsParser(self.target, zeros=zeros)
        return parser.read_pieces(self.pieces), parser.findings


class Source(Protocol):
    """Something that can be read again and again."""

    @property
    def name(self) -> str:
        """How it is written."""

    def streams(self, seconds: float) -> Iterator[Stream]:
        """Read it once.

        Args:
            seconds: How long a command may take.

        Raises:
            SourceError: Nothing of it can be read.
        """


def parse_source(text: str) -> Source:
    """Make a source of how it is written.

    Raises:
        SourceError: It begins like one and is none.
    """
    if text == "lctl":
        return CommandSource(text, ("lctl", "get_param", *PARAMETERS))
    if text == "-":
        return StandardInput()
    if text.startswith("ssh:"):
        return _remote(text)
    if text.startswith("dir:"):
        return DirectorySource(text, Path(text.removeprefix("dir:")))
    return FileSource(text, Path(text))


@dataclass(frozen=True)
class CommandSource:
    """What ``lctl get_param`` prints, here or elsewhere."""

    name: str
    argv: tuple[str, ...]

    def streams(self, seconds: float) -> Iterator[Stream]:
        """Run it."""
        pieces = output(self.name, self.argv, seconds, lambda line: bool(_MISSING.fullmatch(line)))
        yield Stream(self.name, pieces, self.name)


def _remote(text: str) -> CommandSource:
    match = _REMOTE.fullmatch(text)
    if match is None:
        raise SourceError(f"{text}: write ssh://HOST, ssh://USER@HOST or ssh://USER@HOST:PORT")
    user, host, port = match.groups()
    # The remote side always has a shell: its patterns are quoted for it.
    command = " ".join(("lctl", "get_param", *(f"'{parameter}'" for parameter in PARAMETERS)))
    words = [word for option in _SSH_OPTIONS for word in ("-o", option)]
    words += ["-l", user] if user else []
    words += ["-p", port] if port else []
    return CommandSource(text, ("ssh", "-T", *words, "--", host.strip("[]"), command))


@dataclass(frozen=True)
class StandardInput:
    """What this process is given."""

    name: str = "-"

    def streams(self, seconds: float) -> Iterator[Stream]:  # noqa: ARG002
        """Read it to its end."""
        yield Stream("stdin", _pieces(sys.stdin.buffer, self.name), self.name)


@dataclass(frozen=True)
class FileSource:
    """One file: a dump, or ``job_stats`` itself."""

    name: str
    path: Path

    def streams(self, seconds: float) -> Iterator[Stream]:  # noqa: ARG002
        """Read it."""
        yield Stream(target_of(self.path), _file(self.path), str(self.path))


@dataclass(frozen=True)
class DirectorySource:
    """A directory of dumps, each of which may be replaced at any time by renaming another to it."""

    name: str
    path: Path

    def streams(self, seconds: float) -> Iterator[Stream]:  # noqa: ARG002
        """Read each file in it, in the order of their names."""
        try:
            found = sorted(entry for entry in self.path.iterdir() if not entry.name.startswith("."))
        except OSError as error:
            raise SourceError(f"{self.name}: {error.strerror}") from error
        for file in filter(None, map(_file_at, found)):
            yield Stream(target_of(file), _file(file), str(file))


def _file_at(path: Path) -> Path | None:
    """Find what can be read: neither a pipe, which could hang, nor what is gone since, or not ours to see."""
    try:
        file = path / "job_stats" if path.is_dir() else path
        return file if file.is_file() else None
    except OSError:
        return None


def target_of(path: Path) -> str:
    """Guess a target's name of the name of a file that was copied from it."""
    name = re.sub(r"\.(?:gz|zst)\Z", "", path.name)
    if name == "job_stats":
        return path.absolute().parent.name
    return re.sub(r"\A(?:obdfilter|mdt)\.|\.(?:job_stats|lctl|txt)\Z", "", name)


def _file(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as stream:
            first = stream.peek(4)[:4]
            yield from _pieces(_unpacked(stream, first), str(path))
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from error


def _unpacked(stream: BinaryIO, first: bytes) -> BinaryIO:
    if first.startswith(_GZIP):
        return cast("BinaryIO", gzip.GzipFile(fileobj=stream))
    if first == _ZSTD:
        import pyarrow as pa

        return cast("BinaryIO", pa.CompressedInputStream(stream, "zstd"))
    return stream


def _pieces(stream: BinaryIO, name: str) -> Iterator[bytes]:
    try:
        while piece := stream.read(CHUNK):
            yield piece
    except (EOFError, zlib.error) as error:
        raise SourceError(f"{name}: the packed data is damaged or cut short ({error})") from error
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror or error}") from error
