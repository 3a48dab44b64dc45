"""A file system that stops to answer when it is told to: FUSE without any library, in a process of its own.

Run as a program it serves the mount point that it is given, until its input ends, or for a minute: all of the machine
that looks at processes may be waiting for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_FORCE, _DETACH = 1, 2
_HEAD = struct.Struct("=IIQQIIIHH")
_LONG = 1000
(_LOOKUP, _FORGET, _GETATTR, _SETATTR, _OPEN, _READ, _WRITE) = (1, 2, 3, 4, 14, 15, 16)
(_RELEASE, _FLUSH, _INIT, _CREATE, _INTERRUPT, _BATCH_FORGET) = (18, 25, 26, 35, 36, 42)
_ENOENT, _ENOSYS = 2, 38


class StuckFileSystem:
    """A mounted file system, whose files everybody may use.

    Args:
        where: The mount point.

    Raises:
        OSError: it cannot be mounted here.
    """

    def __init__(self, where: Path) -> None:
        where.mkdir(exist_ok=True)
        self.where = where
        command = [sys.executable, __file__, str(where)]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._server.stdout is not None
        if self._server.stdout.readline() != b"mounted\n":
            self._server.wait()
            raise OSError("a FUSE file system cannot be mounted here")

    def stick(self) -> None:
        """Answer nothing any more."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(b"stick\n")
        self._server.stdin.flush()
        assert self._server.stdout.readline() == b"stuck\n"

    def fail(self) -> None:
        """Be gone: what waits for it gets an error."""
        self._server.communicate()
        _libc.umount2(os.fsencode(self.where), _FORCE | _DETACH)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._server.poll() is None:
            self.fail()


class _Server:
    """Answers the kernel."""

    def __init__(self, where: str) -> None:
        self._device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self._device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        if _libc.mount(b"stuck", os.fsencode(where), b"fuse.stuck", 0, options):
            raise OSError(ctypes.get_errno(), "cannot mount")
        #: Names and contents of the files: the first is the folder.
        self._names = [b""]
        self._files = [bytearray()]
        self.is_stuck = threading.Event()

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            while request := os.read(self._device, 1 << 18):
                if not self.is_stuck.is_set():
                    self._answer(request)

    def _answer(self, request: bytes) -> None:
        _, kind, unique, node, *_ = _HEAD.unpack_from(request)
        body = request[_HEAD.size :]
        if kind in (_FORGET, _BATCH_FORGET, _INTERRUPT):
            return
        error, data = 0, b""
        if kind == _INIT:
            data = struct.pack("=IIIIHHIIHHI28x", 7, 31, 1 << 16, 0, 12, 9, 1 << 16, 1, 0, 0, 0)
        elif kind in (_LOOKUP, _CREATE):
            name = (body[16:] if kind == _CREATE else body).split(b"\0")[0]
            if name not in self._names and kind == _CREATE:
                self._names.append(name)
                self._files.append(bytearray())
            if name in self._names:
                found = self._names.index(name)
                data = struct.pack("=QQQQII", found + 1, 0, _LONG, _LONG, 0, 0) + self._attributes(found)
                data += struct.pack("=QII", 0, 0, 0) if kind == _CREATE else b""
            else:
                error = _ENOENT
        elif kind in (_GETATTR, _SETATTR):
            if kind == _SETATTR and body[0] & 8:  # the size
                size = struct.unpack_from("=Q", body, 16)[0]
                del self._files[node - 1][size:]
            data = struct.pack("=QII", _LONG, 0, 0) + self._attributes(node - 1)
        elif kind == _OPEN:
            data = struct.pack("=QII", 0, 0, 0)
        elif kind == _READ:
            offset, size = struct.unpack_from("=8xQI", body)
            data = bytes(self._files[node - 1][offset : offset + size])
        elif kind == _WRITE:
            offset, size = struct.unpack_from("=8xQI", body)
            file = self._files[node - 1]
            file[offset : offset + size] = body[40 : 40 + size]
            data = struct.pack("=II", size, 0)
        elif kind not in (_RELEASE, _FLUSH):
            error = _ENOSYS
        os.write(self._device, struct.pack("=IiQ", 16 + len(data), -error, unique) + data)

    def _attributes(self, node: int) -> bytes:
        mode = 0o100777 if node else 0o40777
        size = max(len(self._files[node]), 4096)
        return struct.pack("=6Q10I", node + 1, size, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


if __name__ == "__main__":
    server = _Server(sys.argv[1])
    threading.Thread(target=server.serve, daemon=True).start()
    sys.stdout.write("mounted\n")
    sys.stdout.flush()

    def unmount() -> None:
        _libc.umount2(os.fsencode(sys.argv[1]), _FORCE | _DETACH)
        os._exit(0)

    threading.Timer(60, unmount).start()
    for _ in sys.stdin:
        server.is_stuck.set()
        sys.stdout.write("stuck\n")
        sys.stdout.flush()
    unmount()
