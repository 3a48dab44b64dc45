"""Reading and writing files: gzip is recognised by content, and files are replaced atomically."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from typing import TYPE_CHECKING

from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_LEVEL = 4


def read_bytes(path: Path) -> bytes:
    """Read a file, decompressed if its content is gzip, whatever its name.

    Raises:
        InputError: the file cannot be read or decompressed.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError("no such file: check the name", path=path) from None
    except IsADirectoryError:
        raise InputError("is a directory: name a file in it", path=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    return _unpacked(data, path) if data.startswith(_GZIP_MAGIC) else data


def first_bytes(path: Path, count: int) -> bytes:
    """Read the beginning of a file, decompressed as by `read_bytes`; empty if it cannot be read."""
    try:
        with path.open("rb") as stream:
            packed_file = stream.peek(2).startswith(_GZIP_MAGIC)
            return (gzip.GzipFile(fileobj=stream) if packed_file else stream).read(count)
    except (OSError, EOFError, zlib.error):
        return b""


def _unpacked(data: bytes, path: Path) -> bytes:
    try:
        return gzip.decompress(data)
    except EOFError:
        raise InputError("the gzip data is cut short: get the file again", path=path) from None
    except (zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"the gzip data is damaged ({error}): get the file again", path=path) from error


def packed(data: bytes) -> bytes:
    """Compress data as gzip without time and file name: the same data and zlib give the same bytes."""
    # Not gzip.compress(), whose header differs between Python versions.
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=_GZIP_LEVEL, fileobj=buffer, mtime=0) as stream:
        stream.write(data)
    return buffer.getvalue()


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file completely or, on failure, leave it as it was; see `write_file`.

    Raises:
        InputError: the file cannot be written.
    """
    write_file(path, lambda draft: draft.write_bytes(data))


def write_file(path: Path, how: Callable[[Path], object]) -> None:
    """Have a file written completely or, on failure, leave it as it was.

    Devices and pipes are written to directly; symbolic links are followed.

    Args:
        path: The file.
        how: Writes a file whose path it is given: one beside it, which is then renamed.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            how(path)
        else:
            _replace(path.resolve(), how)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", path=path) from error


def _replace(path: Path, how: Callable[[Path], object]) -> None:
    # The temporary file is in the same folder, as a rename is atomic within a file system only. open() respects the
    # user's umask, which the tempfile module does not.
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    try:
        temporary.open("xb").close()
        how(temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
